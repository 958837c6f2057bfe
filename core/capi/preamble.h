/*
 * RPC-over-RDMA version 1 (RFC 8166) and version 2 (its drafts): decoding, encoding and judging messages, and deciding what
 * a Requester and a Responder do. This file is generated from the comments in core/capi/src; do not edit it.
 *
 * Nothing is allocated, called back, or kept between calls, and there is no global state. Any number of threads may call
 * any function at the same time, as long as no two of them use the same memory and one of them writes it.
 *
 * Decoded structures point into the octets that they were decoded from, and are valid as long as those do not change.
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
 * A Requester and a Responder decide what is to be done, and the program around them, their driver, does it:
 *
 * - After each input, and after each other function that tells an endpoint something, it takes outputs until there is nothing
 *   to do, and carries them out in that order. What it posts to the adapter, it posts in that order too, so that a Send is
 *   carried out after the RDMA Writes before it.
 * - It gives its Receives names: any numbers. A Receive that it told an endpoint of stays as it is until an output gives it
 *   back. It is posted again before the next output is carried out.
 * - As many Receives are posted for a Responder as it grants credits, and for a Requester as it asks for.
 * - The Payload stream of a Call stays as it is until RPCRDMA_DO_DONE, and that of a reply until its last Send is complete.
 * - Each memory region is registered for one Call, in the protection domain of the connection, under a handle that no other
 *   memory has meanwhile, and that cannot be predicted from those before it (RFC 8166 sections 8.1.1, 8.1.2).
 *
 * Versions: RPCRDMA_LIBRARY_VERSION is that of this header, rpcrdma_library_version() that of the library. While the major version
 * is 0, a minor version is an interface of its own: librpcrdma.so.0.1 is another file than librpcrdma.so.0.2. Within a minor
 * version:
 *
 * - Functions and constants may be added, and keep their meaning. A function may return a status, and write a kind of output, an
 *   end or a finding, that a program does not know: treat it as a failure of what was asked for.
 * - Structures keep their size and their members, and RPCRDMA_REQUESTER_SIZE and the like are enough for each later library.
 * - A program that was compiled with a header of other sizes (make CALLS=...), or of another minor version, gets
 *   RPCRDMA_OTHER_BUILD when it initialises an endpoint.
 *
 * A new minor version may append members to structures, and 0 is then what the structure did without them: zero a structure before
 * you fill it in ("rpcrdma_call call = {0};"), and name its members.
 *
 * No function can check that memory is there: a pointer that is not NULL has to name as many octets as its length says, and
 * nobody may write to them during the call.
 */
