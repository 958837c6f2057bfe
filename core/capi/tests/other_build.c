/* A program that was compiled with the header of another library: each endpoint refuses it, and writes nothing. */
#include <string.h>

#include <rpcrdma.h>

static union {
    rpcrdma_requester_memory requester;
    rpcrdma_responder_memory responder;
    uint8_t octets[4096];
} memory;

static int is_untouched(void)
{
    for (size_t i = 0; i < sizeof memory; i++) {
        if (memory.octets[i] != 0xa5)
            return 0;
    }
    return 1;
}

int main(void)
{
    const rpcrdma_terms terms = {1024, 1024, 0, RPCRDMA_VERSION_1, RPCRDMA_FORMATS_ALL};
    const rpcrdma_limits limits = {1, 1, 16, 65536, 0};

    memset(&memory, 0xa5, sizeof memory);
    if (rpcrdma_library_build() == RPCRDMA_BUILD)
        return 1;
    if (rpcrdma_requester_init((rpcrdma_requester *)&memory, sizeof memory, &terms, 1, 4096, RPCRDMA_BUILD) !=
        RPCRDMA_OTHER_BUILD)
        return 2;
    if (rpcrdma_responder_init((rpcrdma_responder *)&memory, sizeof memory, &terms, &limits, 1, RPCRDMA_BUILD) !=
        RPCRDMA_OTHER_BUILD)
        return 3;
    return is_untouched() ? 0 : 4;
}
