/*
 * Drives the library as libFuzzer and AFL++ do: it is loaded, and its functions are found by name.
 * Usage: harness LIBRARY. Exit status 0 if everything is as it must be.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef size_t mutate_function(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
typedef size_t cross_over_function(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2, uint8_t *out,
                                   size_t max_out_size, unsigned int seed);
typedef void *init_function(void *afl, unsigned int seed);
typedef size_t fuzz_function(void *data, uint8_t *buf, size_t buf_size, uint8_t **out_buf, uint8_t *add_buf,
                             size_t add_buf_size, size_t max_size);
typedef size_t havoc_function(void *data, uint8_t *buf, size_t buf_size, uint8_t **out_buf, size_t max_size);
typedef uint8_t probability_function(void *data);
typedef void deinit_function(void *data);

enum { ROOM = 256, GUARD = 16, ROUNDS = 20000 };

/* A Call without chunks: four words, three empty lists, and the first words of an RPC Call. */
static const uint8_t call[] = {
    0x5e, 0xed, 0, 1, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x5e, 0xed, 0, 1, 0, 0, 0, 0,
};

static int failed(const char *what)
{
    fprintf(stderr, "harness: %s\n", what);
    return 1;
}

/* The octets behind the room are still as they were. */
static int is_guarded(const uint8_t *data)
{
    for (int i = 0; i < GUARD; i++)
        if (data[ROOM + i] != 0xa5)
            return 0;
    return 1;
}

static int libfuzzer(mutate_function *mutate, cross_over_function *cross_over)
{
    uint8_t data[ROOM + GUARD], again[ROOM + GUARD], out[ROOM + GUARD];
    size_t size = sizeof call, longest = 0;

    memset(data, 0xa5, sizeof data);
    memset(again, 0xa5, sizeof again);
    memset(out, 0xa5, sizeof out);
    memcpy(data, call, sizeof call);
    for (unsigned seed = 0; seed < ROUNDS; seed++) {
        size_t made, crossed = cross_over(call, sizeof call, data, size, out, ROOM, seed);

        memcpy(again, data, size);
        made = mutate(again, size, ROOM, seed);
        size = mutate(data, size, ROOM, seed);
        if (size < 1 || size > ROOM || crossed < 1 || crossed > ROOM)
            return failed("a message of a size that was not asked for");
        if (made != size || memcmp(data, again, size) != 0)
            return failed("the same seed makes another message");
        if (!is_guarded(data) || !is_guarded(out))
            return failed("octets written outside the room");
        longest = size > longest ? size : longest;
    }
    return longest < ROOM / 2 ? failed("no message has become long") : 0;
}

static int afl(init_function *init, fuzz_function *fuzz, havoc_function *havoc, probability_function *probability,
               deinit_function *deinit)
{
    void *one = init(NULL, 7), *other = init(NULL, 7);
    uint8_t input[ROOM], add[ROOM];

    if (one == NULL || probability(one) == 0 || probability(one) > 100)
        return failed("no mutator, or no probability");
    memcpy(input, call, sizeof call);
    memset(add, 0, sizeof add);
    for (int round = 0; round < ROUNDS; round++) {
        uint8_t *made = NULL, *again = NULL;
        size_t size, same;

        if (round % 2) {
            size = fuzz(one, input, sizeof call, &made, add, round % 3 ? sizeof add : 0, ROOM);
            same = fuzz(other, input, sizeof call, &again, add, round % 3 ? sizeof add : 0, ROOM);
        } else {
            size = havoc(one, input, sizeof call, &made, ROOM);
            same = havoc(other, input, sizeof call, &again, ROOM);
        }
        if (made == NULL || size < 1 || size > ROOM)
            return failed("no message, or one of a size that was not asked for");
        if (size != same || memcmp(made, again, size) != 0)
            return failed("the same seed makes other messages");
        if (memcmp(input, call, sizeof call) != 0)
            return failed("the input was written to");
    }
    deinit(one);
    deinit(other);
    return 0;
}

int main(int count, char **arguments)
{
    void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;

    if (library == NULL)
        return failed(count == 2 ? dlerror() : "one library, please");
    static const char *names[] = { "LLVMFuzzerCustomMutator", "LLVMFuzzerCustomCrossOver", "afl_custom_init", "afl_custom_fuzz",
                                   "afl_custom_havoc_mutation", "afl_custom_havoc_mutation_probability", "afl_custom_deinit" };
    void *found[7];
    for (int i = 0; i < 7; i++)
        if ((found[i] = dlsym(library, names[i])) == NULL)
            return failed(names[i]);
    return libfuzzer((mutate_function *)found[0], (cross_over_function *)found[1]) ||
           afl((init_function *)found[2], (fuzz_function *)found[3], (havoc_function *)found[4],
               (probability_function *)found[5], (deinit_function *)found[6]);
}
