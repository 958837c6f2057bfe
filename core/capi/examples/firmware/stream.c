#include "stream.h"

uint64_t random_start(uint32_t seed)
{
    return (uint64_t)seed * 0x9e3779b97f4a7c15 | 1;
}

uint32_t below(uint64_t *random, uint32_t limit)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (uint32_t)(*random >> 32) % limit;
}

int once_in(uint64_t *random, uint32_t times)
{
    return below(random, times) == 0;
}

void copy(uint8_t *to, const uint8_t *from, size_t length)
{
    for (size_t i = 0; i < length; i++)
        to[i] = from[i];
}

void clear(uint8_t *octets, size_t length)
{
    for (size_t i = 0; i < length; i++)
        octets[i] = 0;
}

int are_equal(const uint8_t *one, const uint8_t *other, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (one[i] != other[i])
            return 0;
    }
    return 1;
}

/* Often short, sometimes too long for a Send. */
static uint32_t item_length(uint32_t seed)
{
    static const uint32_t limits[4] = {1, 60, 700, 1900};
    uint64_t random = random_start(seed);
    uint32_t limit = limits[below(&random, 4)];

    return below(&random, limit);
}

static void make(stream *made, const uint32_t *words, uint32_t count, uint32_t length)
{
    uint32_t position = 4 * count + 4;

    clear(made->octets, sizeof made->octets);
    for (uint32_t i = 0; i < count; i++)
        rpcrdma_put_word(made->octets + 4 * i, words[i]);
    rpcrdma_put_word(made->octets + 4 * count, length);
    for (uint32_t i = 0; i < length; i++)
        made->octets[position + i] = (uint8_t)(words[0] ^ i * 31);
    made->head = 4 * count;
    made->length = position + ((length + 3) & ~3u);
    made->item.position = position;
    made->item.length = length;
}

void make_call(stream *call, uint32_t xid)
{
    const uint32_t words[10] = {xid, 0, 2, 400100, 1, 1, 0, 0, 0, 0};

    make(call, words, 10, item_length(xid));
}

void make_reply(stream *reply, uint32_t xid)
{
    const uint32_t words[6] = {xid, 1, 0, 0, 0, 0};

    make(reply, words, 6, item_length(~xid));
}

int is_stream(const stream *sent, const uint8_t *octets, size_t length)
{
    return length == sent->length && are_equal(sent->octets, octets, length);
}

int is_reduced_stream(const stream *sent, const uint8_t *octets, size_t length)
{
    return length == sent->item.position && are_equal(sent->octets, octets, length);
}
