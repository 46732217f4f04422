/* SPDX-License-Identifier: MIT */
/* weft__stack_call(fn, arg, top): see stack.h. The unwind information leads back to the first stack, by rbp. */
        .text
        .globl  weft__stack_call
        .hidden weft__stack_call
        .type   weft__stack_call, @function
weft__stack_call:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register rbp
        andq    $-16, %rdx
        movq    %rdx, %rsp
        movq    %rdi, %rax
        movq    %rsi, %rdi
        call    *%rax
        movq    %rbp, %rsp
        popq    %rbp
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .size   weft__stack_call, . - weft__stack_call
        .section .note.GNU-stack, "", @progbits
