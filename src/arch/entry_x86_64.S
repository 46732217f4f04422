/* SPDX-License-Identifier: MIT */
/*
 * The first code on a fresh stack, entered by a jump from weft__switch with
 *     rdi  what the switch carried (the worker)
 *     rdx  the context that is entered (the fiber)
 *     rsp  top of the stack, a multiple of 16
 *
 * The return address is undefined, so that gdb, perf and the C++ unwinder end their walk here. The unwinder calls the
 * personality routine when an exception has found no handler in the fiber.
 */
        .text
        .globl  weft__context_entry
        .hidden weft__context_entry
        .hidden weft__stack_main
        .type   weft__context_entry, @function
        .p2align 5
weft__context_entry:
        .cfi_startproc
        .cfi_personality 0x1b, weft__entry_personality
        .cfi_undefined rip
        endbr64
        xorl    %ebp, %ebp
        movq    %rdx, %rsi
        call    weft__stack_main
        ud2
        .cfi_endproc
        .size   weft__context_entry, . - weft__context_entry
        .hidden weft__entry_personality

/*
 * The target of gcc's function_return("thunk-extern"), see WEFT_SWITCHES. The compiler decides the name. Weak, because
 * a program that is built with that option has its own.
 */
        .weak   __x86_return_thunk
        .hidden __x86_return_thunk
        .type   __x86_return_thunk, @function
        .p2align 5
__x86_return_thunk:
        .cfi_startproc
        popq    %rcx
        .cfi_def_cfa_offset 0
        .cfi_register rip, rcx
        jmpq    *%rcx
        .cfi_endproc
        .size   __x86_return_thunk, . - __x86_return_thunk
        .section .note.GNU-stack, "", @progbits
