#include "digest.h"

/* FNV-1a with 64 bits. */
static void add(uint64_t *digest, uint8_t octet)
{
    *digest = (*digest ^ octet) * 0x0100000001b3;
}

void add_word(uint64_t *digest, uint32_t word)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        add(digest, (uint8_t)(word >> shift));
}

void add_long(uint64_t *digest, uint64_t word)
{
    add_word(digest, (uint32_t)(word >> 32));
    add_word(digest, (uint32_t)word);
}

void add_octets(uint64_t *digest, const void *octets, size_t length)
{
    const uint8_t *each = octets;

    add_word(digest, (uint32_t)length);
    for (size_t i = 0; i < length; i++)
        add(digest, each[i]);
}

void add_segment(uint64_t *digest, const rpcrdma_segment *segment)
{
    add_word(digest, segment->handle);
    add_word(digest, segment->length);
    add_long(digest, segment->offset);
}

void add_arrival(uint64_t *digest, const rpcrdma_arrival *arrival)
{
    add_word(digest, arrival->kind);
    add_word(digest, arrival->xid);
    add_word(digest, arrival->error);
    add_word(digest, arrival->words[0]);
    add_word(digest, arrival->words[1]);
}

void add_output(uint64_t *digest, const rpcrdma_output *output)
{
    add_word(digest, output->kind);
    add_word(digest, output->receive);
    add_long(digest, output->call);
    add_word(digest, output->region);
    add_word(digest, output->handle);
    add_word(digest, (uint32_t)output->from);
    add_long(digest, output->length);
    add_word(digest, output->at);
    add_word(digest, output->end);
    add_word(digest, output->error);
    add_word(digest, output->words[0]);
    add_word(digest, output->words[1]);
    add_segment(digest, &output->segment);
    add_word(digest, (uint32_t)output->header_length);
    add_word(digest, output->is_last);
    add_word(digest, (uint32_t)output->results_count);
    for (size_t i = 0; i < output->results_count; i++)
        add_word(digest, output->results[i]);
    add_word(digest, (uint32_t)output->ranges_count);
    for (size_t i = 0; i < output->ranges_count; i++) {
        add_word(digest, output->ranges[i].from);
        add_word(digest, output->ranges[i].length);
    }
}
