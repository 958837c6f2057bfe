/* The end that is called: a Responder, and the calls that it has not answered. */
#ifndef SERVER_H
#define SERVER_H

#include "client.h"

typedef struct server {
    rpcrdma_responder *responder;
    rpcrdma_channel *channel; /* NULL in version 1 */
    receives receives;
    uint8_t assembled[CALLS][MOST]; /* where calls are put together */
    stream replies[CALLS];
    uint64_t delivered[CALLS]; /* calls that the upper layer has not answered */
    uint32_t delivered_count;
} server;

/* Returns 0 if there is too little memory. */
int start_server(server *server, uint32_t version);

/* Messages that can be received, besides an asynchronous grant. An answer gives up what its call occupies. */
uint32_t server_room(server *server, uint32_t answers);

/* Returns whether the Responder has a place for a Call, or for the next part of one. */
int has_place(server *server);

/* Puts octets into the memory in which a call is put together; returns 0 if the call is too long for it. */
int place(server *server, uint64_t call, uint32_t at, const uint8_t *octets, size_t length);

/* Hands a call to the upper layer; returns 0 if it is not what the other end has sent. */
int deliver(server *server, const rpcrdma_output *output);

/* Answers one of the calls, or refuses it; returns 0 if there is none. *form becomes 0 if the answer is not accepted. */
int answer_call(server *server, uint64_t *random, uint32_t *form);

/* The reply to a call. */
stream *reply_to(server *server, uint64_t call);

#endif
