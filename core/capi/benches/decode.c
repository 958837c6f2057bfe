/*
 * Decodes headers and reads every field of every segment, as decode_and_visit of core/tests/suite/support/mod.rs does in Rust:
 * once with the time that this takes, best of 500 rounds of 2000; or, with --count, 1000 times in a function of its own for
 * each header, so that a profiler can count instructions.
 */
#define _POSIX_C_SOURCE 199309L
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include <rpcrdma.h>

#include "../examples/hex.h"

static volatile uint64_t sink;

static inline __attribute__((always_inline)) uint64_t visit(uint64_t sum, rpcrdma_segment_list list)
{
    rpcrdma_segment segment;

    while (rpcrdma_next_segment(&list, &segment))
        sum += (uint64_t)(segment.handle ^ segment.length) ^ segment.offset;
    return sum;
}

static inline __attribute__((always_inline)) uint64_t decode_and_visit(const uint8_t *octets, size_t length)
{
    rpcrdma_message message;
    rpcrdma_read_list reads;
    rpcrdma_write_list writes;
    rpcrdma_decode_error error;
    rpcrdma_read_segment read;
    rpcrdma_segment_list chunk;
    uint64_t sum;

    if (rpcrdma_decode(octets, length, &message, &error) != RPCRDMA_OK)
        return 0;
    sum = message.xid ^ message.credit ^ (uint64_t)message.payload_length;
    reads = message.chunks.reads;
    while (rpcrdma_next_read_segment(&reads, &read)) {
        sum += (uint64_t)(read.target.handle ^ read.target.length) ^ read.target.offset;
        sink = read.position;
    }
    writes = message.chunks.writes;
    while (rpcrdma_next_write_chunk(&writes, &chunk))
        sum = visit(sum, chunk);
    return visit(sum, message.chunks.reply);
}

#define MEASURED(name, number)                                                        \
    __attribute__((noinline)) uint64_t name(const uint8_t *octets, size_t length);    \
    uint64_t name(const uint8_t *octets, size_t length)                               \
    {                                                                                 \
        return decode_and_visit(octets, length) ^ number;                             \
    }
MEASURED(measured_decode_no_chunks, 1)
MEASURED(measured_decode_one_write_chunk, 2)
MEASURED(measured_decode_reads_and_reply, 3)
MEASURED(measured_decode_sixteen_of_each, 4)

static const struct {
    const char *name;
    uint64_t (*decode)(const uint8_t *octets, size_t length);
} headers[] = {
    {"msg_no_chunks", measured_decode_no_chunks},
    {"msg_one_write_chunk", measured_decode_one_write_chunk},
    {"msg_two_read_segments_and_reply_chunk", measured_decode_reads_and_reply},
    {"msg_sixteen_of_each", measured_decode_sixteen_of_each},
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The arguments: perhaps --count, and the folder of the vectors. */
int main(int count, char **arguments)
{
    int counting = count > 2 && strcmp(arguments[1], "--count") == 0;
    static uint8_t octets[4096];

    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        double best = 1e18;
        char path[512];
        size_t length;
        FILE *file;

        snprintf(path, sizeof path, "%s/%s.hex", arguments[count - 1], headers[i].name);
        file = fopen(path, "r");
        if (!file)
            return 1;
        length = read_dump(file, octets, sizeof octets);
        fclose(file);
        for (int round = 0; round < (counting ? 1 : 500); round++) {
            double start = now(), taken;

            for (int j = 0; j < (counting ? 1000 : 2000); j++)
                sink = headers[i].decode(octets, length);
            taken = (now() - start) / 2000;
            if (taken < best)
                best = taken;
        }
        if (!counting)
            printf("%-40s decode from C %6.1f ns\n", headers[i].name, best);
    }
    return 0;
}
