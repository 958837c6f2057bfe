/* The digest of what was done, as core/firmware/src/digest.rs defines it. */
#ifndef DIGEST_H
#define DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include <rpcrdma.h>

/* Start value of a digest. */
#define DIGEST_START 0xcbf29ce484222325

void add_word(uint64_t *digest, uint32_t word);
void add_long(uint64_t *digest, uint64_t word);
void add_octets(uint64_t *digest, const void *octets, size_t length);
void add_segment(uint64_t *digest, const rpcrdma_segment *segment);
void add_arrival(uint64_t *digest, const rpcrdma_arrival *arrival);
void add_output(uint64_t *digest, const rpcrdma_output *output);

#endif
