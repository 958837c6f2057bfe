/*
 * Firmware that uses the library, on a board without an operating system, or here: it decodes, judges, encodes again
 * and answers recorded Sends, and lets a Requester and a Responder call each other in memory, with faults.
 * core/firmware does the same in Rust, and prints the same.
 */
#include <rpcrdma.h>

#include "program.h"
#include "recorded.h"

void print_number(uint32_t number, const char *what)
{
    char text[12];
    char *digit = text + sizeof text - 1;

    *digit = 0;
    do
        *--digit = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    print(digit);
    print(what);
}

void print_digest(uint64_t digest)
{
    char text[] = "digest 0000000000000000\n";

    for (unsigned i = 0; i < 16; i++)
        text[7 + i] = "0123456789abcdef"[digest >> (60 - 4 * i) & 15];
    print(text);
}

/* Its version, its length in two octets, and its octets. */
int next_recorded(size_t *at, recorded *send)
{
    const uint8_t *start = octets_recorded + *at;

    if (*at == sizeof octets_recorded)
        return 0;
    send->family = *start == '1' ? 0 : *start == 'A' ? 1 : 2;
    send->length = (size_t)(start[1] << 8 | start[2]);
    send->octets = start + 3;
    *at += 3 + send->length;
    return 1;
}

int firmware(void)
{
    decode();
    judge();
    encode();
    if (!endpoints(RPCRDMA_VERSION_1, "1") || !endpoints(RPCRDMA_VERSION_2A, "2a") || !endpoints(RPCRDMA_VERSION_2B, "2b"))
        return 1;
    return 0;
}
