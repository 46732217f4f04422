#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks assembly of across.c, by gcc or clang: is a register read after the context switch that was not written after it?

inspect.py FILE.s prints a line for each such register; then the status is 1. A register that one instruction writes and
reads counts as written, so a run of the program finds more. But the check also works for code that this processor
cannot run."""
import re
import sys

X86 = re.compile(r"%(zmm|ymm|xmm)(\d+)|%(k)([0-7])|%(r)(bx|bp|1[2-5])")
ARM = re.compile(r"\b([zvqdsp])(\d+)\b|\b(x)(19|2[0-8])\b")


def operands(text):
    parts, depth, last = [], 0, ""
    for c in text:
        depth += c in "({["
        depth -= c in ")}]"
        if c == "," and depth == 0:
            parts.append(last)
            last = ""
        else:
            last += c
    return parts + [last]


def registers(text, x86):
    found = set()
    for m in (X86 if x86 else ARM).finditer(text):
        kind, number = [g for g in m.groups() if g is not None]
        if kind in ("zmm", "ymm", "xmm"):
            kind = "xmm"
        if kind in ("z", "v", "q", "d", "s"):
            kind = "v"
        if kind != "r" or number != "bp":
            found.add(kind + number)
    return found


def step(line, x86):
    """The registers that an instruction reads and writes."""
    name, _, rest = line.partition("\t")
    parts = operands(rest.split("#")[0].split("//")[0])
    if x86:
        target, sources = parts[-1], parts[:-1]
        if name.startswith("push") or name.startswith("cmp") or name.startswith("test"):
            return registers(rest, x86), set()
        if name.startswith("pop"):
            return set(), registers(rest, x86)
        if "(" in target:  # to memory
            return registers(rest, x86), set()
        masks = re.findall(r"{%k[0-7]}", target)
        reads = set().union(*[registers(p, x86) for p in sources], *[registers(m, x86) for m in masks])
        if "xor" in name and len(set(p.strip() for p in parts)) == 1:  # zero
            reads = set()
        return reads, registers(target.split("{")[0], x86)
    if name.startswith("st"):
        return registers(rest, x86), set()
    writes = 2 if name.startswith("ldp") else 1
    reads = set().union(*[registers(p, x86) for p in parts[writes:]])
    return reads, set().union(*[registers(p, x86) for p in parts[:writes]])


def main():
    bad, switches = 0, 0
    function, written, asm, last = "", None, False, ""
    for line in open(sys.argv[1], encoding="utf-8"):
        line = line.strip()
        label = re.match(r"(across_\w+):", line)
        if label:
            function, written = label.group(1), None
        if re.match(r"(#|//) ?APP", line):
            asm = True
        elif re.match(r"(#|//) ?NO_APP", line):
            asm = False
            if function and re.match("endbr64|hint|bti|1: (endbr64|hint)", last):
                written, switches = set(), switches + 1
        elif asm and line and not line.startswith(("#", "//")):
            last = line
        elif written is not None and line and not line.startswith((".", "#", "//")) and not line.endswith(":"):
            if line.startswith("ret"):
                function, written = "", None
                continue
            reads, writes = step(line, "x86" in sys.argv[2])
            for r in sorted(reads - written):
                print(f"{function}: {r} is kept across the switch: {line}")
                bad += 1
            written |= reads | writes
    if switches < 6:
        print(f"only {switches} switches found")
        bad += 1
    return bad != 0


sys.exit(main())
