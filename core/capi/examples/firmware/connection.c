/*
 * Connections between the two ends, in memory, with faults: Sends that are damaged, memory that cannot be registered, calls
 * that are cancelled, and connections that are lost.
 */
#include "client.h"
#include "digest.h"
#include "program.h"
#include "server.h"

/* TURNS: number of events on a connection, unless it is lost before. ALL_CALLS: number of calls. */
enum { TURNS = 8000, ALL_CALLS = 2000, WORK = 64 };

/* Work that an adapter has begun, and not reported; kind is that of the input that will report it. */
typedef struct work {
    uint32_t kind;
    uint64_t call;
    uint32_t region;
    uint32_t handle;
    memory memory;
} work;

/* Nothing was changed on the way, and whatever comes has to be right; a Send was; the connection is over. */
typedef enum state { SOUND, DAMAGED, FAILED } state;

/* Number of calls with each outcome; wrong must stay 0. */
typedef struct counts_of_calls {
    uint32_t calls, answered, errors, cancelled, lost, damaged, wrong;
} counts_of_calls;

static counts_of_calls counts;

static uint64_t digest;
static client client_end;
static server server_end;
static work begun[WORK];
static uint32_t begun_count;
static state connection;
static uint64_t random;
static uint32_t version;

/* Whatever an undamaged connection brings is right. */
static void right(int is_right)
{
    counts.wrong += !is_right && connection == SOUND;
}

/* A driver that keeps its promises is never told that something cannot have happened. */
static void accepted(rpcrdma_status status)
{
    add_word(&digest, status == RPCRDMA_OK);
    counts.wrong += status != RPCRDMA_OK;
}

/* RDMA to memory that cannot be reached ends the connection. So does a Send for which there is no Receive. */
static void moved(int is_moved)
{
    if (!is_moved) {
        right(0);
        connection = FAILED;
    }
}

static void begin(uint32_t kind, const rpcrdma_output *output)
{
    work *place = &begun[begun_count];

    right(begun_count < WORK);
    if (begun_count == WORK)
        return;
    begun_count++;
    place->kind = kind;
    place->call = output->call;
    place->region = output->region;
    place->handle = output->handle;
    place->memory.kind = output->kind;
    place->memory.range = output->ranges[0];
}

/* Appends ranges of a Payload stream to a header, and says how long the Send is. */
static size_t complete(const rpcrdma_output *output, const stream *stream, uint8_t *send)
{
    size_t length = output->header_length;

    for (size_t i = 0; i < output->ranges_count; i++) {
        copy(send + length, stream->octets + output->ranges[i].from, output->ranges[i].length);
        length += output->ranges[i].length;
    }
    return length;
}

/* A Send of the client, which may be damaged on its way. */
static void send_to_server(uint8_t *send, size_t length)
{
    if (once_in(&random, 400)) {
        uint32_t octet = below(&random, 28);

        send[octet] ^= (uint8_t)(1 << below(&random, 8));
        connection = DAMAGED;
        counts.damaged++;
    }
    add_octets(&digest, send, length);
    moved(arrive(&server_end.receives, send, length, NULL));
}

static void send_to_client(const uint8_t *send, size_t length, const uint32_t *invalidated)
{
    add_octets(&digest, send, length);
    moved((!invalidated || hide(&client_end, *invalidated)) &&
          arrive(&client_end.receives, send, length, invalidated));
}

static void count(uint32_t outcome)
{
    add_word(&digest, outcome);
    switch (outcome) {
    case OUTCOME_ANSWERED:
        counts.answered++;
        break;
    case OUTCOME_ERROR:
        counts.errors++;
        break;
    case OUTCOME_CANCELLED:
        counts.cancelled++;
        break;
    case OUTCOME_LOST:
        counts.lost++;
        break;
    default:
        right(0);
    }
}

/* Does the next thing that the Requester asks for; returns 0 if there is none. */
static int poll_client(void)
{
    static uint8_t send[RECEIVE];
    static rpcrdma_output output;
    uint32_t room = client_room(&client_end);
    size_t length;

    if (poll_channel(client_end.channel, room, send, sizeof send, &length)) {
        send_to_server(send, length);
        return 1;
    }
    if (client_end.channel)
        rpcrdma_requester_permit(client_end.requester, available(client_end.channel, room));
    if (rpcrdma_requester_poll(client_end.requester, send, sizeof send, &output) != RPCRDMA_OK ||
        output.kind == RPCRDMA_DO_NOTHING)
        return 0;
    add_output(&digest, &output);
    switch (output.kind) {
    case RPCRDMA_DO_REGISTER_ARGUMENT:
    case RPCRDMA_DO_REGISTER_RESULT:
    case RPCRDMA_DO_REGISTER_REPLY:
        begin(RPCRDMA_IN_REGISTERED, &output);
        break;
    case RPCRDMA_DO_SEND:
        length = complete(&output, &called_by(&client_end, output.call)->call, send);
        if (client_end.channel)
            rpcrdma_channel_send(client_end.channel, room, send, output.header_length);
        begin(RPCRDMA_IN_SENT, &output);
        send_to_server(send, length);
        break;
    case RPCRDMA_DO_PLACE:
        copy(called_by(&client_end, output.call)->placed + output.at,
             client_end.receives.all[output.receive].octets + output.from, (size_t)output.length);
        break;
    case RPCRDMA_DO_INVALIDATE:
        begin(RPCRDMA_IN_INVALIDATED, &output);
        break;
    case RPCRDMA_DO_RELEASE:
        client_end.receives.all[output.receive].is_posted = 1;
        break;
    case RPCRDMA_DO_DONE:
        count(call_done(&client_end, &output));
        break;
    default:
        connection = FAILED;
    }
    return 1;
}

static void read_from_client(const rpcrdma_output *output)
{
    const uint8_t *octets = reach(&client_end, &output->segment);

    moved(octets && place(&server_end, output->call, output->at, octets, output->segment.length));
    begin(RPCRDMA_IN_COMPLETED, output);
}

static void write_to_client(const rpcrdma_output *output)
{
    uint8_t *octets = reach(&client_end, &output->segment);

    if (octets)
        copy(octets, reply_to(&server_end, output->call)->octets + output->at, (size_t)output->length);
    moved(octets != NULL);
}

/* Does the next thing that the Responder asks for; returns 0 if there is none. */
static int poll_server(void)
{
    static uint8_t send[RECEIVE];
    static rpcrdma_output output;
    size_t length;

    if (poll_channel(server_end.channel, server_room(&server_end, 0), send, sizeof send, &length)) {
        send_to_client(send, length, NULL);
        return 1;
    }
    if (server_end.channel)
        rpcrdma_responder_permit(server_end.responder, available(server_end.channel, server_room(&server_end, 1)));
    if (rpcrdma_responder_poll(server_end.responder, send, sizeof send, &output) != RPCRDMA_OK ||
        output.kind == RPCRDMA_DO_NOTHING)
        return 0;
    add_output(&digest, &output);
    switch (output.kind) {
    case RPCRDMA_DO_RELEASE:
        server_end.receives.all[output.receive].is_posted = 1;
        break;
    case RPCRDMA_DO_PLACE:
        right(place(&server_end, output.call, output.at, server_end.receives.all[output.receive].octets + output.from,
                    (size_t)output.length));
        break;
    case RPCRDMA_DO_READ:
        read_from_client(&output);
        break;
    case RPCRDMA_DO_DELIVER:
    case RPCRDMA_DO_DELIVER_ASSEMBLED:
        right(deliver(&server_end, &output));
        break;
    case RPCRDMA_DO_WRITE:
        write_to_client(&output);
        break;
    case RPCRDMA_DO_SEND:
    case RPCRDMA_DO_SEND_INVALIDATING:
        length = complete(&output, reply_to(&server_end, output.call), send);
        if (server_end.channel)
            rpcrdma_channel_send(server_end.channel, server_room(&server_end, 0), send, output.header_length);
        send_to_client(send, length, output.kind == RPCRDMA_DO_SEND_INVALIDATING ? &output.handle : NULL);
        break;
    default:
        connection = FAILED;
    }
    return 1;
}

/* Carries out whatever either end asks for. */
static void settle(void)
{
    int is_active;

    do {
        is_active = poll_client();
        is_active |= poll_server();
    } while (is_active);
}

/* In version 2, what applies to calls is known once the other end has spoken. */
static void agree(void)
{
    rpcrdma_terms calls, answers;

    if (rpcrdma_channel_terms(client_end.channel, RPCRDMA_REMOTE_INVALIDATION, &calls, &answers) == RPCRDMA_OK)
        rpcrdma_requester_agree(client_end.requester, &calls);
    if (rpcrdma_channel_terms(server_end.channel, RPCRDMA_REMOTE_INVALIDATION, &calls, &answers) == RPCRDMA_OK)
        rpcrdma_responder_agree(server_end.responder, &answers);
}

/* Asks the channel whom a Send is for, and says so to the digest. In version 1, it is for the only endpoint. */
static uint32_t arrived_for(rpcrdma_channel *channel, rpcrdma_input *input)
{
    rpcrdma_arrival arrival = {0};

    if (!channel)
        return RPCRDMA_ARRIVED_VERSION_1;
    rpcrdma_channel_received(channel, input->octets, input->length, &arrival);
    add_arrival(&digest, &arrival);
    input->xid = arrival.xid;
    input->error = arrival.error;
    input->words[0] = arrival.words[0];
    input->words[1] = arrival.words[1];
    return arrival.kind;
}

/* The server looks at the next Send. In version 1 the credits make sure that there is a place. */
static void serve(void)
{
    rpcrdma_input input = {0};
    receive *receive;

    if ((server_end.channel && !has_place(&server_end)) || !next_arrived(&server_end.receives, &input.receive))
        return;
    receive = &server_end.receives.all[input.receive];
    input.kind = RPCRDMA_IN_RECEIVED;
    input.octets = receive->octets;
    input.length = receive->length;
    switch (arrived_for(server_end.channel, &input)) {
    case RPCRDMA_ARRIVED_VERSION_1:
    case RPCRDMA_ARRIVED_CALL:
    case RPCRDMA_ARRIVED_CALL_PART:
        accepted(rpcrdma_responder_handle(server_end.responder, &input));
        return;
    case RPCRDMA_ARRIVED_BROKEN_CALL:
        input.kind = RPCRDMA_IN_BROKEN;
        accepted(rpcrdma_responder_handle(server_end.responder, &input));
        break;
    case RPCRDMA_ARRIVED_EXCEEDED:
        moved(0);
        break;
    case RPCRDMA_ARRIVED_PROPERTIES:
        agree();
        break;
    }
    receive->is_posted = 1;
}

/* The client looks at the next Send. */
static void look(void)
{
    rpcrdma_input input = {0};
    receive *receive;

    if (!next_arrived(&client_end.receives, &input.receive))
        return;
    receive = &client_end.receives.all[input.receive];
    input.kind = receive->is_invalidating ? RPCRDMA_IN_RECEIVED_INVALIDATING : RPCRDMA_IN_RECEIVED;
    input.octets = receive->octets;
    input.length = receive->length;
    input.handle = receive->invalidated;
    switch (arrived_for(client_end.channel, &input)) {
    case RPCRDMA_ARRIVED_VERSION_1:
    case RPCRDMA_ARRIVED_REPLY:
        accepted(rpcrdma_requester_handle(client_end.requester, &input));
        return;
    case RPCRDMA_ARRIVED_BROKEN_REPLY:
        input.kind = RPCRDMA_IN_BROKEN;
        accepted(rpcrdma_requester_handle(client_end.requester, &input));
        break;
    case RPCRDMA_ARRIVED_EXCEEDED:
        moved(0);
        break;
    case RPCRDMA_ARRIVED_PROPERTIES:
        agree();
        break;
    }
    receive->is_posted = 1;
}

/* Either adapter completes one of the things that it has begun. */
static void finish(void)
{
    rpcrdma_input input = {0};
    uint32_t which;
    work work;

    if (begun_count == 0)
        return;
    which = below(&random, begun_count);
    work = begun[which];
    begun[which] = begun[--begun_count];
    input.kind = work.kind;
    input.call = work.call;
    input.region = work.region;
    if (work.kind == RPCRDMA_IN_COMPLETED) {
        accepted(rpcrdma_responder_handle(server_end.responder, &input));
        return;
    }
    if (work.kind == RPCRDMA_IN_REGISTERED &&
        (once_in(&random, 100) || !expose(&client_end, work.call, &work.memory, &input.handle, &input.offset)))
        input.kind = RPCRDMA_IN_NOT_REGISTERED;
    if (work.kind == RPCRDMA_IN_INVALIDATED)
        hide(&client_end, work.handle);
    accepted(rpcrdma_requester_handle(client_end.requester, &input));
}

/* Now and then, a call is given up, or the connection is lost. */
static void fault(void)
{
    if (once_in(&random, 20)) {
        const called *called = &client_end.calls[below(&random, CALLS)];

        if (called->is_used)
            accepted(rpcrdma_requester_cancel(client_end.requester, called->id));
    } else if (once_in(&random, 500)) {
        connection = FAILED;
    }
}

static void turn(void)
{
    uint32_t form;

    switch (below(&random, 8)) {
    case 0:
        if (is_agreed(client_end.channel, version))
            counts.calls += (uint32_t)begin_call(&client_end, counts.calls, &random);
        break;
    case 1:
    case 2:
        serve();
        break;
    case 3:
        look();
        break;
    case 4:
    case 5:
        finish();
        break;
    case 6:
        if (answer_call(&server_end, &random, &form))
            add_word(&digest, form);
        break;
    default:
        fault();
    }
}

/* Ends it: each call that was not done is, and nothing can be reached. */
static void disconnect(void)
{
    rpcrdma_input input = {0};

    client_end.exposed_count = 0;
    begun_count = 0;
    for (input.kind = RPCRDMA_IN_FAILED; input.kind <= RPCRDMA_IN_DISCONNECTED; input.kind++) {
        accepted(rpcrdma_requester_handle(client_end.requester, &input));
        while (poll_client())
            ;
    }
    input.kind = RPCRDMA_IN_DISCONNECTED;
    accepted(rpcrdma_responder_handle(server_end.responder, &input));
    for (uint32_t i = 0; i < CALLS; i++) {
        if (client_end.calls[i].is_used) {
            right(0);
            break;
        }
    }
}

/* From its beginning to its end. */
static void run_connection(void)
{
    connection = SOUND;
    settle();
    for (uint32_t i = 0; i < TURNS && connection != FAILED; i++) {
        turn();
        settle();
    }
    disconnect();
}

int endpoints(uint32_t spoken, const char *name)
{
    uint32_t connections = 0;

    version = spoken;
    digest = DIGEST_START;
    counts = (counts_of_calls){0};
    while (counts.calls < ALL_CALLS) {
        random = random_start(++connections);
        if (!start_client(&client_end, version) || !start_server(&server_end, version))
            return 0;
        run_connection();
    }
    print("endpoints of version ");
    print(name);
    print(": ");
    print_number(connections, " connections, ");
    print_number(counts.calls, " calls: ");
    print_number(counts.answered, " answered, ");
    print_number(counts.errors, " errors, ");
    print_number(counts.cancelled, " cancelled, ");
    print_number(counts.lost, " lost; ");
    print_number(counts.damaged, " Sends damaged, ");
    print_number(counts.wrong, " wrong, ");
    print_digest(digest);
    return counts.wrong == 0 && counts.answered > counts.calls / 2;
}
