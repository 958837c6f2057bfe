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
#ifndef RPCRDMA_H
#define RPCRDMA_H

#include <stddef.h>
#include <stdint.h>

/*
 * The version of this header, and what the library was built with: a library that was built with other numbers refuses to
 * initialise an endpoint (RPCRDMA_OTHER_BUILD). core/capi/Makefile changes them: make install CALLS=4.
 */
/** The version of the library, as text. */
#define RPCRDMA_LIBRARY_VERSION "0.1.0"
/** The same as a number: major, minor and patch in two hexadecimal digits each. */
#define RPCRDMA_LIBRARY_VERSION_NUMBER 0x000100
/** The maximum number of calls at a time of a Requester or a Responder. */
#define RPCRDMA_CALLS 32
/** The maximum number of segments of a Call that a Requester makes. */
#define RPCRDMA_SEGMENTS 16
/** The maximum length of the header of a Call that a Responder accepts, in octets. */
#define RPCRDMA_CALL_HEADER 1024
/** The maximum number of Read chunks of a Call that a Responder accepts, and of Write chunks. */
#define RPCRDMA_CALL_CHUNKS 2
/** Defined if endpoints speak version 2 as well. */
#define RPCRDMA_HAS_VERSION_2 1
/** Defined if findings have a summary. */
#define RPCRDMA_HAS_EXPLANATIONS 1

#if defined(RPCRDMA_HAS_VERSION_2)
/**
 * The end that connects.
 */
#define RPCRDMA_CLIENT 1

/**
 * The end that accepts.
 */
#define RPCRDMA_SERVER 2

/**
 * Calls of the server are not answered.
 */
#define RPCRDMA_REVERSE_NONE 0

/**
 * Calls of the server, each in one Send without chunks, are answered.
 */
#define RPCRDMA_REVERSE_SIMPLE 1

/**
 * The same, and messages may be continued in other Sends.
 */
#define RPCRDMA_REVERSE_CONTINUED 2

/**
 * Calls of the server are answered in every form.
 */
#define RPCRDMA_REVERSE_ALL 3

/**
 * Nothing is known yet.
 */
#define RPCRDMA_PENDING 0

/**
 * From now on the connection speaks version, and never another.
 */
#define RPCRDMA_AGREED 1

/**
 * Not on this connection. On the next one to the same peer, begin with version.
 */
#define RPCRDMA_ELSEWHERE 2

/**
 * Both ends have no version in common.
 */
#define RPCRDMA_IMPOSSIBLE 3

/**
 * The connection was lost before anything was known, and there is no other version to begin with.
 */
#define RPCRDMA_LOST 4

/**
 * The Responder: a part of a Call that began in an earlier Send. While the Call still waits for a place, so must this
 * part; but an end that makes calls as well copies the part, and posts the Receive again, because nothing but parts
 * may come between the parts.
 */
#define RPCRDMA_ARRIVED_CALL_PART 4

/**
 * Neither endpoint: the Receive can be posted again.
 */
#define RPCRDMA_ARRIVED_NOTHING 5

/**
 * The same: the peer has sent transport properties, so terms and segment limits may have changed.
 */
#define RPCRDMA_ARRIVED_PROPERTIES 6

/**
 * The same, and no reply to the Call with xid can come any more: RPCRDMA_IN_BROKEN for the Requester.
 */
#define RPCRDMA_ARRIVED_BROKEN_REPLY 7

/**
 * The same, and the rest of the Call with xid will not come: RPCRDMA_IN_BROKEN for the Responder, with error and words.
 */
#define RPCRDMA_ARRIVED_BROKEN_CALL 8

/**
 * The peer has sent more than was granted. The driver has to end the connection.
 */
#define RPCRDMA_ARRIVED_EXCEEDED 9

/**
 * Octets of memory for a channel. rpcrdma_channel_size may say less.
 */
#define RPCRDMA_CHANNEL_SIZE 1536
#endif

/**
 * The maximum number of ranges of an output.
 */
#define RPCRDMA_RANGES (RPCRDMA_SEGMENTS + 1)

/**
 * The sizes and the interface that this header is for: the last argument of rpcrdma_requester_init, rpcrdma_responder_init and
 * rpcrdma_channel_init, which refuse another library's.
 */
#define RPCRDMA_BUILD ((((((uint64_t)RPCRDMA_CALLS << 52) | ((uint64_t)RPCRDMA_SEGMENTS << 40)) | ((uint64_t)RPCRDMA_CALL_HEADER << 24)) | ((uint64_t)RPCRDMA_CALL_CHUNKS << 16)) | ((uint64_t)RPCRDMA_LIBRARY_VERSION_NUMBER >> 8))

/**
 * The alignment of a Requester, a Responder and a channel, in octets: that of a uint64_t is enough.
 */
#define RPCRDMA_ALIGNMENT 8

/**
 * Octets of memory for a Requester. rpcrdma_requester_size may say less.
 */
#define RPCRDMA_REQUESTER_SIZE (256 + (RPCRDMA_CALLS * (208 + (60 * RPCRDMA_SEGMENTS))))

/**
 * Octets of memory for a Responder. rpcrdma_responder_size may say less.
 */
#define RPCRDMA_RESPONDER_SIZE (256 + (RPCRDMA_CALLS * ((216 + RPCRDMA_CALL_HEADER) + (16 * RPCRDMA_CALL_CHUNKS))))

/**
 * The version is 1. An end that only calls passes the Send to the Requester, an end that is only called to the
 * Responder; an end that does both asks rpcrdma_direction.
 */
#define RPCRDMA_ARRIVED_VERSION_1 1

/**
 * The Requester.
 */
#define RPCRDMA_ARRIVED_REPLY 2

/**
 * The Responder, if a place is free (rpcrdma_responder_count). Else the Send has to wait.
 */
#define RPCRDMA_ARRIVED_CALL 3

/**
 * Version 1.
 */
#define RPCRDMA_VERSION_1 1

/**
 * Version 2 in the wire format of family A.
 */
#define RPCRDMA_VERSION_2A 2

/**
 * Version 2 in the wire format of family B.
 */
#define RPCRDMA_VERSION_2B 4

/**
 * Every form.
 */
#define RPCRDMA_FORMATS_ALL 0

/**
 * None: there are no calls in this direction.
 */
#define RPCRDMA_FORMATS_NONE 1

/**
 * One Send, without chunks.
 */
#define RPCRDMA_FORMATS_SIMPLE 2

/**
 * One Send or several, without chunks.
 */
#define RPCRDMA_FORMATS_CONTINUED 3

/**
 * A Receive is complete: receive, octets, length. The Receive belongs to the endpoint until an output returns the
 * Receive.
 */
#define RPCRDMA_IN_RECEIVED 1

/**
 * Requester: the same, and the Send has invalidated handle.
 */
#define RPCRDMA_IN_RECEIVED_INVALIDATING 2

/**
 * Memory was registered: call, region, handle, offset.
 */
#define RPCRDMA_IN_REGISTERED 3

/**
 * Memory could not be registered: call, region.
 */
#define RPCRDMA_IN_NOT_REGISTERED 4

/**
 * The peer cannot reach memory any more: call, region.
 */
#define RPCRDMA_IN_INVALIDATED 5

/**
 * Requester: a Send is complete: call.
 */
#define RPCRDMA_IN_SENT 6

/**
 * An RDMA Read is complete: call.
 */
#define RPCRDMA_IN_COMPLETED 7

/**
 * Responder: the RDMA Read or RDMA Write that was asked for last is not posted, for lack of memory: call. The Call is
 * answered with an error, after RPCRDMA_IN_COMPLETED for each of the other RDMA Reads.
 */
#define RPCRDMA_IN_NOT_POSTED 8

/**
 * Something that was posted could not be carried out.
 */
#define RPCRDMA_IN_FAILED 9

/**
 * The connection is over, and the peer can reach no memory any more.
 */
#define RPCRDMA_IN_DISCONNECTED 10

/**
 * Version 2: the rest of a message will not come, as rpcrdma_channel_received said: xid; for a Responder also error, words.
 */
#define RPCRDMA_IN_BROKEN 11

/**
 * Responder: the RDMA Read or RDMA Write that was asked for last is not posted yet, because the memory has to be made
 * ready first: call. Nothing more is asked for this call until RPCRDMA_IN_RESUMED.
 */
#define RPCRDMA_IN_POSTPONED 12

/**
 * Responder: what was postponed can be asked for again: call.
 */
#define RPCRDMA_IN_RESUMED 13

/**
 * There is nothing to do until the next input.
 */
#define RPCRDMA_DO_NOTHING 0

/**
 * Post a Send: header_length octets of the buffer, then the ranges of the Payload stream of the Call or of the reply. Report
 * RPCRDMA_IN_SENT to a Requester. A continued message of version 2 has several Sends.
 */
#define RPCRDMA_DO_SEND 1

/**
 * Responder: the same, as Send with Invalidate of handle.
 */
#define RPCRDMA_DO_SEND_INVALIDATING 2

/**
 * A Receive goes back to the driver: receive.
 */
#define RPCRDMA_DO_RELEASE 3

/**
 * Requester: register the first range, of the Call's Payload stream for remote read, and report that: call, region.
 */
#define RPCRDMA_DO_REGISTER_ARGUMENT 4

/**
 * Requester: register the first range, of the buffer for a result for remote write, and report that: call, region; at
 * is the number of the result.
 */
#define RPCRDMA_DO_REGISTER_RESULT 5

/**
 * Requester: register the first range, of the buffer for a Long Reply for remote write, and report that: call, region.
 * The buffer has reply_length octets, rounded up to a multiple of four. If the credential of the Call is RPCSEC_GSS
 * with integrity or privacy, the octets of all results are added, each rounded up, because no result gets a Write
 * chunk.
 */
#define RPCRDMA_DO_REGISTER_REPLY 6

/**
 * Invalidate the memory of handle, and report that: call, region.
 */
#define RPCRDMA_DO_INVALIDATE 7

/**
 * Copy octets of a Receive into the memory in which a Call, or a continued reply, is assembled: call, receive, from,
 * length, at. A reply never has more octets than the buffer; memory that is exposed for the reply is other memory.
 */
#define RPCRDMA_DO_PLACE 8

/**
 * Post an RDMA Read of segment into the memory in which a Call is assembled, and report that: call, segment, at. For a
 * Requester, into the buffer for a Long Reply, after rpcrdma_requester_read_provided_replies.
 */
#define RPCRDMA_DO_READ 9

/**
 * Responder: post an RDMA Write of length octets of the reply, from at in the Payload stream with all results, into
 * segment: call, at, segment. Nothing is reported.
 */
#define RPCRDMA_DO_WRITE 10

/**
 * Responder: hand a Call in a Receive to the upper layer: call, receive, from, length. The Receive stays unchanged
 * until released.
 */
#define RPCRDMA_DO_DELIVER 11

/**
 * Responder: hand an assembled Call to the upper layer: call, length. If the Call does not begin with the XID of
 * rpcrdma_responder_find, refuse the Call: rpcrdma_responder_refuse.
 */
#define RPCRDMA_DO_DELIVER_ASSEMBLED 12

/**
 * Requester: a Call has ended: call, end, results. The memory belongs to the caller again.
 */
#define RPCRDMA_DO_DONE 13

/**
 * End the connection, and report RPCRDMA_IN_DISCONNECTED.
 */
#define RPCRDMA_DO_DISCONNECT 14

/**
 * Responder: register the first range, the whole reply, for remote read, and report that: call. After
 * rpcrdma_responder_provide_replies.
 */
#define RPCRDMA_DO_PROVIDE_REPLY 15

/**
 * The reply is in a Receive: receive, from, length. The driver has the Receive back, and posts the Receive again after
 * reading.
 */
#define RPCRDMA_END_REPLY 1

/**
 * The reply is in the buffer for a Long Reply: length. The caller has to check that the XID is that of the Call.
 */
#define RPCRDMA_END_LONG_REPLY 2

/**
 * The Responder answered RDMA_ERROR: error, words. Calling again does not help.
 */
#define RPCRDMA_END_ERROR 3

/**
 * Memory could not be registered.
 */
#define RPCRDMA_END_NOT_REGISTERED 4

/**
 * The Call was cancelled.
 */
#define RPCRDMA_END_CANCELLED 5

/**
 * The connection ended first.
 */
#define RPCRDMA_END_LOST 6

/**
 * The Responder answered RDMA2_ERROR: error, words.
 */
#define RPCRDMA_END_ERROR_V2 7

/**
 * The reply is in the memory that RPCRDMA_DO_PLACE has filled: length. The caller has to check that the XID is that of
 * the Call.
 */
#define RPCRDMA_END_CONTINUED_REPLY 8

/**
 * A one-way Call was sent.
 */
#define RPCRDMA_END_SENT 9

/**
 * The message that came as the reply of version 2 is none.
 */
#define RPCRDMA_END_BAD_REPLY 10

/**
 * The reply has more octets than the buffer, or too many segments: length, or at least that many.
 */
#define RPCRDMA_END_NO_ROOM 11

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
 * Drafts -00 to -02.
 */
#define RPCRDMA_FAMILY_A 1

/**
 * Drafts -03 to -07.
 */
#define RPCRDMA_FAMILY_B 2

/**
 * Family A: RDMA2_MSG, chunk lists, then the Payload stream or a part of the stream.
 */
#define RPCRDMA2_A_MSG 0

/**
 * Family A: RDMA2_NOMSG, the Payload stream is in a chunk. Without chunks and with XID 0, a grant.
 */
#define RPCRDMA2_A_NOMSG 1

/**
 * Family A: RDMA2_ERROR.
 */
#define RPCRDMA2_A_ERROR 4

/**
 * Family A: RDMA2_CONNPROP, transport properties.
 */
#define RPCRDMA2_A_CONNPROP 5

/**
 * Family A: RDMA2_GRANT (draft -02).
 */
#define RPCRDMA2_A_GRANT 6

/**
 * Family B: RDMA2_ERROR.
 */
#define RPCRDMA2_B_ERROR 4

/**
 * Family B: RDMA2_GRANT.
 */
#define RPCRDMA2_B_GRANT 5

/**
 * Family B: RDMA2_CONNPROP_MIDDLE, transport properties, and more in the next message.
 */
#define RPCRDMA2_B_CONNPROP_MIDDLE 6

/**
 * Family B: RDMA2_CONNPROP_FINAL, the last transport properties.
 */
#define RPCRDMA2_B_CONNPROP_FINAL 7

/**
 * Family B: RDMA2_CALL_EXTERNAL, a Call in a chunk.
 */
#define RPCRDMA2_B_CALL_EXTERNAL 8

/**
 * Family B: RDMA2_CALL_MIDDLE, a part of a Call that is not the last.
 */
#define RPCRDMA2_B_CALL_MIDDLE 9

/**
 * Family B: RDMA2_CALL_INLINE, a Call, or the last part of one.
 */
#define RPCRDMA2_B_CALL_INLINE 10

/**
 * Family B: RDMA2_REPLY_EXTERNAL, a Reply in the Reply chunk.
 */
#define RPCRDMA2_B_REPLY_EXTERNAL 11

/**
 * Family B: RDMA2_REPLY_MIDDLE, a part of a Reply that is not the last.
 */
#define RPCRDMA2_B_REPLY_MIDDLE 12

/**
 * Family B: RDMA2_REPLY_INLINE, a Reply, or the last part of one.
 */
#define RPCRDMA2_B_REPLY_INLINE 13

/**
 * A property without a value, which stands for the default.
 */
#define RPCRDMA_DEFAULT_VALUE 0

/**
 * A property whose value is a number.
 */
#define RPCRDMA_NUMBER_VALUE 1

/**
 * A property whose value is octets.
 */
#define RPCRDMA_OPAQUE_VALUE 2

/**
 * An unknown property: all data.
 */
#define RPCRDMA_UNKNOWN_VALUE 3

/**
 * Octets of a transport property whose value is a number, on the wire.
 */
#define RPCRDMA_NUMBER_PROPERTY 12

/**
 * The reply follows the header.
 */
#define RPCRDMA_REPLY_INLINE 0

/**
 * The reply is in the Reply chunk.
 */
#define RPCRDMA_REPLY_IN_CHUNK 1

/**
 * The other side may invalidate memory of the sender (section 4.1).
 */
#define RPCRDMA_REMOTE_INVALIDATION 1

/**
 * RPCSEC_GSS integrity or privacy covers the results, so none is reduced.
 */
#define RPCRDMA_PROTECTED 1

/**
 * The reply is sent inline, with or without results in Write chunks.
 */
#define RPCRDMA_FORM_SHORT 1

/**
 * The reply is in the Reply chunk.
 */
#define RPCRDMA_FORM_LONG 2

/**
 * The reply fits nowhere: ERR_CHUNK is sent instead, or an error of version 2.
 */
#define RPCRDMA_FORM_REFUSED 3

/**
 * The reply is sent inline in several Sends of version 2.
 */
#define RPCRDMA_FORM_CONTINUED 4

/**
 * The Requester reads the reply by RDMA: the call lasts until RDMA_DONE comes, or rpcrdma_responder_expire is called.
 */
#define RPCRDMA_FORM_PROVIDED 5

/**
 * A form that a later version of this library knows.
 */
#define RPCRDMA_FORM_OTHER 0

/**
 * The Call was accepted; accept_stat 0 says that the procedure was run.
 */
#define RPCRDMA_RPC_ACCEPTED 0

/**
 * The Call was denied: another version of RPC.
 */
#define RPCRDMA_RPC_MISMATCH 1

/**
 * The Call was denied because of the credential or verifier.
 */
#define RPCRDMA_RPC_AUTH_ERROR 2

/**
 * The octets end within the RPC header.
 */
#define RPCRDMA_RPC_TRUNCATED 17

/**
 * Neither a Call nor a Reply, or not the one that was expected.
 */
#define RPCRDMA_RPC_MESSAGE_TYPE 18

/**
 * A credential or a verifier of more than 400 octets.
 */
#define RPCRDMA_RPC_AUTH_LENGTH 19

/**
 * reply_stat has no meaning.
 */
#define RPCRDMA_RPC_REPLY_STATUS 20

/**
 * reject_stat has no meaning.
 */
#define RPCRDMA_RPC_REJECT_STATUS 21

/**
 * The specification says MUST.
 */
#define RPCRDMA_SEVERITY_ERROR 1

/**
 * The specification says SHOULD.
 */
#define RPCRDMA_SEVERITY_WARNING 2

/**
 * Allowed, or not specified, but known to cause failures between implementations.
 */
#define RPCRDMA_SEVERITY_HAZARD 3

/**
 * The specification does not say what to do.
 */
#define RPCRDMA_REACT_NOT_SAID 0

/**
 * Nothing goes back.
 */
#define RPCRDMA_REACT_DISCARD 1

/**
 * An error goes back.
 */
#define RPCRDMA_REACT_ANSWER 2

/**
 * The receiver of the Send is the Requester: the Send is a Reply, or an error.
 */
#define RPCRDMA_REQUESTER 1

/**
 * The receiver of the Send is the Responder: the Send is a Call.
 */
#define RPCRDMA_RESPONDER 2

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
 * The octets of a version 2 message end within the header, outside of a chunk list.
 */
#define RPCRDMA_HEADER_TRUNCATED 9

/**
 * A transport property of version 2 has a value of the wrong type.
 */
#define RPCRDMA_PROPERTY_VALUE 10

/**
 * Something that a later version of this library knows.
 */
#define RPCRDMA_OTHER_ERROR 0

/**
 * Outcome of a call. Unless it is RPCRDMA_OK, nothing was written except what the function names.
 */
typedef enum rpcrdma_status {
  /**
   * The function succeeded.
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
   * Output would overlap input.
   */
  RPCRDMA_OVERLAP = 3,
  /**
   * A length is more than half of the address space, or a range passes the end.
   */
  RPCRDMA_TOO_LONG = 4,
  /**
   * A number has no meaning as this argument.
   */
  RPCRDMA_INVALID = 5,
  /**
   * The octets are not what the function decodes. The error that the function returns says why, and where.
   */
  RPCRDMA_NOT_DECODED = 6,
  /**
   * The buffer is too small. The length says how many octets are needed.
   */
  RPCRDMA_NO_ROOM = 7,
  /**
   * There is no such thing.
   */
  RPCRDMA_NOT_FOUND = 8,
  /**
   * More octets than fit into a chunk.
   */
  RPCRDMA_CHUNK_TOO_SMALL = 9,
  /**
   * The connection is over.
   */
  RPCRDMA_CLOSED = 10,
  /**
   * Another call has this XID, or other memory has this handle.
   */
  RPCRDMA_IN_USE = 11,
  /**
   * More than the table or array has.
   */
  RPCRDMA_TOO_MANY = 12,
  /**
   * This event is impossible in this state.
   */
  RPCRDMA_UNEXPECTED = 13,
  /**
   * Outputs have to be taken first.
   */
  RPCRDMA_POLL_FIRST = 14,
  /**
   * The version of the connection, or the peer, does not offer this function.
   */
  RPCRDMA_NOT_SUPPORTED = 15,
  /**
   * The library was built with other sizes than the header that the program was compiled with, or is another version.
   */
  RPCRDMA_OTHER_BUILD = 16,
} rpcrdma_status;

#if defined(RPCRDMA_HAS_VERSION_2)
/**
 * The version, credits and transport properties of one end of a connection, in memory of the caller's: for an end that
 * speaks version 2. An end that speaks version 1 alone needs no channel. A channel has no pointer into its own memory,
 * but must not be copied while in use.
 *
 * - A client sends what rpcrdma_channel_poll has before anything else, and makes no call before rpcrdma_channel_state says
 *   RPCRDMA_AGREED.
 * - rpcrdma_channel_received returns the endpoint for each Send that arrives.
 * - After RPCRDMA_ARRIVED_PROPERTIES, the terms of rpcrdma_channel_terms go to rpcrdma_requester_agree and
 *   rpcrdma_responder_agree, and rpcrdma_channel_segment_limits to rpcrdma_requester_limit_segments.
 * - Before an endpoint is polled, pass the number of messages that rpcrdma_channel_available permits to
 *   rpcrdma_requester_permit or rpcrdma_responder_permit. Messages of rpcrdma_channel_poll come first.
 * - rpcrdma_channel_send writes the credits into the header of each Send that an endpoint asks for.
 *
 * receives, in several functions, is the number of messages that this end can receive: the Receives that are posted,
 * without the one that is kept for an asynchronous grant, and without Receives that Calls still occupy
 * (rpcrdma_responder_count).
 */
typedef struct rpcrdma_channel rpcrdma_channel;
#endif

/**
 * The Requester of one connection, in memory of the caller's. A Requester has no pointer into its own memory, but must
 * not be copied while in use.
 */
typedef struct rpcrdma_requester rpcrdma_requester;

/**
 * The Responder of one connection, in memory of the caller's. A Responder has no pointer into its own memory, but must
 * not be copied while in use.
 */
typedef struct rpcrdma_responder rpcrdma_responder;

#if defined(RPCRDMA_HAS_VERSION_2)
/**
 * The transport properties of one end.
 */
typedef struct rpcrdma_properties {
  /**
   * The maximum Send size in octets, at least 1.
   */
  uint32_t send_size;
  /**
   * Size of the Receives of this end in octets, at least 1.
   */
  uint32_t receive_size;
  /**
   * The maximum length of a segment in octets, at least 1.
   */
  uint32_t segment_length;
  /**
   * The maximum number of segments of a Call.
   */
  uint32_t segments;
  /**
   * Support for calls of the other end, if this one is the client: RPCRDMA_REVERSE_NONE and so on.
   */
  uint32_t reverse_direction;
} rpcrdma_properties;

/**
 * Version of a connection, as far as known.
 */
typedef struct rpcrdma_state {
  /**
   * One of RPCRDMA_PENDING and so on.
   */
  uint32_t negotiation;
  /**
   * RPCRDMA_AGREED, RPCRDMA_ELSEWHERE: the version, one of RPCRDMA_VERSION_...
   */
  uint32_t version;
} rpcrdma_state;
#endif

/**
 * Terms of one direction of a connection. In version 2, rpcrdma_channel_terms returns them.
 */
typedef struct rpcrdma_terms {
  /**
   * The inline threshold for Calls, in octets (RFC 8166 section 3.3.2): client_to_server of rpcrdma_agreement, if the
   * client calls. At least 1024 in version 1, and 1 in version 2.
   */
  uint32_t call_threshold;
  /**
   * The inline threshold for Replies, in octets, with the same minimum: server_to_client, if the client calls.
   */
  uint32_t reply_threshold;
  /**
   * RPCRDMA_REMOTE_INVALIDATION, or 0.
   */
  uint32_t flags;
  /**
   * RPCRDMA_VERSION_1 or 0, RPCRDMA_VERSION_2A or RPCRDMA_VERSION_2B; version 1 alone in a library built with VERSION_2=no.
   */
  uint32_t version;
  /**
   * The forms that messages may have: RPCRDMA_FORMATS_ALL and so on.
   */
  uint32_t formats;
} rpcrdma_terms;

/**
 * Limits of the chunks of an end's Calls.
 */
typedef struct rpcrdma_segment_limits {
  /**
   * The most octets of a segment.
   */
  uint32_t octets;
  /**
   * The most segments of a Call.
   */
  uint32_t count;
} rpcrdma_segment_limits;

#if defined(RPCRDMA_HAS_VERSION_2)
/**
 * Number of messages that may be sent now. In version 1, where the endpoints count credits themselves, UINT32_MAX.
 */
typedef struct rpcrdma_available {
  /**
   * By an end that only calls, or is only called.
   */
  uint32_t messages;
  /**
   * By the Requester of an end that does both.
   */
  uint32_t calls;
  /**
   * By the Responder of an end that does both.
   */
  uint32_t replies;
} rpcrdma_available;

/**
 * Whom a Send is for.
 */
typedef struct rpcrdma_arrival {
  /**
   * One of RPCRDMA_ARRIVED_...
   */
  uint32_t kind;
  /**
   * The call.
   */
  uint32_t xid;
  /**
   * The error to answer with: rdma_err.
   */
  uint32_t error;
  /**
   * Words after the code of the error.
   */
  uint32_t words[2];
} rpcrdma_arrival;
#endif

/**
 * The read segments of a Read list that are still to be visited: rpcrdma_next_read_segment takes the first. A copy is a
 * second cursor.
 */
typedef struct rpcrdma_read_list {
  /**
   * Entries in wire format, RPCRDMA_READ_ENTRY octets each.
   */
  const uint8_t *entries;
  /**
   * Number of entries.
   */
  size_t count;
} rpcrdma_read_list;

/**
 * The Write chunks of a Write list that are still to be visited: rpcrdma_next_write_chunk takes the first. A copy is a
 * second cursor.
 */
typedef struct rpcrdma_write_list {
  /**
   * Chunks in wire format: each a 1, the number of segments, and the segments.
   */
  const uint8_t *octets;
  /**
   * Number of octets at octets, at least the length of the chunks.
   */
  size_t length;
  /**
   * Number of chunks.
   */
  size_t count;
} rpcrdma_write_list;

/**
 * The segments of a Write chunk or Reply chunk that are still to be visited: rpcrdma_next_segment takes the first. A copy
 * is a second cursor.
 */
typedef struct rpcrdma_segment_list {
  /**
   * Segments in wire format, RPCRDMA_SEGMENT octets each. NULL if there is no such chunk; a chunk may also be there
   * and have no segments (section 4.3.2.3).
   */
  const uint8_t *segments;
  /**
   * Number of segments.
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
   * The Reply chunk; the pointer is NULL if there is none.
   */
  struct rpcrdma_segment_list reply;
} rpcrdma_chunks;

/**
 * One Send of version 1: the transport header, and the place of the Payload stream.
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
   * Octets behind the header: the Payload stream of RPCRDMA_MSG. Not used for encoding.
   */
  const uint8_t *payload;
  /**
   * Octets that follow the header. Not used for encoding.
   */
  size_t payload_length;
} rpcrdma_message;

/**
 * Reason why a Send is not a transport header, and the offset of the error.
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
   * The rdma_err that a Responder answers with, or 0 if it discards the Send (RFC 8166 section 4.5). A Requester
   * discards the Send, except for RPCRDMA_UNKNOWN_HEADER_TYPE and RPCRDMA_PROPERTY_VALUE of version 2, which either
   * end answers.
   */
  uint32_t answer;
} rpcrdma_decode_error;

/**
 * The transport properties that are still to be visited: rpcrdma_next_property takes the first. A copy is a second cursor.
 */
typedef struct rpcrdma_property_list {
  /**
   * Properties in wire format.
   */
  const uint8_t *octets;
  /**
   * Number of octets at octets, at least the length of the properties.
   */
  size_t length;
  /**
   * Number of properties.
   */
  size_t count;
} rpcrdma_property_list;

/**
 * One Send of version 2: the transport header, and the place of the Payload stream. Fields that a header type does not
 * have are 0, and lists are empty.
 */
typedef struct rpcrdma_message_v2 {
  /**
   * The wire format: RPCRDMA_FAMILY_A or RPCRDMA_FAMILY_B.
   */
  uint32_t family;
  /**
   * rdma_xid; 0 in a grant.
   */
  uint32_t xid;
  /**
   * rdma_credit: the word in wire format.
   */
  uint32_t credit;
  /**
   * rdma_htype: one of RPCRDMA2_A_... or RPCRDMA2_B_...
   */
  uint32_t header_type;
  /**
   * Family A: rdma_flags.
   */
  uint32_t flags;
  /**
   * rdma_inv_handle: a handle that the Responder may invalidate; 0 for none.
   */
  uint32_t inv_handle;
  /**
   * Family B, a message that is continued: octets of the Payload stream that are still to come.
   */
  uint32_t remaining;
  /**
   * RDMA2_ERROR: rdma_err.
   */
  uint32_t error;
  /**
   * RDMA2_ERROR: the words after rdma_err; 0 for words that this error does not have.
   */
  uint32_t words[2];
  /**
   * The chunks.
   */
  struct rpcrdma_chunks chunks;
  /**
   * Family B, RPCRDMA2_B_CALL_EXTERNAL: the Call chunk.
   */
  struct rpcrdma_read_list call_chunk;
  /**
   * Transport properties.
   */
  struct rpcrdma_property_list properties;
  /**
   * Octets of the header. Not used for encoding.
   */
  size_t header_length;
  /**
   * Octets behind the header. Not used for encoding.
   */
  const uint8_t *payload;
  /**
   * Octets that follow the header. Not used for encoding.
   */
  size_t payload_length;
} rpcrdma_message_v2;

/**
 * A transport property.
 */
typedef struct rpcrdma_property {
  /**
   * rdma_which.
   */
  uint32_t id;
  /**
   * Kind of the value: RPCRDMA_DEFAULT_VALUE and so on.
   */
  uint32_t kind;
  /**
   * RPCRDMA_NUMBER_VALUE: the number.
   */
  uint32_t number;
  /**
   * RPCRDMA_OPAQUE_VALUE, RPCRDMA_UNKNOWN_VALUE: the octets.
   */
  const uint8_t *octets;
  /**
   * Number of octets.
   */
  size_t length;
} rpcrdma_property;

/**
 * Text that lasts as long as the program, without a NUL at the end: print it with "%.*s", or use rpcrdma_rule_string.
 */
typedef struct rpcrdma_text {
  /**
   * ASCII characters.
   */
  const char *characters;
  /**
   * Number of entries.
   */
  size_t length;
} rpcrdma_text;

/**
 * A rule that was broken.
 */
typedef struct rpcrdma_finding {
  /**
   * The name of the rule, which does not change.
   */
  struct rpcrdma_text slug;
  /**
   * Origin of the rule.
   */
  struct rpcrdma_text section;
  /**
   * Text of the rule; empty in a library that was built with EXPLANATIONS=no.
   */
  struct rpcrdma_text summary;
  /**
   * Octets from the start of the Send to the error.
   */
  size_t offset;
  /**
   * RPCRDMA_SEVERITY_ERROR, RPCRDMA_SEVERITY_WARNING or RPCRDMA_SEVERITY_HAZARD.
   */
  uint32_t severity;
  /**
   * Reaction of the receiver: RPCRDMA_REACT_NOT_SAID, RPCRDMA_REACT_DISCARD or RPCRDMA_REACT_ANSWER.
   */
  uint32_t reaction;
  /**
   * RPCRDMA_REACT_ANSWER: the rdma_err to answer with. Otherwise 0.
   */
  uint32_t answer;
} rpcrdma_finding;

/**
 * The private data of one side (RFC 8797 section 4).
 */
typedef struct rpcrdma_private_data {
  /**
   * Maximum length of a Send that this end sends, in octets: 1024 to 262144, a multiple of 1024.
   */
  uint32_t send_size;
  /**
   * Maximum length of a Send that this end can receive, in octets: 1024 to 262144, a multiple of 1024.
   */
  uint32_t receive_size;
  /**
   * The octet of flags: RPCRDMA_REMOTE_INVALIDATION.
   */
  uint32_t flags;
} rpcrdma_private_data;

/**
 * Terms of a connection.
 */
typedef struct rpcrdma_agreement {
  /**
   * The inline threshold from client to server, in octets.
   */
  uint32_t client_to_server;
  /**
   * The inline threshold from server to client, in octets.
   */
  uint32_t server_to_client;
  /**
   * RPCRDMA_REMOTE_INVALIDATION if a Responder may use Send with Invalidate, else 0.
   */
  uint32_t flags;
} rpcrdma_agreement;

/**
 * A data item in a Payload stream, which may be moved to a chunk.
 */
typedef struct rpcrdma_item {
  /**
   * Octets from the start of the stream to the item, after the count of a variable-length item. A multiple of four.
   */
  uint32_t position;
  /**
   * Length in octets, without padding.
   */
  uint32_t length;
} rpcrdma_item;

/**
 * A call to make.
 */
typedef struct rpcrdma_call {
  /**
   * The start of the Payload stream, at least the whole RPC header.
   */
  const uint8_t *head;
  /**
   * Octets of the start.
   */
  size_t head_length;
  /**
   * Octets of the whole Payload stream. A multiple of four.
   */
  uint32_t length;
  /**
   * Maximum length of the reply's Payload stream in octets, without the results that have buffers.
   */
  uint32_t reply_length;
  /**
   * The arguments that the Upper-Layer Binding allows to be reduced, in their order.
   */
  const struct rpcrdma_item *arguments;
  /**
   * Number of entries, at most RPCRDMA_SEGMENTS.
   */
  size_t arguments_count;
  /**
   * Buffer lengths in octets of the results that the binding allows to be reduced, in order: one Write chunk each. 0
   * makes an empty chunk, by which the Responder returns that result inline. A Call under RPCSEC_GSS integrity or
   * privacy makes no chunks: all results come with the rest of the reply.
   */
  const uint32_t *results;
  /**
   * Number of entries.
   */
  size_t results_count;
  /**
   * Version 2: maximum length in octets to which the buffer of a result or of the reply may grow, if the Responder
   * reports that more is needed; the Call is then made again. 0 for a Call that must not be carried out twice.
   */
  uint32_t largest_capacity;
} rpcrdma_call;

/**
 * Numbers of calls.
 */
typedef struct rpcrdma_requester_counts {
  /**
   * Calls that hold a credit: as many Receives as requested credits are enough for their replies.
   */
  uint32_t in_flight;
  /**
   * Calls that are sent and not answered: `awaited` of rpcrdma_channel_available.
   */
  uint32_t awaited;
  /**
   * 1 if the table of Calls is full, else 0.
   */
  uint32_t is_full;
} rpcrdma_requester_counts;

/**
 * An event, for rpcrdma_requester_handle and rpcrdma_responder_handle. kind says which of the other members count.
 */
typedef struct rpcrdma_input {
  /**
   * One of RPCRDMA_IN_...
   */
  uint32_t kind;
  /**
   * The driver's name for a Receive.
   */
  uint32_t receive;
  /**
   * The call, from the output.
   */
  uint64_t call;
  /**
   * The received octets.
   */
  const uint8_t *octets;
  /**
   * Number of octets.
   */
  size_t length;
  /**
   * Number of the region of the call, from the output.
   */
  uint32_t region;
  /**
   * The handle under which memory was registered, or that was invalidated.
   */
  uint32_t handle;
  /**
   * The offset of the first octet of memory that was registered.
   */
  uint64_t offset;
  /**
   * RPCRDMA_IN_BROKEN: the call, from the arrival.
   */
  uint32_t xid;
  /**
   * The same, for a Responder: the error, from the arrival.
   */
  uint32_t error;
  /**
   * Words after the code of the error.
   */
  uint32_t words[2];
} rpcrdma_input;

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
   * Its beginning: an address or an offset, as the handle was registered.
   */
  uint64_t offset;
} rpcrdma_segment;

/**
 * Octets of a stream or of memory.
 */
typedef struct rpcrdma_range {
  /**
   * Index of the first.
   */
  uint32_t from;
  /**
   * Number of entries.
   */
  uint32_t length;
} rpcrdma_range;

/**
 * A step for the driver, from rpcrdma_requester_poll and rpcrdma_responder_poll. kind says which of the other members count;
 * the rest are 0.
 */
typedef struct rpcrdma_output {
  /**
   * One of RPCRDMA_DO_...
   */
  uint32_t kind;
  /**
   * The driver's name for a Receive.
   */
  uint32_t receive;
  /**
   * The call. The low 16 bits are below RPCRDMA_CALLS, and no other call of this endpoint has the same low bits at
   * the same time: an index for a table of the driver.
   */
  uint64_t call;
  /**
   * Number of the region of the call, or of the result.
   */
  uint32_t region;
  /**
   * A handle.
   */
  uint32_t handle;
  /**
   * Offset in the Receive.
   */
  size_t from;
  /**
   * Number of octets.
   */
  uint64_t length;
  /**
   * Offset in the memory of the call.
   */
  uint32_t at;
  /**
   * RPCRDMA_DO_DONE: how the call ended, one of RPCRDMA_END_...
   */
  uint32_t end;
  /**
   * RPCRDMA_END_ERROR: RPCRDMA_ERR_VERS or RPCRDMA_ERR_CHUNK; RPCRDMA_END_ERROR_V2: rdma_err.
   */
  uint32_t error;
  /**
   * RPCRDMA_ERR_VERS: the lowest and the highest version that is supported. RPCRDMA_END_ERROR_V2: the words after rdma_err.
   */
  uint32_t words[2];
  /**
   * Memory of the peer.
   */
  struct rpcrdma_segment segment;
  /**
   * Octets of the header in the buffer.
   */
  size_t header_length;
  /**
   * RPCRDMA_DO_SEND of a Responder: 1 for the last Send of the reply, else 0.
   */
  uint32_t is_last;
  /**
   * RPCRDMA_DO_DONE with a reply: octets in the Write chunk of each result. In the Requester's memory, until the
   * Requester is next used.
   */
  const uint32_t *results;
  /**
   * Number of results.
   */
  size_t results_count;
  /**
   * Octets of the Payload stream, or of memory to register.
   */
  struct rpcrdma_range ranges[RPCRDMA_RANGES];
  /**
   * Number of ranges.
   */
  size_t ranges_count;
} rpcrdma_output;

/**
 * Largest Call, in octets; a larger one is answered with an error before any RDMA Read.
 */
typedef struct rpcrdma_limits {
  /**
   * Read chunks in a Call, not counting a Position Zero chunk; at most RPCRDMA_CALL_CHUNKS.
   */
  uint32_t read_chunks;
  /**
   * Write chunks in a Call; at most RPCRDMA_CALL_CHUNKS.
   */
  uint32_t write_chunks;
  /**
   * Segments in all chunks of a Call together.
   */
  uint32_t segments;
  /**
   * Octets of a Call that is put together.
   */
  uint32_t octets;
  /**
   * Version 2: octets of all continued Calls together that are not answered; 0 for none.
   */
  uint32_t collected;
} rpcrdma_limits;

/**
 * Numbers of calls.
 */
typedef struct rpcrdma_responder_counts {
  /**
   * Calls that are not answered, and whose Receives have gone back to the driver. In version 2 such Calls still hold
   * credits: subtract this number from receives of rpcrdma_channel_available. Subtract one less when asking whether
   * an answer may be sent, because an answer returns one credit.
   */
  uint32_t occupied;
  /**
   * Calls that are not answered: `owed` of rpcrdma_channel_available.
   */
  uint32_t owed;
  /**
   * 1 if there is a place for one more Call, or for the next part of a Call, else 0. Credits of version 2 count
   * messages of any kind, so there may be more Calls than places: the other Calls wait in Receives.
   */
  uint32_t has_place;
} rpcrdma_responder_counts;

/**
 * A reply to a Call.
 */
typedef struct rpcrdma_reply {
  /**
   * The start of the Payload stream, at least 8 octets.
   */
  const uint8_t *head;
  /**
   * Octets of the start.
   */
  size_t head_length;
  /**
   * Octets of the whole Payload stream, with all results. A multiple of four.
   */
  uint32_t length;
  /**
   * RPCRDMA_PROTECTED if RPCSEC_GSS integrity or privacy covers the results, else 0.
   */
  uint32_t flags;
  /**
   * The results that the Upper-Layer Binding allows to be reduced, in their order.
   */
  const struct rpcrdma_item *results;
  /**
   * Number of entries.
   */
  size_t results_count;
} rpcrdma_reply;

/**
 * A credential or a verifier.
 */
typedef struct rpcrdma_auth {
  /**
   * Its flavor: 0 for none, 1 for AUTH_SYS, 6 for RPCSEC_GSS.
   */
  uint32_t flavor;
  /**
   * Its octets.
   */
  const uint8_t *body;
  /**
   * Number of octets: at most 400.
   */
  size_t length;
} rpcrdma_auth;

/**
 * The header of an RPC Call.
 */
typedef struct rpcrdma_rpc_call {
  /**
   * The transaction ID.
   */
  uint32_t xid;
  /**
   * The version of RPC: 2.
   */
  uint32_t rpc_version;
  /**
   * The program, such as 100003 for NFS.
   */
  uint32_t program;
  /**
   * Its version.
   */
  uint32_t version;
  /**
   * Its procedure.
   */
  uint32_t procedure;
  /**
   * Credentials of the caller.
   */
  struct rpcrdma_auth credential;
  /**
   * Verifier of the credentials.
   */
  struct rpcrdma_auth verifier;
  /**
   * Octets of the header; the arguments follow. Not used for encoding.
   */
  size_t header_length;
} rpcrdma_rpc_call;

/**
 * The header of an RPC Reply.
 */
typedef struct rpcrdma_rpc_reply {
  /**
   * The transaction ID.
   */
  uint32_t xid;
  /**
   * Kind of Reply: RPCRDMA_RPC_ACCEPTED and so on.
   */
  uint32_t kind;
  /**
   * RPCRDMA_RPC_ACCEPTED: accept_stat. RPCRDMA_RPC_AUTH_ERROR: auth_stat. Otherwise 0.
   */
  uint32_t status;
  /**
   * RPCRDMA_RPC_ACCEPTED with accept_stat 2 (PROG_MISMATCH), and RPCRDMA_RPC_MISMATCH: the lowest version that is
   * supported. Otherwise 0.
   */
  uint32_t low;
  /**
   * The highest version that is supported.
   */
  uint32_t high;
  /**
   * RPCRDMA_RPC_ACCEPTED: the verifier.
   */
  struct rpcrdma_auth verifier;
  /**
   * Octets of the header; the results follow. Not used for encoding.
   */
  size_t header_length;
} rpcrdma_rpc_reply;

/**
 * A read segment: a piece of an argument (section 3.4.5).
 */
typedef struct rpcrdma_read_segment {
  /**
   * Octets from the start of the unreduced Payload stream to the item that this is a part of.
   */
  uint32_t position;
  /**
   * Memory of the piece.
   */
  struct rpcrdma_segment target;
} rpcrdma_read_segment;

/**
 * Memory for a Requester: static, or within another structure.
 */
typedef union rpcrdma_requester_memory {
  /**
   * Aligns the memory.
   */
  uint64_t alignment;
  /**
   * The memory, for rpcrdma_requester_init.
   */
  uint8_t octets[RPCRDMA_REQUESTER_SIZE];
} rpcrdma_requester_memory;

/**
 * Memory for a Responder: static, or within another structure.
 */
typedef union rpcrdma_responder_memory {
  /**
   * Aligns the memory.
   */
  uint64_t alignment;
  /**
   * The memory, for rpcrdma_responder_init.
   */
  uint8_t octets[RPCRDMA_RESPONDER_SIZE];
} rpcrdma_responder_memory;

#if defined(RPCRDMA_HAS_VERSION_2)
/**
 * Memory for a channel: static, or within another structure.
 */
typedef union rpcrdma_channel_memory {
  /**
   * Aligns the memory.
   */
  uint64_t alignment;
  /**
   * The memory, for rpcrdma_channel_init.
   */
  uint8_t octets[RPCRDMA_CHANNEL_SIZE];
} rpcrdma_channel_memory;
#endif

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

#if defined(RPCRDMA_HAS_VERSION_2)
/**
 * Writes the transport properties of an end that has said nothing.
 *
 * RPCRDMA_NULL, RPCRDMA_UNALIGNED: as everywhere.
 */
enum rpcrdma_status rpcrdma_default_properties(struct rpcrdma_properties *properties);

/**
 * Octets of a channel, never more than RPCRDMA_CHANNEL_SIZE.
 */
size_t rpcrdma_channel_size(void);

/**
 * Makes the channel of a new connection in memory of RPCRDMA_CHANNEL_SIZE octets, aligned like a uint64_t. side is
 * RPCRDMA_CLIENT or RPCRDMA_SERVER; versions: the supported versions, RPCRDMA_VERSION_... combined; properties: the
 * properties of this end. build is RPCRDMA_BUILD. A client begins with the highest version. There is nothing to free;
 * another connection needs a new one.
 *
 * RPCRDMA_NO_ROOM: length is less than rpcrdma_channel_size says. RPCRDMA_INVALID: an unknown side or version, or no
 * version; or a property is 0 that must not be, or reverse_direction is unknown. RPCRDMA_OTHER_BUILD: the program was
 * compiled with the header of another library.
 */
enum rpcrdma_status rpcrdma_channel_init(struct rpcrdma_channel *channel,
                                         size_t length,
                                         uint32_t side,
                                         uint32_t versions,
                                         const struct rpcrdma_properties *properties,
                                         uint64_t build);

/**
 * Sends this host authentication message with the transport properties of this end; an empty message is not sent. Call
 * this before rpcrdma_channel_poll.
 *
 * RPCRDMA_TOO_LONG: more than 512 octets. RPCRDMA_INVALID: this is no channel. RPCRDMA_OVERLAP: the message is in the
 * channel. After each of these, nothing has changed.
 */
enum rpcrdma_status rpcrdma_channel_authenticate(struct rpcrdma_channel *channel,
                                                 const uint8_t *message,
                                                 size_t length);

/**
 * Writes the version of the connection to *state.
 *
 * RPCRDMA_INVALID: this is no channel. RPCRDMA_OVERLAP: *state is in the channel.
 */
enum rpcrdma_status rpcrdma_channel_state(struct rpcrdma_channel *channel,
                                          struct rpcrdma_state *state);

/**
 * Writes the terms of version 2 for the calls that this end makes, and for the calls that this end answers. flags:
 * RPCRDMA_REMOTE_INVALIDATION if this end takes part in remote invalidation, else 0. A peer that receives nothing has
 * thresholds of 0, which the endpoints refuse: the connection is of no use then.
 *
 * RPCRDMA_NOT_FOUND: the connection does not speak version 2, or not yet. RPCRDMA_INVALID: flags has no meaning, or
 * this is no channel. RPCRDMA_OVERLAP: the result would be written into the channel.
 */
enum rpcrdma_status rpcrdma_channel_terms(struct rpcrdma_channel *channel,
                                          uint32_t flags,
                                          struct rpcrdma_terms *calls,
                                          struct rpcrdma_terms *answers);

/**
 * Writes the limits of the chunks of this end's Calls in version 2.
 *
 * RPCRDMA_NOT_FOUND: the connection does not speak version 2, or not yet. RPCRDMA_INVALID: this is no channel.
 * RPCRDMA_OVERLAP: *limits is in the channel.
 */
enum rpcrdma_status rpcrdma_channel_segment_limits(struct rpcrdma_channel *channel,
                                                   struct rpcrdma_segment_limits *limits);

/**
 * Writes the transport properties of the peer.
 *
 * RPCRDMA_NOT_FOUND: the connection does not speak version 2, or not yet. RPCRDMA_INVALID: this is no channel.
 * RPCRDMA_OVERLAP: *properties is in the channel.
 */
enum rpcrdma_status rpcrdma_channel_peer(struct rpcrdma_channel *channel,
                                         struct rpcrdma_properties *properties);

/**
 * Returns the host authentication message of the peer, in the channel's memory until the channel is next used. A
 * message of more than 512 octets is not kept: *message is NULL, and *length is the length.
 *
 * RPCRDMA_NOT_FOUND: the peer has sent none, or the connection does not speak version 2. RPCRDMA_INVALID: this is no
 * channel. RPCRDMA_OVERLAP: the result would be written into the channel.
 */
enum rpcrdma_status rpcrdma_channel_peer_authentication(struct rpcrdma_channel *channel,
                                                        const uint8_t **message,
                                                        size_t *length);

/**
 * Records that the connection has ended, or that nothing has come for too long, before the version was known: a server
 * of version 1 may drop unknown messages. rpcrdma_channel_state then returns the version to begin with next.
 *
 * RPCRDMA_INVALID: this is no channel.
 */
enum rpcrdma_status rpcrdma_channel_lost(struct rpcrdma_channel *channel);

/**
 * Writes the number of messages that may be sent now. owed and awaited matter to an end that both calls and is called:
 * the Replies that this end owes (rpcrdma_responder_count), and the Replies that this end waits for
 * (rpcrdma_requester_count).
 *
 * RPCRDMA_INVALID: this is no channel. RPCRDMA_OVERLAP: *available is in the channel.
 */
enum rpcrdma_status rpcrdma_channel_available(struct rpcrdma_channel *channel,
                                              uint32_t receives,
                                              uint32_t owed,
                                              uint32_t awaited,
                                              struct rpcrdma_available *available);

/**
 * Counts a Send that an endpoint has asked for, and that is about to be posted, and writes the credits into the
 * header: the header_length octets of the output.
 *
 * RPCRDMA_INVALID: this is no channel. RPCRDMA_OVERLAP: the header is in the channel.
 */
enum rpcrdma_status rpcrdma_channel_send(struct rpcrdma_channel *channel,
                                         uint32_t receives,
                                         uint8_t *header,
                                         size_t length);

/**
 * Writes the next message of this end that belongs to no RPC: transport properties, an error, a grant. Send the
 * message unchanged.
 *
 * *length is the length of the message. RPCRDMA_NOT_FOUND: there is no message. RPCRDMA_NO_ROOM: the message has more
 * octets than capacity: *length. With a larger buffer, the next call returns the same message. RPCRDMA_INVALID: this
 * is no channel. RPCRDMA_OVERLAP: the buffer, *length and the channel are not apart.
 */
enum rpcrdma_status rpcrdma_channel_poll(struct rpcrdma_channel *channel,
                                         uint32_t receives,
                                         uint8_t *buffer,
                                         size_t capacity,
                                         size_t *length);

/**
 * Handles a Send that has arrived, and writes the endpoint for the Send to *arrival. Pass each Send once, in the order
 * of arrival.
 *
 * RPCRDMA_INVALID: this is no channel. RPCRDMA_OVERLAP: the octets, *arrival and the channel are not apart.
 */
enum rpcrdma_status rpcrdma_channel_received(struct rpcrdma_channel *channel,
                                             const uint8_t *octets,
                                             size_t length,
                                             struct rpcrdma_arrival *arrival);
#endif

/**
 * Returns the version of the library that the program runs with, as text that lasts as long as the program.
 * RPCRDMA_LIBRARY_VERSION is that of the header.
 */
const char *rpcrdma_library_version(void);

/**
 * Returns the version of the library that the program runs with, in the form of RPCRDMA_LIBRARY_VERSION_NUMBER.
 */
uint32_t rpcrdma_library_version_number(void);

/**
 * Returns RPCRDMA_BUILD of the library that the program runs with.
 */
uint64_t rpcrdma_library_build(void);

/**
 * Writes the endpoint for a Send of version 1, at an end that both calls and is called: *kind is RPCRDMA_ARRIVED_REPLY
 * or RPCRDMA_ARRIVED_CALL. A Send that does not show the direction is a Reply if the Requester waits for a Reply with
 * that XID (RFC 8167 section 5).
 *
 * RPCRDMA_INVALID: this is no Requester. RPCRDMA_OVERLAP: the octets, *kind and the Requester are not apart.
 */
enum rpcrdma_status rpcrdma_direction(struct rpcrdma_requester *requester,
                                      const uint8_t *octets,
                                      size_t length,
                                      uint32_t *kind);

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
 * Encodes the header of a message of version 1 at the start of a buffer. The caller writes the Payload stream, if any,
 * after the header. The structure was decoded, or filled in: lists in wire format, made with rpcrdma_put_read_segment,
 * rpcrdma_put_write_chunk and rpcrdma_put_segment.
 *
 * *length is the length of the header. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_INVALID: procedure or
 * error has no meaning, or the Write list has fewer chunks than its count. RPCRDMA_OVERLAP: the buffer or *length
 * overlaps a list.
 */
enum rpcrdma_status rpcrdma_encode(const struct rpcrdma_message *message,
                                   uint8_t *buffer,
                                   size_t capacity,
                                   size_t *length);

/**
 * Encodes the header of the Reply to a Call: the chunks of the Call come back with the number of octets written
 * (section 4.3.2). written has the octets in each Write chunk, and may be shorter than the list: the rest is unused.
 * procedure is RPCRDMA_MSG, and the reply follows the header; or RPCRDMA_NOMSG, and reply_length octets are in the
 * Reply chunk.
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
 * Encodes the RDMA_ERROR that answers a Call (section 4.5): error is RPCRDMA_ERR_VERS or RPCRDMA_ERR_CHUNK. XID and
 * version come from the first 16 octets of the Call.
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

/**
 * Finds the wire format of a Send of version 2, if the Send shows the format: *family is RPCRDMA_FAMILY_A or
 * RPCRDMA_FAMILY_B.
 *
 * RPCRDMA_NOT_FOUND: the Send does not show the format. RPCRDMA_OVERLAP: *family overlaps the octets.
 */
enum rpcrdma_status rpcrdma_recognise_v2(const uint8_t *octets,
                                         size_t length,
                                         uint32_t *family);

/**
 * Decodes a Send of version 2 in the wire format of family. Lists and payload in *message point into the octets.
 *
 * RPCRDMA_NOT_DECODED: *error says why. RPCRDMA_INVALID: there is no such family. RPCRDMA_OVERLAP: *message or *error
 * overlaps the octets.
 */
enum rpcrdma_status rpcrdma_decode_v2(uint32_t family,
                                      const uint8_t *octets,
                                      size_t length,
                                      struct rpcrdma_message_v2 *message,
                                      struct rpcrdma_decode_error *error);

/**
 * Returns the next transport property.
 *
 * RPCRDMA_NOT_FOUND: there is none left. RPCRDMA_INVALID: the list has fewer properties than its count.
 * RPCRDMA_OVERLAP: *property or *list overlaps the octets.
 */
enum rpcrdma_status rpcrdma_next_property(struct rpcrdma_property_list *list,
                                          struct rpcrdma_property *property);

/**
 * Encodes the header of a message of version 2 at the start of a buffer. As rpcrdma_encode; properties are in wire
 * format, as made by rpcrdma_put_property.
 *
 * *length is that of the header. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_INVALID: family or header_type
 * has no meaning, or a list has fewer items than its count. RPCRDMA_OVERLAP: the buffer or *length overlaps a list.
 */
enum rpcrdma_status rpcrdma_encode_v2(const struct rpcrdma_message_v2 *message,
                                      uint8_t *buffer,
                                      size_t capacity,
                                      size_t *length);

/**
 * Encodes the header of the Reply to a Call of version 2, in the Call's wire format. As rpcrdma_encode_reply; place is
 * RPCRDMA_REPLY_INLINE, or RPCRDMA_REPLY_IN_CHUNK with reply_length octets there.
 *
 * *length is that of the header. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_NOT_FOUND: the Call has not as many
 * Write chunks, or no Reply chunk. RPCRDMA_CHUNK_TOO_SMALL: more octets than a chunk has. RPCRDMA_INVALID: the Call has no
 * chunk lists, or place is another. RPCRDMA_OVERLAP: the buffer or *length overlaps the Call or the numbers.
 */
enum rpcrdma_status rpcrdma_encode_reply_v2(const struct rpcrdma_message_v2 *call,
                                            uint32_t credit,
                                            uint32_t place,
                                            const uint64_t *written,
                                            size_t written_count,
                                            uint64_t reply_length,
                                            uint8_t *buffer,
                                            size_t capacity,
                                            size_t *length);

/**
 * Encodes the RDMA2_ERROR that answers a message, in the wire format of family: error is rdma_err, and words are the
 * words that follow rdma_err, if this error has words. XID and version come from the first 16 octets of the message.
 *
 * *length is that of the answer. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_NOT_DECODED: fewer than 16 octets.
 * RPCRDMA_INVALID: there is no such family. RPCRDMA_OVERLAP: the buffer or *length overlaps the message.
 */
enum rpcrdma_status rpcrdma_encode_error_v2(uint32_t family,
                                            const uint8_t *message,
                                            size_t message_length,
                                            uint32_t credit,
                                            uint32_t error,
                                            const uint32_t (*words)[2],
                                            uint8_t *buffer,
                                            size_t capacity,
                                            size_t *length);

/**
 * Returns the name of an rpcrdma_status: "RPCRDMA_OK" and so on, or "unknown".
 */
const char *rpcrdma_status_string(uint32_t status);

/**
 * Returns the name of the kind of an rpcrdma_decode_error: "RPCRDMA_HEADER_SHORT" and so on, or "unknown".
 */
const char *rpcrdma_decode_error_string(uint32_t kind);

/**
 * Returns the name of the kind of an rpcrdma_input: "RPCRDMA_IN_RECEIVED" and so on, or "unknown".
 */
const char *rpcrdma_input_string(uint32_t kind);

/**
 * Returns the name of the kind of an rpcrdma_output: "RPCRDMA_DO_SEND" and so on, or "unknown".
 */
const char *rpcrdma_output_string(uint32_t kind);

/**
 * Returns the name of the end of a Call, from an rpcrdma_output: "RPCRDMA_END_REPLY" and so on, or "unknown".
 */
const char *rpcrdma_end_string(uint32_t end);

/**
 * Returns the name of an rdma_err in the specification of a version, RPCRDMA_VERSION_...: "ERR_CHUNK" in version 1,
 * "RDMA2_ERR_SYSTEM" in version 2, and so on; or "unknown".
 */
const char *rpcrdma_error_string(uint32_t version,
                                 uint32_t error);

/**
 * Returns the slug of a finding as text that ends in a NUL: "msg-no-payload" and so on. "unknown" if the finding is
 * not one that this library has written, or finding is NULL.
 */
const char *rpcrdma_rule_string(const struct rpcrdma_finding *finding);

/**
 * Finds RPC-over-RDMA private data in the private data of a connection manager's message, at any offset.
 *
 * RPCRDMA_NOT_FOUND: there is none. RPCRDMA_OVERLAP: *data overlaps the octets.
 */
enum rpcrdma_status rpcrdma_find_private_data(const uint8_t *octets,
                                              size_t length,
                                              struct rpcrdma_private_data *data);

/**
 * Encodes private data: 8 octets. A size that cannot be expressed becomes the next smaller one that can, or 1024.
 *
 * RPCRDMA_NO_ROOM: capacity is less. RPCRDMA_INVALID: flags are more than an octet.
 */
enum rpcrdma_status rpcrdma_encode_private_data(const struct rpcrdma_private_data *data,
                                                uint8_t *buffer,
                                                size_t capacity,
                                                size_t *length);

/**
 * Terms that a client and a server agree on; NULL for a side that sent no private data, which counts as 1024 octets each way.
 *
 * RPCRDMA_INVALID: flags are more than an octet.
 */
enum rpcrdma_status rpcrdma_agree(const struct rpcrdma_private_data *client,
                                  const struct rpcrdma_private_data *server,
                                  struct rpcrdma_agreement *agreement);

/**
 * Returns the size in octets of a Requester that makes this many calls at a time, with this many segments each; 0 for
 * more than RPCRDMA_CALLS or RPCRDMA_SEGMENTS. The size is fixed when the library is built: the same for all smaller
 * numbers, and never more than RPCRDMA_REQUESTER_SIZE.
 */
size_t rpcrdma_requester_size(size_t calls,
                              size_t segments);

/**
 * Makes a Requester of a new connection in memory of RPCRDMA_REQUESTER_SIZE octets, aligned like a uint64_t. Each Call
 * asks for credits credits, at least 1; a memory region has at most segment_length octets, a multiple of four and at
 * least four. build is RPCRDMA_BUILD. Initialisation needs as much stack as the size of the Requester. There is
 * nothing to free; another connection needs a new Requester.
 *
 * RPCRDMA_NO_ROOM: length is less than rpcrdma_requester_size says. RPCRDMA_INVALID: the terms have a number that has
 * no meaning or a threshold that is too small; or credits or segment_length is out of range. RPCRDMA_OTHER_BUILD: the
 * program was compiled with the header of another library.
 */
enum rpcrdma_status rpcrdma_requester_init(struct rpcrdma_requester *requester,
                                           size_t length,
                                           const struct rpcrdma_terms *terms,
                                           uint32_t credits,
                                           uint32_t segment_length,
                                           uint64_t build);

/**
 * Begins a Call: *id names the Call until RPCRDMA_DO_DONE. The Call waits if there is no credit.
 *
 * RPCRDMA_CLOSED: the connection is over. RPCRDMA_NOT_DECODED: head does not begin with a whole RPC Call header.
 * RPCRDMA_INVALID: lengths or arguments do not fit each other, or this is no Requester. RPCRDMA_IN_USE: another Call
 * has this XID. RPCRDMA_TOO_MANY: too many calls, arguments or segments. RPCRDMA_NOT_SUPPORTED: the peer does not
 * answer calls, or none of this form. RPCRDMA_OVERLAP: the Requester and memory that is read or written are not apart.
 * After each of these, nothing has changed.
 */
enum rpcrdma_status rpcrdma_requester_call(struct rpcrdma_requester *requester,
                                           const struct rpcrdma_call *call,
                                           uint64_t *id);

/**
 * Begins a one-way Call of version 2: a Call of a procedure that has no reply. head and length are as in rpcrdma_call.
 * The Call ends with RPCRDMA_END_SENT.
 *
 * As rpcrdma_requester_call; RPCRDMA_NOT_SUPPORTED in version 1, where each Call has a reply.
 */
enum rpcrdma_status rpcrdma_requester_call_one_way(struct rpcrdma_requester *requester,
                                                   const uint8_t *head,
                                                   size_t head_length,
                                                   uint32_t length,
                                                   uint64_t *id);

/**
 * Cancels a Call. A Call that was sent is done only after the reply, of which nothing is kept; until then the
 * Responder may use the memory of the Call.
 *
 * RPCRDMA_UNEXPECTED: there is no such call. RPCRDMA_INVALID: this is no Requester.
 */
enum rpcrdma_status rpcrdma_requester_cancel(struct rpcrdma_requester *requester,
                                             uint64_t call);

/**
 * Sets the terms of the connection, if agreed only after connection setup. The terms apply from the next Call on.
 *
 * RPCRDMA_INVALID: the terms have a number that has no meaning or a threshold that is too small, or this is no Requester.
 * RPCRDMA_OVERLAP: the terms are in the Requester.
 */
enum rpcrdma_status rpcrdma_requester_agree(struct rpcrdma_requester *requester,
                                            const struct rpcrdma_terms *terms);

/**
 * Limits the segments of each Call from the next one on. This comes on top of the limits that the Requester has already.
 *
 * RPCRDMA_INVALID: this is no Requester.
 */
enum rpcrdma_status rpcrdma_requester_limit_segments(struct rpcrdma_requester *requester,
                                                     const struct rpcrdma_segment_limits *limits);

/**
 * Sets what each Call asks for from the next one on: this many credits, where 0 counts as 1; and limits each RDMA Read of a
 * reply to this many octets, where 0 counts as 1.
 *
 * RPCRDMA_INVALID: this is no Requester.
 */
enum rpcrdma_status rpcrdma_requester_limit(struct rpcrdma_requester *requester,
                                            uint32_t credits,
                                            uint32_t octets);

/**
 * Version 2: sets the number of messages that may be sent now, from rpcrdma_channel_available. To be called before
 * each rpcrdma_requester_poll. In version 1 this does nothing, because replies grant the credits there.
 *
 * RPCRDMA_INVALID: this is no Requester.
 */
enum rpcrdma_status rpcrdma_requester_permit(struct rpcrdma_requester *requester,
                                             uint32_t messages);

/**
 * Version 2: continues a Call of at most this many octets that is too long for a Send in further Sends, from the next
 * Call on, so that no memory is registered; and for a reply of at most as many octets there is no Reply chunk. 0, the
 * default, is never.
 *
 * RPCRDMA_INVALID: this is no Requester.
 */
enum rpcrdma_status rpcrdma_requester_continue(struct rpcrdma_requester *requester,
                                               uint32_t octets);

/**
 * Provides no Reply chunk from the next Call on: a reply that is too long for a Send is read from memory of the
 * Responder, and RDMA_DONE is sent (RFC 5666 section 3.5). RFC 8166 forbids this. Use only with a Responder that is
 * known to provide such replies, and not if this end is called too.
 *
 * RPCRDMA_INVALID: this is no Requester.
 */
enum rpcrdma_status rpcrdma_requester_read_provided_replies(struct rpcrdma_requester *requester);

/**
 * Counts the calls.
 *
 * RPCRDMA_INVALID: this is no Requester. RPCRDMA_OVERLAP: *counts is in the Requester.
 */
enum rpcrdma_status rpcrdma_requester_count(struct rpcrdma_requester *requester,
                                            struct rpcrdma_requester_counts *counts);

/**
 * Passes an event to the Requester. After that, poll for outputs until there is nothing to do.
 *
 * RPCRDMA_POLL_FIRST: outputs have to be taken first. RPCRDMA_UNEXPECTED: that cannot have happened. RPCRDMA_IN_USE:
 * the handle belongs to other memory. RPCRDMA_INVALID: kind is not that of an input of a Requester, or this is no
 * Requester. RPCRDMA_OVERLAP: the octets are in the Requester. After each of these, nothing has changed.
 */
enum rpcrdma_status rpcrdma_requester_handle(struct rpcrdma_requester *requester,
                                             const struct rpcrdma_input *input);

/**
 * Says what is to be done next; RPCRDMA_DO_NOTHING if there is nothing. The header of a Send is written to the start of the
 * buffer.
 *
 * RPCRDMA_NO_ROOM: the header has more octets than capacity: output->header_length. With a larger buffer, the next call
 * returns the same output. RPCRDMA_INVALID: this is no Requester. RPCRDMA_OVERLAP: the buffer, *output and
 * the Requester are not apart.
 */
enum rpcrdma_status rpcrdma_requester_poll(struct rpcrdma_requester *requester,
                                           uint8_t *buffer,
                                           size_t capacity,
                                           struct rpcrdma_output *output);

/**
 * Returns the size in octets of a Responder for this many calls at a time; 0 for more than RPCRDMA_CALLS. The size is
 * fixed when the library is built: the same for all smaller numbers, and never more than RPCRDMA_RESPONDER_SIZE.
 */
size_t rpcrdma_responder_size(size_t calls);

/**
 * Makes a Responder of a new connection in memory of RPCRDMA_RESPONDER_SIZE octets, aligned like a uint64_t. The
 * Responder grants credits credits, so as many Receives have to be posted. build is RPCRDMA_BUILD. Initialisation
 * needs as much stack as the size of the Responder. There is nothing to free; another connection needs a new
 * Responder.
 *
 * RPCRDMA_NO_ROOM: length is less than rpcrdma_responder_size says. RPCRDMA_INVALID: credits are 0, or more than
 * RPCRDMA_CALLS; the limits allow more chunks than RPCRDMA_CALL_CHUNKS; or the terms have a number that has no meaning or a
 * threshold that is too small. RPCRDMA_OTHER_BUILD: the program was compiled with the header of another library.
 */
enum rpcrdma_status rpcrdma_responder_init(struct rpcrdma_responder *responder,
                                           size_t length,
                                           const struct rpcrdma_terms *terms,
                                           const struct rpcrdma_limits *limits,
                                           uint32_t credits,
                                           uint64_t build);

/**
 * Allows this many RDMA Reads at a time from now on (ORD), and at most this many octets in each RDMA Read and RDMA
 * Write: the limits of the adapter. 0 counts as 1.
 *
 * RPCRDMA_INVALID: this is no Responder.
 */
enum rpcrdma_status rpcrdma_responder_limit(struct rpcrdma_responder *responder,
                                            uint32_t reads,
                                            uint32_t octets);

/**
 * Sets the terms of the connection, if agreed only after connection setup. The terms apply from the next Call on.
 *
 * RPCRDMA_INVALID: the terms have a number that has no meaning or a threshold that is too small, or this is no Responder.
 * RPCRDMA_OVERLAP: the terms are in the Responder.
 */
enum rpcrdma_status rpcrdma_responder_agree(struct rpcrdma_responder *responder,
                                            const struct rpcrdma_terms *terms);

/**
 * Grants this many credits from the next reply on.
 *
 * RPCRDMA_INVALID: credits are 0, or more than RPCRDMA_CALLS; or this is no Responder.
 */
enum rpcrdma_status rpcrdma_responder_grant(struct rpcrdma_responder *responder, uint32_t credits);

/**
 * Version 2: sets the number of messages that may be sent now, from rpcrdma_channel_available. To be called before
 * each rpcrdma_responder_poll.
 *
 * RPCRDMA_INVALID: this is no Responder.
 */
enum rpcrdma_status rpcrdma_responder_permit(struct rpcrdma_responder *responder,
                                             uint32_t messages);

/**
 * Counts the calls.
 *
 * RPCRDMA_INVALID: this is no Responder. RPCRDMA_OVERLAP: *counts is in the Responder.
 */
enum rpcrdma_status rpcrdma_responder_count(struct rpcrdma_responder *responder,
                                            struct rpcrdma_responder_counts *counts);

/**
 * Provides a reply that fits nowhere in memory for RDMA Reads of the Requester, instead of refusing the Call: at most
 * this many at a time (RFC 5666 sections 3.5 and 11). RFC 8166 forbids this. Use only for a Requester that is known to
 * read such replies. One credit less is granted for each; the driver keeps a timer for each, and calls
 * rpcrdma_responder_expire.
 *
 * RPCRDMA_INVALID: this is no Responder.
 */
enum rpcrdma_status rpcrdma_responder_provide_replies(struct rpcrdma_responder *responder,
                                                      uint32_t most);

/**
 * Ends the time in which the Requester can read a provided reply. If the Requester is still reading, the connection
 * ends.
 *
 * RPCRDMA_UNEXPECTED: there is no such reply, or the end has begun. RPCRDMA_INVALID: this is no Responder.
 */
enum rpcrdma_status rpcrdma_responder_expire(struct rpcrdma_responder *responder,
                                             uint64_t call);

/**
 * Answers the next Call with this XID with an error, once, before any RDMA Read: for a Call whose RDMA Read, RDMA
 * Write or Send failed on an earlier connection of the same Requester (RFC 8166 section 4.5.3).
 *
 * RPCRDMA_INVALID: this is no Responder.
 */
enum rpcrdma_status rpcrdma_responder_refuse_xid(struct rpcrdma_responder *responder,
                                                 uint32_t xid);

/**
 * Passes an event to the Responder. After that, poll for outputs until there is nothing to do.
 *
 * RPCRDMA_POLL_FIRST: outputs have to be taken first. RPCRDMA_UNEXPECTED: that cannot have happened. RPCRDMA_INVALID:
 * kind is not that of an input of a Responder, or this is no Responder. RPCRDMA_OVERLAP: the octets are in the
 * Responder. After each of these, nothing has changed.
 */
enum rpcrdma_status rpcrdma_responder_handle(struct rpcrdma_responder *responder,
                                             const struct rpcrdma_input *input);

/**
 * Says what is to be done next; RPCRDMA_DO_NOTHING if there is nothing. The header of a Send is written to the start of the
 * buffer.
 *
 * RPCRDMA_NO_ROOM: the header has more octets than capacity: output->header_length. With a larger buffer, the next call
 * returns the same output. RPCRDMA_INVALID: this is no Responder. RPCRDMA_OVERLAP: the buffer, *output and
 * the Responder are not apart.
 */
enum rpcrdma_status rpcrdma_responder_poll(struct rpcrdma_responder *responder,
                                           uint8_t *buffer,
                                           size_t capacity,
                                           struct rpcrdma_output *output);

/**
 * Answers a Call that was delivered. *form says what becomes of the reply: RPCRDMA_FORM_SHORT and so on.
 *
 * RPCRDMA_NOT_FOUND: there is no such call to answer. RPCRDMA_INVALID: this is not a reply to that call, lengths do
 * not fit each other, flags have no meaning, or this is no Responder. RPCRDMA_TOO_MANY: more results than
 * RPCRDMA_SEGMENTS. RPCRDMA_OVERLAP: the Responder and memory that is read or written are not apart. After each of
 * these, nothing has changed.
 */
enum rpcrdma_status rpcrdma_responder_reply(struct rpcrdma_responder *responder,
                                            uint64_t call,
                                            const struct rpcrdma_reply *reply,
                                            uint32_t *form);

/**
 * Answers a Call that was delivered with an error, ERR_CHUNK or that of version 2 for what cannot be read: there can
 * be no RPC reply.
 *
 * RPCRDMA_NOT_FOUND: there is no such call to answer. RPCRDMA_INVALID: this is no Responder.
 */
enum rpcrdma_status rpcrdma_responder_refuse(struct rpcrdma_responder *responder,
                                             uint64_t call);

/**
 * Forgets a one-way Call of version 2 that was delivered: a Call of a procedure that has no reply. Only the upper
 * layer recognises such a Call.
 *
 * RPCRDMA_NOT_FOUND: there is no such call. RPCRDMA_NOT_SUPPORTED: in version 1 each Call has a reply.
 * RPCRDMA_INVALID: this is no Responder. After each of these, nothing has changed.
 */
enum rpcrdma_status rpcrdma_responder_forget(struct rpcrdma_responder *responder,
                                             uint64_t call);

/**
 * Returns the XID and the length of a Call that is not answered, and the XDR padding in the memory in which the Call
 * is assembled, which neither RPCRDMA_DO_PLACE nor RPCRDMA_DO_READ fills: the driver puts zeros there. padding has
 * room for RPCRDMA_CALL_CHUNKS ranges; unused ranges have length 0.
 *
 * RPCRDMA_NOT_FOUND: there is no such call. RPCRDMA_INVALID: this is no Responder. RPCRDMA_OVERLAP: the Responder and what
 * is written are not apart.
 */
enum rpcrdma_status rpcrdma_responder_find(struct rpcrdma_responder *responder,
                                           uint64_t call,
                                           uint32_t *xid,
                                           uint32_t *length,
                                           struct rpcrdma_range (*padding)[RPCRDMA_CALL_CHUNKS]);

/**
 * Decodes the header of an RPC Call, with which a Payload stream begins. Credential and verifier point into the octets.
 *
 * RPCRDMA_NOT_DECODED: *error says why. RPCRDMA_OVERLAP: *call or *error overlaps the octets.
 */
enum rpcrdma_status rpcrdma_decode_rpc_call(const uint8_t *octets,
                                            size_t length,
                                            struct rpcrdma_rpc_call *call,
                                            struct rpcrdma_decode_error *error);

/**
 * Encodes the header of an RPC Call.
 *
 * *length is that of the header. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_INVALID: a credential or a
 * verifier of more than 400 octets. RPCRDMA_OVERLAP: the buffer or *length overlaps the credential or the verifier.
 */
enum rpcrdma_status rpcrdma_encode_rpc_call(const struct rpcrdma_rpc_call *call,
                                            uint8_t *buffer,
                                            size_t capacity,
                                            size_t *length);

/**
 * Decodes the header of an RPC Reply, with which a Payload stream begins. The verifier points into the octets.
 *
 * RPCRDMA_NOT_DECODED: *error says why. RPCRDMA_OVERLAP: *reply or *error overlaps the octets.
 */
enum rpcrdma_status rpcrdma_decode_rpc_reply(const uint8_t *octets,
                                             size_t length,
                                             struct rpcrdma_rpc_reply *reply,
                                             struct rpcrdma_decode_error *error);

/**
 * Encodes the header of an RPC Reply.
 *
 * *length is that of the header. RPCRDMA_NO_ROOM: that is more than capacity. RPCRDMA_INVALID: kind has no meaning, or the
 * verifier has more than 400 octets. RPCRDMA_OVERLAP: the buffer or *length overlaps the verifier.
 */
enum rpcrdma_status rpcrdma_encode_rpc_reply(const struct rpcrdma_rpc_reply *reply,
                                             uint8_t *buffer,
                                             size_t capacity,
                                             size_t *length);

/**
 * Judges a Send of version 1 that was received by a Requester or a Responder (receiver: RPCRDMA_REQUESTER or
 * RPCRDMA_RESPONDER) by all rules that need nothing else. The Send need not decode.
 *
 * *count is the number of findings; the first findings are written to the array, as many as fit. RPCRDMA_NO_ROOM:
 * there are more than capacity. RPCRDMA_INVALID: receiver is another. RPCRDMA_OVERLAP: *count, the array and the
 * octets are not apart.
 */
enum rpcrdma_status rpcrdma_judge(const uint8_t *octets,
                                  size_t length,
                                  uint32_t receiver,
                                  struct rpcrdma_finding *findings,
                                  size_t capacity,
                                  size_t *count);

/**
 * Judges a Reply of version 1 by the answered Call: the chunks that come back.
 *
 * *count and the array as of rpcrdma_judge; offsets are offsets in the Reply. RPCRDMA_NOT_DECODED: one of the two is
 * not a Send of version 1. RPCRDMA_NO_ROOM, RPCRDMA_OVERLAP: as of rpcrdma_judge.
 */
enum rpcrdma_status rpcrdma_judge_reply(const uint8_t *call,
                                        size_t call_length,
                                        const uint8_t *reply,
                                        size_t reply_length,
                                        struct rpcrdma_finding *findings,
                                        size_t capacity,
                                        size_t *count);

/**
 * Judges a Send of version 2 in the wire format of family. As rpcrdma_judge.
 *
 * *count and the array as of rpcrdma_judge. RPCRDMA_INVALID: receiver or family is another. RPCRDMA_NO_ROOM,
 * RPCRDMA_OVERLAP: as of rpcrdma_judge.
 */
enum rpcrdma_status rpcrdma_judge_v2(uint32_t family,
                                     const uint8_t *octets,
                                     size_t length,
                                     uint32_t receiver,
                                     struct rpcrdma_finding *findings,
                                     size_t capacity,
                                     size_t *count);

/**
 * Judges a Reply of version 2 by the answered Call. As rpcrdma_judge_reply.
 *
 * *count and the array as of rpcrdma_judge. RPCRDMA_NOT_DECODED: one of the two is not a Send in this wire format.
 * RPCRDMA_INVALID: there is no such family. RPCRDMA_NO_ROOM, RPCRDMA_OVERLAP: as of rpcrdma_judge.
 */
enum rpcrdma_status rpcrdma_judge_reply_v2(uint32_t family,
                                           const uint8_t *call,
                                           size_t call_length,
                                           const uint8_t *reply,
                                           size_t reply_length,
                                           struct rpcrdma_finding *findings,
                                           size_t capacity,
                                           size_t *count);

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

#endif /* RPCRDMA_H */
