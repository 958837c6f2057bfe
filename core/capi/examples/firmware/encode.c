/* Each recorded Send, encoded again, and answered. */
#include <rpcrdma.h>

#include "digest.h"
#include "program.h"

/* Credits that are granted; in version 2 also the most that this end can have outstanding. */
enum { CREDIT = 32, CREDIT_V2 = 64 << 16 | 32 };

static uint64_t digest = DIGEST_START;
static uint32_t encoded;
static uint8_t buffer[4096];
static size_t length;

/* Adds the result of an encoding to the digest. */
static void add_encoded(rpcrdma_status status)
{
    switch (status) {
    case RPCRDMA_OK:
        add_word(&digest, 0);
        add_octets(&digest, buffer, length);
        encoded++;
        break;
    case RPCRDMA_NOT_FOUND:
        add_word(&digest, 1);
        break;
    case RPCRDMA_CHUNK_TOO_SMALL:
        add_word(&digest, 2);
        break;
    default:
        add_word(&digest, 3);
    }
}

static void encode_rpc(const uint8_t *payload, size_t payload_length)
{
    rpcrdma_rpc_call call;
    rpcrdma_rpc_reply reply;
    rpcrdma_decode_error error;

    if (rpcrdma_decode_rpc_call(payload, payload_length, &call, &error) == RPCRDMA_OK)
        add_encoded(rpcrdma_encode_rpc_call(&call, buffer, sizeof buffer, &length));
    if (rpcrdma_decode_rpc_reply(payload, payload_length, &reply, &error) == RPCRDMA_OK)
        add_encoded(rpcrdma_encode_rpc_reply(&reply, buffer, sizeof buffer, &length));
}

/* A Reply with nothing in the chunks, with 4 octets in the first Write chunk, or with 4 octets in the Reply chunk. */
static rpcrdma_status reply_v1(const rpcrdma_message *call, size_t written, uint32_t reply)
{
    static const uint64_t octets = 4;

    return rpcrdma_encode_reply(call, CREDIT, reply > 0 ? RPCRDMA_NOMSG : RPCRDMA_MSG, &octets, written, reply, buffer,
                                sizeof buffer, &length);
}

static rpcrdma_status reply_v2(const rpcrdma_message_v2 *call, size_t written, uint32_t reply)
{
    static const uint64_t octets = 4;

    return rpcrdma_encode_reply_v2(call, CREDIT_V2, reply > 0 ? RPCRDMA_REPLY_IN_CHUNK : RPCRDMA_REPLY_INLINE, &octets,
                                   written, reply, buffer, sizeof buffer, &length);
}

static void encode_v1(const recorded *send)
{
    rpcrdma_message message;
    rpcrdma_decode_error error;

    if (rpcrdma_decode(send->octets, send->length, &message, &error) != RPCRDMA_OK) {
        if (error.answer != 0)
            add_encoded(rpcrdma_encode_error(send->octets, send->length, CREDIT, error.answer, buffer, sizeof buffer,
                                             &length));
        return;
    }
    add_encoded(rpcrdma_encode(&message, buffer, sizeof buffer, &length));
    if (reply_v1(&message, 0, 0) != RPCRDMA_INVALID) { /* it has chunk lists */
        add_encoded(reply_v1(&message, 0, 0));
        add_encoded(reply_v1(&message, 1, 0));
        add_encoded(reply_v1(&message, 0, 4));
    }
    encode_rpc(message.payload, message.payload_length);
}

static void encode_v2(const recorded *send)
{
    static const uint32_t versions[2] = {1, 2};
    rpcrdma_message_v2 message;
    rpcrdma_decode_error error;

    if (rpcrdma_decode_v2(send->family, send->octets, send->length, &message, &error) != RPCRDMA_OK) {
        if (error.answer != 0)
            add_encoded(rpcrdma_encode_error_v2(send->family, send->octets, send->length, CREDIT_V2, error.answer,
                                                &versions, buffer, sizeof buffer, &length));
        return;
    }
    add_encoded(rpcrdma_encode_v2(&message, buffer, sizeof buffer, &length));
    if (reply_v2(&message, 0, 0) != RPCRDMA_INVALID) { /* it has chunk lists */
        add_encoded(reply_v2(&message, 0, 0));
        add_encoded(reply_v2(&message, 1, 0));
        add_encoded(reply_v2(&message, 0, 4));
    }
    encode_rpc(message.payload, message.payload_length);
}

void encode(void)
{
    recorded send;

    for (size_t at = 0; next_recorded(&at, &send);) {
        if (send.family == 0)
            encode_v1(&send);
        else
            encode_v2(&send);
    }
    print("replies: ");
    print_number(encoded, " headers encoded, ");
    print_digest(digest);
}
