/*
 * What firmware does with the library, on a board without an operating system, or here: every Send of sends.h is decoded, its
 * segments are visited, it is judged, and encoded again or answered; then a thousand NULL calls go from a Requester to a
 * Responder in memory. Each prints a digest, which has to be the same everywhere.
 */
#include <stddef.h>
#include <stdint.h>

#include <rpcrdma.h>

#include "sends.h"

void print(const char *text); /* board.c, host.c */

/* FNV-1a with 64 bits. */
static uint64_t digest = 0xcbf29ce484222325;

static void add(uint64_t value, unsigned octets)
{
    while (octets-- > 0)
        digest = (digest ^ (value >> (8 * octets) & 0xff)) * 0x0100000001b3;
}

static void add_octets(const uint8_t *octets, size_t length)
{
    for (size_t i = 0; i < length; i++)
        add(octets[i], 1);
}

static void print_digest(const char *what)
{
    char text[] = " digest 0000000000000000\n";

    for (unsigned i = 0; i < 16; i++)
        text[8 + i] = "0123456789abcdef"[digest >> (60 - 4 * i) & 15];
    print(what);
    print(text);
}

static void add_segments(rpcrdma_segment_list list)
{
    rpcrdma_segment segment;

    while (rpcrdma_next_segment(&list, &segment)) {
        add(segment.handle, 4);
        add(segment.length, 4);
        add(segment.offset, 8);
    }
}

static void add_chunks(rpcrdma_chunks chunks)
{
    rpcrdma_read_segment read;
    rpcrdma_segment_list chunk;

    while (rpcrdma_next_read_segment(&chunks.reads, &read)) {
        add(read.position, 4);
        add(read.target.offset, 8);
    }
    while (rpcrdma_next_write_chunk(&chunks.writes, &chunk))
        add_segments(chunk);
    add_segments(chunks.reply);
}

static void codec(const uint8_t *octets, size_t length)
{
    static uint8_t buffer[4096];
    static rpcrdma_finding findings[16];
    rpcrdma_message message;
    rpcrdma_decode_error error;
    size_t used = 0, count = 0;

    if (rpcrdma_decode(octets, length, &message, &error) == RPCRDMA_OK) {
        add(message.xid, 4);
        add_chunks(message.chunks);
        add(rpcrdma_encode(&message, buffer, sizeof buffer, &used), 1);
        add_octets(buffer, used);
        add(rpcrdma_encode_reply(&message, 32, RPCRDMA_MSG, NULL, 0, 0, buffer, sizeof buffer, &used), 1);
    } else {
        add(error.kind, 4);
        add(error.offset, 4);
        if (error.answer != 0)
            add(rpcrdma_encode_error(octets, length, 32, error.answer, buffer, sizeof buffer, &used), 1);
    }
    add_octets(buffer, used);
    rpcrdma_judge(octets, length, RPCRDMA_RESPONDER, findings, 16, &count);
    for (size_t i = 0; i < count && i < 16; i++) {
        add_octets((const uint8_t *)findings[i].slug.characters, findings[i].slug.length);
        add(findings[i].offset, 4);
    }
}

/* One Send: the header is in the buffer, and the ranges of the stream follow it. */
static size_t complete(const rpcrdma_output *output, uint8_t *buffer, const uint8_t *stream)
{
    size_t length = output->header_length;

    for (size_t i = 0; i < output->ranges_count; i++) {
        for (uint32_t j = 0; j < output->ranges[i].length; j++)
            buffer[length++] = stream[output->ranges[i].from + j];
    }
    add_octets(buffer, length);
    return length;
}

static uint64_t requester_memory[6000], responder_memory[6000];

/* What an endpoint asks for next; 0 if that is not what is expected. */
static int asks(rpcrdma_status status, const rpcrdma_output *output, uint32_t kind)
{
    add(output->kind, 4);
    return status == RPCRDMA_OK && output->kind == kind;
}

/* A NULL call, from the Requester to the Responder and back. Returns whether it has its reply. */
static int null_call(rpcrdma_requester *requester, rpcrdma_responder *responder, uint32_t xid)
{
    static uint8_t call[40] = {[11] = 2, [13] = 1, [14] = 0x86, [15] = 0xa3, [19] = 4}, reply[24] = {[7] = 1};
    static uint8_t sent[256], header[256];
    static rpcrdma_output output;
    const rpcrdma_call what = {call, 40, 40, 24, NULL, 0, NULL, 0, 0};
    const rpcrdma_reply answer = {reply, 24, 24, 0, NULL, 0};
    rpcrdma_input input = {0};
    uint64_t id;
    uint32_t form;

    rpcrdma_put_word(call, xid);
    rpcrdma_put_word(reply, xid);
    if (rpcrdma_requester_call(requester, &what, &id) != RPCRDMA_OK ||
        !asks(rpcrdma_requester_poll(requester, sent, sizeof sent, &output), &output, RPCRDMA_DO_SEND))
        return 0;
    input.kind = RPCRDMA_IN_RECEIVED;
    input.octets = sent;
    input.length = complete(&output, sent, call);
    if (rpcrdma_responder_handle(responder, &input) != RPCRDMA_OK ||
        !asks(rpcrdma_responder_poll(responder, header, sizeof header, &output), &output, RPCRDMA_DO_DELIVER) ||
        rpcrdma_responder_reply(responder, output.call, &answer, &form) != RPCRDMA_OK ||
        !asks(rpcrdma_responder_poll(responder, header, sizeof header, &output), &output, RPCRDMA_DO_RELEASE) ||
        !asks(rpcrdma_responder_poll(responder, header, sizeof header, &output), &output, RPCRDMA_DO_SEND))
        return 0;
    input.octets = header;
    input.length = complete(&output, header, reply);
    if (rpcrdma_requester_handle(requester, &input) != RPCRDMA_OK)
        return 0;
    input.kind = RPCRDMA_IN_SENT;
    input.call = id;
    return rpcrdma_requester_handle(requester, &input) == RPCRDMA_OK &&
           asks(rpcrdma_requester_poll(requester, sent, sizeof sent, &output), &output, RPCRDMA_DO_DONE) &&
           output.end == RPCRDMA_END_REPLY;
}

/* Returns the exit status. */
int firmware(void)
{
    const rpcrdma_terms terms = {1024, 1024, 0, RPCRDMA_VERSION_1, RPCRDMA_FORMATS_ALL};
    const rpcrdma_limits limits = {1, 1, 16, 4096, 0};
    rpcrdma_requester *requester = (rpcrdma_requester *)requester_memory;
    rpcrdma_responder *responder = (rpcrdma_responder *)responder_memory;

    for (size_t i = 0; i < sizeof sends / sizeof *sends; i++)
        codec(sends[i].octets, sends[i].length);
    print_digest("Sends:");
    if (rpcrdma_requester_init(requester, sizeof requester_memory, &terms, 4, 4096) != RPCRDMA_OK ||
        rpcrdma_responder_init(responder, sizeof responder_memory, &terms, &limits, 4) != RPCRDMA_OK)
        return 1;
    for (uint32_t xid = 1; xid <= 1000; xid++) {
        if (!null_call(requester, responder, xid))
            return 1;
    }
    print_digest("calls:");
    return 0;
}
