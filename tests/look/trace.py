#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""weft trace: records programs, and checks what the tool shows of them: trace.py BUILD_DIR

Ends in "trace: N passed, N failed". The page is looked at by page.py."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
import tally  # noqa: E402
from tally import check  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
TOOL = BUILD + "/tools/weft"
TRACED = BUILD + "/tests/look/traced"
HERE = os.path.dirname(os.path.abspath(__file__))


def weft(*args):
    return subprocess.run([TOOL, "trace", *args], capture_output=True, text=True, timeout=120)


def run(*args, **env):
    return subprocess.run([TRACED, *args], capture_output=True, text=True, timeout=120, env=dict(os.environ, **env))


def check_summary(text):
    for want in (r"^weft trace: process \d+, weft \d", r"^  0/0 ", r"^ready to running: half within",
                 r"semaphore there +answers at traced\.c:\d+", r"mutex guard +holds at traced\.c:\d+",
                 r"asks -> answers: semaphore", r"^the longest turns, by the clock", r"^the longest waits for other fibers", r"(held|woken) by fiber 0x[0-9a-f]+ \"holds\"", r" round$"):
        check(re.search(want, text, re.M), "summary", want, text)
    check(": something" not in text, "a fiber that could not be entered yet has not parked", text)


def test_file(there):
    path = there + "/a.trace"
    result = run("2000", WEFT_TRACE=path)
    check(result.returncode == 0, "runs", result)
    result = weft(path)
    check(result.returncode == 0, "summary", result)
    check_summary(result.stdout)
    result = weft(path, "--span", "round")
    check(re.search(r"^critical path .*\n.*\n.* (ran on worker|was ready|waited for)", result.stdout, re.M), "path", result)
    check("no span" in weft(path, "--span", "nothing").stdout, "no such span")
    page = there + "/a.html"
    check(weft(path, "--html", page).returncode == 0, "page")
    with open(page) as file:
        text = file.read()
    check('"end of a fiber"' in text and "end of a fiber 0x" not in text, "joins are one row, not one for each fiber")
    return path


def test_yields(there):
    """A fiber is ready before the turn ends in which it yields. That turn does not hold it up."""
    path = there + "/y.trace"
    check(run("10000", "yield", WEFT_TRACE=path).returncode == 0, "yields")
    text = weft(path).stdout
    held_up = re.findall(r"(fiber 0x\w+) .*was ready while worker \d+ (?:ran (fiber 0x\w+))?", text)
    check(held_up and all(fiber != other for fiber, other in held_up), "a fiber does not hold up itself", text)


def test_perfetto(there, path):
    out = there + "/a.pftrace"
    check(weft(path, "--perfetto", out).returncode == 0, "perfetto")
    if not shutil.which("protoc"):
        print("no protoc: Perfetto's format is not checked")
        return
    with open(out, "rb") as file:
        text = subprocess.run(["protoc", "--decode=Trace", "-I", HERE, HERE + "/perfetto.proto"], stdin=file,
                              capture_output=True, text=True).stdout
    check(not re.search(r"^\s*\d+: ", text, re.M), "all fields are known", re.findall(r"^\s*\d+: .*", text, re.M)[:3])
    check(text.count("TYPE_SLICE_BEGIN") == text.count("TYPE_SLICE_END") > 1000, "slices end")
    begun = set(re.findall(r"    flow_ids: (\d+)", text))
    ended = set(re.findall(r"terminating_flow_ids: (\d+)", text))
    check(ended and begun == ended, "flows lead from a wake-up to a turn", len(begun), len(ended))
    for want in ('name: "worker 0/0"', '"asks\\"', 'name: "round"', 'counter_value: ', 'name: "over"'):
        check(want in text, "perfetto has", want)


def test_process(there):
    path = there + "/b.trace"
    process = subprocess.Popen([TRACED], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    try:
        result = weft(str(process.pid), "--seconds", "1", "-o", path)
        check(result.returncode == 0 and re.search(r"\d{3,} events", result.stderr), "records", result)
        check_summary(weft(path).stdout)
        process.send_signal(signal.SIGSTOP)
        result = weft(str(process.pid), "--seconds", "0.2", "-o", path)
        check(result.returncode == 0, "a process that is stopped", result)
        process.send_signal(signal.SIGCONT)
        result = weft(str(process.pid), "--seconds", "0.5", "-o", path)
        check(result.returncode == 0 and re.search(r"\d{3,} events", result.stderr), "records again", result)
    finally:
        process.kill()
        process.wait()


def test_last(there):
    path = there + "/last.trace"
    result = run("2000", "abort", WEFT_TRACE_LAST=path)
    check(result.returncode == -signal.SIGABRT and "the last events are in" in result.stderr, "aborts", result)
    check_summary(weft(path).stdout)
    run("200", WEFT_TRACE_LAST=there + "/none")
    check(not os.path.exists(there + "/none"), "nothing is written for a program that ends well")


def test_wrong(there, path):
    for args in ((), ("1", "2"), ("--nothing", "1"), ("1", "--seconds", "x"), ("1", "--seconds", "0"), (path, "-o", "x")):
        check(weft(*args).returncode == 2, "usage", args)
    check(weft("/nonexistent").returncode == 1, "no such file")
    check(weft(TRACED).returncode == 1, "not a trace")
    check(weft(path, "--html", "/nonexistent/x").returncode == 1, "no such place")
    whole = open(path, "rb").read()
    for size in (100, 5000, len(whole) // 2, len(whole) - 8):
        with open(there + "/cut", "wb") as file:
            file.write(whole[:size])
        result = weft(there + "/cut")
        check(result.returncode == 0 and "the file has no end" in result.stdout, "cut", size, result.returncode)
    bad = bytearray(whole)
    for i in range(0, len(bad), 97):
        bad[i] ^= 0x55
    bad[:32] = whole[:32]
    with open(there + "/bad", "wb") as file:
        file.write(bad)
    for args in ((), ("--perfetto", there + "/x"), ("--html", there + "/x")):
        check(weft(there + "/bad", *args).returncode in (0, 1), "garbage", args)


def main():
    with tempfile.TemporaryDirectory() as there:
        path = test_file(there)
        test_perfetto(there, path)
        test_yields(there)
        test_process(there)
        test_last(there)
        test_wrong(there, path)
    return tally.verdict("trace")


if __name__ == "__main__":
    sys.exit(main())
