/* Reads and prints hex dumps, for the examples. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads hexadecimal digits up to a '#', which begins a comment, line by line. Returns how many octets there are. */
static size_t read_dump(FILE *file, uint8_t *octets, size_t capacity)
{
    char line[512], pair[3] = "";
    size_t length = 0;

    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "#")] = 0;
        for (const char *at = line; *at; at++) {
            if (!isxdigit((unsigned char)*at))
                continue;
            pair[strlen(pair)] = *at;
            if (strlen(pair) < 2)
                continue;
            if (length == capacity)
                return length;
            octets[length++] = (uint8_t)strtoul(pair, NULL, 16);
            memset(pair, 0, sizeof pair);
        }
    }
    return length;
}

static inline void print_octets(const uint8_t *octets, size_t length)
{
    for (size_t i = 0; i < length; i++)
        printf(" %02x", octets[i]);
}
