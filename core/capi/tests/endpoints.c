/*
 * Two ends of a connection, in memory, that call each other: with each version, with messages of every size. Whatever is called
 * and answered has to arrive as it was sent, and no memory stays registered. It uses rpcrdma.h alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rpcrdma.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

/* Segments are so long that each call has as few of them as the library may have been built for. */
enum { CREDITS = RPCRDMA_CALLS < 8 ? RPCRDMA_CALLS : 8, SEGMENT = RPCRDMA_SEGMENTS < 16 ? 12000 : 4096 };
enum { CALLS = 4, RECEIVES = 48, SEND = 4096, MESSAGE = 12000, HEADER = 40, REPLY_HEADER = 24, REGIONS = 64, ROUNDS = 300 };

/* A call, with memory for all that belongs to it. As a caller's, it is in use from the call to its end. */
struct call {
    uint32_t xid;
    uint32_t data, results; /* octets of arguments and of results */
    uint8_t message[MESSAGE], reply[MESSAGE], placed[MESSAGE];
};

/* Memory that the other end can reach. */
struct region {
    uint32_t handle; /* 0 for none */
    uint8_t *start;
    uint32_t length;
};

struct end {
#ifdef RPCRDMA_HAS_VERSION_2
    rpcrdma_channel *channel;
#endif
    rpcrdma_requester *requester;
    rpcrdma_responder *responder;
    struct end *peer;
    uint8_t receives[RECEIVES][SEND];
    size_t lengths[RECEIVES];
    uint32_t invalidated[RECEIVES]; /* a handle, or 0 */
    uint8_t posted[RECEIVES];
    uint32_t arrived[RECEIVES], first, count; /* Receives with a Send that was not looked at, the oldest first */
    struct region regions[REGIONS];
    struct call calls[RPCRDMA_CALLS], answers[RPCRDMA_CALLS]; /* by the low 16 bits of the name of a call */
    uint32_t next_xid, last_handle, begun, ended, errors, long_replies, continued_replies;
    int both;
};

static struct end ends[2];
static rpcrdma_requester_memory requesters[2];
static rpcrdma_responder_memory responders[2];
#ifdef RPCRDMA_HAS_VERSION_2
static rpcrdma_channel_memory channels[2];
#endif
static uint32_t version;

static uint32_t chance = 1;

static uint32_t below(uint32_t limit)
{
    chance = chance * 1664525 + 1013904223;
    return (chance >> 8) % limit;
}

static void put(uint8_t *at, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(word >> (24 - 8 * i));
}

static uint32_t get(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Arguments and results: their count, then octets that follow from the XID. Zeros fill them up to a multiple of four. */
static size_t write_data(uint8_t *at, uint32_t xid, uint32_t length)
{
    put(at, length);
    for (uint32_t i = 0; i < (length + 3) / 4 * 4; i++)
        at[4 + i] = i < length ? (uint8_t)(xid * 7 + i) : 0;
    return 4 + (length + 3) / 4 * 4;
}

static int is_data(const uint8_t *at, uint32_t xid, uint32_t length)
{
    if (get(at) != length)
        return 0;
    for (uint32_t i = 0; i < length; i++) {
        if (at[4 + i] != (uint8_t)(xid * 7 + i))
            return 0;
    }
    return 1;
}

/* --- Memory and Sends ------------------------------------------------------------------------------------------------- */

static struct region *find(struct end *end, uint32_t handle)
{
    for (uint32_t i = 0; i < REGIONS; i++) {
        if (end->regions[i].handle == handle)
            return &end->regions[i];
    }
    CHECK(!"it is registered, and there is room for each region");
    return NULL;
}

/* A handle is not used again before all others were. */
static uint32_t expose(struct end *end, uint8_t *start, uint32_t length)
{
    struct region *region = find(end, 0);

    region->handle = ++end->last_handle;
    region->start = start;
    region->length = length;
    return region->handle;
}

static void hide(struct end *end, uint32_t handle)
{
    find(end, handle)->handle = 0;
}

static uint8_t *reach(struct end *end, const rpcrdma_segment *segment)
{
    const struct region *region = find(end, segment->handle);

    CHECK(segment->offset >= 0x1000 && segment->offset - 0x1000 + segment->length <= region->length);
    return region->start + (segment->offset - 0x1000);
}

static uint32_t room(struct end *end, uint32_t answers)
{
    rpcrdma_responder_counts counts;
    uint32_t posted = answers, taken;

    CHECK(rpcrdma_responder_count(end->responder, &counts) == RPCRDMA_OK);
    for (uint32_t i = 0; i < RECEIVES; i++)
        posted += end->posted[i];
    taken = 1 + (counts.occupied > answers ? counts.occupied : answers);
    return posted > taken ? posted - taken : 0;
}

static void post(struct end *to, const uint8_t *octets, size_t length, uint32_t invalidate)
{
    for (uint32_t i = 0; i < RECEIVES; i++) {
        if (to->posted[i]) {
            CHECK(length <= SEND);
            to->posted[i] = 0;
            memcpy(to->receives[i], octets, length);
            to->lengths[i] = length;
            to->invalidated[i] = invalidate;
            if (invalidate != 0)
                hide(to, invalidate);
            to->arrived[(to->first + to->count++) % RECEIVES] = i;
            return;
        }
    }
    CHECK(!"there is a Receive for each Send");
}

static void send(struct end *end, const rpcrdma_output *output, uint8_t *buffer, const uint8_t *stream, uint32_t room)
{
    size_t length = output->header_length;

    for (size_t i = 0; i < output->ranges_count; i++) {
        CHECK(length + output->ranges[i].length <= SEND);
        memcpy(buffer + length, stream + output->ranges[i].from, output->ranges[i].length);
        length += output->ranges[i].length;
    }
#ifdef RPCRDMA_HAS_VERSION_2
    if (end->channel != NULL)
        CHECK(rpcrdma_channel_send(end->channel, room, buffer, output->header_length) == RPCRDMA_OK);
#else
    (void)room;
#endif
    post(end->peer, buffer, length, output->kind == RPCRDMA_DO_SEND_INVALIDATING ? output->handle : 0);
}

/* --- What the endpoints ask for --------------------------------------------------------------------------------------- */

static void tell_requester(struct end *end, const rpcrdma_input *input)
{
    CHECK(rpcrdma_requester_handle(end->requester, input) == RPCRDMA_OK);
}

static void register_memory(struct end *end, struct call *call, const rpcrdma_output *output)
{
    rpcrdma_input input = {0};
    uint8_t *from = output->kind == RPCRDMA_DO_REGISTER_ARGUMENT ? call->message
                    : output->kind == RPCRDMA_DO_REGISTER_REPLY  ? call->reply
                                                                 : call->placed;

    input.kind = below(200) == 0 ? RPCRDMA_IN_NOT_REGISTERED : RPCRDMA_IN_REGISTERED;
    input.call = output->call;
    input.region = output->region;
    if (input.kind == RPCRDMA_IN_REGISTERED) {
        CHECK(output->ranges_count == 1 && output->ranges[0].from + output->ranges[0].length <= MESSAGE);
        input.handle = expose(end, from + output->ranges[0].from, output->ranges[0].length);
        input.offset = 0x1000;
    }
    tell_requester(end, &input);
}

/* The reply has to be what the other end says to this XID. The result may be in its Write chunk, and not in the reply. */
static void done(struct end *end, const rpcrdma_output *output)
{
    struct call *call = &end->calls[output->call & 0xffff];
    const uint8_t *reply = call->reply;

    switch (output->end) {
    case RPCRDMA_END_REPLY:
        reply = end->receives[output->receive] + output->from;
        break;
    case RPCRDMA_END_LONG_REPLY:
        end->long_replies++;
        break;
    case RPCRDMA_END_CONTINUED_REPLY:
        end->continued_replies++;
        break;
    case RPCRDMA_END_NOT_REGISTERED:
    case RPCRDMA_END_CANCELLED:
        end->errors++;
        call->xid = 0;
        end->ended++;
        return;
    default:
        fprintf(stderr, "end %u, error %u\n", output->end, output->error);
        CHECK(!"it is answered");
    }
    CHECK(get(reply) == call->xid && get(reply + 4) == 1);
    if (output->results_count == 1 && output->results[0] > 0) {
        uint8_t expected[MESSAGE];

        CHECK(output->length == REPLY_HEADER + 4 && output->results[0] == call->results);
        write_data(expected, call->xid, call->results);
        CHECK(get(reply + REPLY_HEADER) == call->results && memcmp(call->placed, expected + 4, call->results) == 0);
    } else {
        CHECK(output->length == REPLY_HEADER + 4 + (call->results + 3) / 4 * 4);
        CHECK(is_data(reply + REPLY_HEADER, call->xid, call->results));
    }
    if (output->end == RPCRDMA_END_REPLY)
        end->posted[output->receive] = 1;
    call->xid = 0;
    end->ended++;
}

/* In version 2, the channel says how many messages may be sent. */
static void permit_requester(struct end *end, uint32_t room)
{
#ifdef RPCRDMA_HAS_VERSION_2
    rpcrdma_requester_counts counts;
    rpcrdma_responder_counts owed;
    rpcrdma_available available;

    if (end->channel == NULL)
        return;
    CHECK(rpcrdma_requester_count(end->requester, &counts) == RPCRDMA_OK);
    CHECK(rpcrdma_responder_count(end->responder, &owed) == RPCRDMA_OK);
    CHECK(rpcrdma_channel_available(end->channel, room, owed.owed, counts.awaited, &available) == RPCRDMA_OK);
    CHECK(rpcrdma_requester_permit(end->requester, end->both ? available.calls : available.messages) == RPCRDMA_OK);
#else
    (void)end;
    (void)room;
#endif
}

static int poll_requester(struct end *end)
{
    rpcrdma_output output;
    rpcrdma_input input = {0};
    uint8_t buffer[SEND];
    uint32_t now = room(end, 0);
    struct call *call;

    permit_requester(end, now);
    CHECK(rpcrdma_requester_poll(end->requester, buffer, sizeof buffer, &output) == RPCRDMA_OK);
    call = &end->calls[output.call & 0xffff];
    input.call = output.call;
    input.region = output.region;
    switch (output.kind) {
    case RPCRDMA_DO_NOTHING:
        return 0;
    case RPCRDMA_DO_REGISTER_ARGUMENT:
    case RPCRDMA_DO_REGISTER_RESULT:
    case RPCRDMA_DO_REGISTER_REPLY:
        register_memory(end, call, &output);
        break;
    case RPCRDMA_DO_SEND:
        send(end, &output, buffer, call->message, now);
        input.kind = RPCRDMA_IN_SENT;
        tell_requester(end, &input);
        break;
    case RPCRDMA_DO_PLACE:
        CHECK(output.at + output.length <= MESSAGE);
        memcpy(call->reply + output.at, end->receives[output.receive] + output.from, (size_t)output.length);
        break;
    case RPCRDMA_DO_INVALIDATE:
        hide(end, output.handle);
        input.kind = RPCRDMA_IN_INVALIDATED;
        tell_requester(end, &input);
        break;
    case RPCRDMA_DO_RELEASE:
        end->posted[output.receive] = 1;
        break;
    case RPCRDMA_DO_DONE:
        done(end, &output);
        break;
    default:
        CHECK(!"a Requester asks for nothing else");
    }
    return 1;
}

/* Answers a call: with as many octets of results as its procedure says, which may be reduced. */
static void answer(struct end *end, uint64_t id, const uint8_t *message, uint64_t length)
{
    struct call *call = &end->answers[id & 0xffff];
    rpcrdma_rpc_call header;
    rpcrdma_decode_error error;
    rpcrdma_item item = {REPLY_HEADER + 4, 0};
    rpcrdma_reply reply = {0};
    uint32_t form;

    CHECK(rpcrdma_decode_rpc_call(message, (size_t)length, &header, &error) == RPCRDMA_OK);
    CHECK(length == HEADER + 4 + (get(message + HEADER) + 3) / 4 * 4);
    CHECK(is_data(message + HEADER, header.xid, get(message + HEADER)));
    memset(call->reply, 0, REPLY_HEADER);
    put(call->reply, header.xid);
    put(call->reply + 4, 1);
    item.length = header.procedure;
    reply.length = REPLY_HEADER + (uint32_t)write_data(call->reply + REPLY_HEADER, header.xid, item.length);
    reply.head = call->reply;
    reply.head_length = reply.length < 256 ? reply.length : 256;
    reply.results = &item;
    reply.results_count = item.length > 0;
    CHECK(rpcrdma_responder_reply(end->responder, id, &reply, &form) == RPCRDMA_OK);
    CHECK(form == RPCRDMA_FORM_SHORT || form == RPCRDMA_FORM_LONG || form == RPCRDMA_FORM_CONTINUED);
}

static void permit_responder(struct end *end)
{
#ifdef RPCRDMA_HAS_VERSION_2
    rpcrdma_available available;

    if (end->channel == NULL)
        return;
    CHECK(rpcrdma_channel_available(end->channel, room(end, 1), 0, 0, &available) == RPCRDMA_OK);
    CHECK(rpcrdma_responder_permit(end->responder, end->both ? available.replies : available.messages) == RPCRDMA_OK);
#else
    (void)end;
#endif
}

static int poll_responder(struct end *end)
{
    rpcrdma_output output;
    rpcrdma_input input = {0};
    uint8_t buffer[SEND];
    struct call *call;

    permit_responder(end);
    CHECK(rpcrdma_responder_poll(end->responder, buffer, sizeof buffer, &output) == RPCRDMA_OK);
    call = &end->answers[output.call & 0xffff];
    input.kind = RPCRDMA_IN_COMPLETED;
    input.call = output.call;
    switch (output.kind) {
    case RPCRDMA_DO_NOTHING:
        return 0;
    case RPCRDMA_DO_RELEASE:
        end->posted[output.receive] = 1;
        break;
    case RPCRDMA_DO_PLACE:
        CHECK(output.at + output.length <= MESSAGE);
        memcpy(call->message + output.at, end->receives[output.receive] + output.from, (size_t)output.length);
        break;
    case RPCRDMA_DO_READ:
        CHECK(output.at + output.segment.length <= MESSAGE);
        memcpy(call->message + output.at, reach(end->peer, &output.segment), output.segment.length);
        CHECK(rpcrdma_responder_handle(end->responder, &input) == RPCRDMA_OK);
        break;
    case RPCRDMA_DO_DELIVER:
        answer(end, output.call, end->receives[output.receive] + output.from, output.length);
        break;
    case RPCRDMA_DO_DELIVER_ASSEMBLED:
        answer(end, output.call, call->message, output.length);
        break;
    case RPCRDMA_DO_WRITE:
        memcpy(reach(end->peer, &output.segment), call->reply + output.at, (size_t)output.length);
        break;
    case RPCRDMA_DO_SEND:
    case RPCRDMA_DO_SEND_INVALIDATING:
        send(end, &output, buffer, call->reply, room(end, 0));
        break;
    default:
        CHECK(!"a Responder asks for nothing else");
    }
    return 1;
}

/* --- What arrives ------------------------------------------------------------------------------------------------------ */

#ifdef RPCRDMA_HAS_VERSION_2
/* In version 2, what applies to calls is known once the other end has spoken. */
static void agree(struct end *end)
{
    rpcrdma_terms calls, answers;
    rpcrdma_segment_limits limits;

    CHECK(rpcrdma_channel_terms(end->channel, RPCRDMA_REMOTE_INVALIDATION, &calls, &answers) == RPCRDMA_OK);
    CHECK(rpcrdma_channel_segment_limits(end->channel, &limits) == RPCRDMA_OK && limits.count == 16);
    CHECK(rpcrdma_requester_agree(end->requester, &calls) == RPCRDMA_OK);
    CHECK(rpcrdma_requester_limit_segments(end->requester, &limits) == RPCRDMA_OK);
    CHECK(rpcrdma_responder_agree(end->responder, &answers) == RPCRDMA_OK);
}

/* Whom a Send is for, of those that version 2 has. */
static uint32_t arrived(struct end *end, const uint8_t *octets, size_t length)
{
    rpcrdma_arrival arrival;

    if (end->channel == NULL)
        return RPCRDMA_ARRIVED_VERSION_1;
    CHECK(rpcrdma_channel_received(end->channel, octets, length, &arrival) == RPCRDMA_OK);
    if (arrival.kind == RPCRDMA_ARRIVED_PROPERTIES)
        agree(end);
    if (arrival.kind == RPCRDMA_ARRIVED_PROPERTIES || arrival.kind == RPCRDMA_ARRIVED_NOTHING)
        return 0;
    return arrival.kind == RPCRDMA_ARRIVED_CALL_PART ? RPCRDMA_ARRIVED_CALL : arrival.kind;
}
#else
static uint32_t arrived(struct end *end, const uint8_t *octets, size_t length)
{
    (void)end;
    (void)octets;
    (void)length;
    return RPCRDMA_ARRIVED_VERSION_1;
}
#endif

static int receive(struct end *end)
{
    rpcrdma_responder_counts counts;
    rpcrdma_input input = {0};
    uint32_t at, kind;

    CHECK(rpcrdma_responder_count(end->responder, &counts) == RPCRDMA_OK);
    if (end->count == 0 || !counts.has_place)
        return 0;
    at = end->arrived[end->first];
    end->first = (end->first + 1) % RECEIVES;
    end->count--;
    kind = arrived(end, end->receives[at], end->lengths[at]);
    if (kind == RPCRDMA_ARRIVED_VERSION_1)
        CHECK(rpcrdma_direction(end->requester, end->receives[at], end->lengths[at], &kind) == RPCRDMA_OK);
    input.receive = at;
    input.octets = end->receives[at];
    input.length = end->lengths[at];
    input.handle = end->invalidated[at];
    input.kind = input.handle != 0 ? RPCRDMA_IN_RECEIVED_INVALIDATING : RPCRDMA_IN_RECEIVED;
    switch (kind) {
    case RPCRDMA_ARRIVED_REPLY:
        tell_requester(end, &input);
        return 1;
    case RPCRDMA_ARRIVED_CALL:
        CHECK(rpcrdma_responder_handle(end->responder, &input) == RPCRDMA_OK);
        return 1;
    case 0: /* neither of them */
        break;
    default:
        CHECK(!"both ends are sound");
    }
    end->posted[at] = 1;
    return 1;
}

static int step(struct end *end)
{
#ifdef RPCRDMA_HAS_VERSION_2
    uint8_t buffer[SEND];
    size_t length;
    rpcrdma_status status = RPCRDMA_NOT_FOUND;

    if (end->channel != NULL)
        status = rpcrdma_channel_poll(end->channel, room(end, 0), buffer, sizeof buffer, &length);
    if (status == RPCRDMA_OK) {
        post(end->peer, buffer, length, 0);
        return 1;
    }
    CHECK(status == RPCRDMA_NOT_FOUND);
#endif
    /* Whatever was asked for is done before anything else arrives. */
    return poll_requester(end) || poll_responder(end) || receive(end);
}

/* --- A connection ------------------------------------------------------------------------------------------------------ */

static void begin_call(struct end *end)
{
    static const uint32_t sizes[] = {0, 5, 800, 3000, 4001, 9000};
    uint8_t message[MESSAGE] = {0};
    struct call *call;
    rpcrdma_item item = {HEADER + 4, 0};
    rpcrdma_call what = {0};
    rpcrdma_requester_counts counts;
    uint64_t id;
    uint32_t wanted = sizes[below(6)], reduces = below(2), whole = (wanted + 3) / 4 * 4;

    item.length = sizes[below(6)];
    put(message, end->next_xid);
    put(message + 8, 2);
    put(message + 12, 400000);
    put(message + 16, 1);
    put(message + 20, wanted);
    what.length = HEADER + (uint32_t)write_data(message + HEADER, end->next_xid, item.length);
    what.head = message;
    what.head_length = HEADER + 4;
    what.arguments = &item;
    what.arguments_count = item.length > 0 && below(2);
    what.results = &wanted;
    what.results_count = wanted > 0 && reduces;
    what.reply_length = REPLY_HEADER + 4 + (what.results_count ? 0 : whole);
    CHECK(rpcrdma_requester_count(end->requester, &counts) == RPCRDMA_OK);
    CHECK(rpcrdma_requester_call(end->requester, &what, &id) == (counts.is_full ? RPCRDMA_TOO_MANY : RPCRDMA_OK));
    if (counts.is_full)
        return;
    CHECK((id & 0xffff) < RPCRDMA_CALLS);
    call = &end->calls[id & 0xffff];
    CHECK(call->xid == 0);
    memcpy(call->message, message, what.length);
    call->xid = end->next_xid++;
    call->data = item.length;
    call->results = wanted;
    end->begun++;
}

#ifdef RPCRDMA_HAS_VERSION_2
static void set_up_channel(struct end *end, uint32_t side)
{
    rpcrdma_properties properties;

    CHECK(rpcrdma_default_properties(&properties) == RPCRDMA_OK && properties.send_size == SEND);
    properties.reverse_direction = RPCRDMA_REVERSE_ALL;
    end->channel = (rpcrdma_channel *)&channels[side - 1];
    CHECK(rpcrdma_channel_size() <= sizeof channels[0]);
    CHECK(rpcrdma_channel_init(end->channel, sizeof channels[0], side, version, &properties, RPCRDMA_BUILD) == RPCRDMA_OK);
    if (side == RPCRDMA_CLIENT)
        CHECK(rpcrdma_channel_authenticate(end->channel, (const uint8_t *)"who", 3) == RPCRDMA_OK);
}
#endif

/* side: 1 is the client (RPCRDMA_CLIENT), 2 the server. */
static void set_up(uint32_t side, int both)
{
    struct end *end = &ends[side - 1];
    rpcrdma_terms terms = {1024, 1024, 0, RPCRDMA_VERSION_1, RPCRDMA_FORMATS_ALL};
    const rpcrdma_limits limits = {1, 1, 64, MESSAGE, 1 << 20};

    memset(end, 0, sizeof *end);
    memset(end->posted, 1, sizeof end->posted);
    end->peer = &ends[2 - side];
    end->next_xid = side * 100000;
    end->both = both;
    end->requester = (rpcrdma_requester *)&requesters[side - 1];
    end->responder = (rpcrdma_responder *)&responders[side - 1];
#ifdef RPCRDMA_HAS_VERSION_2
    if (version != RPCRDMA_VERSION_1)
        set_up_channel(end, side);
#endif
    CHECK(rpcrdma_requester_init(end->requester, sizeof requesters[0], &terms, CREDITS, SEGMENT, RPCRDMA_BUILD) ==
          RPCRDMA_OK);
    CHECK(rpcrdma_responder_init(end->responder, sizeof responders[0], &terms, &limits, CREDITS, RPCRDMA_BUILD) ==
          RPCRDMA_OK);
}

#ifdef RPCRDMA_HAS_VERSION_2
static void is_agreed(struct end *end)
{
    rpcrdma_state state;

    if (end->channel != NULL) {
        CHECK(rpcrdma_channel_state(end->channel, &state) == RPCRDMA_OK);
        CHECK(state.negotiation == RPCRDMA_AGREED && state.version == version);
    }
}

static void is_authenticated(void)
{
    const uint8_t *message;
    rpcrdma_properties properties;
    size_t length;

    CHECK(rpcrdma_channel_peer_authentication(ends[1].channel, &message, &length) == RPCRDMA_OK);
    CHECK(length == 3 && memcmp(message, "who", 3) == 0);
    CHECK(rpcrdma_channel_peer_authentication(ends[0].channel, &message, &length) == RPCRDMA_NOT_FOUND);
    CHECK(rpcrdma_channel_peer(ends[0].channel, &properties) == RPCRDMA_OK);
    CHECK(properties.receive_size == SEND && properties.reverse_direction == RPCRDMA_REVERSE_ALL);
}
#endif

static void settle(void)
{
    while (step(&ends[0]) | step(&ends[1]))
        ;
}

static void connection(uint32_t continued, int both)
{
    set_up(1, both);
    set_up(2, both);
    settle();
#ifdef RPCRDMA_HAS_VERSION_2
    is_agreed(&ends[0]);
    is_agreed(&ends[1]);
    if (version != RPCRDMA_VERSION_1)
        is_authenticated();
#endif
    for (uint32_t i = 0; i < 2; i++)
        CHECK(rpcrdma_requester_continue(ends[i].requester, continued) == RPCRDMA_OK);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t calls = 1 + below(CALLS);

        for (uint32_t i = 0; i < calls; i++)
            begin_call(&ends[both ? below(2) : 0]);
        for (uint32_t steps = below(20); steps > 0; steps--)
            step(&ends[below(2)]);
        if (below(3) == 0)
            continue;
        settle();
        CHECK(ends[0].begun == ends[0].ended && ends[1].begun == ends[1].ended);
    }
    settle();
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(ends[i].begun == ends[i].ended && ends[i].errors < ends[i].begun / 10 + 1);
        for (uint32_t region = 0; region < REGIONS; region++)
            CHECK(ends[i].regions[region].handle == 0);
        for (uint32_t at = 0; at < RECEIVES; at++)
            CHECK(ends[i].posted[at]);
    }
    CHECK(ends[0].begun > ROUNDS / 2 && (!both || ends[1].begun > ROUNDS / 2));
    CHECK((ends[0].continued_replies > 0) == (version != RPCRDMA_VERSION_1 && continued > 0));
    CHECK((ends[0].long_replies > 0) == (ends[0].continued_replies == 0));
}

/* An RDMA Read for which there is no memory, while others of the same Call are in progress: these come to their end first. */
static void not_posted(uint32_t posted)
{
    static uint8_t message[HEADER + 4 + 3000], send[1024];
    rpcrdma_item item = {HEADER + 4, 3000};
    rpcrdma_call what = {message, HEADER + 4, sizeof message, REPLY_HEADER, &item, 1, NULL, 0, 0};
    rpcrdma_input input = {0};
    rpcrdma_output output;
    struct end *client = &ends[0], *server = &ends[1];
    uint64_t id, call;

    version = RPCRDMA_VERSION_1;
    set_up(1, 0);
    set_up(2, 0);
    CHECK(rpcrdma_responder_limit(server->responder, 8, 700) == RPCRDMA_OK);
    put(message, 9);
    put(message + 8, 2);
    write_data(message + HEADER, 9, 3000);
    CHECK(rpcrdma_requester_call(client->requester, &what, &id) == RPCRDMA_OK);
    CHECK(rpcrdma_requester_poll(client->requester, send, sizeof send, &output) == RPCRDMA_OK);
    CHECK(output.kind == RPCRDMA_DO_REGISTER_ARGUMENT);
    input.kind = RPCRDMA_IN_REGISTERED;
    input.call = id;
    input.region = output.region;
    input.handle = 7;
    tell_requester(client, &input);
    CHECK(rpcrdma_requester_poll(client->requester, send, sizeof send, &output) == RPCRDMA_OK);
    CHECK(output.kind == RPCRDMA_DO_SEND);
    memcpy(send + output.header_length, message, HEADER + 4);

    input.kind = RPCRDMA_IN_RECEIVED;
    input.octets = send;
    input.length = output.header_length + HEADER + 4;
    CHECK(rpcrdma_responder_handle(server->responder, &input) == RPCRDMA_OK);
    for (uint32_t reads = 0; reads <= posted;) {
        CHECK(rpcrdma_responder_poll(server->responder, send, sizeof send, &output) == RPCRDMA_OK);
        CHECK(output.kind == RPCRDMA_DO_PLACE || output.kind == RPCRDMA_DO_RELEASE || output.kind == RPCRDMA_DO_READ);
        reads += output.kind == RPCRDMA_DO_READ;
    }
    call = input.call = output.call;
    input.kind = RPCRDMA_IN_NOT_POSTED;
    CHECK(rpcrdma_responder_handle(server->responder, &input) == RPCRDMA_OK);
    CHECK(rpcrdma_responder_handle(server->responder, &input) == RPCRDMA_UNEXPECTED);
    input.kind = RPCRDMA_IN_COMPLETED;
    for (uint32_t reads = 0; reads < posted; reads++) {
        CHECK(rpcrdma_responder_poll(server->responder, NULL, 0, &output) == RPCRDMA_OK);
        CHECK(output.kind == RPCRDMA_DO_NOTHING);
        CHECK(rpcrdma_responder_handle(server->responder, &input) == RPCRDMA_OK);
    }
    CHECK(rpcrdma_responder_poll(server->responder, send, sizeof send, &output) == RPCRDMA_OK);
    CHECK(output.kind == RPCRDMA_DO_SEND && output.call == call && output.ranges_count == 0);
    CHECK(get(send) == 9 && get(send + 12) == RPCRDMA_ERROR && get(send + 16) == RPCRDMA_ERR_CHUNK);
    CHECK(rpcrdma_responder_handle(server->responder, &input) == RPCRDMA_UNEXPECTED);
}

#ifdef RPCRDMA_HAS_VERSION_2
/* Arguments of a channel that have no meaning. */
static void bad_channels(void)
{
    rpcrdma_channel *channel = (rpcrdma_channel *)&channels[0];
    rpcrdma_properties properties, sound;
    rpcrdma_terms calls, answers;

    CHECK(rpcrdma_default_properties(&sound) == RPCRDMA_OK);
    CHECK(rpcrdma_channel_init(channel, 8, RPCRDMA_CLIENT, 7, &sound, RPCRDMA_BUILD) == RPCRDMA_NO_ROOM);
    CHECK(rpcrdma_channel_init(channel, sizeof *channels, 3, 7, &sound, RPCRDMA_BUILD) == RPCRDMA_INVALID);
    CHECK(rpcrdma_channel_init(channel, sizeof *channels, RPCRDMA_CLIENT, 0, &sound, RPCRDMA_BUILD) == RPCRDMA_INVALID);
    CHECK(rpcrdma_channel_init(channel, sizeof *channels, RPCRDMA_CLIENT, 8, &sound, RPCRDMA_BUILD) == RPCRDMA_INVALID);
    CHECK(rpcrdma_channel_init(channel, sizeof *channels, RPCRDMA_CLIENT, 7, &sound, RPCRDMA_BUILD + 1) ==
          RPCRDMA_OTHER_BUILD);
    for (int member = 0; member < 4; member++) {
        properties = sound;
        if (member == 0)
            properties.send_size = 0;
        else if (member == 1)
            properties.receive_size = 0;
        else if (member == 2)
            properties.segment_length = 0;
        else
            properties.reverse_direction = 4;
        CHECK(rpcrdma_channel_init(channel, sizeof *channels, RPCRDMA_CLIENT, 7, &properties, RPCRDMA_BUILD) ==
              RPCRDMA_INVALID);
    }
    CHECK(rpcrdma_channel_init(channel, sizeof *channels, RPCRDMA_CLIENT, 7, &sound, RPCRDMA_BUILD) == RPCRDMA_OK);
    CHECK(rpcrdma_channel_terms(channel, 2, &calls, &answers) == RPCRDMA_INVALID);
    CHECK(rpcrdma_channel_terms(channel, 0, &calls, &answers) == RPCRDMA_NOT_FOUND);
}

/* A client of both versions, whose first message comes to nothing. */
static void refused(void)
{
    rpcrdma_properties properties;
    rpcrdma_channel *channel = (rpcrdma_channel *)&channels[0];
    rpcrdma_arrival arrival;
    rpcrdma_state state;
    uint8_t send[256], answer[28] = {0};
    size_t length;

    CHECK(rpcrdma_default_properties(&properties) == RPCRDMA_OK);
    for (int lost = 0; lost < 2; lost++) {
        CHECK(rpcrdma_channel_init(channel, sizeof *channels, RPCRDMA_CLIENT, 7, &properties, RPCRDMA_BUILD) == RPCRDMA_OK);
        CHECK(rpcrdma_channel_poll(channel, 8, send, 4, &length) == RPCRDMA_NO_ROOM && length > 4);
        CHECK(rpcrdma_channel_poll(channel, 8, (uint8_t *)channel, 256, &length) == RPCRDMA_OVERLAP);
        CHECK(rpcrdma_channel_poll(channel, 8, send, sizeof send, &length) == RPCRDMA_OK);
        CHECK(rpcrdma_channel_poll(channel, 8, send, sizeof send, &length) == RPCRDMA_NOT_FOUND);
        CHECK(rpcrdma_channel_state(channel, &state) == RPCRDMA_OK && state.negotiation == RPCRDMA_PENDING);
        if (lost) {
            CHECK(rpcrdma_channel_lost(channel) == RPCRDMA_OK);
        } else {
            put(answer, get(send));
            put(answer + 4, 1); /* RDMA_ERROR, ERR_VERS: version 1 alone */
            put(answer + 8, 1);
            put(answer + 12, 4);
            put(answer + 16, 1);
            put(answer + 20, 1);
            put(answer + 24, 1);
            CHECK(rpcrdma_channel_received(channel, answer, 28, &arrival) == RPCRDMA_OK);
            CHECK(arrival.kind == RPCRDMA_ARRIVED_NOTHING);
        }
        CHECK(rpcrdma_channel_state(channel, &state) == RPCRDMA_OK && state.version == RPCRDMA_VERSION_1);
        CHECK(state.negotiation == (lost ? RPCRDMA_ELSEWHERE : RPCRDMA_AGREED));
    }
    CHECK(rpcrdma_channel_authenticate(channel, send, 513) == RPCRDMA_TOO_LONG);
    CHECK(rpcrdma_channel_lost((rpcrdma_channel *)&responders[1]) == RPCRDMA_INVALID);
}
#endif

int main(void)
{
#ifdef RPCRDMA_HAS_VERSION_2
    static const uint32_t versions[] = {RPCRDMA_VERSION_1, RPCRDMA_VERSION_2A, RPCRDMA_VERSION_2B};
#else
    static const uint32_t versions[] = {RPCRDMA_VERSION_1};
#endif

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        version = versions[i];
        connection(0, 0);
        connection(MESSAGE, 0);
        connection(0, 1);
        connection(MESSAGE, 1);
    }
    for (uint32_t posted = 0; posted < 4; posted++)
        not_posted(posted);
#ifdef RPCRDMA_HAS_VERSION_2
    bad_channels();
    refused();
#endif
    return 0;
}
