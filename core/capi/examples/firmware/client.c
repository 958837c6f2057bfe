#include "client.h"

/* REGION: the most octets of a memory region, so that most calls need several. CONTINUED: of a message in several Sends. */
enum { REGION = 700, CONTINUED = 1500 };

static rpcrdma_requester_memory requester_memory;

int start_client(client *client, uint32_t version)
{
    const rpcrdma_terms terms = {RECEIVE, RECEIVE, RPCRDMA_REMOTE_INVALIDATION, RPCRDMA_VERSION_1, RPCRDMA_FORMATS_ALL};

    client->requester = (rpcrdma_requester *)&requester_memory;
    client->exposed_count = 0;
    client->last_handle = 0;
    post_all(&client->receives);
    for (uint32_t i = 0; i < CALLS; i++)
        client->calls[i].is_used = 0;
    return start_channel(&client->channel, RPCRDMA_CLIENT, version) &&
           rpcrdma_requester_init(client->requester, sizeof requester_memory, &terms, CALLS, REGION, RPCRDMA_BUILD) ==
               RPCRDMA_OK &&
           rpcrdma_requester_continue(client->requester, CONTINUED) == RPCRDMA_OK;
}

uint32_t client_room(const client *client)
{
    uint32_t count = posted(&client->receives);

    return count > 0 ? count - 1 : 0;
}

/* The low 16 bits of a name are the first number that no other call has: below CALLS, because there are no more calls. */
called *called_by(client *client, uint64_t call)
{
    return &client->calls[call & 0xffff];
}

static int has_free_call(const client *client)
{
    for (uint32_t i = 0; i < CALLS; i++) {
        if (!client->calls[i].is_used)
            return 1;
    }
    return 0;
}

int begin_call(client *client, uint32_t xid, uint64_t *random)
{
    static const uint32_t rooms[2] = {0, 2000}, reply_lengths[2] = {28, 2000};
    static stream made;
    uint32_t room = rooms[below(random, 2)];
    rpcrdma_call call = {made.octets, 0, 0, 0, &made.item, 0, &room, 0, 2000};
    called *place;
    uint64_t id;

    make_call(&made, xid);
    call.head_length = made.head;
    call.length = made.length;
    call.arguments_count = below(random, 2);
    call.results_count = below(random, 2);
    call.reply_length = reply_lengths[below(random, 2)];
    if (!has_free_call(client) || rpcrdma_requester_call(client->requester, &call, &id) != RPCRDMA_OK)
        return 0;
    place = called_by(client, id);
    place->is_used = 1;
    place->id = id;
    place->xid = xid;
    place->has_room = call.results_count > 0 && room > 0;
    place->call = made;
    return 1;
}

/* The offset of the first octet under a handle. */
static uint64_t base(uint32_t handle)
{
    return (uint64_t)handle << 16;
}

int expose(client *client, uint64_t call, const memory *memory, uint32_t *handle, uint64_t *offset)
{
    exposed *place = &client->exposed[client->exposed_count];

    client->last_handle++;
    if (client->exposed_count == EXPOSED)
        return 0;
    client->exposed_count++;
    place->handle = client->last_handle;
    place->call = call;
    place->memory = *memory;
    *handle = client->last_handle;
    *offset = base(client->last_handle);
    return 1;
}

int hide(client *client, uint32_t handle)
{
    for (uint32_t i = 0; i < client->exposed_count; i++) {
        if (client->exposed[i].handle == handle) {
            client->exposed[i] = client->exposed[--client->exposed_count];
            return 1;
        }
    }
    return 0;
}

static uint8_t *octets_of(called *called, uint32_t kind)
{
    switch (kind) {
    case RPCRDMA_DO_REGISTER_ARGUMENT:
        return called->call.octets;
    case RPCRDMA_DO_REGISTER_RESULT:
        return called->result;
    default:
        return called->reply;
    }
}

uint8_t *reach(client *client, const rpcrdma_segment *segment)
{
    for (uint32_t i = 0; i < client->exposed_count; i++) {
        const exposed *each = &client->exposed[i];
        uint64_t start = segment->offset - base(each->handle);

        if (each->handle != segment->handle)
            continue;
        if (start > each->memory.range.length || segment->length > each->memory.range.length - start)
            return NULL;
        return octets_of(called_by(client, each->call), each->memory.kind) + each->memory.range.from + start;
    }
    return NULL;
}

static int is_exposed(const client *client, uint64_t call)
{
    for (uint32_t i = 0; i < client->exposed_count; i++) {
        if (client->exposed[i].call == call)
            return 1;
    }
    return 0;
}

/* Returns whether the reply is the one that the other end has sent, and so is the result, if it has memory of its own. */
static int is_right(const called *called, const uint8_t *reply, const rpcrdma_output *done)
{
    static stream sent;
    uint32_t result = done->results_count > 0 ? done->results[0] : 0;

    make_reply(&sent, called->xid);
    if (called->has_room && result > 0)
        return is_reduced_stream(&sent, reply, (size_t)done->length) && result == sent.item.length &&
               are_equal(called->result, sent.octets + sent.item.position, result);
    return is_stream(&sent, reply, (size_t)done->length);
}

uint32_t call_done(client *client, const rpcrdma_output *done)
{
    called *called = called_by(client, done->call);
    receive *receive;
    int right;

    called->is_used = 0;
    if (is_exposed(client, done->call))
        return OUTCOME_WRONG;
    switch (done->end) {
    case RPCRDMA_END_REPLY:
        receive = &client->receives.all[done->receive];
        right = is_right(called, receive->octets + done->from, done);
        receive->is_posted = 1;
        return right ? OUTCOME_ANSWERED : OUTCOME_WRONG;
    case RPCRDMA_END_LONG_REPLY:
        return is_right(called, called->reply, done) ? OUTCOME_ANSWERED : OUTCOME_WRONG;
    case RPCRDMA_END_CONTINUED_REPLY:
        return is_right(called, called->placed, done) ? OUTCOME_ANSWERED : OUTCOME_WRONG;
    case RPCRDMA_END_ERROR:
    case RPCRDMA_END_ERROR_V2:
    case RPCRDMA_END_NO_ROOM:
    case RPCRDMA_END_NOT_REGISTERED:
        return OUTCOME_ERROR;
    case RPCRDMA_END_CANCELLED:
        return OUTCOME_CANCELLED;
    case RPCRDMA_END_LOST:
        return OUTCOME_LOST;
    default:
        return OUTCOME_WRONG;
    }
}
