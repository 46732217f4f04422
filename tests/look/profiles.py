#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""weft profile, and a program that profiles itself."""
import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from looking import TARGET, Target, check, run_all, weft  # noqa: E402


def pprof(path, index):
    """function -> flat value, as `go tool pprof` reads it; None: there is no go."""
    if not shutil.which("go"):
        return None
    result = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=" + index, "-nodecount=1000", path],
                            capture_output=True, text=True)
    check(result.returncode == 0, "go tool pprof", result.stderr)
    return result.stdout


def check_folded(text, want_cpu, want_wait):
    cpu = sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("cpu;"))
    found = sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(want_cpu, line))
    check(found > cpu / 2 > 0, "CPU time is where it was spent", want_cpu, text)
    check(re.search(want_wait, text, re.M), "waiting", want_wait, text)


def test_profile():
    with tempfile.TemporaryDirectory() as there, Target("100") as t:
        for name in ("p.pb.gz", "p.folded", "p.html"):
            result = weft("profile", t.pid, "--seconds", "0.5", "-o", there + "/" + name)
            check(result.returncode == 0 and "of CPU time" in result.stderr, "profile", result)
        with open(there + "/p.folded") as file:
            folded = file.read()
        check_folded(folded, "cpu;spins_about ", r"^waiting;crowds;.*\[semaphore\] \d{7,}$")
        check("mutex" in gzip.open(there + "/p.pb.gz").read().decode("latin-1"), "gzip")
        top = pprof(there + "/p.pb.gz", "cpu")
        if top is not None:
            check(re.search(r"spins_about", top), "pprof, CPU", top)
            check(re.search(r"crowds", pprof(there + "/p.pb.gz", "waiting")), "pprof, waiting")
        check(weft("profile", there + "/p.folded", "-o", there + "/q.html").returncode == 0, "of folded stacks")
        for page in ("p.html", "q.html"):
            with open(there + "/" + page) as file:
                text = file.read()
            check("cpu;spins_about " in text and "@DATA@" not in text and "@TITLE@" not in text, "a page", text[:200])
        # A process that stands still stays so.
        os.kill(int(t.pid), signal.SIGSTOP)
        check(weft("profile", t.pid, "--seconds", "0.1", "-o", there + "/s.folded").returncode == 0, "stopped")
        weft("dump", t.pid)
        with open("/proc/%s/stat" % t.pid) as file:
            check(file.read().rsplit(")", 1)[1].split()[0] in "Tt", "it stays stopped")
        os.kill(int(t.pid), signal.SIGCONT)
        for args in (("--seconds", "x"), ("-o", "p.txt"), ("--hz", "0"), ("--wrong",), ("2",)):
            check(weft("profile", t.pid, *args).returncode == 2, "usage", args)
        check(weft("profile", t.pid, "--seconds", "0.1", "-o", "/nonexistent/p.pb.gz").returncode == 1, "no such place")
    with tempfile.TemporaryDirectory() as there:
        for name in ("p.folded", "p.pb.gz"):
            result = subprocess.run([TARGET, "computes"], env=dict(os.environ, WEFT_PROFILE=there + "/" + name),
                                    capture_output=True, text=True)
            check(result.returncode == 0 and not result.stderr, "WEFT_PROFILE", result)
        with open(there + "/p.folded") as file:
            check_folded(file.read(), "cpu;.*;?computes_a_while ", r"^waiting;.*\[semaphore\] \d{5,}$")
        top = pprof(there + "/p.pb.gz", "cpu")
        check(top is None or "computes_a_while" in top, "pprof of WEFT_PROFILE", top)
        result = subprocess.run([TARGET, "computes"], env=dict(os.environ, WEFT_PROFILE="/nonexistent/p"),
                                capture_output=True, text=True)
        check(result.returncode == 0 and "not written" in result.stderr, "a file that cannot be", result)
        result = subprocess.run([TARGET, "computes"], env=dict(os.environ, WEFT_PROFILE=there + "/p.html"),
                                capture_output=True, text=True)
        check(result.returncode == 0 and "use FILE.folded" in result.stderr and not os.path.exists(there + "/p.html"),
              "a page is made by the tool", result)


if __name__ == "__main__":
    sys.exit(run_all(globals()))
