/* The parts of the program: each prints one line, which ends in a digest. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stddef.h>
#include <stdint.h>

void print(const char *text); /* board.c, host.c */
int firmware(void);           /* firmware.c; returns the exit status */

void print_number(uint32_t number, const char *what);
void print_digest(uint64_t digest);

/* A recorded Send. */
typedef struct recorded {
    uint32_t family; /* the wire format if it is of version 2; 0 if it is of version 1 */
    const uint8_t *octets;
    size_t length;
} recorded;

/* Takes the recorded Send at *at, which begins at 0 and becomes that of the next; returns 0 if there is none. */
int next_recorded(size_t *at, recorded *send);

void decode(void);
void judge(void);
void encode(void);
int endpoints(uint32_t version, const char *name); /* returns whether all calls became what they should */

#endif
