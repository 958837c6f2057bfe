/* The receive path of an NFS server that answers NULL calls: what it does with one Receive, given as a hex dump on the standard
 * input. Where it would talk to an adapter, it prints what it would say. */
#include <rpcrdma.h>

#include "hex.h"

/* By the low 16 bits of a call's name: its reply, and memory in which it is put together. The Receive, and the header of a Send. */
static uint8_t replies[RPCRDMA_CALLS][24], assembled[RPCRDMA_CALLS][1 << 16], receive[4096], header[4096];

/* Answers an RPC Call: success without results, or no such procedure. */
static void answer(rpcrdma_responder *responder, uint64_t call, const uint8_t *payload, size_t length)
{
    rpcrdma_rpc_reply accepted;
    rpcrdma_reply reply = {.head = replies[call & 0xffff]};
    rpcrdma_rpc_call request;
    rpcrdma_decode_error error;
    uint32_t form;

    if (rpcrdma_decode_rpc_call(payload, length, &request, &error) != RPCRDMA_OK) {
        rpcrdma_responder_refuse(responder, call);
        return;
    }
    accepted = (rpcrdma_rpc_reply){.kind = RPCRDMA_RPC_ACCEPTED, .xid = request.xid, .status = request.procedure ? 3 : 0};
    rpcrdma_encode_rpc_reply(&accepted, replies[call & 0xffff], sizeof replies[0], &reply.head_length);
    reply.length = (uint32_t)reply.head_length;
    rpcrdma_responder_reply(responder, call, &reply, &form);
}

/* Does what the Responder asks for, until there is nothing to do. Returns whether the connection goes on. */
static int serve(rpcrdma_responder *responder)
{
    rpcrdma_output output;

    while (rpcrdma_responder_poll(responder, header, sizeof header, &output) == RPCRDMA_OK) {
        uint8_t *memory = assembled[output.call & 0xffff], *head = replies[output.call & 0xffff];

        switch (output.kind) {
        case RPCRDMA_DO_NOTHING:
            return 1;
        case RPCRDMA_DO_DELIVER:
        case RPCRDMA_DO_DELIVER_ASSEMBLED:
            answer(responder, output.call, output.kind == RPCRDMA_DO_DELIVER ? receive + output.from : memory, output.length);
            break;
        case RPCRDMA_DO_PLACE:
            memcpy(memory + output.at, receive + output.from, output.length);
            break;
        case RPCRDMA_DO_READ: /* and RPCRDMA_IN_COMPLETED, when it is complete */
            printf("read: handle 0x%x octets %u\n", (unsigned)output.segment.handle, (unsigned)output.segment.length);
            break;
        case RPCRDMA_DO_RELEASE:
            printf("post receive %u\n", (unsigned)output.receive);
            break;
        case RPCRDMA_DO_SEND:
            printf("send:");
            print_octets(header, output.header_length);
            for (size_t i = 0; i < output.ranges_count; i++)
                print_octets(head + output.ranges[i].from, output.ranges[i].length);
            printf("\n");
            break;
        default:
            return 0;
        }
    }
    return 0;
}

int main(void)
{
    static rpcrdma_responder_memory memory;
    const rpcrdma_terms terms = {4096, 4096, 0, RPCRDMA_VERSION_1, RPCRDMA_FORMATS_ALL};
    const rpcrdma_limits limits = {1, 1, 64, sizeof assembled[0], 0};
    rpcrdma_responder *responder = (rpcrdma_responder *)&memory;
    rpcrdma_input input = {.kind = RPCRDMA_IN_RECEIVED, .octets = receive};

    input.length = read_dump(stdin, receive, sizeof receive);
    if (rpcrdma_responder_init(responder, sizeof memory, &terms, &limits, 1, RPCRDMA_BUILD) != RPCRDMA_OK ||
        rpcrdma_responder_handle(responder, &input) != RPCRDMA_OK)
        return 1;
    return serve(responder) ? 0 : 1;
}
