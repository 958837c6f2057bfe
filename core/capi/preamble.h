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
