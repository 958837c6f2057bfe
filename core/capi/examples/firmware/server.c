#include "server.h"

static rpcrdma_responder_memory responder_memory;

int start_server(server *server, uint32_t version)
{
    const rpcrdma_terms terms = {RECEIVE, RECEIVE, RPCRDMA_REMOTE_INVALIDATION, RPCRDMA_VERSION_1, RPCRDMA_FORMATS_ALL};
    const rpcrdma_limits limits = {2, 2, 16, 20000, MOST};

    server->responder = (rpcrdma_responder *)&responder_memory;
    server->delivered_count = 0;
    post_all(&server->receives);
    return start_channel(&server->channel, RPCRDMA_SERVER, version) &&
           rpcrdma_responder_init(server->responder, sizeof responder_memory, &terms, &limits, CALLS, RPCRDMA_BUILD) ==
               RPCRDMA_OK &&
           rpcrdma_responder_limit(server->responder, 3, 500) == RPCRDMA_OK;
}

uint32_t server_room(server *server, uint32_t answers)
{
    rpcrdma_responder_counts counts = {0};
    uint32_t room = posted(&server->receives) + answers, taken;

    rpcrdma_responder_count(server->responder, &counts);
    taken = 1 + (counts.occupied > answers ? counts.occupied : answers);
    return room > taken ? room - taken : 0;
}

int has_place(server *server)
{
    rpcrdma_responder_counts counts;

    return rpcrdma_responder_count(server->responder, &counts) == RPCRDMA_OK && counts.has_place;
}

int place(server *server, uint64_t call, uint32_t at, const uint8_t *octets, size_t length)
{
    uint8_t *memory = server->assembled[call & 0xffff];
    rpcrdma_range padding[RPCRDMA_CALL_CHUNKS];
    uint32_t xid, whole;

    if (rpcrdma_responder_find(server->responder, call, &xid, &whole, &padding) == RPCRDMA_OK) {
        for (uint32_t i = 0; i < RPCRDMA_CALL_CHUNKS; i++) {
            if (padding[i].from > MOST || padding[i].length > MOST - padding[i].from)
                return 0;
            clear(memory + padding[i].from, padding[i].length);
        }
    }
    if (at > MOST || length > MOST - at)
        return 0;
    copy(memory + at, octets, length);
    return 1;
}

static int find_xid(server *server, uint64_t call, uint32_t *xid)
{
    rpcrdma_range padding[RPCRDMA_CALL_CHUNKS];
    uint32_t length;

    return rpcrdma_responder_find(server->responder, call, xid, &length, &padding) == RPCRDMA_OK;
}

int deliver(server *server, const rpcrdma_output *output)
{
    static stream sent;
    const uint8_t *came = server->assembled[output->call & 0xffff];
    uint32_t xid;

    if (output->kind == RPCRDMA_DO_DELIVER)
        came = server->receives.all[output->receive].octets + output->from;
    if (server->delivered_count == CALLS)
        return 0;
    server->delivered[server->delivered_count++] = output->call;
    if (!find_xid(server, output->call, &xid))
        return 0;
    make_call(&sent, xid);
    return is_stream(&sent, came, (size_t)output->length);
}

stream *reply_to(server *server, uint64_t call)
{
    return &server->replies[call & 0xffff];
}

int answer_call(server *server, uint64_t *random, uint32_t *form)
{
    rpcrdma_reply reply = {NULL, 0, 0, 0, NULL, 1};
    uint32_t which, xid;
    uint64_t call;
    stream *made;

    if (server->delivered_count == 0)
        return 0;
    which = below(random, server->delivered_count);
    call = server->delivered[which];
    server->delivered[which] = server->delivered[--server->delivered_count];
    *form = 0;
    if (once_in(random, 30)) {
        if (rpcrdma_responder_refuse(server->responder, call) == RPCRDMA_OK)
            *form = RPCRDMA_FORM_REFUSED;
        return 1;
    }
    if (!find_xid(server, call, &xid))
        return 0;
    made = reply_to(server, call);
    make_reply(made, xid);
    reply.head = made->octets;
    reply.head_length = made->head;
    reply.length = made->length;
    reply.results = &made->item;
    if (rpcrdma_responder_reply(server->responder, call, &reply, form) != RPCRDMA_OK)
        *form = 0;
    return 1;
}
