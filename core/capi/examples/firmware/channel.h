/* State that only version 2 needs: the version of the connection, the credits, and the transport properties. */
#ifndef CHANNEL_H
#define CHANNEL_H

#include <rpcrdma.h>

/* *channel becomes NULL in version 1. Returns 0 if there is too little memory for it. */
int start_channel(rpcrdma_channel **channel, uint32_t side, uint32_t version);

/* Returns whether the connection speaks this version. */
int is_agreed(rpcrdma_channel *channel, uint32_t version);

/* The next message that belongs to no RPC; returns 0 if there is none. */
int poll_channel(rpcrdma_channel *channel, uint32_t room, uint8_t *buffer, size_t capacity, size_t *length);

/* Returns the number of messages that an end may send if it can receive `room` messages. */
uint32_t available(rpcrdma_channel *channel, uint32_t room);

#endif
