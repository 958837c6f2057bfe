/*
 * Cursors: each takes the first item of a list, or returns 0 if there is none left. They are here so that a compiler can
 * make a few instructions of each.
 */

/* A number on the wire, its most significant octet first. */
static inline uint32_t rpcrdma_word(const uint8_t *octets)
{
    return (uint32_t)octets[0] << 24 | (uint32_t)octets[1] << 16 | (uint32_t)octets[2] << 8 | (uint32_t)octets[3];
}

/* A number of 64 bits on the wire. Compilers make one instruction of it, written like this. */
static inline uint64_t rpcrdma_long(const uint8_t *octets)
{
    return (uint64_t)octets[0] << 56 | (uint64_t)octets[1] << 48 | (uint64_t)octets[2] << 40 |
           (uint64_t)octets[3] << 32 | (uint64_t)octets[4] << 24 | (uint64_t)octets[5] << 16 |
           (uint64_t)octets[6] << 8 | (uint64_t)octets[7];
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
    segment->offset = rpcrdma_long(list->segments + 8);
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

/* Writes a transport property whose value is a number, as it is on the wire: RPCRDMA_NUMBER_PROPERTY octets. */
static inline void rpcrdma_put_property(uint8_t *octets, uint32_t id, uint32_t number)
{
    rpcrdma_put_word(octets, id);
    rpcrdma_put_word(octets + 4, 4);
    rpcrdma_put_word(octets + 8, number);
}

/* Writes what comes before the segments of a Write chunk in a Write list: 8 octets. */
static inline void rpcrdma_put_write_chunk(uint8_t *octets, uint32_t segments)
{
    rpcrdma_put_word(octets, 1);
    rpcrdma_put_word(octets + 4, segments);
}
