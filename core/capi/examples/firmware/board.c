/* Where the program begins on QEMU's board mps2-an386, a Cortex-M4. Semihosting prints, and ends it. */
#include <stdint.h>

#include "program.h"

void reset(void);

extern uint32_t stack_start[], data_start[], data_end[], data_image[], bss_start[], bss_end[];

static uint32_t semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;

    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void print(const char *text)
{
    semihosting(0x04, text); /* SYS_WRITE0 */
}

void reset(void)
{
    volatile uint32_t *floating_point = (uint32_t *)0xe000ed88;
    uint32_t *from = data_image;
    uint32_t end[2];

    *floating_point |= 0xf << 20;
    for (uint32_t *to = data_start; to < data_end; to++)
        *to = *from++;
    for (uint32_t *to = bss_start; to < bss_end; to++)
        *to = 0;
    end[1] = (uint32_t)firmware();
    end[0] = 0x20026; /* ADP_Stopped_ApplicationExit */
    for (;;)
        semihosting(0x20, end); /* SYS_EXIT_EXTENDED */
}

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[3])(void);
} vectors = {stack_start, {reset, reset, reset}};
