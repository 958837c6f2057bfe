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

int main(void)
{
    decoding();
    bad_arguments();
    encoding();
    building();
    replies();
    return 0;
}
