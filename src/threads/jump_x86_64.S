/* SPDX-License-Identifier: MIT */
/* __sigsetjmp: saves the mask of the thread (jump.c), then goes on in the C library, which returns to the caller. */
        .text
        .globl  __sigsetjmp
        .type   __sigsetjmp, @function
__sigsetjmp:
        .cfi_startproc
        endbr64
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    weft__jump_save
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     __wrap___sigsetjmp
        .cfi_endproc
        .size   __sigsetjmp, . - __sigsetjmp
        .section .note.GNU-stack, "", @progbits
