#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""LTP's Open POSIX tests of pthread_* and sem_*, with kernel threads and with fibers: ltp.py BUILD LTP [OPTIONS].

LTP is a checkout of github.com/linux-test-project/ltp; nothing of it is kept here. The programs are built once, in
BUILD/ltp. A native run comes first, unless BUILD/ltp/native has the results of an earlier native run. Then follow the rounds on
each number of workers. Each run has a line with the number of tests that passed. Below it are the tests that failed,
though they pass natively.

    --workers 1,2,8   the numbers of workers
    --rounds 5        how often on each number of workers
    --only TEXT       the programs whose name contains it
    --jobs 6          programs that run at the same time: most of them sleep
    --verbose         the output of programs that failed
"""
import argparse
import concurrent.futures
import contextlib
import glob
import json
import os
import signal
import subprocess
import sys
import threading

LIMIT = 120
# These programs use the same name of shared memory, so a program may wait for ever if they run at the same time.
SAME_NAME = {"sem_init-3-2", "sem_init-3-3"}
ONE_OF_THEM = threading.Lock()
VERDICTS = {0: "pass", 1: "fail", 2: "unresolved", 4: "unsupported", 5: "untested"}


def options():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("ltp")
    p.add_argument("--workers", default="1,2,8")
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("--only", default="")
    p.add_argument("--jobs", type=int, default=6)
    p.add_argument("--verbose", action="store_true")
    return p.parse_args()


O = options()
SUITE = f"{O.ltp}/testcases/open_posix_testsuite"
PLACE = f"{O.build}/ltp"


def build_one(source):
    """The program of a source, or None if it cannot be built here. Some functions have a file with flags."""
    function, name = source.split("/")[-2:]
    program = f"{PLACE}/{function}-{name[:-2]}"
    if os.path.exists(program):
        return program
    command = ["cc", "-w", "-O1", "-std=gnu99", "-pthread", f"-I{SUITE}/include", "-D_POSIX_C_SOURCE=200809L",
               "-D_XOPEN_SOURCE=700", source, f"{SUITE}/lib/common.c", "-o", program, "-lrt", "-lm"]
    return None if subprocess.run(command, stderr=subprocess.DEVNULL).returncode else program


def build():
    os.makedirs(PLACE, exist_ok=True)
    interfaces = f"{SUITE}/conformance/interfaces"
    sources = sorted(glob.glob(f"{interfaces}/pthread_*/*-*.c") + glob.glob(f"{interfaces}/sem_*/*-*.c"))
    if not sources:
        sys.exit(f"no sources in {interfaces}")
    with concurrent.futures.ThreadPoolExecutor(O.jobs) as pool:
        programs = [p for p in pool.map(build_one, sources) if p]
    print(f"{len(programs)} of {len(sources)} programs were built", flush=True)
    return [p for p in programs if O.only in os.path.basename(p)]


def run_one(program, workers):
    with ONE_OF_THEM if os.path.basename(program) in SAME_NAME else contextlib.nullcontext():
        return run_now(program, workers)


def run_now(program, workers):
    prefix = [f"{O.build}/tools/weft", "threads", "--workers", str(workers)] if workers else []
    with subprocess.Popen([*prefix, program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True) as p:
        try:
            output = p.communicate(timeout=LIMIT)[0]
            verdict = VERDICTS.get(p.returncode, f"ended with {p.returncode}")
        except subprocess.TimeoutExpired:
            output, verdict = b"", "hangs"
        try:
            os.killpg(p.pid, signal.SIGKILL)  # the processes that a hanging program has left, its children included
        except ProcessLookupError:
            pass
    if O.verbose and verdict != "pass":
        print(f"--- {os.path.basename(program)}: {verdict}\n{output.decode(errors='replace')}", flush=True)
    return verdict


def run_all(programs, workers):
    with concurrent.futures.ThreadPoolExecutor(O.jobs) as pool:
        verdicts = list(pool.map(lambda p: run_one(p, workers), programs))
    return {os.path.basename(p): v for p, v in zip(programs, verdicts)}


def run_native(programs):
    """The programs that pass with kernel threads. A run of all programs is stored."""
    kept = f"{PLACE}/native"
    if os.path.exists(kept):
        with open(kept, encoding="utf-8") as f:
            return json.load(f)
    found = run_all(programs, 0)
    if not O.only:
        with open(kept, "w", encoding="utf-8") as f:
            json.dump(found, f)
    return found


def report(title, found, native):
    passed = sum(v == "pass" for v in found.values())
    print(f"{title}: {passed} of {len(found)} pass", flush=True)
    for name, verdict in found.items():
        if verdict != "pass" and (native is None or native[name] == "pass"):
            print(f"    {name}: {verdict}", flush=True)


def main():
    programs = build()
    native = run_native(programs)
    report("native", native, None)
    for workers in O.workers.split(","):
        for i in range(O.rounds):
            report(f"{workers} workers, round {i + 1}", run_all(programs, workers), native)


main()
