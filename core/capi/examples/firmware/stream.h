/* The Payload streams of calls and replies. All about them follows from the XID, so either end knows what the other sends. */
#ifndef STREAM_H
#define STREAM_H

#include <stddef.h>
#include <stdint.h>

#include <rpcrdma.h>

/* Octets of the longest, and of the memory for each. */
enum { MOST = 2048 };

/* The head, the length of an item, the item, and its padding. */
typedef struct stream {
    uint8_t octets[MOST];
    uint32_t length;
    uint32_t head;
    rpcrdma_item item;
} stream;

void make_call(stream *call, uint32_t xid);
void make_reply(stream *reply, uint32_t xid);
int is_stream(const stream *sent, const uint8_t *octets, size_t length);

/* Returns whether these octets are the reduced stream: all but the item. */
int is_reduced_stream(const stream *sent, const uint8_t *octets, size_t length);

void copy(uint8_t *to, const uint8_t *from, size_t length);
void clear(uint8_t *octets, size_t length);
int are_equal(const uint8_t *one, const uint8_t *other, size_t length);

/* Numbers that look random and are the same in each run: xorshift with 64 bits. */
uint64_t random_start(uint32_t seed);
uint32_t below(uint64_t *random, uint32_t limit); /* limit is not 0 */
int once_in(uint64_t *random, uint32_t times);

#endif
