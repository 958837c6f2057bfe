/*
 * The same headers, decoded and encoded by rpcgen and libtirpc.
 *
 *   main FILE...            nanoseconds to decode (visit every segment, free) and to encode each vector
 *   main --check FILE...    decodes each vector and encodes it again: the same octets?
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <rpc/xdr.h>
#include "rpcrdma_v1.h"

static volatile uint64_t sink;

/* Hexadecimal digits and spaces, comments from # to the end of the line. */
static unsigned read_vector(const char *path, char *octets, unsigned room)
{
    FILE *file = fopen(path, "r");
    unsigned digits = 0;
    int comment = 0, character;

    if (file == NULL) {
        perror(path);
        exit(2);
    }
    while ((character = getc(file)) != EOF && digits < 2 * room) {
        char text[2] = { (char)character, 0 };
        char *end;
        long digit = strtol(text, &end, 16);

        if (character == '#' || character == '\n')
            comment = character == '#';
        if (comment || end == text)
            continue;
        octets[digits / 2] = (char)(digits % 2 ? octets[digits / 2] | digit : digit << 4);
        digits++;
    }
    fclose(file);
    return digits / 2;
}

/* The name of a file, without its folder; its length without ".hex". */
static const char *name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

static int name_length(const char *path)
{
    return (int)strcspn(name(path), ".");
}

static uint64_t visit_chunk(const xdr_write_chunk *chunk)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < chunk->target.target_len; i++) {
        const xdr_rdma_segment *segment = &chunk->target.target_val[i];

        sum += (segment->handle ^ segment->length) ^ segment->offset;
    }
    return sum;
}

static uint64_t visit(const rdma_msg *msg)
{
    const rpc_rdma_header *lists = &msg->body.rdma_body_u.rdma_msg;
    uint64_t sum = msg->rdma_xid ^ msg->rdma_credit;

    if (msg->body.proc > RDMA_NOMSG)
        return sum;
    for (const xdr_read_list *read = lists->rdma_reads; read != NULL; read = read->next) {
        const xdr_rdma_segment *segment = &read->entry.target;

        sum += (segment->handle ^ segment->length) ^ segment->offset ^ read->entry.position;
    }
    for (const xdr_write_list *write = lists->rdma_writes; write != NULL; write = write->next)
        sum += visit_chunk(&write->entry);
    if (lists->rdma_reply != NULL)
        sum += visit_chunk(lists->rdma_reply);
    return sum;
}

static int decode(char *octets, unsigned length, rdma_msg *msg)
{
    XDR xdrs;

    memset(msg, 0, sizeof *msg);
    xdrmem_create(&xdrs, octets, length, XDR_DECODE);
    return xdr_rdma_msg(&xdrs, msg) ? (int)xdr_getpos(&xdrs) : -1;
}

static int encode(rdma_msg *msg, char *octets, unsigned room)
{
    XDR xdrs;

    xdrmem_create(&xdrs, octets, room, XDR_ENCODE);
    return xdr_rdma_msg(&xdrs, msg) ? (int)xdr_getpos(&xdrs) : -1;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void measure(const char *path, char *octets, unsigned length)
{
    enum { ROUNDS = 500, TIMES = 2000 };
    double best_decode = 1e18, best_encode = 1e18;
    char again[4096];
    rdma_msg msg;

    for (int round = 0; round < ROUNDS; round++) {
        double start = now(), taken;

        for (int i = 0; i < TIMES; i++) {
            decode(octets, length, &msg);
            sink = visit(&msg);
            xdr_free((xdrproc_t)xdr_rdma_msg, (char *)&msg);
        }
        taken = (now() - start) / TIMES;
        if (taken < best_decode)
            best_decode = taken;
        decode(octets, length, &msg);
        start = now();
        for (int i = 0; i < TIMES; i++)
            sink = (uint64_t)encode(&msg, again, sizeof again);
        taken = (now() - start) / TIMES;
        if (taken < best_encode)
            best_encode = taken;
        xdr_free((xdrproc_t)xdr_rdma_msg, (char *)&msg);
    }
    printf("%-40.*s decode %8.1f ns, encode %8.1f ns\n", name_length(path), name(path), best_decode, best_encode);
}

static int check(const char *path, char *octets, unsigned length)
{
    char again[4096];
    rdma_msg msg;
    int header = decode(octets, length, &msg);
    int same = header >= 0 && encode(&msg, again, sizeof again) == header && memcmp(octets, again, header) == 0;

    printf("%-40.*s %s, header of %d octets\n", name_length(path), name(path), same ? "the same" : "NOT the same", header);
    return same;
}

int main(int count, char **paths)
{
    int checking = count > 1 && strcmp(paths[1], "--check") == 0, good = 1;

    for (int i = 1 + checking; i < count; i++) {
        char octets[4096];
        unsigned length = read_vector(paths[i], octets, sizeof octets);

        if (checking)
            good &= check(paths[i], octets, length);
        else
            measure(paths[i], octets, length);
    }
    return !good;
}
