/*
 * A Requester and a Responder in one program: memory is the network. The first call has its result written into a Write chunk,
 * the second has its whole reply written into the Reply chunk. Each Send is judged when it arrives.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rpcrdma.h>

enum { ROOM = 4096, DATA = 3000, THRESHOLD = 1024 };

/* Memory of the client: the call, the room for its result, the room for a long reply, and one Receive. */
static uint8_t call[40], result[ROOM], long_reply[ROOM], client_receive[THRESHOLD];
static size_t client_received;

/* Memory of the server: one Receive, and the reply: its header, a count, and the data. */
static uint8_t server_receive[THRESHOLD], reply[28 + DATA];
static size_t server_received;

/* Memory that the client has registered: a handle is an index here, the offset counts from its start. */
static uint8_t *registered[8];
static uint32_t handles;

static rpcrdma_requester *requester;
static rpcrdma_responder *responder;

static void judge(const char *what, const uint8_t *octets, size_t length, uint32_t receiver)
{
    rpcrdma_finding findings[8];
    size_t count = 0;

    if (rpcrdma_judge(octets, length, receiver, findings, 8, &count) != RPCRDMA_OK)
        printf("it cannot be judged\n");
    printf("%s: %zu octets, %zu rules broken\n", what, length, count);
}

/* Puts a Send into the other end's Receive. */
static size_t post(const rpcrdma_output *output, const uint8_t *header, const uint8_t *stream, uint8_t *receive)
{
    size_t length = output->header_length;

    memcpy(receive, header, length);
    for (size_t i = 0; i < output->ranges_count; i++) {
        memcpy(receive + length, stream + output->ranges[i].from, output->ranges[i].length);
        length += output->ranges[i].length;
    }
    return length;
}

static int tell_requester(uint32_t kind, const rpcrdma_output *output, uint32_t handle)
{
    rpcrdma_input input = {0};

    input.kind = kind;
    input.call = output->call;
    input.region = output->region;
    input.handle = handle;
    return rpcrdma_requester_handle(requester, &input) == RPCRDMA_OK;
}

static int is_data(const uint8_t *octets)
{
    return memcmp(octets, reply + 28, DATA) == 0;
}

/* Prints the outcome of the call. */
static int done(const rpcrdma_output *output)
{
    if (output->end == RPCRDMA_END_REPLY && output->results_count == 1)
        return printf("reply of %" PRIu64 " octets, result of %" PRIu32 ": %s\n", output->length, output->results[0],
                      is_data(result) ? "right" : "wrong");
    if (output->end == RPCRDMA_END_LONG_REPLY)
        return printf("long reply of %" PRIu64 " octets: %s\n", output->length,
                      is_data(long_reply + 28) ? "right" : "wrong");
    return 0;
}

/* Does what the Requester asks for. Each function returns 0 if something is not as it should be. */
static int client(void)
{
    uint8_t header[THRESHOLD];
    rpcrdma_output output;

    while (rpcrdma_requester_poll(requester, header, sizeof header, &output) == RPCRDMA_OK) {
        int ok = 1;

        switch (output.kind) {
        case RPCRDMA_DO_NOTHING:
            return 1;
        case RPCRDMA_DO_REGISTER_RESULT:
        case RPCRDMA_DO_REGISTER_REPLY:
            registered[handles] = (output.kind == RPCRDMA_DO_REGISTER_RESULT ? result : long_reply) + output.ranges[0].from;
            ok = tell_requester(RPCRDMA_IN_REGISTERED, &output, handles++);
            break;
        case RPCRDMA_DO_SEND:
            server_received = post(&output, header, call, server_receive);
            ok = tell_requester(RPCRDMA_IN_SENT, &output, 0);
            break;
        case RPCRDMA_DO_INVALIDATE:
            registered[output.handle] = NULL;
            ok = tell_requester(RPCRDMA_IN_INVALIDATED, &output, 0);
            break;
        case RPCRDMA_DO_RELEASE:
            break;
        case RPCRDMA_DO_DONE:
            ok = done(&output);
            break;
        default:
            return 0;
        }
        if (!ok)
            return 0;
    }
    return 0;
}

/* The upper layer: the reply is always the same. */
static int answer(uint64_t id, const uint8_t *octets, size_t length)
{
    const rpcrdma_item data = {28, DATA};
    rpcrdma_reply answer = {reply, 24, sizeof reply, 0, &data, 1};
    rpcrdma_rpc_call asked;
    rpcrdma_rpc_reply accepted = {0};
    rpcrdma_decode_error error;
    size_t used;
    uint32_t form;

    if (rpcrdma_decode_rpc_call(octets, length, &asked, &error) != RPCRDMA_OK)
        return 0;
    accepted.xid = asked.xid;
    accepted.kind = RPCRDMA_RPC_ACCEPTED;
    if (rpcrdma_encode_rpc_reply(&accepted, reply, 24, &used) != RPCRDMA_OK)
        return 0;
    rpcrdma_put_word(reply + 24, DATA);
    memset(reply + 28, (int)asked.xid, DATA);
    return rpcrdma_responder_reply(responder, id, &answer, &form) == RPCRDMA_OK;
}

/* Does what the Responder asks for. */
static int server(void)
{
    uint8_t header[THRESHOLD];
    rpcrdma_output output;

    while (rpcrdma_responder_poll(responder, header, sizeof header, &output) == RPCRDMA_OK) {
        switch (output.kind) {
        case RPCRDMA_DO_NOTHING:
            return 1;
        case RPCRDMA_DO_RELEASE:
            break;
        case RPCRDMA_DO_DELIVER:
            if (!answer(output.call, server_receive + output.from, output.length))
                return 0;
            break;
        case RPCRDMA_DO_WRITE:
            memcpy(registered[output.segment.handle] + output.segment.offset, reply + output.at, output.length);
            break;
        case RPCRDMA_DO_SEND:
            client_received = post(&output, header, reply, client_receive);
            break;
        default:
            return 0;
        }
    }
    return 0;
}

/* A call with this room for its result, or for a longer reply if there is none. */
static int exchange(uint32_t xid, uint32_t room)
{
    const rpcrdma_rpc_call header = {.xid = xid, .rpc_version = 2, .program = 400100, .version = 1, .procedure = 1};
    const rpcrdma_call begun = {
        .head = call,
        .head_length = sizeof call,
        .length = sizeof call,
        .reply_length = room > 0 ? 28 : sizeof reply,
        .results = &room,
        .results_count = room > 0,
    };
    rpcrdma_input input = {.kind = RPCRDMA_IN_RECEIVED, .octets = server_receive};
    rpcrdma_finding findings[8];
    size_t used, count;
    uint64_t id;

    if (rpcrdma_encode_rpc_call(&header, call, sizeof call, &used) != RPCRDMA_OK ||
        rpcrdma_requester_call(requester, &begun, &id) != RPCRDMA_OK || !client())
        return 0;
    judge("call", server_receive, server_received, RPCRDMA_RESPONDER);
    input.length = server_received;
    if (rpcrdma_responder_handle(responder, &input) != RPCRDMA_OK || !server())
        return 0;
    judge("reply", client_receive, client_received, RPCRDMA_REQUESTER);
    if (rpcrdma_judge_reply(server_receive, server_received, client_receive, client_received, findings, 8, &count) != RPCRDMA_OK)
        return 0;
    printf("together: %zu rules broken\n", count);
    input.octets = client_receive;
    input.length = client_received;
    return rpcrdma_requester_handle(requester, &input) == RPCRDMA_OK && client();
}

int main(void)
{
    static rpcrdma_requester_memory requester_memory;
    static rpcrdma_responder_memory responder_memory;
    const rpcrdma_terms terms = {THRESHOLD, THRESHOLD, 0, RPCRDMA_VERSION_1, RPCRDMA_FORMATS_ALL};
    const rpcrdma_limits limits = {RPCRDMA_CALL_CHUNKS, RPCRDMA_CALL_CHUNKS, 16, 1 << 16, 0};

    requester = (rpcrdma_requester *)&requester_memory;
    responder = (rpcrdma_responder *)&responder_memory;
    if (rpcrdma_requester_init(requester, sizeof requester_memory, &terms, 1, ROOM, RPCRDMA_BUILD) != RPCRDMA_OK ||
        rpcrdma_responder_init(responder, sizeof responder_memory, &terms, &limits, 1, RPCRDMA_BUILD) != RPCRDMA_OK)
        return 1;
    return exchange(7, ROOM) && exchange(8, 0) ? 0 : 1;
}
