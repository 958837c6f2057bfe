//! Entry point of a program on the board virt, which sets up a stack, and the registers of floating-point numbers, with
//! which the compiler also copies memory.

core::arch::global_asm!(
    ".section .text._start",
    ".global _start",
    "_start:",
    "ldr x0, =_stack_start",
    "mov sp, x0",
    "mov x0, #0x300000",
    "msr cpacr_el1, x0",
    "isb",
    "b rpcrdma_start",
);
