/* SPDX-License-Identifier: MIT */
/* __sigsetjmp: saves the mask of the thread (jump.c), then goes on in the C library, which returns to the caller. */
        .text
        .globl  __sigsetjmp
        .type   __sigsetjmp, %function
__sigsetjmp:
        .cfi_startproc
        hint    #34
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        stp     x0, x1, [sp, #16]
        bl      weft__jump_save
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        b       __wrap___sigsetjmp
        .cfi_endproc
        .size   __sigsetjmp, . - __sigsetjmp
        .section .note.GNU-stack, "", %progbits
