/*
 * A receiver in C as fuzzers call it: rpcgen's decoder of RFC 8166's XDR, libtirpc's of the RPC Call behind it, and the
 * checks of a responder before it touches memory. It shows what the mutator is good for.
 *
 * Two things are known: xdr_bool() takes any word but 0 for TRUE, so the octets are not compared with those that come out
 * again; and an array without a bound is allocated however long it is said to be, so `measure` gives it one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <rpc/rpc.h>
#include <rpc/rpc_msg.h>
#include "rpcrdma_v1.h"

enum { MAX_SEND = 4096, MAX_SEGMENTS = 16, MAX_STREAM = 1 << 20 };

/* What a receiver does with a message. */
enum answer { ACCEPT, DISCARD, ERR_CHUNK_ANSWER, ERR_VERS_ANSWER };

static enum answer check_segment(const xdr_rdma_segment *segment)
{
    if (segment->length > MAX_STREAM)
        return ERR_CHUNK_ANSWER;
    if (segment->offset + segment->length < segment->offset)
        return ERR_CHUNK_ANSWER;
    return ACCEPT;
}

/* Segments of one chunk stand together, and chunks in the order of their Positions. */
static enum answer check_reads(const xdr_read_list *read, uint32_t inline_length, uint64_t *stream)
{
    uint32_t position = 0, chunks = 0, segments = 0;
    uint64_t item = 0;

    for (; read != NULL; read = read->next) {
        const xdr_read_chunk *entry = &read->entry;

        if (check_segment(&entry->target) != ACCEPT || entry->position % 4 != 0)
            return ERR_CHUNK_ANSWER;
        if (chunks == 0 || entry->position != position) {
            if (chunks > 0 && entry->position < position)
                return ERR_CHUNK_ANSWER;
            if (chunks > 0 && entry->position < position + item && position != 0)
                return ERR_CHUNK_ANSWER;
            position = entry->position;
            chunks++;
            segments = 0;
            item = 0;
        }
        if (++segments > MAX_SEGMENTS)
            return ERR_CHUNK_ANSWER;
        item += entry->target.length;
        *stream += entry->target.length;
    }
    return chunks > 0 && position > inline_length + *stream ? ERR_CHUNK_ANSWER : ACCEPT;
}

static enum answer check_chunk(const xdr_write_chunk *chunk)
{
    uint64_t length = 0;

    if (chunk->target.target_len > MAX_SEGMENTS)
        return ERR_CHUNK_ANSWER;
    for (unsigned i = 0; i < chunk->target.target_len; i++) {
        if (check_segment(&chunk->target.target_val[i]) != ACCEPT)
            return ERR_CHUNK_ANSWER;
        for (unsigned j = 0; j < i; j++)
            if (chunk->target.target_val[i].handle == chunk->target.target_val[j].handle &&
                chunk->target.target_val[i].offset == chunk->target.target_val[j].offset)
                return ERR_CHUNK_ANSWER;
        length += chunk->target.target_val[i].length;
    }
    return length > MAX_STREAM ? ERR_CHUNK_ANSWER : ACCEPT;
}

static enum answer check_call(const rdma_msg *msg, char *octets, unsigned length)
{
    char credential[MAX_AUTH_BYTES], verifier[MAX_AUTH_BYTES];
    struct rpc_msg call;
    XDR xdrs;

    memset(&call, 0, sizeof call);
    call.rm_call.cb_cred.oa_base = credential;
    call.rm_call.cb_verf.oa_base = verifier;
    xdrmem_create(&xdrs, octets, length, XDR_DECODE);
    if (!xdr_callmsg(&xdrs, &call) || call.rm_xid != msg->rdma_xid)
        return DISCARD;
    switch (call.rm_call.cb_cred.oa_flavor) {
    case AUTH_NONE:
    case AUTH_SYS:
        return ACCEPT;
    default:
        return DISCARD;
    }
}

static enum answer check(const rdma_msg *msg, char *octets, unsigned length)
{
    const rpc_rdma_header *lists = &msg->body.rdma_body_u.rdma_msg;
    uint64_t stream = 0;
    unsigned writes = 0;

    if (msg->rdma_vers != 1)
        return ERR_VERS_ANSWER;
    if (msg->rdma_credit == 0 || msg->body.proc > RDMA_NOMSG)
        return DISCARD;
    if (check_reads(lists->rdma_reads, length, &stream) != ACCEPT)
        return ERR_CHUNK_ANSWER;
    for (const xdr_write_list *write = lists->rdma_writes; write != NULL; write = write->next)
        if (check_chunk(&write->entry) != ACCEPT || ++writes > MAX_SEGMENTS)
            return ERR_CHUNK_ANSWER;
    if (lists->rdma_reply != NULL && check_chunk(lists->rdma_reply) != ACCEPT)
        return ERR_CHUNK_ANSWER;
    if (msg->body.proc == RDMA_MSG)
        return check_call(msg, octets, length);
    if (lists->rdma_reads == NULL || lists->rdma_reads->entry.position != 0)
        return ERR_CHUNK_ANSWER;
    return stream < 40 ? ERR_CHUNK_ANSWER : ACCEPT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char octets[MAX_SEND], again[MAX_SEND];
    unsigned length = size < sizeof octets ? (unsigned)size : sizeof octets;
    rdma_msg msg;
    XDR xdrs;

    memcpy(octets, data, length);
    memset(&msg, 0, sizeof msg);
    xdrmem_create(&xdrs, octets, length, XDR_DECODE);
    if (xdr_rdma_msg(&xdrs, &msg)) {
        unsigned header = xdr_getpos(&xdrs);

        check(&msg, octets + header, length - header);
        xdrmem_create(&xdrs, again, sizeof again, XDR_ENCODE);
        if (!xdr_rdma_msg(&xdrs, &msg) || xdr_getpos(&xdrs) != header)
            abort();
    }
    xdr_free((xdrproc_t)xdr_rdma_msg, (char *)&msg);
    return 0;
}
