#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which state of the source a part of the soak has tested.

soak_state.py    a line for each group of files: its name, and a number that changes with what these files do

A part that has passed need not run again while its group keeps its number. Comments, white space and documents do not
count, so a reworded comment leaves the soak as it is. The groups, from small to large:

    model    the library without src/look, and its models
    stress   the same, and the programs that make work at random
    fiber    the library, and its tests
    whole    all of the source
"""
import hashlib
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent

LIBRARY = ("src/", "include/", "meson.build", "meson_options.txt", "scripts/builds.sh")
COMMON = ("tests/test.", "tests/runner.c", "tests/options.c", "tests/state.h", "tests/scratch.h", "tests/want.h",
          "tests/deques.", "tests/forbid.h", "tests/run.sh", "tests/meson.build")
GROUPS = {
    "model": LIBRARY + ("tests/model/",),
    "stress": LIBRARY + COMMON + ("tests/stress/", "tests/random/"),
    "fiber": LIBRARY + COMMON + ("tests/",),
    "whole": ("",),
}
NEVER = re.compile(r"\.md$|^docs/|^debian/|^completions/|^scripts/(soak|words|names|stale|form|tidy)|^\.|^LICENSE")
# Libraries of their own and their tests, and what only a tool uses.
ELSEWHERE = re.compile(r"^src/(dist|ffi|threads|tls)/|^tests/(dist|ffi|install|look|posix|report|threads|tls|serve|cached|docs|examples)/")
LOOK = re.compile(r"^src/look/")

C_KINDS = {".c", ".h", ".cpp", ".hpp", ".S"}
C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')", re.S)


def is_in(group, name):
    if NEVER.search(name) or not name.startswith(GROUPS[group]):
        return False
    if group == "whole":
        return True
    return not ELSEWHERE.search(name) and (group == "fiber" or not LOOK.search(name))


def matter(name):
    """What a file does: a C source without comments and white space, any other file as it is."""
    data = (ROOT / name).read_bytes()
    if pathlib.Path(name).suffix not in C_KINDS:
        return data
    text = C_COMMENT.sub(lambda m: m.group(1) or " ", data.decode("utf-8", "replace"))
    return " ".join(text.split()).encode()


def main():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = [n for n in listed.splitlines() if (ROOT / n).is_file() and not (ROOT / n).is_symlink()]
    digests = {n: hashlib.sha256(matter(n)).hexdigest() for n in names if not NEVER.search(n)}
    for group in GROUPS:
        state = hashlib.sha256()
        for name in sorted(digests):
            if is_in(group, name):
                state.update(f"{name} {digests[name]}\n".encode())
        print(group, state.hexdigest()[:12])


if __name__ == "__main__":
    main()
