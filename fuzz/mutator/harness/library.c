/*
 * Our own C interface as fuzzers call it: the rules for one Send, and a Responder that receives it, reads what it asks for,
 * and answers.
 */
#include <stdint.h>
#include <string.h>

#include <rpcrdma.h>

enum { MAX_SEND = 4096, MAX_STREAM = 1 << 16 };

static uint8_t assembled[RPCRDMA_CALLS][MAX_STREAM], reply_head[24], header[MAX_SEND];

static void answer(rpcrdma_responder *responder, uint64_t call, const uint8_t *payload, size_t length)
{
    rpcrdma_rpc_reply accepted = {.kind = RPCRDMA_RPC_ACCEPTED};
    rpcrdma_reply reply = {.head = reply_head};
    rpcrdma_rpc_call request;
    rpcrdma_decode_error error;
    uint32_t form;

    if (rpcrdma_decode_rpc_call(payload, length, &request, &error) != RPCRDMA_OK) {
        rpcrdma_responder_refuse(responder, call);
        return;
    }
    accepted.xid = request.xid;
    rpcrdma_encode_rpc_reply(&accepted, reply_head, sizeof reply_head, &reply.head_length);
    reply.length = (uint32_t)reply.head_length;
    rpcrdma_responder_reply(responder, call, &reply, &form);
}

/* Returns whether the Responder goes on. */
static int take(rpcrdma_responder *responder, const rpcrdma_output *output, const uint8_t *receive)
{
    uint8_t *memory = assembled[output->call & 0xffff];
    rpcrdma_input completed = {.kind = RPCRDMA_IN_COMPLETED, .call = output->call};

    switch (output->kind) {
    case RPCRDMA_DO_DELIVER:
        answer(responder, output->call, receive + output->from, output->length);
        return 1;
    case RPCRDMA_DO_DELIVER_ASSEMBLED:
        answer(responder, output->call, memory, output->length);
        return 1;
    case RPCRDMA_DO_PLACE:
        memcpy(memory + output->at, receive + output->from, output->length);
        return 1;
    case RPCRDMA_DO_READ:
    case RPCRDMA_DO_WRITE:
        return rpcrdma_responder_handle(responder, &completed) == RPCRDMA_OK;
    case RPCRDMA_DO_RELEASE:
    case RPCRDMA_DO_SEND:
        return 1;
    default:
        return 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rpcrdma_responder_memory memory;
    const rpcrdma_terms terms = {MAX_SEND, MAX_SEND, 0, RPCRDMA_VERSION_1, RPCRDMA_FORMATS_ALL};
    const rpcrdma_limits limits = {RPCRDMA_CALL_CHUNKS, RPCRDMA_CALL_CHUNKS, RPCRDMA_SEGMENTS, MAX_STREAM, 0};
    rpcrdma_responder *responder = (rpcrdma_responder *)&memory;
    const rpcrdma_input input = {.kind = RPCRDMA_IN_RECEIVED, .octets = data, .length = size};
    rpcrdma_finding findings[16];
    rpcrdma_output output;
    size_t count;

    rpcrdma_judge(data, size, RPCRDMA_RESPONDER, findings, sizeof findings / sizeof findings[0], &count);
    if (rpcrdma_responder_init(responder, sizeof memory, &terms, &limits, 1, RPCRDMA_BUILD) != RPCRDMA_OK)
        __builtin_trap();
    if (rpcrdma_responder_handle(responder, &input) != RPCRDMA_OK)
        return 0;
    while (rpcrdma_responder_poll(responder, header, sizeof header, &output) == RPCRDMA_OK && take(responder, &output, data))
        ;
    return 0;
}
