#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""weft dump: what fibers wait for, of processes, stripped and other builds, and core files."""
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from looking import BUILD, TARGET, TIMES, TOOL, Target, check, dump, line_of, run_all, weft  # noqa: E402


WAITS = {
    "locks": r"mutex 0x\w+ \(held_lock\), held by fiber %(holds)s",
    "reads": r"rwlock to read 0x\w+ \(written\), held by fiber %(holds)s",
    "writes": r"rwlock to write 0x\w+ \(written\), held by fiber %(holds)s",
    "cond": r"condition 0x\w+ \(never_signalled\)",
    "sem": r"semaphore 0x\w+ \(never_posted\)",
    "counter": r"counter 0x\w+ \(never_completed\)",
    "barrier": r"barrier 0x\w+ \(one_short\)",
    "receives": r"channel to receive 0x\w+ \(empty\)",
    "sends": r"channel to send 0x\w+ \(full\)",
    "future": r"future 0x\w+ \(never_set\)",
    "selects": r"select of channel to receive 0x\w+ \(empty\), future 0x\w+ \(never_set\)",
    "parks": r"unpark(, for at least .*)?$",
    "sleeps": r"time, for \d+\.\d s at most",
    "joins": r"end of fiber %(parks)s",
    "scopes": r"children of a scope 0x\w+",
    "polls": r"descriptor \d+ \(pipe, the other end is descriptor \d+\) for in",
}


def check_text(text, names=True, times=True):
    ids = {name: line_of(text, name)[0] for name in ("holds", "parks")}
    for name, wait in WAITS.items():
        if not names:
            wait = re.sub(r" \\\(\w+\\\)", "", wait)
        if not times:
            wait = wait.replace(r", for \d+\.\d s at most", "").replace(r" \(pipe, the other end is descriptor \d+\)", "")
        said = line_of(text, name)[1]
        check(re.match(" waits for " + wait % ids, said), name, wait, "said:", said)
    check(" running on worker " in line_of(text, "spins")[1], "one runs", line_of(text, "spins"))


def check_frames(text):
    for function in ("locks", "awaits_cond", "selects", "spins_about", "polls"):
        check(re.search(r"^    #\d+ +%s at .*target\.c:\d+$" % function, text, re.M), "a frame", function)
    check("torn" not in text, "nothing is torn")


def test_process():
    with Target() as t:
        text = dump(t.pid)
        check_text(text)
        check_frames(text)
        check("(inlined)" in dump(t.pid, "--all"), "inlined frames")
        # Stopped, it is the same.
        os.kill(int(t.pid), signal.SIGSTOP)
        check_text(dump(t.pid))
        os.kill(int(t.pid), signal.SIGCONT)
        check(t.process.poll() is None, "it lives")


def test_how_long():
    """When no worker has switched for some time, all fibers are known to have waited for so long."""
    began = time.monotonic()
    with Target() as t:
        while time.monotonic() < began + 60:  # until the fiber that computes is known to keep its worker
            said = line_of(dump(t.pid), "locks")[1]
            found = re.search(r", for at least (\d+) ms$|, for at least ([\d.]+) s$", said)
            if found:
                break
        check(found, "how long", said)
        fibers = {f.get("name"): f for f in json.loads(dump(t.pid, "--json"))["fibers"]}
        least = [fibers[name].get("waits_at_least_ns", 0) for name in WAITS]
        check(min(least) > 0 and max(least) == min(least), "all of them", least)
        check(max(least) < (time.monotonic() - began) * 1e9, "since the start at most", least)
        check("waits_at_least_ns" not in fibers["spins"], "not those that run", fibers["spins"])


def test_readers():
    """A fiber that reads waits for its descriptor, with any number."""
    for engine in ("uring", "epoll"):
        with Target("readers", WEFT_IO=engine) as t:
            fibers = [f for f in json.loads(dump(t.pid, "--json"))["fibers"]
                      if f.get("waits_for") in ("descriptor", "request to the kernel", "signal")]
            kinds = {f["waits_for"] for f in fibers}
            check(len(kinds) == 1 and len(fibers) == 151, "one kind of wait", engine, kinds, len(fibers))
            descriptors = {f.get("fd") for f in fibers}
            check(len(descriptors) == 151 and None not in descriptors, "its descriptor", engine, descriptors)
            text = dump(t.pid)
            check(re.search(r"waits for (request to the kernel, )?descriptor \d+", text), "and in the text", text[:500])


def test_json():
    with Target("100") as t:
        told = json.loads(dump(t.pid, "--json"))
        fibers = {f.get("name"): f for f in told["fibers"]}
        check(len([f for f in told["fibers"] if f["kind"] == "fiber"]) == 120, "all fibers", len(told["fibers"]))
        check(len(told["workers"]) >= 2, "all workers")
        check(fibers["locks"]["waits_for"] == "mutex" and fibers["locks"]["owner"] == fibers["holds"]["id"], "an owner")
        check(fibers["locks"]["object_name"] == "held_lock", "a name")
        stack = told["stacks"][fibers["locks"]["stack"]]
        check(any(f.get("function") == "locks" and f["file"].endswith("target.c") for f in stack), "a stack", stack)
        text = dump(t.pid)
        check(re.search(r"^100 fibers waiting: semaphore", text, re.M), "a group of 100")
        check("and 96 more" in text, "some are named")
        check("and 96 more" not in dump(t.pid, "--all"), "all are named")


def test_stripped():
    """Without symbols and debugging information all but the names is there."""
    with tempfile.TemporaryDirectory() as there:
        subprocess.run(["strip", "-o", there + "/target", TARGET], check=True)
        with Target(program=there + "/target") as t:
            check_text(dump(t.pid), names=False)


def test_other_builds():
    """A static program has no sorted table for unwinding; clang writes no table of units."""
    with open(BUILD + "/meson-info/intro-buildoptions.json") as file:
        options = {o["name"]: o["value"] for o in json.load(file)}
    if options["b_lto"] or options["b_sanitize"] != "none":
        return
    source = os.path.dirname(os.path.abspath(__file__))
    for compiler, *flags in (("gcc", "-static"), ("clang", "-O2"), ("clang", "-O0", "-no-pie")):
        if not shutil.which(compiler):
            print("no " + compiler)
            continue
        with tempfile.TemporaryDirectory() as there:
            made = subprocess.run([compiler, "-g", "-O2", *flags, "-DWEFT_MUST_USE=", "-I", source + "/../../include", source + "/target.c",
                                   "-o", there + "/target", BUILD + "/libweft.a", "-luring", "-lpthread", "-lm", "-ldl"],
                                  capture_output=True, text=True)
            check(made.returncode == 0, "it is built", compiler, flags, made.stderr)
            if made.returncode == 0:
                with Target(program=there + "/target") as t:
                    text = dump(t.pid)
                    check_text(text)
                    check_frames(text)


def core_of(there, *args):
    """A core file that the kernel has written into the directory; None: it writes them elsewhere."""
    with open("/proc/sys/kernel/core_pattern") as file:
        pattern = file.read().strip()
    if "/" in pattern or "|" in pattern:
        print("core files go to " + pattern)
        return None
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with Target(*args, cwd=there) as t:
        t.process.send_signal(signal.SIGABRT)
        t.process.wait()
    found = [name for name in os.listdir(there) if name.startswith("core")]
    return there + "/" + found[0] if found else None


def test_core():
    with tempfile.TemporaryDirectory() as there:
        core = core_of(there, "50")
        if not core:
            return
        text = dump(core)
        check(re.search(r"^50 fibers waiting: semaphore", text, re.M), "a group in a core", text[:300])
        check_text(text, times=False)
        check_frames(text)
        cut = os.path.getsize(core) // 3
        os.truncate(core, cut)
        check(weft("dump", core).returncode in (0, 1), "half a core")


def test_gcore():
    """gdb's gcore may leave out the memory of the records. Then the tool says so, instead of finding no fiber."""
    if not shutil.which("gcore"):
        print("no gcore")
        return
    with tempfile.TemporaryDirectory() as there, Target("50") as t:
        made = subprocess.run(["gcore", "-o", there + "/core", t.pid], capture_output=True, text=True)
        check(made.returncode == 0, "gcore", made)
        for tool in ("dump", "explain"):
            result = weft(tool, there + "/core." + t.pid)
            check(result.returncode == 0 and "never_posted" in result.stdout or
                  result.returncode == 1 and "has no records of fibers" in result.stderr, "what gcore wrote", tool, result)


def test_errors():
    def refuses(why, *args):
        result = weft("dump", *args)
        check(result.returncode == 1 and why in result.stderr and not result.stdout, why, result)

    refuses("no process", "2147483646")
    refuses("no file", "/nonexistent/core")
    refuses("neither a process nor a core file", TOOL)
    other = subprocess.Popen(["sleep", "100"])
    refuses("no weft in process", str(other.pid))
    other.kill()
    other.wait()
    check(weft("dump").returncode == 2, "usage")
    check(weft("dump", "1", "2").returncode == 2, "usage")
    check(weft("dump", "--wrong", "1").returncode == 2, "usage")
    if os.geteuid() == 0 and shutil.which("setpriv"):
        with Target() as t:
            result = subprocess.run(
                ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", TOOL, "dump", t.pid],
                capture_output=True, text=True)
            if "exec" not in result.stderr:
                check(result.returncode == 1 and "ptrace rule" in result.stderr, "not permitted", result)


def test_other_version():
    """A library whose table has another version: the tool says so, and reads nothing else."""
    with open(TARGET, "rb") as file:
        image = bytearray(file.read())
    magic = image.find(b"weft/look\0\0\0\x05\0\0\0")
    check(magic > 0, "the table is in the file")
    image[magic + 12] = 99
    with tempfile.TemporaryDirectory() as there:
        with open(there + "/target", "wb") as file:
            file.write(image)
        os.chmod(there + "/target", 0o755)
        with Target(program=there + "/target") as t:
            result = weft("dump", t.pid)
            check(result.returncode == 1 and "another layout (99)" in result.stderr, "another version", result)


def test_garbage():
    """A core with random bytes in it must not crash the tool."""
    with tempfile.TemporaryDirectory() as there:
        core = core_of(there, "20")
        if not core:
            return
        good = open(core, "rb").read()
        for seed in range(min(max(4, TIMES // 4), 500)):
            rng = random.Random(seed)
            bad = bytearray(good)
            for _ in range(2000):
                at = rng.randrange(len(bad)) if rng.random() < 0.9 else rng.randrange(min(len(bad), 8192))
                bad[at:at + 8] = rng.randbytes(8)
            with open(core, "wb") as file:
                file.write(bad)
            for args in ((), ("--json",)):
                result = weft("dump", core, *args, timeout=120)
                check(result.returncode in (0, 1), "garbage", seed, result.returncode)


if __name__ == "__main__":
    sys.exit(run_all(globals()))
