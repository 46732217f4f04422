#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks at programs that know nothing of weft, under `weft threads`, and at a program that is linked with libweft-posix:
threads.py BUILD_DIR [NAME...]

Ends in "threads: N passed, N failed".
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
import tally  # noqa: E402
from tally import check  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
TOOL = BUILD + "/tools/weft"
HANGS = BUILD + "/tests/look/pthreads"

MUTEX = r"    fiber (0x\w+)(?: \"main\")? waits for mutex 0x\w+ \(lock[+\d]*\), held by fiber (0x\w+).*\n +in (?:locks_two|with_main|wants_first) at .*p(?:threads|osix)\.c:\d+\n"
WANTS = {
    "circle2": r"deadlock \(certain\): 2 fibers wait for each other\n" + 2 * MUTEX,
    "circle3": r"deadlock \(certain\): 3 fibers wait for each other\n" + 3 * MUTEX,
    "with_main": r"deadlock \(certain\): 2 fibers wait for each other\n(?=(?:.*\n)*.*\"main\")" + 2 * MUTEX,
    "join_circle": r"deadlock \(certain\): 2 fibers wait for each other\n(?=(?:.*\n)*.*end of fiber)(?=(?:.*\n)*.*rwlock to write 0x\w+ \(rw\), held by fiber)",
    "sleeper": r"held up \(likely\): mutex 0x\w+, held by a fiber that sleeps\n    fiber (0x\w+) waits for time.*\n"
               r"      in sleep_on at .*pthreads\.c:\d+\n(?:    fiber .* held by fiber \1.*\n.*in wants_mutex at .*\n){2}",
    "writer": r"held up \(likely\): rwlock to read 0x\w+, held by a fiber that sleeps\n    fiber (0x\w+) waits for time.*\n"
              r".*\n    fiber .* waits for rwlock to read 0x\w+ \(rw\), held by fiber \1.*\n.*in wants_to_read",
    "upgrade": r"held up \(likely\): rwlock to write 0x\w+, held by 1 reader; .*\n    fiber 0x\w+ waits for rwlock to write",
    "forgotten": r"held up \(certain\): mutex 0x\w+, held by a fiber that has ended: an unlock was forgotten\n"
                 r"    fiber 0x\w+ waits for mutex",
    "kernel_thread": r"held up \(likely\): mutex 0x\w+, held by a thread of the program\n"
                     r"    fiber .* held by a thread of the program",
    "signals": r"outside \(likely\): no fiber can run: 2 wait for something outside\n(?:    fiber 0x\w+.* waits for signal.*\n.*\n){2}",
    "others": r"(?=(?:.*\n)*hopeless .*condition 0x\w+.*: nothing signals it)(?=(?:.*\n)*hopeless .*semaphore 0x\w+.*: nothing posts it)"
              r"(?=(?:.*\n)*hopeless .*barrier 0x\w+.*: too few fibers arrive at it)(?:.*\n)*behind these: 1 fiber waits (?:.*\n) +fiber 0x\w+ \"main\" waits for end of fiber 0x",
}


def explain_until(pid, want):
    """It hangs some time after it was started: looks until it does."""
    deadline = time.monotonic() + 60
    while True:
        result = subprocess.run([TOOL, "explain", str(pid)], capture_output=True, text=True)
        if re.search(want, result.stdout) or time.monotonic() > deadline:
            return result


def is_circle(text):
    """Each fiber of the circle is held up by the next."""
    edges = dict(re.findall(r"fiber (0x\w+)(?: \"main\")? waits for mutex .*held by fiber (0x\w+)", text))
    return set(edges) == set(edges.values()) and len(edges) > 1


def look_at(command, name):
    hung = subprocess.Popen([*command, name], env=dict(os.environ, WEFT_DEADLOCK="0"))
    try:
        result = explain_until(hung.pid, WANTS[name])
        check(re.search(WANTS[name], result.stdout), name, command, result.stdout, result.stderr)
        if name.startswith("circle") or name == "with_main":
            check(is_circle(result.stdout), name, command, "the owners", result.stdout)
        dumped = subprocess.run([TOOL, "dump", "--json", str(hung.pid)], capture_output=True, text=True)
        fibers = json.loads(dumped.stdout)["fibers"]
        check(all("waits_for" in f for f in fibers if f["state"] == "waiting"), name, "what each waits for", dumped.stdout)
        check(not any(f.get("waits_for") in ("unpark", "something unknown") for f in fibers), name, "in words", dumped.stdout)
        check(all("stack" in f for f in fibers if f["state"] == "waiting"), name, "a stack of each", dumped.stdout)
    finally:
        hung.kill()
        hung.wait()


def look_at_stripped():
    """Without symbols the places of the program are known by their offsets, and frames of the library are left out."""
    with tempfile.TemporaryDirectory() as there:
        for source, name in ((BUILD + "/libweft-threads.so", "library.so"), (HANGS, "program")):
            subprocess.run(["strip", "-o", there + "/" + name, source], check=True)
        with subprocess.Popen([TOOL, "threads", there + "/program", "circle2"],
                              env=dict(os.environ, WEFT_THREADS_LIBRARY=there + "/library.so")) as hung:
            want = r"deadlock \(certain\): 2 fibers wait for each other(\n.* waits for mutex 0x\w+, held by .*\n +#\d+ +0x\w+ in \S+/program\+0x.*\n.*\n.*){2}"
            result = explain_until(hung.pid, want)
            check(re.search(want, result.stdout), "stripped", result.stdout, result.stderr)
            hung.kill()


def look_at_trace():
    """The waits of a recorded program have the names of its locks."""
    with tempfile.TemporaryDirectory() as there:
        path = there + "/locks.trace"
        made = subprocess.run([TOOL, "threads", "--workers", "2", BUILD + "/tests/threads/threads_locks"], capture_output=True,
                              text=True, env=dict(os.environ, WEFT_TRACE=path))
        check(made.returncode == 0, "runs", made)
        text = subprocess.run([TOOL, "trace", path], capture_output=True, text=True).stdout
        waits = text.split("where fibers waited")[1].split("what woke what")[0]
        check(re.search(r" mutex \w+ ", waits) and re.search(r" condition \w+ ", waits), "the objects", text)
        check(" something " not in waits, "each has a name", text)


def main():
    names = subprocess.run([HANGS], capture_output=True, text=True).stdout.split()
    check(sorted(names) == sorted(WANTS), "every hang is looked at", names)
    for number, name in enumerate(sys.argv[2:] or names):
        setting = [["--workers", "2"], ["--workers", "1"], ["--io", "epoll"]][number % 3]
        look_at([TOOL, "threads", *setting, HANGS], name)
    for name in ("circle2", "kernel_thread"):
        look_at([BUILD + "/tests/look/posix"], name)
    look_at_stripped()
    look_at_trace()
    return tally.verdict("threads")


if __name__ == "__main__":
    sys.exit(main())
