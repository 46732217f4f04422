#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A file as a constant of a C program: embed.py FILE NAME OUTPUT"""
import sys

source, name, output = sys.argv[1:4]
with open(source, "rb") as file:
    text = file.read()
with open(output, "w", encoding="ascii") as file:
    file.write("/* Made of %s by embed.py. */\n" % source.rsplit("/", 1)[-1])
    file.write("static const char %s[] = {\n" % name)
    for i in range(0, len(text), 24):
        file.write("    " + " ".join("%d," % (b if b < 128 else b - 256) for b in text[i:i + 24]) + "\n")
    file.write("    0};\n")
