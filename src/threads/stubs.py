#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the stubs through which libweft-threads calls the C library's own functions.

stubs.py MACHINE OUTPUT NAMES...

The files NAMES list the functions that the library interposes. The linker turns every call of such a function from inside the
library into a call of __wrap_NAME (--wrap), so neither weft nor the files of this directory ever call an interposed
function by accident. __wrap_NAME jumps to the C library's function, which real.c looks up at the first call.
"""
import sys

X86 = """
        .globl  __wrap_{name}
        .hidden __wrap_{name}
        .type   __wrap_{name}, @function
__wrap_{name}:
        endbr64
        cmpq    $0, weft__real_table+{offset}(%rip)
        je      1f
        jmpq    *weft__real_table+{offset}(%rip)
1:      call    resolve
        jmpq    *weft__real_table+{offset}(%rip)
"""
X86_RESOLVE = """
resolve: /* keeps every register that an argument may be in */
        pushq   %rax
        pushq   %rdi
        pushq   %rsi
        pushq   %rdx
        pushq   %rcx
        pushq   %r8
        pushq   %r9
        pushq   %rbp
        movq    %rsp, %rbp
        andq    $-16, %rsp
        call    weft__real_resolve
        movq    %rbp, %rsp
        popq    %rbp
        popq    %r9
        popq    %r8
        popq    %rcx
        popq    %rdx
        popq    %rsi
        popq    %rdi
        popq    %rax
        ret
"""
ARM = """
        .globl  __wrap_{name}
        .hidden __wrap_{name}
        .type   __wrap_{name}, %function
__wrap_{name}:
        hint    #34
        adrp    x16, weft__real_table+{offset}
        ldr     x17, [x16, #:lo12:weft__real_table+{offset}]
        cbz     x17, 1f
        br      x17
1:      stp     x29, x30, [sp, #-16]!
        bl      resolve
        ldp     x29, x30, [sp], #16
        adrp    x16, weft__real_table+{offset}
        ldr     x17, [x16, #:lo12:weft__real_table+{offset}]
        br      x17
"""
ARM_RESOLVE = """
resolve: /* keeps every register that an argument may be in */
        stp     x29, x30, [sp, #-96]!
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        str     x8, [sp, #80]
        bl      weft__real_resolve
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldp     x6, x7, [sp, #64]
        ldr     x8, [sp, #80]
        ldp     x29, x30, [sp], #96
        ret
"""


def main():
    machine, output, *lists = sys.argv[1:]
    stub, resolve = (X86, X86_RESOLVE) if machine == "x86_64" else (ARM, ARM_RESOLVE)
    names = []
    for path in lists:
        with open(path, encoding="ascii") as f:
            names += f.read().split()
    with open(output, "w", encoding="ascii") as f:
        f.write("/* Made by stubs.py. */\n        .hidden weft__real_table\n        .hidden weft__real_resolve\n        .text\n")
        f.write(resolve)
        for i, name in enumerate(names):
            f.write(stub.format(name=name, offset=8 * i))
        f.write("\n        .section .rodata\n        .globl  weft__real_names\n        .hidden weft__real_names\n")
        f.write("weft__real_names:\n")
        for name in names:
            f.write(f'        .asciz  "{name}"\n')
        f.write('        .byte 0\n\n        .bss\n        .globl  weft__real_table\n        .p2align 3\n')
        f.write(f"weft__real_table:\n        .zero {8 * len(names)}\n")
        kind = "@progbits" if machine == "x86_64" else "%progbits"
        f.write(f'        .section .note.GNU-stack, "", {kind}\n')


main()
