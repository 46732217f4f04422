/*
 * Where a fresh stack begins: reached by a jump from weft__switch with
 *     rdi  what the switch carried (the worker)
 *     rdx  the context that was entered (the fiber)
 *     rsp  top of the stack, a multiple of 16
 * The return address is undefined, so gdb, perf and the C++ unwinder end their walk here. The
 * personality routine is asked when an exception has found no handler in the fiber.
 */
        .text
        .globl  weft__context_entry
        .hidden weft__context_entry
        .hidden weft__stack_main
        .type   weft__context_entry, @function
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
        .section .note.GNU-stack, "", @progbits
