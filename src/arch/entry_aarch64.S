/* SPDX-License-Identifier: MIT */
/*
 * The first code on a fresh stack, entered by a branch from weft__switch with
 *     x0  what the switch carried (the worker)
 *     x2  the context that is entered (the fiber)
 *     sp  top of the stack, a multiple of 16
 *
 * The return address is undefined, so that gdb, perf and the C++ unwinder end their walk here. The unwinder calls the
 * personality routine when an exception has found no handler in the fiber.
 */
        .text
        .globl  weft__context_entry
        .hidden weft__context_entry
        .hidden weft__stack_main
        .hidden weft__entry_personality
        .type   weft__context_entry, %function
weft__context_entry:
        .cfi_startproc
        .cfi_personality 0x1b, weft__entry_personality
        .cfi_undefined x30
        hint    #36             /* bti j */
        mov     x29, xzr
        mov     x30, xzr
        mov     x1, x2
        bl      weft__stack_main
        brk     #1
        .cfi_endproc
        .size   weft__context_entry, . - weft__context_entry
        .section .note.GNU-stack, "", %progbits
