/* Decodes a Send of version 1, given as a hex dump on the standard input, and prints its chunks. */
#include <inttypes.h>
#include <stdio.h>

#include <rpcrdma.h>

#include "hex.h"

static void print_segment(const char *list, const rpcrdma_segment *segment)
{
    printf("  %s handle 0x%08" PRIx32 " length %" PRIu32 " offset 0x%" PRIx64 "\n", list, segment->handle,
           segment->length, segment->offset);
}

/* The chunks are copied: stepping through a list uses it up. */
static void print_chunks(rpcrdma_chunks chunks)
{
    rpcrdma_read_segment read;
    rpcrdma_segment_list chunk;
    rpcrdma_segment segment;

    while (rpcrdma_next_read_segment(&chunks.reads, &read)) {
        printf("  position %" PRIu32, read.position);
        print_segment("read", &read.target);
    }
    while (rpcrdma_next_write_chunk(&chunks.writes, &chunk)) {
        while (rpcrdma_next_segment(&chunk, &segment))
            print_segment("write", &segment);
    }
    while (rpcrdma_next_segment(&chunks.reply, &segment))
        print_segment("reply", &segment);
}

int main(void)
{
    static uint8_t octets[65536];
    rpcrdma_message message;
    rpcrdma_decode_error error;
    size_t length = read_dump(stdin, octets, sizeof octets);
    rpcrdma_status status = rpcrdma_decode(octets, length, &message, &error);

    if (status == RPCRDMA_NOT_DECODED) {
        printf("not a header: error %" PRIu32 " at octet %zu\n", error.kind, error.offset);
        return 1;
    }
    if (status != RPCRDMA_OK)
        return 2;
    printf("xid 0x%08" PRIx32 " credit %" PRIu32 " procedure %" PRIu32 "\n", message.xid, message.credit,
           message.procedure);
    print_chunks(message.chunks);
    printf("  header %zu octets, payload %zu\n", message.header_length, message.payload_length);
    return 0;
}
