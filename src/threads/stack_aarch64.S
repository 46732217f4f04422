/* SPDX-License-Identifier: MIT */
/* weft__stack_call(fn, arg, top): see stack.h. The unwind information leads back to the first stack, by x29. */
        .text
        .globl  weft__stack_call
        .hidden weft__stack_call
        .type   weft__stack_call, %function
weft__stack_call:
        .cfi_startproc
        hint    #34
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        .cfi_def_cfa_register x29
        and     x2, x2, #-16
        mov     sp, x2
        mov     x9, x0
        mov     x0, x1
        blr     x9
        mov     sp, x29
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa sp, 0
        ret
        .cfi_endproc
        .size   weft__stack_call, . - weft__stack_call
        .section .note.GNU-stack, "", %progbits
