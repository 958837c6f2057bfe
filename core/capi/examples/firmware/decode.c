/* Each recorded Send, decoded, with the RPC header in it. */
#include <rpcrdma.h>

#include "digest.h"
#include "program.h"

static uint64_t digest = DIGEST_START;

static void add_failure(const rpcrdma_decode_error *error)
{
    add_word(&digest, 0);
    add_word(&digest, error->kind);
    add_word(&digest, (uint32_t)error->offset);
}

static void add_chunk(rpcrdma_segment_list chunk)
{
    rpcrdma_segment segment;

    add_word(&digest, (uint32_t)chunk.count);
    while (rpcrdma_next_segment(&chunk, &segment))
        add_segment(&digest, &segment);
}

static void add_read_list(rpcrdma_read_list list)
{
    rpcrdma_read_segment read;

    while (rpcrdma_next_read_segment(&list, &read)) {
        add_word(&digest, 1);
        add_word(&digest, read.position);
        add_segment(&digest, &read.target);
    }
    add_word(&digest, 0);
}

static void add_chunks(rpcrdma_chunks chunks)
{
    rpcrdma_segment_list chunk;

    add_read_list(chunks.reads);
    while (rpcrdma_next_write_chunk(&chunks.writes, &chunk)) {
        add_word(&digest, 1);
        add_chunk(chunk);
    }
    add_word(&digest, 0);
    add_word(&digest, chunks.reply.segments != NULL);
    if (chunks.reply.segments)
        add_chunk(chunks.reply);
}

static void add_properties(rpcrdma_property_list list)
{
    rpcrdma_property property;

    add_word(&digest, (uint32_t)list.count);
    while (rpcrdma_next_property(&list, &property) == RPCRDMA_OK) {
        add_word(&digest, property.id);
        add_word(&digest, property.kind);
        add_word(&digest, property.number);
        add_octets(&digest, property.octets, property.length);
    }
}

static void add_auth(const rpcrdma_auth *auth)
{
    add_word(&digest, auth->flavor);
    add_octets(&digest, auth->body, auth->length);
}

static void add_rpc_call(const rpcrdma_rpc_call *call)
{
    add_word(&digest, 1);
    add_word(&digest, call->xid);
    add_word(&digest, call->rpc_version);
    add_word(&digest, call->program);
    add_word(&digest, call->version);
    add_word(&digest, call->procedure);
    add_auth(&call->credential);
    add_auth(&call->verifier);
    add_word(&digest, (uint32_t)call->header_length);
}

static void add_rpc_reply(const rpcrdma_rpc_reply *reply)
{
    add_word(&digest, 1);
    add_word(&digest, reply->xid);
    add_word(&digest, reply->kind);
    add_word(&digest, reply->status);
    add_word(&digest, reply->low);
    add_word(&digest, reply->high);
    add_auth(&reply->verifier);
    add_word(&digest, (uint32_t)reply->header_length);
}

/* Decodes the RPC message behind a header. */
static void decode_rpc(const uint8_t *payload, size_t length)
{
    rpcrdma_rpc_call call;
    rpcrdma_rpc_reply reply;
    rpcrdma_decode_error error;

    add_word(&digest, (uint32_t)length);
    if (rpcrdma_decode_rpc_call(payload, length, &call, &error) == RPCRDMA_OK)
        add_rpc_call(&call);
    else
        add_failure(&error);
    if (rpcrdma_decode_rpc_reply(payload, length, &reply, &error) == RPCRDMA_OK)
        add_rpc_reply(&reply);
    else
        add_failure(&error);
}

static int decode_v1(const recorded *send)
{
    rpcrdma_message message;
    rpcrdma_decode_error error;

    if (rpcrdma_decode(send->octets, send->length, &message, &error) != RPCRDMA_OK) {
        add_failure(&error);
        add_word(&digest, error.answer);
        return 0;
    }
    add_word(&digest, 1);
    add_word(&digest, message.xid);
    add_word(&digest, message.credit);
    add_word(&digest, message.procedure);
    add_word(&digest, message.error);
    add_word(&digest, message.words[0]);
    add_word(&digest, message.words[1]);
    add_chunks(message.chunks);
    add_word(&digest, (uint32_t)message.header_length);
    decode_rpc(message.payload, message.payload_length);
    return 1;
}

static int decode_v2(const recorded *send)
{
    rpcrdma_message_v2 message;
    rpcrdma_decode_error error;

    if (rpcrdma_decode_v2(send->family, send->octets, send->length, &message, &error) != RPCRDMA_OK) {
        add_failure(&error);
        add_word(&digest, error.answer);
        return 0;
    }
    add_word(&digest, 1);
    add_word(&digest, message.xid);
    add_word(&digest, message.credit);
    add_word(&digest, message.header_type);
    add_word(&digest, message.flags);
    add_word(&digest, message.inv_handle);
    add_word(&digest, message.remaining);
    add_word(&digest, message.error);
    add_word(&digest, message.words[0]);
    add_word(&digest, message.words[1]);
    add_chunks(message.chunks);
    add_read_list(message.call_chunk);
    add_properties(message.properties);
    add_word(&digest, (uint32_t)message.header_length);
    decode_rpc(message.payload, message.payload_length);
    return 1;
}

void decode(void)
{
    uint32_t sends = 0, decoded = 0;
    recorded send;

    for (size_t at = 0; next_recorded(&at, &send); sends++) {
        uint32_t family;

        add_word(&digest, rpcrdma_recognise_v2(send.octets, send.length, &family) == RPCRDMA_OK ? family : 0);
        decoded += (uint32_t)(send.family == 0 ? decode_v1(&send) : decode_v2(&send));
    }
    print("decode: ");
    print_number(sends, " Sends, ");
    print_number(decoded, " decoded, ");
    print_digest(digest);
}
