/*
 * RPC-over-RDMA version 1 (RFC 8166) and version 2 (its drafts): decoding, encoding and judging messages, and deciding what
 * a Requester and a Responder do. This file is generated from the comments in core/capi/src; do not edit it.
 *
 * Nothing is allocated, called back, or kept between calls, and there is no global state. Any number of threads may call
 * any function at the same time, as long as no two of them use the same memory and one of them writes it.
 *
 * What a function decodes points into the octets it was given, and is good as long as they stay as they are.
 *
 * All functions treat their arguments in the same way, and return a status:
 *
 * - A pointer with a length or a count names that many octets or values; with 0 it may be NULL. Any other pointer that is
 *   NULL gives RPCRDMA_NULL.
 * - Octets may lie anywhere. A pointer to anything else that is not aligned gives RPCRDMA_UNALIGNED.
 * - Where a function writes while it still reads, an overlap of the two gives RPCRDMA_OVERLAP.
 * - Octets that are too few for what they should be are an error of decoding, never read past their end.
 * - A buffer that is too small gives RPCRDMA_NO_ROOM, and nothing is written to it; the length is then what is needed.
 *   So the length of a message is known before there is a buffer: with NULL and 0.
 *
 * What no function can check is whether memory is there: a pointer that is not NULL has to name as much as its length says,
 * and nobody may write to it during the call.
 */
#ifndef RPCRDMA_H
#define RPCRDMA_H

#include <stddef.h>
#include <stdint.h>

/**
 * Octets of a segment on the wire.
 */
#define RPCRDMA_SEGMENT 16

/**
 * Octets of an entry of the Read list on the wire.
 */
#define RPCRDMA_READ_ENTRY 24

/**
 * RDMA_MSG: the Payload stream follows the header.
 */
#define RPCRDMA_MSG 0

/**
 * RDMA_NOMSG: the Payload stream is in a chunk.
 */
#define RPCRDMA_NOMSG 1

/**
 * RDMA_MSGP: not to be sent any more (section 4.6.1).
 */
#define RPCRDMA_MSGP 2

/**
 * RDMA_DONE: not to be sent any more (section 4.6.2).
 */
#define RPCRDMA_DONE 3

/**
 * RDMA_ERROR: the header of a Call was in error (section 4.5).
 */
#define RPCRDMA_ERROR 4

/**
 * ERR_VERS: the Responder does not support the version.
 */
#define RPCRDMA_ERR_VERS 1

/**
 * ERR_CHUNK: the Responder cannot make sense of the header, or cannot reply.
 */
#define RPCRDMA_ERR_CHUNK 2

/**
 * Fewer octets than the smallest header of this procedure.
 */
#define RPCRDMA_HEADER_SHORT 1

/**
 * rdma_vers is not the version that is decoded (RFC 8166 section 4.5.1).
 */
#define RPCRDMA_OTHER_VERSION 2

/**
 * rdma_proc is none of the five (section 4.5.2).
 */
#define RPCRDMA_UNKNOWN_PROCEDURE 3

/**
 * rdma_htype has no meaning in this wire format of version 2.
 */
#define RPCRDMA_UNKNOWN_HEADER_TYPE 4

/**
 * rdma_err is neither ERR_VERS nor ERR_CHUNK.
 */
#define RPCRDMA_UNKNOWN_ERROR 5

/**
 * A word that says whether an entry follows is neither 0 nor 1.
 */
#define RPCRDMA_LIST_FLAG 6

/**
 * The octets end within a chunk list.
 */
#define RPCRDMA_LIST_TRUNCATED 7

/**
 * A chunk counts more segments than the rest of the Send can hold.
 */
#define RPCRDMA_SEGMENT_COUNT 8

/**
 * The octets of a version 2 message end within its header, outside of a chunk list.
 */
#define RPCRDMA_HEADER_TRUNCATED 9

/**
 * A transport property of version 2 has a value that is not of its type.
 */
#define RPCRDMA_PROPERTY_VALUE 10

/**
 * Something that a later version of this library knows.
 */
#define RPCRDMA_OTHER_ERROR 0

/**
 * What became of a call. Unless it is RPCRDMA_OK, nothing was written except what the function says.
 */
typedef enum rpcrdma_status {
  /**
   * It did what it says.
   */
  RPCRDMA_OK = 0,
  /**
   * A pointer is NULL where there has to be something.
   */
  RPCRDMA_NULL = 1,
  /**
   * A pointer to a structure or to numbers is not aligned as its type asks. Octets may lie anywhere.
   */
  RPCRDMA_UNALIGNED = 2,
  /**
   * What is written would overlap what is read.
   */
  RPCRDMA_OVERLAP = 3,
  /**
   * A length is more than half of the address space, or a range passes its end.
   */
  RPCRDMA_TOO_LONG = 4,
  /**
   * A number has no meaning where it is.
   */
  RPCRDMA_INVALID = 5,
  /**
   * The octets are not what the function decodes. Its error says why, and where.
   */
  RPCRDMA_NOT_DECODED = 6,
  /**
   * The buffer is too small. The length says how many octets are needed.
   */
  RPCRDMA_NO_ROOM = 7,
  /**
   * There is nothing like it.
   */
  RPCRDMA_NOT_FOUND = 8,
  /**
   * More octets for a chunk than it has room for.
   */
  RPCRDMA_CHUNK_TOO_SMALL = 9,
} rpcrdma_status;

/**
 * The read segments of a Read list that are still to be visited: rpcrdma_next_read_segment takes the first. A copy is a
 * second cursor.
 */
typedef struct rpcrdma_read_list {
  /**
   * The entries as they are on the wire, RPCRDMA_READ_ENTRY octets each.
   */
  const uint8_t *entries;
  /**
   * How many there are.
   */
  size_t count;
} rpcrdma_read_list;

/**
 * The Write chunks of a Write list that are still to be visited: rpcrdma_next_write_chunk takes the first. A copy is a
 * second cursor.
 */
typedef struct rpcrdma_write_list {
  /**
   * The chunks as they are on the wire: each a 1, the number of its segments, and its segments.
   */
  const uint8_t *octets;
  /**
   * Octets there, at least those of the chunks.
   */
  size_t length;
  /**
   * How many chunks there are.
   */
  size_t count;
} rpcrdma_write_list;

/**
 * The segments of a Write chunk or Reply chunk that are still to be visited: rpcrdma_next_segment takes the first. A copy
 * is a second cursor.
 */
typedef struct rpcrdma_segment_list {
  /**
   * The segments as they are on the wire, RPCRDMA_SEGMENT octets each. NULL if there is no such chunk; a chunk may also be
   * there and have no segments (section 4.3.2.3).
   */
  const uint8_t *segments;
  /**
   * How many there are.
   */
  size_t count;
} rpcrdma_segment_list;

/**
 * The chunks of a header (section 4.3).
 */
typedef struct rpcrdma_chunks {
  /**
   * The Read list.
   */
  struct rpcrdma_read_list reads;
  /**
   * The Write list.
   */
  struct rpcrdma_write_list writes;
  /**
   * The Reply chunk; its pointer is NULL if there is none.
   */
  struct rpcrdma_segment_list reply;
} rpcrdma_chunks;

/**
 * One Send of version 1: its transport header, and where the Payload stream is.
 */
typedef struct rpcrdma_message {
  /**
   * rdma_xid.
   */
  uint32_t xid;
  /**
   * rdma_credit: requested in a Call, granted in a Reply.
   */
  uint32_t credit;
  /**
   * rdma_proc: RPCRDMA_MSG and so on.
   */
  uint32_t procedure;
  /**
   * RPCRDMA_ERROR: RPCRDMA_ERR_VERS or RPCRDMA_ERR_CHUNK. Otherwise 0.
   */
  uint32_t error;
  /**
   * RPCRDMA_ERR_VERS: the lowest and the highest version that is supported. RPCRDMA_MSGP: rdma_align and rdma_thresh.
   * Otherwise 0.
   */
  uint32_t words[2];
  /**
   * The chunks; empty lists if this procedure has none.
   */
  struct rpcrdma_chunks chunks;
  /**
   * Octets of the header. Not used for encoding.
   */
  size_t header_length;
  /**
   * What follows the header: the Payload stream of RPCRDMA_MSG. Not used for encoding.
   */
  const uint8_t *payload;
  /**
   * Octets that follow the header. Not used for encoding.
   */
  size_t payload_length;
} rpcrdma_message;

/**
 * Why a Send is not a transport header, and where.
 */
typedef struct rpcrdma_decode_error {
  /**
   * One of RPCRDMA_HEADER_SHORT and so on.
   */
  uint32_t kind;
  /**
   * Octets from the start of the Send to the item that is wrong, or that is incomplete.
   */
  size_t offset;
  /**
   * The rdma_err that a Responder answers with, or 0 if it discards the Send (RFC 8166 section 4.5). In version 1 a
   * Requester always discards it.
   */
  uint32_t answer;
} rpcrdma_decode_error;

/**
 * A segment of registered memory (RFC 8166 section 3.4.3).
 */
typedef struct rpcrdma_segment {
  /**
   * The steering tag (STag, R_key) under which the memory is registered.
   */
  uint32_t handle;
  /**
   * Octets in the segment.
   */
  uint32_t length;
  /**
   * Where it begins: an address or an offset, as the handle was registered.
   */
  uint64_t offset;
} rpcrdma_segment;

/**
 * A read segment: a piece of an argument (section 3.4.5).
 */
typedef struct rpcrdma_read_segment {
  /**
   * Octets from the start of the unreduced Payload stream to the item that this is a part of.
   */
  uint32_t position;
  /**
   * Where the piece is.
   */
  struct rpcrdma_segment target;
} rpcrdma_read_segment;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Decodes a Send of version 1. Lists and payload in *message point into the octets.
 *
 * RPCRDMA_NOT_DECODED: *error says why. RPCRDMA_OVERLAP: *message or *error overlaps the octets.
 */
enum rpcrdma_status rpcrdma_decode(const uint8_t *octets,
                                   size_t length,
                                   struct rpcrdma_message *message,
                                   struct rpcrdma_decode_error *error);

/**
 * Encodes the header of a message of version 1 at the start of a buffer. The Payload stream, if it is to follow, is for the
 * caller to put after it. The structure is one that was decoded, or filled in: lists as they are on the wire, made with
 * rpcrdma_put_read_segment, rpcrdma_put_write_chunk and rpcrdma_put_segment.
 *
 * *length is that of the header. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_INVALID: procedure or error has no
 * meaning, or the Write list has fewer chunks than it counts. RPCRDMA_OVERLAP: the buffer or *length overlaps a list.
 */
enum rpcrdma_status rpcrdma_encode(const struct rpcrdma_message *message,
                                   uint8_t *buffer,
                                   size_t capacity,
                                   size_t *length);

/**
 * Encodes the header of the Reply to a Call: its chunks come back with the lengths of what was put into them (section
 * 4.3.2). written has the octets in each Write chunk, and may be shorter than the list: the rest is unused. procedure is
 * RPCRDMA_MSG, and the reply follows the header; or RPCRDMA_NOMSG, and reply_length octets of it are in the Reply chunk.
 *
 * *length is that of the header. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_NOT_FOUND: the Call has not as many
 * Write chunks, or no Reply chunk. RPCRDMA_CHUNK_TOO_SMALL: more octets than a chunk has. RPCRDMA_INVALID: the Call has no
 * chunk lists, or procedure is another. RPCRDMA_OVERLAP: the buffer or *length overlaps the Call or the numbers.
 */
enum rpcrdma_status rpcrdma_encode_reply(const struct rpcrdma_message *call,
                                         uint32_t credit,
                                         uint32_t procedure,
                                         const uint64_t *written,
                                         size_t written_count,
                                         uint64_t reply_length,
                                         uint8_t *buffer,
                                         size_t capacity,
                                         size_t *length);

/**
 * Encodes the RDMA_ERROR that answers a Call (section 4.5): error is RPCRDMA_ERR_VERS or RPCRDMA_ERR_CHUNK. Its XID and
 * version are those of the Call, of which the first 16 octets are needed.
 *
 * *length is that of the message. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_NOT_DECODED: fewer than 16 octets;
 * then there is nothing to answer. RPCRDMA_INVALID: error is another. RPCRDMA_OVERLAP: the buffer or *length overlaps the
 * Call.
 */
enum rpcrdma_status rpcrdma_encode_error(const uint8_t *call,
                                         size_t call_length,
                                         uint32_t credit,
                                         uint32_t error,
                                         uint8_t *buffer,
                                         size_t capacity,
                                         size_t *length);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

/*
 * Cursors: each takes the first item of a list, or returns 0 if there is none left. They are here so that a compiler can
 * make a few instructions of each.
 */

/* A number on the wire, its most significant octet first. */
static inline uint32_t rpcrdma_word(const uint8_t *octets)
{
    return (uint32_t)octets[0] << 24 | (uint32_t)octets[1] << 16 | (uint32_t)octets[2] << 8 | (uint32_t)octets[3];
}

/* Writes a number as it is on the wire. */
static inline void rpcrdma_put_word(uint8_t *octets, uint32_t word)
{
    octets[0] = (uint8_t)(word >> 24);
    octets[1] = (uint8_t)(word >> 16);
    octets[2] = (uint8_t)(word >> 8);
    octets[3] = (uint8_t)word;
}

/* Takes the next segment of a chunk. */
static inline int rpcrdma_next_segment(rpcrdma_segment_list *list, rpcrdma_segment *segment)
{
    if (list->count == 0)
        return 0;
    segment->handle = rpcrdma_word(list->segments);
    segment->length = rpcrdma_word(list->segments + 4);
    segment->offset = (uint64_t)rpcrdma_word(list->segments + 8) << 32 | rpcrdma_word(list->segments + 12);
    list->segments += RPCRDMA_SEGMENT;
    list->count--;
    return 1;
}

/* Takes the next segment of a Read list. Consecutive ones with the same Position form one Read chunk. */
static inline int rpcrdma_next_read_segment(rpcrdma_read_list *list, rpcrdma_read_segment *segment)
{
    rpcrdma_segment_list target = {list->entries + 8, 1};

    if (list->count == 0)
        return 0;
    segment->position = rpcrdma_word(list->entries + 4);
    rpcrdma_next_segment(&target, &segment->target);
    list->entries += RPCRDMA_READ_ENTRY;
    list->count--;
    return 1;
}

/* Takes the next Write chunk of a Write list. */
static inline int rpcrdma_next_write_chunk(rpcrdma_write_list *list, rpcrdma_segment_list *chunk)
{
    size_t length;

    if (list->count == 0)
        return 0;
    chunk->segments = list->octets + 8;
    chunk->count = rpcrdma_word(list->octets + 4);
    length = 8 + chunk->count * RPCRDMA_SEGMENT;
    list->octets += length;
    list->length -= length;
    list->count--;
    return 1;
}

/* Writes a segment as it is on the wire: RPCRDMA_SEGMENT octets. */
static inline void rpcrdma_put_segment(uint8_t *octets, const rpcrdma_segment *segment)
{
    rpcrdma_put_word(octets, segment->handle);
    rpcrdma_put_word(octets + 4, segment->length);
    rpcrdma_put_word(octets + 8, (uint32_t)(segment->offset >> 32));
    rpcrdma_put_word(octets + 12, (uint32_t)segment->offset);
}

/* Writes an entry of a Read list as it is on the wire: RPCRDMA_READ_ENTRY octets. */
static inline void rpcrdma_put_read_segment(uint8_t *octets, const rpcrdma_read_segment *segment)
{
    rpcrdma_put_word(octets, 1);
    rpcrdma_put_word(octets + 4, segment->position);
    rpcrdma_put_segment(octets + 8, &segment->target);
}

/* Writes what comes before the segments of a Write chunk in a Write list: 8 octets. */
static inline void rpcrdma_put_write_chunk(uint8_t *octets, uint32_t segments)
{
    rpcrdma_put_word(octets, 1);
    rpcrdma_put_word(octets + 4, segments);
}

#endif /* RPCRDMA_H */
