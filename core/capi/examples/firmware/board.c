/*
 * The start of the program on two boards of QEMU: mps2-an386, a Cortex-M4, and virt, a RISC-V of 32 bits. Semihosting
 * prints, and ends the program.
 */
#include <stdint.h>

#include "program.h"

void reset(void);

extern uint32_t stack_start[], data_start[], data_end[], data_image[], bss_start[], bss_end[];

#if defined(__riscv)

/* These three instructions, none of them compressed, and at an address that is a multiple of 16: so they are on one page. */
static uint32_t semihosting(uint32_t operation, const void *argument)
{
    register uint32_t a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;

    __asm__ volatile(".balign 16\n.option push\n.option norvc\n"
                     "slli zero, zero, 0x1f\nebreak\nsrai zero, zero, 7\n.option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
}

/* The processor begins here, without a stack. */
__attribute__((naked, used, section(".vectors"))) void start(void)
{
    __asm__ volatile("la sp, stack_start\nj reset");
}

static void prepare(void)
{
}

#else

static uint32_t semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;

    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[3])(void);
} vectors = {stack_start, {reset, reset, reset}};

/* Floating point is off at first. */
static void prepare(void)
{
    volatile uint32_t *floating_point = (uint32_t *)0xe000ed88;

    *floating_point |= 0xf << 20;
}

#endif

void print(const char *text)
{
    semihosting(0x04, text); /* SYS_WRITE0 */
}

void reset(void)
{
    uint32_t *from = data_image;
    uint32_t end[2];

    prepare();
    for (uint32_t *to = data_start; to < data_end; to++)
        *to = *from++;
    for (uint32_t *to = bss_start; to < bss_end; to++)
        *to = 0;
    end[1] = (uint32_t)firmware();
    end[0] = 0x20026; /* ADP_Stopped_ApplicationExit */
    for (;;)
        semihosting(0x20, end); /* SYS_EXIT_EXTENDED */
}
