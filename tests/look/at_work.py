#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs at work: the tool reports correctly and disturbs nothing."""
import os
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from looking import TIMES, TOOL, Target, check, check_quiet, dump, run_all, weft  # noqa: E402


def check_stacks(text):
    """Each stack that is not torn begins in a function that the program has begun a fiber with, or at a fiber's end."""
    for group in text.split("\n\n")[1:]:
        frames = re.findall(r"^    #\d+ +(\S+)", group, re.M)
        if frames and ", torn:" not in group:
            check(frames[-1] in ("gives", "takes", "nothing", "call_main", "fiber_end"), "a stack", group)


def test_at_work():
    for workers in ("1", "4"):
        with Target("busy", workers) as t:
            torn = 0
            for i in range(TIMES):
                text = dump(t.pid)
                torn += text.count(", torn:")
                check(text.startswith("weft "), "a report")
                check_stacks(text)
                if i % 10 == 0:
                    check_quiet(t.pid)  # which may pause for a tenth of a second
            frames = weft("top", t.pid, "--json", "--frames", str(min(TIMES, 500)), "--interval", "0.1")
            check(frames.returncode == 0 and frames.stdout.count("\n") == min(TIMES, 500), "top", frames.stderr)
            with tempfile.TemporaryDirectory() as there:
                check(weft("profile", t.pid, "--hz", "500", "--seconds", str(min(TIMES / 20, 30)), "-o",
                           there + "/p.folded").returncode == 0, "profile")
            check(t.process.poll() is None, "it lives")
            t.process.stdin.close()
            check(t.process.wait(60) == 0, "it was not disturbed", t.process.returncode)


def test_another_program():
    """The process begins another program while it is recorded. Nothing is written to that."""
    with Target("busy", "2", "exec") as t, tempfile.TemporaryDirectory() as there:
        out = there + "/out.trace"
        with subprocess.Popen([TOOL, "trace", t.pid, "--seconds", "600", "-o", out], stderr=subprocess.PIPE,
                              text=True) as looks:
            while not os.path.exists(out) or not os.path.getsize(out):
                time.sleep(0.01)
            t.process.stdin.write("x")
            t.process.stdin.flush()
            said = looks.communicate(timeout=120)[1]
        check("begun another program" in said, "trace says so", said)
        with open("/proc/%s/comm" % t.pid) as file:
            while file.read() != "sleep\n":
                time.sleep(0.01)
                file.seek(0)
        result = weft("dump", t.pid)
        check(result.returncode == 1 and "no weft in process" in result.stderr, "it is another program", result)
        check(t.process.poll() is None, "it goes on")


if __name__ == "__main__":
    sys.exit(run_all(globals()))
