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
