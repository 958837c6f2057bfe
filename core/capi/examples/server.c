/*
 * The receive path of an NFS server that answers NULL calls: what it does with one Receive, given as a hex dump on the
 * standard input. Where it would talk to an adapter, it prints what it would say.
 */
#include <inttypes.h>
#include <stdio.h>

#include <rpcrdma.h>

#include "hex.h"

/* The replies of all calls in flight, at most 24 octets each, and memory in which Calls are put together. */
static uint8_t replies[RPCRDMA_CALLS][24];
static uint8_t assembled[RPCRDMA_CALLS][1 << 16];
static const uint8_t *receives[RPCRDMA_CALLS];

/* Answers an RPC Call: success without results, or no such procedure. The low 16 bits of a call's name are a free index. */
static void answer(rpcrdma_responder *responder, uint64_t call, const uint8_t *payload, size_t length)
{
    rpcrdma_rpc_call header;
    rpcrdma_decode_error error;
    rpcrdma_rpc_reply accepted = {0};
    rpcrdma_reply reply = {0};
    uint8_t *octets = replies[call & 0xffff];
    size_t used;
    uint32_t form;

    if (rpcrdma_decode_rpc_call(payload, length, &header, &error) != RPCRDMA_OK) {
        rpcrdma_responder_refuse(responder, call);
        return;
    }
    accepted.xid = header.xid;
    accepted.kind = RPCRDMA_RPC_ACCEPTED;
    accepted.status = header.procedure == 0 ? 0 : 3;
    rpcrdma_encode_rpc_reply(&accepted, octets, sizeof replies[0], &used);
    reply.head = octets;
    reply.head_length = used;
    reply.length = (uint32_t)used;
    rpcrdma_responder_reply(responder, call, &reply, &form);
}

static void send(const rpcrdma_output *output, const uint8_t *header)
{
    printf("send:");
    for (size_t i = 0; i < output->header_length; i++)
        printf(" %02x", header[i]);
    for (size_t i = 0; i < output->ranges_count; i++) {
        for (size_t j = 0; j < output->ranges[i].length; j++)
            printf(" %02x", replies[output->call & 0xffff][output->ranges[i].from + j]);
    }
    printf("\n");
}

/* Does what the Responder asks for, until there is nothing to do. Returns whether the connection goes on. */
static int serve(rpcrdma_responder *responder)
{
    uint8_t header[RPCRDMA_CALL_HEADER + 64];
    rpcrdma_output output;

    while (rpcrdma_responder_poll(responder, header, sizeof header, &output) == RPCRDMA_OK) {
        uint8_t *memory = assembled[output.call & 0xffff];

        switch (output.kind) {
        case RPCRDMA_DO_NOTHING:
            return 1;
        case RPCRDMA_DO_DELIVER:
            answer(responder, output.call, receives[output.receive] + output.from, output.length);
            break;
        case RPCRDMA_DO_DELIVER_ASSEMBLED:
            answer(responder, output.call, memory, output.length);
            break;
        case RPCRDMA_DO_PLACE:
            memcpy(memory + output.at, receives[output.receive] + output.from, output.length);
            break;
        case RPCRDMA_DO_READ: /* and RPCRDMA_IN_COMPLETED, when it is complete */
            printf("read: handle 0x%" PRIx32 " octets %" PRIu32 "\n", output.segment.handle, output.segment.length);
            break;
        case RPCRDMA_DO_RELEASE:
            printf("post receive %" PRIu32 "\n", output.receive);
            break;
        case RPCRDMA_DO_SEND:
            send(&output, header);
            break;
        default:
            return 0;
        }
    }
    return 0;
}

int main(void)
{
    static uint64_t memory[1 << 14];
    static uint8_t octets[4096];
    const rpcrdma_terms terms = {4096, 4096, 0, RPCRDMA_VERSION_1, RPCRDMA_FORMATS_ALL};
    const rpcrdma_limits limits = {1, 1, 64, 1 << 16, 0};
    rpcrdma_responder *responder = (rpcrdma_responder *)memory;
    rpcrdma_input input = {0};

    if (rpcrdma_responder_init(responder, sizeof memory, &terms, &limits, 8) != RPCRDMA_OK)
        return 1;
    receives[0] = octets;
    input.kind = RPCRDMA_IN_RECEIVED;
    input.octets = octets;
    input.length = read_dump(stdin, octets, sizeof octets);
    if (rpcrdma_responder_handle(responder, &input) != RPCRDMA_OK)
        return 1;
    return serve(responder) ? 0 : 1;
}
