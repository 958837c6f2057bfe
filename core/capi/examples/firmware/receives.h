/* The Receives of one end, and the Sends that are in them. */
#ifndef RECEIVES_H
#define RECEIVES_H

#include <stddef.h>
#include <stdint.h>

/* RECEIVE: octets of a Receive, which are the inline threshold. RECEIVES: how many there are. */
enum { RECEIVE = 1024, RECEIVES = 12 };

typedef struct receive {
    uint8_t octets[RECEIVE];
    size_t length;
    int is_posted;
    int is_invalidating;
    uint32_t invalidated;
} receive;

typedef struct receives {
    receive all[RECEIVES];
    uint32_t arrived[RECEIVES]; /* those that the end has not looked at, the oldest first */
    uint32_t count;
} receives;

void post_all(receives *receives);
uint32_t posted(const receives *receives);

/* A Send arrives, and invalidates a handle unless that is NULL; returns 0 if no Receive is posted for it. */
int arrive(receives *receives, const uint8_t *send, size_t length, const uint32_t *invalidated);

/* Takes the next Send to look at; returns 0 if there is none. */
int next_arrived(receives *receives, uint32_t *name);

#endif
