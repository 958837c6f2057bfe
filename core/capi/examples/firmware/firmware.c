/*
 * A server on a board without an operating system, to be copied: it decodes each Send that the adapter has put into its Receive,
 * gives it to a Responder, and does what the Responder asks for. Here the adapter is memory, and the server prints what a driver
 * would tell its adapter. It answers a NULL call of 40 octets twice: one that came in the Send, and one that the server
 * has to read from the client's memory (RFC 8166 section 3.5.2).
 */
#include <rpcrdma.h>

#include "program.h"

/* There is no C library: these are in librpcrdma.a. */
void *memcpy(void *to, const void *from, size_t length);
void *memset(void *to, int octet, size_t length);

enum { RECEIVE = 1024, CALL = 40, REPLY = 24, HEADER = 1024 };

/* The RPC Call: NULL of NFS version 4, without credential and verifier. */
static const uint8_t null_call[CALL] = {0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0x86, 0xa3, 0, 0, 0, 4};

/* RDMA_MSG without chunks, before the RPC Call; and RDMA_NOMSG with a Position-Zero Read chunk of one segment: handle 0x1234, CALL
 * octets, offset 0x5000. */
static const uint8_t inline_header[] = {0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
static const uint8_t long_header[] = {0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x12, 0x34,
                                      0, 0, 0, CALL, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

/* Memory of the driver: a Receive, the header of a Send, and by the low 16 bits of a call's name, its reply, and memory in which
 * the call is put together. */
static uint8_t receive[RECEIVE], header[HEADER], replies[RPCRDMA_CALLS][REPLY], assembled[RPCRDMA_CALLS][CALL];
static rpcrdma_responder_memory memory;
static rpcrdma_responder *const responder = (rpcrdma_responder *)&memory;

static void print_number(const char *before, uint64_t number, const char *after)
{
    char text[21], *digit = text + sizeof text - 1;

    *digit = 0;
    do
        *--digit = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    print(before);
    print(digit);
    print(after);
}

static void print_octets(const char *before, const uint8_t *octets, size_t length)
{
    char text[] = " 00";

    print(before);
    for (size_t i = 0; i < length; i++) {
        text[1] = "0123456789abcdef"[octets[i] >> 4];
        text[2] = "0123456789abcdef"[octets[i] & 15];
        print(text);
    }
    print("\n");
}

/* Decodes a Send by itself, as a program does that only looks on. */
static int decode(size_t length)
{
    rpcrdma_message message;
    rpcrdma_decode_error error = {0};
    rpcrdma_read_segment segment;

    if (rpcrdma_decode(receive, length, &message, &error) != RPCRDMA_OK) {
        print_number("no header: see octet ", error.offset, "\n");
        return 0;
    }
    print_number("Send with xid ", message.xid, "");
    print_number(", procedure ", message.procedure, "");
    print_number(", header of ", message.header_length, " octets\n");
    while (rpcrdma_next_read_segment(&message.chunks.reads, &segment))
        print_number("  Read segment of ", segment.target.length, " octets\n");
    return 1;
}

/* The upper layer: each procedure but NULL is refused (PROC_UNAVAIL is 3, RFC 5531 section 9). */
static int answer(uint64_t call, const uint8_t *octets, size_t length)
{
    uint8_t *octets_of_reply = replies[call & 0xffff];
    rpcrdma_rpc_reply accepted = {0};
    rpcrdma_reply reply = {0};
    rpcrdma_rpc_call request;
    rpcrdma_decode_error error;
    uint32_t form;

    if (rpcrdma_decode_rpc_call(octets, length, &request, &error) != RPCRDMA_OK)
        return rpcrdma_responder_refuse(responder, call) == RPCRDMA_OK;
    print_number("call of procedure ", request.procedure, "\n");
    accepted.kind = RPCRDMA_RPC_ACCEPTED;
    accepted.xid = request.xid;
    accepted.status = request.procedure ? 3 : 0;
    if (rpcrdma_encode_rpc_reply(&accepted, octets_of_reply, REPLY, &reply.head_length) != RPCRDMA_OK)
        return 0;
    reply.head = octets_of_reply;
    reply.length = (uint32_t)reply.head_length;
    return rpcrdma_responder_reply(responder, call, &reply, &form) == RPCRDMA_OK;
}

/* An RDMA Read: a driver posts it, and reports its completion later. */
static int read_from_client(const rpcrdma_output *output)
{
    rpcrdma_input input = {0};

    print_number("RDMA Read of ", output->segment.length, " octets");
    print_number(" from handle ", output->segment.handle, "");
    print_number(" and offset ", output->segment.offset, "\n");
    memcpy(assembled[output->call & 0xffff] + output->at, null_call, output->segment.length);
    input.kind = RPCRDMA_IN_COMPLETED;
    input.call = output->call;
    return rpcrdma_responder_handle(responder, &input) == RPCRDMA_OK;
}

/* A Send: the header, and the ranges of the reply behind it. */
static int send_to_client(const rpcrdma_output *output)
{
    const uint8_t *reply = replies[output->call & 0xffff];

    print_octets("Send:", header, output->header_length);
    for (size_t i = 0; i < output->ranges_count; i++)
        print_octets("  and:", reply + output->ranges[i].from, output->ranges[i].length);
    return 1;
}

/* Does what the Responder asks for, until there is nothing to do; returns 0 if the connection has to end. */
static int serve(void)
{
    rpcrdma_output output;

    while (rpcrdma_responder_poll(responder, header, sizeof header, &output) == RPCRDMA_OK) {
        uint8_t *whole = assembled[output.call & 0xffff];
        int goes_on = 1;

        switch (output.kind) {
        case RPCRDMA_DO_NOTHING:
            return 1;
        case RPCRDMA_DO_PLACE: /* a part of the call that came in the Send */
            memcpy(whole + output.at, receive + output.from, output.length);
            break;
        case RPCRDMA_DO_READ:
            goes_on = read_from_client(&output);
            break;
        case RPCRDMA_DO_DELIVER:
            goes_on = answer(output.call, receive + output.from, output.length);
            break;
        case RPCRDMA_DO_DELIVER_ASSEMBLED:
            goes_on = answer(output.call, whole, output.length);
            break;
        case RPCRDMA_DO_SEND:
            goes_on = send_to_client(&output);
            break;
        case RPCRDMA_DO_RELEASE: /* the Receive can be posted again */
            memset(receive, 0xa5, sizeof receive);
            break;
        default: /* RPCRDMA_DO_CLOSE, and what needs Write chunks, of which these calls have none */
            goes_on = 0;
        }
        if (!goes_on)
            return 0;
    }
    return 0;
}

/* The adapter has put a Send into the Receive. */
static int arrive(const uint8_t *octets, size_t length, size_t call_length)
{
    rpcrdma_input input = {0};

    memcpy(receive, octets, length);
    memcpy(receive + length, null_call, call_length);
    input.kind = RPCRDMA_IN_RECEIVED;
    input.octets = receive;
    input.length = length + call_length;
    return decode(input.length) && rpcrdma_responder_handle(responder, &input) == RPCRDMA_OK && serve();
}

int firmware(void)
{
    /* The inline thresholds of both ends; one Read and one Write chunk, calls of at most CALL octets. */
    const rpcrdma_terms terms = {RECEIVE, RECEIVE, 0, RPCRDMA_VERSION_1, RPCRDMA_FORMATS_ALL};
    const rpcrdma_limits limits = {1, 1, 4, CALL, 0};

    if (rpcrdma_responder_init(responder, sizeof memory, &terms, &limits, 1, RPCRDMA_BUILD) != RPCRDMA_OK)
        return 1;
    return arrive(inline_header, sizeof inline_header, CALL) && arrive(long_header, sizeof long_header, 0) ? 0 : 1;
}
