#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which state of the source a part of the soak has tested.

soak_state.py    a line for each group of files: its name, and a number that changes with what these files do

A part that has passed need not run again while its group keeps its number. Comments, white space and documents do not
count, so a reworded comment leaves the soak as it is. GROUPS says which files belong to each group.
"""
import hashlib
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent

LIBRARY = tuple(f"src/{area}" for area in (
    "arch/", "areas", "base/", "driver/", "io/", "libc/", "mem/", "par/", "queue/", "sched/", "sync/", "task/", "time/",
    "topo/", "weft.map")) + ("include/", "meson.build", "meson_options.txt", "scripts/builds.sh")
TESTS = ("tests/test.", "tests/runner.c", "tests/options.c", "tests/state.h", "tests/scratch.h", "tests/want.h",
         "tests/deques.", "tests/forbid.h", "tests/run.sh", "tests/count.py", "tests/check.sh", "tests/tally.py")
GROUPS = {
    "model": LIBRARY + ("tests/model/",),
    "stress": LIBRARY + TESTS + ("tests/stress/", "tests/random/"),
    "fiber": LIBRARY + TESTS + ("src/look/", "src/tls/") + tuple(
        f"tests/{suite}/" for suite in ("arch", "fault", "fiber", "inject", "misuse", "planted", "unit")),
    "server": LIBRARY + ("tools/serve/", "tools/cached/", "tools/load/", "tests/serve/", "tests/cached/", "tests/fuzz.h"),
    "look": LIBRARY + TESTS + ("src/look/", "src/threads/", "tools/look/", "tests/look/"),
    "threads": LIBRARY + TESTS + ("src/threads/", "tests/threads/", "tests/posix/", "examples/posix/"),
    "dist": LIBRARY + TESTS + ("src/dist/", "tests/dist/", "examples/dist/"),
    "whole": ("",),
}
NEVER = re.compile(r"\.md$|^docs/|^debian/|^completions/|^scripts/(soak|words|names|stale|form|tidy)|^\.|^LICENSE")

C_KINDS = {".c", ".h", ".cpp", ".hpp", ".S"}
C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')", re.S)


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
            if name.startswith(GROUPS[group]):
                state.update(f"{name} {digests[name]}\n".encode())
        print(group, state.hexdigest()[:12])


if __name__ == "__main__":
    main()
