/*
 * One entry of rpcrdma.h as firmware calls it: its cost is the size of the program, less that of one without an entry. The
 * endpoints make a NULL call, as src/endpoints.rs does, and the program has the other functions that a driver calls.
 */
#include <rpcrdma.h>

#include "program.h"

/* There is no C library: these are in librpcrdma.a. */
void *memset(void *to, int octet, size_t length);
void *memcpy(void *to, const void *from, size_t length);
void *memmove(void *to, const void *from, size_t length);
int memcmp(const void *one, const void *other, size_t length);

enum { CALL = 40, REPLY = 24 };

/* A value that the compiler must not know: 0. */
static volatile uint32_t zero;

static uint8_t there[1024], back[1024];

/* Every program copies memory, so this is in each of them. */
static int copy(void)
{
    memset(there, (int)zero, zero);
    memcpy(there, back, zero);
    memmove(there + 1, there, zero);
    return memcmp(there, back, zero);
}

#if defined(ENTRY_DECODE)

static int run(void)
{
    rpcrdma_message message;
    rpcrdma_decode_error error;
    rpcrdma_read_segment read;
    rpcrdma_segment_list chunk;
    rpcrdma_segment segment;
    volatile uint64_t sum = 0;

    there[7] = 1;
    if (rpcrdma_decode(there, 28 + zero, &message, &error) != RPCRDMA_OK)
        return 1;
    while (rpcrdma_next_read_segment(&message.chunks.reads, &read))
        sum += read.target.handle ^ read.target.length ^ read.target.offset;
    while (rpcrdma_next_write_chunk(&message.chunks.writes, &chunk)) {
        while (rpcrdma_next_segment(&chunk, &segment))
            sum += segment.handle ^ segment.length ^ segment.offset;
    }
    while (rpcrdma_next_segment(&message.chunks.reply, &segment))
        sum += segment.handle ^ segment.length ^ segment.offset;
    return 0;
}

#elif defined(ENTRY_ENDPOINTS)

static rpcrdma_requester_memory requester_memory;
static rpcrdma_responder_memory responder_memory;
static rpcrdma_requester *const requester = (rpcrdma_requester *)&requester_memory;
static rpcrdma_responder *const responder = (rpcrdma_responder *)&responder_memory;
#ifdef RPCRDMA_HAS_VERSION_2
static rpcrdma_channel_memory channel_memory;
static rpcrdma_channel *const channel = (rpcrdma_channel *)&channel_memory;
#endif

static int set_up(void)
{
    const rpcrdma_terms terms = {1024, 1024, 0, RPCRDMA_VERSION_1, RPCRDMA_FORMATS_ALL};
    const rpcrdma_limits limits = {RPCRDMA_CALL_CHUNKS, RPCRDMA_CALL_CHUNKS, 16, 65536, 0};

#ifdef RPCRDMA_HAS_VERSION_2
    rpcrdma_properties properties;

    if (rpcrdma_default_properties(&properties) != RPCRDMA_OK ||
        rpcrdma_channel_init(channel, sizeof channel_memory, RPCRDMA_CLIENT, RPCRDMA_VERSION_1, &properties, RPCRDMA_BUILD) !=
            RPCRDMA_OK)
        return 0;
#endif
    return rpcrdma_requester_init(requester, sizeof requester_memory, &terms, RPCRDMA_CALLS, 65536, RPCRDMA_BUILD) ==
               RPCRDMA_OK &&
           rpcrdma_responder_init(responder, sizeof responder_memory, &terms, &limits, RPCRDMA_CALLS, RPCRDMA_BUILD) ==
               RPCRDMA_OK;
}

/* The Responder's end: it answers the call with an empty reply. */
static int serve(size_t length)
{
    static const uint8_t head[REPLY] = {0, 0, 0, 7, 0, 0, 0, 1};
    const rpcrdma_reply reply = {head, REPLY, REPLY, 0, NULL, 0};
    rpcrdma_input input = {0};
    rpcrdma_output output;
    uint32_t form;

    input.kind = RPCRDMA_IN_RECEIVED;
    input.octets = there;
    input.length = length;
    if (rpcrdma_responder_handle(responder, &input) != RPCRDMA_OK)
        return 0;
    while (rpcrdma_responder_poll(responder, back, sizeof back, &output) == RPCRDMA_OK) {
        switch (output.kind) {
        case RPCRDMA_DO_NOTHING:
            return 1;
        case RPCRDMA_DO_DELIVER:
            if (rpcrdma_responder_reply(responder, output.call, &reply, &form) != RPCRDMA_OK)
                return 0;
            break;
        case RPCRDMA_DO_SEND:
            memcpy(back + output.header_length, head, REPLY);
            break;
        }
    }
    return 0;
}

/* Calls the other functions that a driver uses, so that the program contains them. */
static void whatever(void)
{
    rpcrdma_input input = {0};
    rpcrdma_range padding[RPCRDMA_CALL_CHUNKS];
    uint32_t xid, length;

    rpcrdma_requester_cancel(requester, zero);
    rpcrdma_responder_refuse(responder, zero);
    rpcrdma_responder_find(responder, zero, &xid, &length, &padding);
    input.kind = RPCRDMA_IN_DISCONNECTED;
    rpcrdma_requester_handle(requester, &input);
    rpcrdma_responder_handle(responder, &input);
#ifdef RPCRDMA_HAS_VERSION_2
    rpcrdma_available available;
    rpcrdma_arrival arrival;
    rpcrdma_terms calls, answers;
    size_t sent;

    rpcrdma_channel_available(channel, 5, 0, 0, &available);
    rpcrdma_requester_permit(requester, available.messages);
    rpcrdma_responder_permit(responder, available.messages);
    rpcrdma_channel_received(channel, there, sizeof there, &arrival);
    rpcrdma_channel_poll(channel, 5, back, sizeof back, &sent);
    rpcrdma_channel_send(channel, 5, back, 28);
    rpcrdma_channel_terms(channel, RPCRDMA_REMOTE_INVALIDATION, &calls, &answers);
#endif
}

static int run(void)
{
    static const uint8_t head[CALL] = {0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0x86, 0xa3, 0, 0, 0, 3};
    const rpcrdma_call call = {head, CALL, CALL, REPLY, NULL, 0, NULL, 0, 0};
    rpcrdma_input input = {0};
    rpcrdma_output output;
    uint64_t id;
    int is_done = 0;

    if (!set_up() || rpcrdma_requester_call(requester, &call, &id) != RPCRDMA_OK ||
        rpcrdma_requester_poll(requester, there, sizeof there, &output) != RPCRDMA_OK || output.kind != RPCRDMA_DO_SEND)
        return 1;
    memcpy(there + output.header_length, head, CALL);
    if (!serve(output.header_length + CALL))
        return 2;
    input.kind = RPCRDMA_IN_SENT;
    input.call = id;
    rpcrdma_requester_handle(requester, &input);
    input.kind = RPCRDMA_IN_RECEIVED;
    input.octets = back;
    input.length = 28 + REPLY;
    rpcrdma_requester_handle(requester, &input);
    while (rpcrdma_requester_poll(requester, there, sizeof there, &output) == RPCRDMA_OK && output.kind != RPCRDMA_DO_NOTHING)
        is_done |= output.kind == RPCRDMA_DO_DONE && output.end == RPCRDMA_END_REPLY;
    if (zero)
        whatever();
    return is_done ? 0 : 3;
}

#else

static int run(void)
{
    return 0;
}

#endif

int firmware(void)
{
    return copy() | run();
}
