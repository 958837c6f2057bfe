/* The end that calls: a Requester, and the memory that its calls expose. */
#ifndef CLIENT_H
#define CLIENT_H

#include "channel.h"
#include "receives.h"
#include "stream.h"

/* CALLS: at a time. EXPOSED: memory regions that the other end can reach. */
enum { CALLS = 4, EXPOSED = 64 };

/* Memory to register, or registered. */
typedef struct memory {
    uint32_t kind; /* RPCRDMA_DO_REGISTER_ARGUMENT and so on */
    rpcrdma_range range;
} memory;

/* A call that is not done, and its memory. */
typedef struct called {
    int is_used;
    uint64_t id;
    uint32_t xid;
    stream call;
    uint8_t result[MOST];
    int has_room; /* for the result */
    uint8_t reply[MOST];
    uint8_t placed[MOST]; /* where a continued reply is put together */
} called;

typedef struct exposed {
    uint32_t handle;
    uint64_t call;
    memory memory;
} exposed;

typedef struct client {
    rpcrdma_requester *requester;
    rpcrdma_channel *channel; /* NULL in version 1 */
    receives receives;
    called calls[CALLS];
    exposed exposed[EXPOSED];
    uint32_t exposed_count;
    uint32_t last_handle;
} client;

/* Outcome of a call; OUTCOME_WRONG if the reply is not the one that the other end has sent. */
enum { OUTCOME_ANSWERED, OUTCOME_WRONG, OUTCOME_ERROR, OUTCOME_CANCELLED, OUTCOME_LOST };

/* Returns 0 if there is too little memory. */
int start_client(client *client, uint32_t version);

/* Messages that can be received, besides an asynchronous grant. */
uint32_t client_room(const client *client);

called *called_by(client *client, uint64_t call);

/* Begins a call, if there is room for it; returns whether it did. */
int begin_call(client *client, uint32_t xid, uint64_t *random);

/* Exposes memory, and says under which handle and where it begins; returns 0 if there is no handle left. */
int expose(client *client, uint64_t call, const memory *memory, uint32_t *handle, uint64_t *offset);

/* Returns whether the memory of this handle was exposed until now. */
int hide(client *client, uint32_t handle);

/* The octets that a segment reaches, or NULL. */
uint8_t *reach(client *client, const rpcrdma_segment *segment);

/* Returns the outcome of the call in RPCRDMA_DO_DONE. */
uint32_t call_done(client *client, const rpcrdma_output *done);

#endif
