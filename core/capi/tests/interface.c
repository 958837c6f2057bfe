/* Calls every function of rpcrdma.h as a C program does, with arguments that are right and with ones that are not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rpcrdma.h>

#define CHECK(what) ((what) ? (void)0 : fail(__LINE__, #what))

static void fail(int line, const char *what)
{
    fprintf(stderr, "line %d: not so: %s\n", line, what);
    exit(1);
}

/* A Call with a Write chunk of one segment: 52 octets, and the XID again as its Payload stream. */
static const uint8_t call[56] = {
    0x5a, 0x7a, 0x45, 0x83, 0, 0, 0, 1, 0, 0, 0, 128, 0, 0, 0, 0, /* prefix */
    0, 0, 0, 0,                                                   /* Read list */
    0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0x0a, 0x94, 0, 2, 0, 0, 0xa5, 0x06, 0x4b, 0xf4, 0xce, 0x8c, 0x60, 0, 0, 0, 0, 0,
    0, 0, 0, 0, /* Reply chunk */
    0x5a, 0x7a, 0x45, 0x83,
};

static void decoding(void)
{
    rpcrdma_message message;
    rpcrdma_decode_error error;
    rpcrdma_segment_list chunk;
    rpcrdma_segment segment;

    CHECK(rpcrdma_decode(call, sizeof call, &message, &error) == RPCRDMA_OK);
    CHECK(message.xid == 0x5a7a4583 && message.credit == 128 && message.procedure == RPCRDMA_MSG);
    CHECK(message.header_length == 52 && message.payload == call + 52 && message.payload_length == 4);
    CHECK(message.chunks.reads.count == 0 && message.chunks.reply.segments == NULL);
    CHECK(rpcrdma_next_write_chunk(&message.chunks.writes, &chunk) && chunk.count == 1);
    CHECK(rpcrdma_next_segment(&chunk, &segment) && !rpcrdma_next_segment(&chunk, &segment));
    CHECK(segment.handle == 0xa94 && segment.length == 131072 && segment.offset == 0xa5064bf4ce8c6000);
    CHECK(!rpcrdma_next_write_chunk(&message.chunks.writes, &chunk));
    for (size_t length = 0; length < 52; length++) {
        CHECK(rpcrdma_decode(call, length, &message, &error) == RPCRDMA_NOT_DECODED);
        CHECK(error.answer == (length < 28 ? 0 : RPCRDMA_ERR_CHUNK) && error.offset <= length);
    }
}

static void bad_arguments(void)
{
    union {
        rpcrdma_message message;
        uint8_t octets[sizeof(rpcrdma_message) + 1];
    } shared;
    rpcrdma_message message;
    rpcrdma_decode_error error;

    CHECK(rpcrdma_decode(NULL, 1, &message, &error) == RPCRDMA_NULL);
    CHECK(rpcrdma_decode(NULL, 0, &message, &error) == RPCRDMA_NOT_DECODED);
    CHECK(rpcrdma_decode(call, sizeof call, NULL, &error) == RPCRDMA_NULL);
    CHECK(rpcrdma_decode(call, sizeof call, &message, NULL) == RPCRDMA_NULL);
    CHECK(rpcrdma_decode(call, (size_t)-1, &message, &error) == RPCRDMA_TOO_LONG);
    CHECK(rpcrdma_decode(call, sizeof call, (rpcrdma_message *)(void *)(shared.octets + 1), &error) == RPCRDMA_UNALIGNED);
    memcpy(shared.octets, call, sizeof call);
    CHECK(rpcrdma_decode(shared.octets, sizeof call, &shared.message, &error) == RPCRDMA_OVERLAP);
    CHECK(memcmp(shared.octets, call, sizeof call) == 0);
}

/* A result may lie beside the octets, but may not share one with them. */
static void results_beside_octets(void)
{
    static union {
        uint64_t alignment;
        uint8_t octets[512];
    } arena;
    rpcrdma_message message, *message_within = (rpcrdma_message *)(void *)(arena.octets + 200);
    rpcrdma_decode_error error, *error_within = (rpcrdma_decode_error *)(void *)(arena.octets + 200);

    for (size_t length = 28; length <= sizeof call; length += 28) {
        for (size_t start = 0; start + length <= sizeof arena.octets; start++) {
            uint8_t *octets = arena.octets + start;
            int shares = start < 200 + sizeof message && start + length > 200;
            int right = length == sizeof call;

            memcpy(octets, call, length);
            CHECK(rpcrdma_decode(octets, length, message_within, &error) ==
                  (shares ? RPCRDMA_OVERLAP : right ? RPCRDMA_OK : RPCRDMA_NOT_DECODED));
            CHECK(memcmp(octets, call, length) == 0);
            shares = start < 200 + sizeof error && start + length > 200;
            CHECK(rpcrdma_decode(octets, length, &message, error_within) ==
                  (shares ? RPCRDMA_OVERLAP : right ? RPCRDMA_OK : RPCRDMA_NOT_DECODED));
            CHECK(memcmp(octets, call, length) == 0);
        }
    }
}

static void encoding(void)
{
    uint8_t buffer[80];
    rpcrdma_message message;
    rpcrdma_decode_error error;
    size_t length = 0;

    CHECK(rpcrdma_decode(call, sizeof call, &message, &error) == RPCRDMA_OK);
    CHECK(rpcrdma_encode(&message, NULL, 0, &length) == RPCRDMA_NO_ROOM && length == 52);
    memset(buffer, 0xa5, sizeof buffer);
    CHECK(rpcrdma_encode(&message, buffer, 51, &length) == RPCRDMA_NO_ROOM && buffer[0] == 0xa5);
    CHECK(rpcrdma_encode(&message, buffer, sizeof buffer, &length) == RPCRDMA_OK && length == 52);
    CHECK(memcmp(buffer, call, 52) == 0 && buffer[52] == 0xa5);
    CHECK(rpcrdma_decode(buffer, 52, &message, &error) == RPCRDMA_OK);
    CHECK(rpcrdma_encode(&message, buffer + 28, sizeof buffer - 28, &length) == RPCRDMA_OVERLAP);
    message.procedure = 5;
    CHECK(rpcrdma_encode(&message, NULL, 0, &length) == RPCRDMA_INVALID);
    message.procedure = RPCRDMA_MSG;
    message.chunks.writes.count = 2;
    CHECK(rpcrdma_encode(&message, NULL, 0, &length) == RPCRDMA_INVALID);
}

/* A header that was not decoded from anything. */
static void building(void)
{
    const rpcrdma_segment room = {7, 100, 0x1122334455667788};
    const rpcrdma_read_segment argument = {40, {8, 60, 9}};
    uint8_t reads[RPCRDMA_READ_ENTRY], writes[8 + RPCRDMA_SEGMENT], buffer[128];
    rpcrdma_message message, again;
    rpcrdma_decode_error error;
    rpcrdma_read_segment read;
    rpcrdma_segment_list chunk;
    rpcrdma_segment segment;
    size_t length;

    rpcrdma_put_read_segment(reads, &argument);
    rpcrdma_put_write_chunk(writes, 1);
    rpcrdma_put_segment(writes + 8, &room);
    memset(&message, 0, sizeof message);
    message.xid = 3;
    message.chunks.reads.entries = reads;
    message.chunks.reads.count = 1;
    message.chunks.writes.octets = writes;
    message.chunks.writes.length = sizeof writes;
    message.chunks.writes.count = 1;
    message.chunks.reply.segments = writes + 8;
    message.chunks.reply.count = 1;
    CHECK(rpcrdma_encode(&message, buffer, sizeof buffer, &length) == RPCRDMA_OK && length == 16 + 28 + 28 + 24);
    CHECK(rpcrdma_decode(buffer, length, &again, &error) == RPCRDMA_OK && again.xid == 3);
    CHECK(rpcrdma_next_read_segment(&again.chunks.reads, &read) && read.position == 40 && read.target.length == 60);
    CHECK(rpcrdma_next_write_chunk(&again.chunks.writes, &chunk) && rpcrdma_next_segment(&chunk, &segment));
    CHECK(segment.handle == 7 && segment.offset == room.offset);
    CHECK(rpcrdma_next_segment(&again.chunks.reply, &segment) && segment.length == 100);
}

static void replies(void)
{
    const uint64_t written[2] = {100, 0};
    uint8_t buffer[80];
    rpcrdma_message message, reply;
    rpcrdma_decode_error error;
    rpcrdma_segment_list chunk;
    rpcrdma_segment segment;
    size_t length;

    CHECK(rpcrdma_decode(call, sizeof call, &message, &error) == RPCRDMA_OK);
    CHECK(rpcrdma_encode_reply(&message, 32, RPCRDMA_MSG, written, 1, 0, buffer, sizeof buffer, &length) == RPCRDMA_OK);
    CHECK(length == 52 && rpcrdma_decode(buffer, length, &reply, &error) == RPCRDMA_OK && reply.credit == 32);
    CHECK(rpcrdma_next_write_chunk(&reply.chunks.writes, &chunk) && rpcrdma_next_segment(&chunk, &segment));
    CHECK(segment.handle == 0xa94 && segment.length == 100);
    CHECK(rpcrdma_encode_reply(&message, 32, RPCRDMA_MSG, written, 2, 0, NULL, 0, &length) == RPCRDMA_NOT_FOUND);
    CHECK(rpcrdma_encode_reply(&message, 32, RPCRDMA_NOMSG, NULL, 0, 9, NULL, 0, &length) == RPCRDMA_NOT_FOUND);
    CHECK(rpcrdma_encode_reply(&message, 32, RPCRDMA_DONE, NULL, 0, 9, NULL, 0, &length) == RPCRDMA_INVALID);
    CHECK(rpcrdma_encode_error(call, 15, 8, RPCRDMA_ERR_CHUNK, buffer, 80, &length) == RPCRDMA_NOT_DECODED);
    CHECK(rpcrdma_encode_error(call, 16, 8, RPCRDMA_ERR_CHUNK, buffer, 80, &length) == RPCRDMA_OK && length == 20);
    CHECK(memcmp(buffer, call, 8) == 0 && buffer[11] == 8 && buffer[15] == RPCRDMA_ERROR && buffer[19] == 2);
}

/* An RDMA2_CONNPROP_FINAL with one property: the Receive buffers have 8192 octets. */
static void properties(void)
{
    uint8_t property[RPCRDMA_NUMBER_PROPERTY], buffer[32];
    rpcrdma_message_v2 message, again;
    rpcrdma_decode_error error;
    rpcrdma_property found;
    uint32_t family;
    size_t length;

    rpcrdma_put_property(property, 2, 8192);
    memset(&message, 0, sizeof message);
    message.family = RPCRDMA_FAMILY_B;
    message.header_type = RPCRDMA2_B_CONNPROP_FINAL;
    message.properties.octets = property;
    message.properties.length = sizeof property;
    message.properties.count = 1;
    CHECK(rpcrdma_encode_v2(&message, buffer, sizeof buffer, &length) == RPCRDMA_OK && length == 32);
    CHECK(rpcrdma_encode_v2(&message, property, sizeof property, &length) == RPCRDMA_OVERLAP);
    CHECK(rpcrdma_recognise_v2(buffer, length, &family) == RPCRDMA_OK && family == RPCRDMA_FAMILY_B);
    CHECK(rpcrdma_decode_v2(family, buffer, length, &again, &error) == RPCRDMA_OK);
    CHECK(again.header_type == RPCRDMA2_B_CONNPROP_FINAL && again.properties.count == 1);
    CHECK(rpcrdma_next_property(&again.properties, &found) == RPCRDMA_OK);
    CHECK(found.id == 2 && found.kind == RPCRDMA_NUMBER_VALUE && found.number == 8192);
    CHECK(rpcrdma_next_property(&again.properties, &found) == RPCRDMA_NOT_FOUND);
    buffer[27] = 3; /* the length of the value */
    CHECK(rpcrdma_decode_v2(family, buffer, length, &again, &error) == RPCRDMA_NOT_DECODED);
    CHECK(error.kind == RPCRDMA_PROPERTY_VALUE && error.answer == 3);
    CHECK(rpcrdma_decode_v2(3, buffer, length, &again, &error) == RPCRDMA_INVALID);
    CHECK(rpcrdma_recognise_v2(call, sizeof call, &family) == RPCRDMA_NOT_FOUND);
}

/* The Call above in either format of version 2, and what answers it. */
static void version_2(uint32_t family, uint32_t header_type, size_t expected)
{
    const uint64_t written[1] = {100};
    const uint32_t words[2] = {1, 2};
    uint8_t buffer[128], answer[128];
    rpcrdma_message first;
    rpcrdma_message_v2 message, again;
    rpcrdma_decode_error error;
    rpcrdma_segment_list chunk;
    rpcrdma_segment segment;
    size_t length;

    CHECK(rpcrdma_decode(call, sizeof call, &first, &error) == RPCRDMA_OK);
    memset(&message, 0, sizeof message);
    message.family = family;
    message.xid = first.xid;
    message.header_type = header_type;
    message.inv_handle = 0xa94;
    message.chunks = first.chunks;
    CHECK(rpcrdma_encode_v2(&message, buffer, sizeof buffer, &length) == RPCRDMA_OK && length == expected);
    CHECK(rpcrdma_decode_v2(family, buffer, length, &again, &error) == RPCRDMA_OK);
    CHECK(again.xid == first.xid && again.inv_handle == 0xa94 && again.chunks.writes.count == 1);
    CHECK(rpcrdma_encode_reply_v2(&again, 7, RPCRDMA_REPLY_INLINE, written, 1, 0, answer, sizeof answer, &length) ==
          RPCRDMA_OK);
    CHECK(rpcrdma_decode_v2(family, answer, length, &again, &error) == RPCRDMA_OK && again.credit == 7);
    CHECK(rpcrdma_next_write_chunk(&again.chunks.writes, &chunk) && rpcrdma_next_segment(&chunk, &segment));
    CHECK(segment.length == 100);
    CHECK(rpcrdma_encode_error_v2(family, buffer, 16, 7, 1, &words, answer, sizeof answer, &length) == RPCRDMA_OK);
    CHECK(rpcrdma_decode_v2(family, answer, length, &again, &error) == RPCRDMA_OK);
    CHECK(again.error == 1 && again.words[0] == 1 && again.words[1] == 2);
}

static void set_up(void)
{
    const uint8_t found[13] = {0, 0, 0, 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3, 0, 0};
    uint8_t buffer[8];
    rpcrdma_private_data data;
    rpcrdma_agreement agreement;
    size_t length;

    CHECK(rpcrdma_find_private_data(found, sizeof found, &data) == RPCRDMA_OK);
    CHECK(data.send_size == 4096 && data.receive_size == 4096 && data.flags == RPCRDMA_REMOTE_INVALIDATION);
    CHECK(rpcrdma_find_private_data(found, 10, &data) == RPCRDMA_NOT_FOUND);
    CHECK(rpcrdma_encode_private_data(&data, buffer, sizeof buffer, &length) == RPCRDMA_OK && length == 8);
    CHECK(memcmp(buffer, found + 3, 8) == 0);
    CHECK(rpcrdma_agree(&data, &data, &agreement) == RPCRDMA_OK && agreement.client_to_server == 4096);
    CHECK(agreement.flags == RPCRDMA_REMOTE_INVALIDATION);
    CHECK(rpcrdma_agree(&data, NULL, &agreement) == RPCRDMA_OK && agreement.client_to_server == 1024);
    CHECK(agreement.flags == 0);
    data.flags = 256;
    CHECK(rpcrdma_agree(&data, NULL, &agreement) == RPCRDMA_INVALID);
}

static void rpc_headers(void)
{
    static const uint8_t null_call[40] = {0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0x86, 0xa3, 0, 0, 0, 4};
    static const uint8_t success[24] = {0, 0, 0, 7, 0, 0, 0, 1};
    uint8_t buffer[64];
    rpcrdma_rpc_call rpc_call;
    rpcrdma_rpc_reply reply;
    rpcrdma_decode_error error;
    size_t length;

    CHECK(rpcrdma_decode_rpc_call(null_call, sizeof null_call, &rpc_call, &error) == RPCRDMA_OK);
    CHECK(rpc_call.program == 100003 && rpc_call.version == 4 && rpc_call.header_length == 40);
    CHECK(rpcrdma_encode_rpc_call(&rpc_call, buffer, sizeof buffer, &length) == RPCRDMA_OK);
    CHECK(length == 40 && memcmp(buffer, null_call, 40) == 0);
    rpc_call.credential.length = 401;
    CHECK(rpcrdma_encode_rpc_call(&rpc_call, buffer, sizeof buffer, &length) == RPCRDMA_INVALID);
    CHECK(rpcrdma_decode_rpc_call(success, sizeof success, &rpc_call, &error) == RPCRDMA_NOT_DECODED);
    CHECK(error.kind == RPCRDMA_RPC_MESSAGE_TYPE && error.offset == 4);
    CHECK(rpcrdma_decode_rpc_reply(success, sizeof success, &reply, &error) == RPCRDMA_OK);
    CHECK(reply.kind == RPCRDMA_RPC_ACCEPTED && reply.status == 0 && reply.header_length == 24);
    CHECK(rpcrdma_encode_rpc_reply(&reply, buffer, sizeof buffer, &length) == RPCRDMA_OK);
    CHECK(length == 24 && memcmp(buffer, success, 24) == 0);
    reply.kind = 3;
    CHECK(rpcrdma_encode_rpc_reply(&reply, buffer, sizeof buffer, &length) == RPCRDMA_INVALID);
}

static int is(rpcrdma_text text, const char *expected)
{
    return text.length == strlen(expected) && memcmp(text.characters, expected, text.length) == 0;
}

static void judging(void)
{
    /* RDMA_MSG with nothing after it; RDMA2_REPLY_EXTERNAL without a Reply chunk; a Reply without the Write chunk. */
    static const uint8_t empty[28] = {0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 32};
    static const uint8_t external[24] = {0, 0, 0, 9, 0, 0, 0, 2, 0, 1, 0, 1, 0, 0, 0, 11};
    static const uint8_t reply[32] = {0x5a, 0x7a, 0x45, 0x83, 0, 0, 0, 1, 0, 0, 0, 32};
    rpcrdma_finding findings[2];
    size_t count;

    CHECK(rpcrdma_judge(empty, sizeof empty, RPCRDMA_RESPONDER, findings, 2, &count) == RPCRDMA_OK && count == 1);
    CHECK(is(findings[0].slug, "msg-no-payload") && findings[0].severity == RPCRDMA_SEVERITY_ERROR);
    CHECK(findings[0].reaction == RPCRDMA_REACT_ANSWER && findings[0].answer == RPCRDMA_ERR_CHUNK);
    CHECK(strcmp(rpcrdma_rule_string(&findings[0]), "msg-no-payload") == 0);
    CHECK(rpcrdma_judge(empty, sizeof empty, RPCRDMA_REQUESTER, findings, 2, &count) == RPCRDMA_OK && count == 1);
    CHECK(findings[0].reaction == RPCRDMA_REACT_DISCARD);
    CHECK(rpcrdma_judge(empty, sizeof empty, RPCRDMA_RESPONDER, NULL, 0, &count) == RPCRDMA_NO_ROOM && count == 1);
    CHECK(rpcrdma_judge(empty, sizeof empty, 0, findings, 2, &count) == RPCRDMA_INVALID);
    CHECK(rpcrdma_judge_v2(RPCRDMA_FAMILY_B, external, sizeof external, RPCRDMA_RESPONDER, findings, 2, &count) ==
          RPCRDMA_OK);
    CHECK(count == 1 && findings[0].reaction == RPCRDMA_REACT_ANSWER && findings[0].answer == 2);
    CHECK(rpcrdma_judge_reply(call, sizeof call, reply, sizeof reply, findings, 2, &count) == RPCRDMA_OK && count == 1);
    CHECK(strcmp(rpcrdma_rule_string(&findings[0]), "write-list-echo") == 0);
    CHECK(is(findings[0].slug, "write-list-echo") && findings[0].reaction == RPCRDMA_REACT_NOT_SAID);
    CHECK(rpcrdma_judge_reply(call, sizeof call, reply, 20, findings, 2, &count) == RPCRDMA_NOT_DECODED);
    CHECK(rpcrdma_judge_reply_v2(RPCRDMA_FAMILY_B, external, 24, external, 24, findings, 2, &count) == RPCRDMA_OK);
    CHECK(count == 0);
}

/* Text that ends in a NUL. */
static void strings(void)
{
    rpcrdma_finding none;

    CHECK(strcmp(rpcrdma_status_string(RPCRDMA_OK), "RPCRDMA_OK") == 0);
    CHECK(strcmp(rpcrdma_status_string(17), "unknown") == 0 && strcmp(rpcrdma_status_string(0xffffffff), "unknown") == 0);
    CHECK(strcmp(rpcrdma_decode_error_string(RPCRDMA_HEADER_SHORT), "RPCRDMA_HEADER_SHORT") == 0);
    CHECK(strcmp(rpcrdma_decode_error_string(RPCRDMA_RPC_REJECT_STATUS), "RPCRDMA_RPC_REJECT_STATUS") == 0);
    CHECK(strcmp(rpcrdma_decode_error_string(11), "unknown") == 0);
    CHECK(strcmp(rpcrdma_input_string(0), "unknown") == 0 && strcmp(rpcrdma_output_string(16), "unknown") == 0);
    CHECK(strcmp(rpcrdma_end_string(0), "unknown") == 0);
    CHECK(strcmp(rpcrdma_error_string(RPCRDMA_VERSION_1, RPCRDMA_ERR_CHUNK), "ERR_CHUNK") == 0);
    CHECK(strcmp(rpcrdma_error_string(RPCRDMA_VERSION_2A, 2), "RDMA2_ERR_BAD_XDR") == 0);
    CHECK(strcmp(rpcrdma_error_string(RPCRDMA_VERSION_2B, 100), "RDMA2_ERR_SYSTEM") == 0);
    CHECK(strcmp(rpcrdma_error_string(RPCRDMA_VERSION_1, 3), "unknown") == 0);
    CHECK(strcmp(rpcrdma_error_string(3, 1), "unknown") == 0);
    memset(&none, 0, sizeof none);
    CHECK(strcmp(rpcrdma_rule_string(&none), "unknown") == 0 && strcmp(rpcrdma_rule_string(NULL), "unknown") == 0);
}

static rpcrdma_requester_memory requester_memory;
static rpcrdma_responder_memory responder_memory;

/* The Send that an output asks for: the header is in the buffer already. */
static size_t complete(const rpcrdma_output *output, uint8_t *buffer, const uint8_t *stream)
{
    size_t length = output->header_length;

    for (size_t i = 0; i < output->ranges_count; i++) {
        memcpy(buffer + length, stream + output->ranges[i].from, output->ranges[i].length);
        length += output->ranges[i].length;
    }
    return length;
}

static void set_up_endpoints(void)
{
    const rpcrdma_terms terms = {1024, 1024, 0, RPCRDMA_VERSION_1, RPCRDMA_FORMATS_ALL};
    const rpcrdma_limits limits = {1, 1, 16, 65536, 0};
    rpcrdma_requester *requester = (rpcrdma_requester *)&requester_memory;
    rpcrdma_responder *responder = (rpcrdma_responder *)&responder_memory;
    size_t size = rpcrdma_requester_size(RPCRDMA_CALLS, RPCRDMA_SEGMENTS);

    CHECK(size > 0 && size <= sizeof requester_memory && rpcrdma_requester_size(RPCRDMA_CALLS + 1, 1) == 0);
    CHECK(rpcrdma_requester_cancel(requester, 0) == RPCRDMA_INVALID);
    CHECK(rpcrdma_requester_init(requester, size - 1, &terms, 4, 4096, RPCRDMA_BUILD) == RPCRDMA_NO_ROOM);
    CHECK(rpcrdma_requester_init((rpcrdma_requester *)(void *)(requester_memory.octets + 4), size, &terms, 4, 4096,
                                 RPCRDMA_BUILD) == RPCRDMA_UNALIGNED);
    CHECK(rpcrdma_requester_init(requester, size, &terms, 4, 4096, RPCRDMA_BUILD) == RPCRDMA_OK);
    CHECK(rpcrdma_requester_cancel(requester, 0) == RPCRDMA_UNEXPECTED);
    size = rpcrdma_responder_size(RPCRDMA_CALLS);
    CHECK(size > 0 && size <= sizeof responder_memory);
    CHECK(rpcrdma_responder_init(responder, size, &terms, &limits, RPCRDMA_CALLS + 1, RPCRDMA_BUILD) == RPCRDMA_INVALID);
    CHECK(rpcrdma_responder_init(responder, size, &terms, &limits, RPCRDMA_CALLS, RPCRDMA_BUILD) == RPCRDMA_OK);
    CHECK(rpcrdma_requester_cancel((rpcrdma_requester *)&responder_memory, 0) == RPCRDMA_INVALID);
}

/* The sizes of the header are those of the library, and enough for memory that is static. */
static void sizes(void)
{
    const rpcrdma_terms terms = {1024, 1024, 0, RPCRDMA_VERSION_1, RPCRDMA_FORMATS_ALL};
    const rpcrdma_limits limits = {1, 1, 16, 65536, 0};
    rpcrdma_requester *requester = (rpcrdma_requester *)&requester_memory;
    rpcrdma_responder *responder = (rpcrdma_responder *)&responder_memory;
    struct aligned {
        char before;
        rpcrdma_requester_memory memory;
    };

    CHECK(rpcrdma_library_build() == RPCRDMA_BUILD);
    CHECK(strcmp(rpcrdma_library_version(), RPCRDMA_LIBRARY_VERSION) == 0);
    CHECK(rpcrdma_library_version_number() == RPCRDMA_LIBRARY_VERSION_NUMBER);
    CHECK(rpcrdma_requester_size(RPCRDMA_CALLS, RPCRDMA_SEGMENTS) <= RPCRDMA_REQUESTER_SIZE);
    CHECK(rpcrdma_requester_size(RPCRDMA_CALLS, RPCRDMA_SEGMENTS) >= RPCRDMA_REQUESTER_SIZE - RPCRDMA_REQUESTER_SIZE / 8);
    CHECK(rpcrdma_requester_size(1, RPCRDMA_SEGMENTS + 1) == 0 && rpcrdma_responder_size(RPCRDMA_CALLS + 1) == 0);
    CHECK(rpcrdma_responder_size(RPCRDMA_CALLS) <= RPCRDMA_RESPONDER_SIZE);
    CHECK(rpcrdma_responder_size(RPCRDMA_CALLS) >= RPCRDMA_RESPONDER_SIZE - RPCRDMA_RESPONDER_SIZE / 8);
    CHECK(offsetof(struct aligned, memory) == RPCRDMA_ALIGNMENT || sizeof(void *) < 8);
    for (int bit = 0; bit < 64; bit++) {
        uint64_t other = RPCRDMA_BUILD ^ (uint64_t)1 << bit;

        CHECK(rpcrdma_requester_init(requester, sizeof requester_memory, &terms, 1, 4, other) == RPCRDMA_OTHER_BUILD);
        CHECK(rpcrdma_responder_init(responder, sizeof responder_memory, &terms, &limits, 1, other) == RPCRDMA_OTHER_BUILD);
    }
#ifdef RPCRDMA_HAS_VERSION_2
    CHECK(rpcrdma_channel_size() <= RPCRDMA_CHANNEL_SIZE);
#endif
}

/* Numbers that have no meaning where they are. */
static void bad_numbers(void)
{
    static const rpcrdma_terms bad_terms[] = {
        {1023, 1024, 0, RPCRDMA_VERSION_1, RPCRDMA_FORMATS_ALL}, {1024, 0, 0, RPCRDMA_VERSION_1, RPCRDMA_FORMATS_ALL},
        {0, 1024, 0, RPCRDMA_VERSION_2B, RPCRDMA_FORMATS_ALL},   {1024, 0, 0, RPCRDMA_VERSION_2A, RPCRDMA_FORMATS_ALL},
        {1024, 1024, 0xffffffff, 1, RPCRDMA_FORMATS_ALL},        {1024, 1024, 2, 1, RPCRDMA_FORMATS_ALL},
        {1024, 1024, 0, 3, RPCRDMA_FORMATS_ALL},                 {1024, 1024, 0, 1, 4},
    };
    static const uint32_t bad_lengths[] = {0, 1, 2, 3, 5, 6, 7, 4097, 0xffffffff};
    const rpcrdma_terms terms = {1024, 1024, RPCRDMA_REMOTE_INVALIDATION, 0, RPCRDMA_FORMATS_ALL};
    const rpcrdma_limits limits = {RPCRDMA_CALL_CHUNKS, RPCRDMA_CALL_CHUNKS, 16, 65536, 0};
    const rpcrdma_limits bad_limits[] = {{99, 1, 16, 65536, 0},
                                         {1, 99, 16, 65536, 0},
                                         {RPCRDMA_CALL_CHUNKS + 1, 1, 16, 65536, 0},
                                         {1, 0xffffffff, 16, 65536, 0}};
    rpcrdma_requester *requester = (rpcrdma_requester *)&requester_memory;
    rpcrdma_responder *responder = (rpcrdma_responder *)&responder_memory;
    const size_t length = sizeof requester_memory, answering = sizeof responder_memory;

    CHECK(rpcrdma_requester_init(requester, length, &terms, 1, 4, RPCRDMA_BUILD) == RPCRDMA_OK);
    CHECK(rpcrdma_responder_init(responder, answering, &terms, &limits, 1, RPCRDMA_BUILD) == RPCRDMA_OK);
    CHECK(rpcrdma_requester_agree(requester, &terms) == RPCRDMA_OK);
    CHECK(rpcrdma_responder_agree(responder, &terms) == RPCRDMA_OK);
    for (size_t i = 0; i < sizeof bad_terms / sizeof *bad_terms; i++) {
        CHECK(rpcrdma_requester_init(requester, length, &bad_terms[i], 1, 4, RPCRDMA_BUILD) == RPCRDMA_INVALID);
        CHECK(rpcrdma_responder_init(responder, answering, &bad_terms[i], &limits, 1, RPCRDMA_BUILD) == RPCRDMA_INVALID);
        CHECK(rpcrdma_requester_agree(requester, &bad_terms[i]) == RPCRDMA_INVALID);
        CHECK(rpcrdma_responder_agree(responder, &bad_terms[i]) == RPCRDMA_INVALID);
    }
    for (uint32_t version = RPCRDMA_VERSION_2A; version <= RPCRDMA_VERSION_2B; version += 2) {
        const rpcrdma_terms two = {1, 1, 0, version, RPCRDMA_FORMATS_ALL};
#ifdef RPCRDMA_HAS_VERSION_2
        CHECK(rpcrdma_requester_agree(requester, &two) == RPCRDMA_OK);
#else
        CHECK(rpcrdma_requester_agree(requester, &two) == RPCRDMA_INVALID);
#endif
    }
    for (size_t i = 0; i < sizeof bad_lengths / sizeof *bad_lengths; i++)
        CHECK(rpcrdma_requester_init(requester, length, &terms, 1, bad_lengths[i], RPCRDMA_BUILD) == RPCRDMA_INVALID);
    CHECK(rpcrdma_requester_init(requester, length, &terms, 0, 4096, RPCRDMA_BUILD) == RPCRDMA_INVALID);
    for (size_t i = 0; i < sizeof bad_limits / sizeof *bad_limits; i++)
        CHECK(rpcrdma_responder_init(responder, answering, &terms, &bad_limits[i], 1, RPCRDMA_BUILD) == RPCRDMA_INVALID);
    CHECK(rpcrdma_responder_init(responder, answering, &terms, &limits, 0, RPCRDMA_BUILD) == RPCRDMA_INVALID);
}

/* A NULL call from a Requester to a Responder and back. */
static void one_call(void)
{
    static const uint8_t null_call[40] = {0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0x86, 0xa3, 0, 0, 0, 4};
    static const uint8_t success[24] = {0, 0, 0, 7, 0, 0, 0, 1};
    rpcrdma_requester *requester = (rpcrdma_requester *)&requester_memory;
    rpcrdma_responder *responder = (rpcrdma_responder *)&responder_memory;
    const rpcrdma_call what = {null_call, 40, 40, 24, NULL, 0, NULL, 0, 0};
    const rpcrdma_reply reply = {success, 24, 24, 0, NULL, 0}, flagged = {success, 24, 24, 2, NULL, 0};
    rpcrdma_range padding[RPCRDMA_CALL_CHUNKS];
    rpcrdma_input input;
    rpcrdma_output output;
    uint8_t buffer[256];
    uint64_t id;
    uint32_t form, xid, length;

    CHECK(rpcrdma_requester_call(requester, &what, &id) == RPCRDMA_OK);
    CHECK(rpcrdma_requester_call(requester, &what, &id) == RPCRDMA_IN_USE);
    CHECK(rpcrdma_requester_poll(requester, buffer, 27, &output) == RPCRDMA_NO_ROOM && output.header_length == 28);
    CHECK(rpcrdma_requester_poll(requester, (uint8_t *)&output, sizeof output, &output) == RPCRDMA_OVERLAP);
    CHECK(rpcrdma_requester_poll(requester, (uint8_t *)requester, 999, &output) == RPCRDMA_OVERLAP);
    CHECK(rpcrdma_requester_poll(requester, buffer, sizeof buffer, &output) == RPCRDMA_OK);
    CHECK(output.kind == RPCRDMA_DO_SEND && output.call == id && output.ranges_count == 1);

    memset(&input, 0, sizeof input);
    input.kind = RPCRDMA_IN_RECEIVED;
    input.receive = 5;
    input.octets = buffer;
    input.length = complete(&output, buffer, null_call);
    CHECK(input.length == 68 && rpcrdma_responder_handle(responder, &input) == RPCRDMA_OK);
    CHECK(rpcrdma_responder_poll(responder, NULL, 0, &output) == RPCRDMA_OK && output.kind == RPCRDMA_DO_DELIVER);
    CHECK(output.receive == 5 && output.from == 28 && output.length == 40);
    CHECK(rpcrdma_responder_find(responder, output.call, &xid, &length, &padding) == RPCRDMA_OK);
    CHECK(xid == 7 && length == 40 && padding[0].length == 0);
    CHECK(rpcrdma_responder_reply(responder, output.call + 1, &reply, &form) == RPCRDMA_NOT_FOUND);
    CHECK(rpcrdma_responder_reply(responder, output.call, &flagged, &form) == RPCRDMA_INVALID);
    CHECK(rpcrdma_responder_reply(responder, output.call, &reply, &form) == RPCRDMA_OK && form == RPCRDMA_FORM_SHORT);
    CHECK(rpcrdma_responder_refuse(responder, output.call) == RPCRDMA_NOT_FOUND);
    CHECK(rpcrdma_responder_poll(responder, buffer, sizeof buffer, &output) == RPCRDMA_OK);
    CHECK(output.kind == RPCRDMA_DO_RELEASE && output.receive == 5);
    CHECK(rpcrdma_responder_poll(responder, buffer, sizeof buffer, &output) == RPCRDMA_OK);
    CHECK(output.kind == RPCRDMA_DO_SEND && output.header_length == 28);

    input.length = complete(&output, buffer, success);
    CHECK(rpcrdma_requester_handle(requester, &input) == RPCRDMA_OK);
    CHECK(rpcrdma_requester_poll(requester, NULL, 0, &output) == RPCRDMA_OK && output.kind == RPCRDMA_DO_NOTHING);
    memset(&input, 0, sizeof input);
    input.kind = RPCRDMA_IN_SENT;
    input.call = id;
    CHECK(rpcrdma_requester_handle(requester, &input) == RPCRDMA_OK);
    CHECK(rpcrdma_requester_handle(requester, &input) == RPCRDMA_UNEXPECTED);
    CHECK(rpcrdma_requester_poll(requester, NULL, 0, &output) == RPCRDMA_OK && output.kind == RPCRDMA_DO_DONE);
    CHECK(output.end == RPCRDMA_END_REPLY && output.receive == 5 && output.from == 28 && output.length == 24);
    input.kind = 99;
    CHECK(rpcrdma_requester_handle(requester, &input) == RPCRDMA_INVALID);
    input.kind = RPCRDMA_IN_DISCONNECTED;
    CHECK(rpcrdma_requester_handle(requester, &input) == RPCRDMA_OK);
    CHECK(rpcrdma_requester_call(requester, &what, &id) == RPCRDMA_CLOSED);
}

int main(void)
{
    set_up_endpoints();
    one_call();
    sizes();
    bad_numbers();
    properties();
    version_2(RPCRDMA_FAMILY_A, RPCRDMA2_A_MSG, 60);
    version_2(RPCRDMA_FAMILY_B, RPCRDMA2_B_CALL_INLINE, 56);
    set_up();
    rpc_headers();
    judging();
    strings();
    decoding();
    bad_arguments();
    results_beside_octets();
    encoding();
    building();
    replies();
    return 0;
}
