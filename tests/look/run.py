#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks at programs with the tool: run.py BUILD_DIR [TIMES]

Ends in "look: N passed, N failed". TIMES: how often a program at work is looked at.
"""
import gzip
import http.client
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
import tally  # noqa: E402
from tally import check  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
TIMES = int(sys.argv[2]) if len(sys.argv) > 2 else 20
WHOLE = 100  # from so many on, every hang is planted with each number of workers on each engine
TOOL = BUILD + "/tools/weft"
TARGET = BUILD + "/tests/look/target"
os.environ.pop("WEFT_DEADLOCK", None)  # which run.sh has set: tests here set it themselves


class Target:
    """The program, when all its fibers are where they are to be; ends with the `with`."""

    def __init__(self, *args, program=TARGET, cwd=None, **env):
        self.process = subprocess.Popen([program, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        cwd=cwd, env=dict(os.environ, **env))
        self.pid = str(self.process.pid)
        assert self.process.stdout.readline().startswith("ready")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def weft(*args, **more):
    return subprocess.run([TOOL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def dump(what, *args):
    result = weft("dump", what, *args)
    check(result.returncode == 0, "dump succeeds", result.stderr)
    return result.stdout


def line_of(text, name):
    found = re.search(r'^  fiber (0x[0-9a-f]+) "%s"(.*)$' % name, text, re.M)
    return found.groups() if found else ("", "")


# --- what is said ------------------------------------------------------------------------------------------

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


# --- hangs -----------------------------------------------------------------------------------------------------

HANGS = {
    "circle2": r"deadlock \(certain\): 2 fibers wait for each other\n(.*hangs\.c:\d+\n|.*mutex.*\n){4}",
    "circle3": r"deadlock \(certain\): 3 fibers wait for each other\n(.*hangs\.c:\d+\n|.*mutex.*\n){6}",
    "circle4": r"deadlock \(certain\): 4 fibers wait for each other\n(.*hangs\.c:\d+\n|.*mutex.*\n){8}",
    "circle5": r"deadlock \(certain\): 5 fibers wait for each other\n(.*hangs\.c:\d+\n|.*mutex.*\n){10}",
    "sleeper": r"held up \(likely\): mutex 0x\w+, which a fiber holds that sleeps\n",
    "hog": r"held up \(likely\): mutex 0x\w+, which a fiber holds that computes\n",
    "blocked": r"held up \(likely\): mutex 0x\w+, which a fiber holds that blocks in C\n",
    "forgotten": r"held up \(certain\): mutex 0x\w+, which a fiber holds that has ended: an unlock was forgotten\n",
    "thread": r"held up \(likely\): mutex 0x\w+, which a thread holds that is none of weft's\n",
    "upgrade": r"held up \(likely\): rwlock to write 0x\w+, which 1 read; .*it waits for itself\n",
    "lost_close": r"hopeless \(likely\): nothing sends to, or closes, .*channel to receive 0x\w+\n",
    "receiver": r"hopeless \(likely\): nothing sends to, or closes, .*channel to receive 0x\w+\n",
    "two_selects": r"hopeless \(likely\): nothing does any case .*select\n.*select of channel(.|\n)*select of channel",
    "semaphore": r"hopeless \(likely\): nothing posts .*semaphore 0x\w+\n",
    "barrier": r"hopeless \(likely\): too few arrive at .*barrier 0x\w+\n",
    "condition": r"hopeless \(likely\): nothing signals .*condition 0x\w+\n",
    "counter": r"hopeless \(likely\): nothing completes .*counter 0x\w+\n",
    "join_circle": r"deadlock \(certain\): 2 fibers wait for each other\n.*end of fiber",
    "scope_child": r"deadlock \(certain\): 2 fibers wait for each other\n.*children of a scope(.|\n)*held by fiber",
    "forked": r"deadlock \(certain\): 2 fibers wait for each other\n(.|\n)*end of a forked call 0x\w+, which fiber 0x\w+ runs",
    "queue": r"held up \(likely\): mutex 0x\w+, which a fiber holds that waits\n(.|\n)*hopeless \(likely\): nothing posts (.|\n)*"
             r"behind these: 1 fiber waits for fibers that are named above\n    fiber 0x\w+ waits for end of fiber",
    "descriptor": r"outside \(likely\): no fiber can run: 1 wait for something outside\n.*descriptor \d+ \(pipe, the other end is descriptor \d+\) for in",
    "full_pipe": r"outside \(likely\): no fiber can run: 1 wait for something outside\n(.*request to the kernel, descriptor \d+ \(pipe, .*|.*descriptor \d+ \(pipe, .*for out)",
    "timer": r"stuck \(likely\): worker \d+ \(thread \d+\) has been in the function of a timer for ",
    "starved": r"starved \(likely\): \d+ fibers are ready, and \d+ of \d+ workers have a hog\n",
    "priority": r"starved \(likely\): 1 fibers have been ready for 0\.5 s, 1 of them of low priority, (.|\n)*\"low\" ready",
}
# In these nothing can happen any more, and the program ends itself.
HOPELESS = {name: what.replace("likely", "certain") for name, what in HANGS.items() if name in (
    "lost_close", "receiver", "two_selects", "semaphore", "barrier", "condition", "counter")}
HOPELESS.update({name: HANGS[name].split("\\n")[0] for name in (
    "circle2", "circle3", "circle4", "circle5", "forgotten", "upgrade", "join_circle", "scope_child", "forked")})


def test_no_worker_is_stuck():
    """A worker that sleeps for more than a second, and has expired timers before, is not in the function of one."""
    with Target("rests") as t:
        time.sleep(1.1)
        result = weft("explain", t.pid)
        check("stuck" not in result.stdout and "no fiber can run" in result.stdout, "asleep, not stuck", result.stdout)
        top = weft("top", t.pid, "--once", "--interval", "0.1").stdout
        check("timer's function" not in top, "asleep in top, too", top)


def explain_until(pid, want):
    """It hangs some time after it was started: looks until it does."""
    deadline = time.monotonic() + 60
    while True:
        result = weft("explain", pid)
        if re.search(want, result.stdout) or time.monotonic() > deadline:
            return result


def test_hangs():
    hangs = BUILD + "/tests/look/hangs"
    names = subprocess.run([hangs], capture_output=True, text=True).stdout.split()
    check(sorted(names) == sorted(HANGS), "every hang is looked at", names)
    settings = [(engine, workers) for engine in ("", "epoll") for workers in ("1", "2", "8")]
    for number, name in enumerate(names):
        # In brief, each hang has the next one of the settings.
        for engine, workers in settings if TIMES >= WHOLE else [settings[number % len(settings)]]:
            program = subprocess.Popen([hangs, name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env=dict(os.environ, WEFT_DEADLOCK="0", WEFT_WORKERS=workers, WEFT_IO=engine,
                                                WEFT_RESCUE="0" if name == "priority" else ""))
            result = explain_until(str(program.pid), HANGS[name])
            check(re.search(HANGS[name], result.stdout), name, workers, engine, result.stdout, result.stderr)
            program.kill()
            program.wait()


def test_without_main():
    """The main thread has ended: the number of the process leads to no memory."""
    program = subprocess.Popen([BUILD + "/tests/look/hangs", "without_main"], env=dict(os.environ, WEFT_DEADLOCK="0"),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open("/proc/%d/stat" % program.pid) as file:
        while file.read().rsplit(")", 1)[1].split()[0] != "Z":
            time.sleep(0.01)
            file.seek(0)
    result = explain_until(str(program.pid), HANGS["semaphore"])
    check(re.search(HANGS["semaphore"], result.stdout), "without a main thread", result.stdout, result.stderr)
    top = weft("top", str(program.pid), "--once", "--interval", "0.1")
    check(" semaphore " in top.stdout, "top of it", top.stdout, top.stderr)
    program.kill()
    program.wait()


def test_deadlocks_end_themselves():
    for number, (name, want) in enumerate(HOPELESS.items()):
        for workers in ("1", "3") if TIMES >= WHOLE else ("13"[number % 2],):
            result = subprocess.run([BUILD + "/tests/look/hangs", name], capture_output=True, text=True, timeout=120,
                                    env=dict(os.environ, WEFT_WORKERS=workers))
            check("weft_run: -35\n" == result.stdout, name, "returns EDEADLK", result.stdout)
            check(re.search(want, result.stderr), name, workers, want, result.stderr)
            check(result.stderr.count("nothing can happen any more") == 1, "said once", result.stderr)
        with tempfile.TemporaryDirectory() as there:  # for its core file
            result = subprocess.run([BUILD + "/tests/look/hangs", name], capture_output=True, text=True, timeout=120,
                                    cwd=there, env=dict(os.environ, WEFT_DEADLOCK="2"))
        check(result.returncode == -signal.SIGABRT and re.search(want, result.stderr), name, "aborts", result)
    with subprocess.Popen([BUILD + "/tests/look/hangs", "circle2"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env=dict(os.environ, WEFT_DEADLOCK="3"), text=True) as silent:
        explain_until(str(silent.pid), HANGS["circle2"] + r"(.|\n)*at least (1[.\d]+|[2-9][.\d]*) s")
        silent.kill()
        check(silent.stderr.read() == "", "it says nothing when it is not to look")


# What explain may say of a program that works: there was a moment without requests.
QUIET = re.compile(r"nothing is wrong|outside \(likely\)|for information: ")


def check_no_alarm(server, load, what):
    """Servers under load have no deadlock, and explain says of none that anything is wrong."""
    with subprocess.Popen(load, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as busy:
        explain_until(str(server.pid), "nothing is wrong")  # the load has begun
        for _ in range(min(max(5, TIMES // 4), 200)):
            said = weft("explain", str(server.pid))
            findings = re.findall(r"^\S.*", said.stdout, re.M)
            check(findings and all(QUIET.match(f) for f in findings), "no false alarm", what, said.stdout, said.stderr)
        check(busy.poll() is None, "under load all the time", what, busy.poll())
        busy.terminate()
    server.terminate()
    check(server.wait(60) == 0, "it ends, and was never blocked for ever", what, server.returncode)


def test_no_false_alarm():
    forever = ["--duration", "3600", "--connections", "50", "--rate", "1000"]
    with tempfile.TemporaryDirectory() as there:
        os.chmod(there, 0o755)
        with open(there + "/page", "w") as file:
            file.write("text " * 400)
        for workers, engine in (("1", "uring"), ("2", "epoll"), ("8", "uring")):
            env = dict(os.environ, WEFT_WORKERS=workers, WEFT_IO=engine, WEFT_DEADLOCK="2")
            serve = subprocess.Popen([TOOL, "serve", there, "--port", "0"], stdout=subprocess.PIPE, text=True, env=env)
            port = re.search(r":(\d+)", serve.stdout.readline()).group(1)
            check_no_alarm(serve, [TOOL, "load", "http", *forever, "127.0.0.1:%s/page" % port], ("serve", workers, engine))
            port = str(free_port())
            cached = subprocess.Popen([TOOL, "cached", "-u", "root", "-p", port, "-l", "127.0.0.1"], env=env)
            wait_for_port(port)
            check_no_alarm(cached, [TOOL, "load", "memcached", *forever, "127.0.0.1:" + port], ("cached", workers, engine))


# --- metrics -----------------------------------------------------------------------------------------------------

def test_metrics():
    """What promtool reads and finds nothing wrong with, if it is there."""
    told = subprocess.run([TARGET, "metrics"], stdout=subprocess.PIPE, text=True).stdout
    check("weft_fibers 1\n" in told, "metrics", told[:200])
    if shutil.which("promtool"):
        result = subprocess.run(["promtool", "check", "metrics"], input=told, capture_output=True, text=True)
        check(result.returncode == 0 and not result.stderr, "promtool", result)


def test_metrics_of_servers():
    """weft serve and weft cached tell their numbers at an address of their own."""
    with tempfile.TemporaryDirectory() as there:
        os.chmod(there, 0o755)
        serve = subprocess.Popen([TOOL, "serve", there, "--port", "0", "--metrics", "0"], stdout=subprocess.PIPE, text=True)
        serve.stdout.readline()
        line = serve.stdout.readline()
        found = re.search(r"metrics at http://([\d.]+):(\d+)/metrics", line)
        check(found, "serve says where its metrics are", line)
        if found:
            check_metrics_at(*found.groups())
        serve.terminate()
        check(serve.wait(60) == 0, "serve ends")
        port = free_port()
        cached = subprocess.Popen([TOOL, "cached", "-u", "root", "-p", "-1", "-l", "127.0.0.1", "--metrics", str(port)])
        check_metrics_at("127.0.0.1", str(port))
        cached.terminate()
        check(cached.wait(60) == 0, "cached ends")
        for wrong in ("x", ":1", "70000"):
            result = weft("serve", there, "--port", "0", "--metrics", wrong)
            check(result.returncode == 2 and "--metrics" in result.stderr, "--metrics", wrong, result)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def wait_for_port(port):
    deadline = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", int(port)), 60).close()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def ask(host, port, path, method="GET"):
    """Until it listens."""
    deadline = time.monotonic() + 60
    while True:
        try:
            c = http.client.HTTPConnection(host, int(port), timeout=60)
            c.request(method, path)
            answer = c.getresponse()
            return answer.status, answer.read().decode()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def check_metrics_at(host, port):
    status, told = ask(host, port, "/metrics")
    check(status == 200 and "weft_switches_total{" in told and told.endswith("# EOF\n"), "metrics", status, told[:100])
    if shutil.which("promtool"):
        result = subprocess.run(["promtool", "check", "metrics"], input=told, capture_output=True, text=True)
        check(result.returncode == 0 and not result.stderr, "promtool", result)
    check(ask(host, port, "/")[0] == 404, "another path")
    check(ask(host, port, "/metrics", "POST")[0] == 405, "another method")
    check(ask(host, port, "/metrics", "HEAD") == (200, ""), "the head")


# --- errors --------------------------------------------------------------------------------------------------

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
    magic = image.find(b"weft/look\0\0\0\x04\0\0\0")
    check(magic > 0, "the table is in the file")
    image[magic + 12] = 99
    with tempfile.TemporaryDirectory() as there:
        with open(there + "/target", "wb") as file:
            file.write(image)
        os.chmod(there + "/target", 0o755)
        with Target(program=there + "/target") as t:
            result = weft("dump", t.pid)
            check(result.returncode == 1 and "another layout (99)" in result.stderr, "another version", result)


# --- top ----------------------------------------------------------------------------------------------------------

def test_top():
    with Target("100") as t:
        result = weft("top", t.pid, "--once", "--interval", "0.3", env=dict(os.environ, COLUMNS="140"))
        check(result.returncode == 0, "top", result.stderr)
        for want in (r"^fibers 120  .*running 1 ", r"^ +0/0 +[\d.]+%", r"^ +100 >.*s +\S+ +semaphore +crowds at target\.c:\d+$",
                     r"^ +1 >.* mutex +locks at target\.c:\d+$", r"^hog: fiber 0x\w+ has had worker",
                     r"^ +[\d.]+% +1  0x\w+ +target\.c:\d+$", r"^outside:  .*read 1"):
            check(re.search(want, result.stdout, re.M), "top says", want, result.stdout)
        narrow = weft("top", t.pid, "--once", "--interval", "0.1", env=dict(os.environ, COLUMNS="40")).stdout
        check(max(len(line) for line in narrow.split("\n")) <= 40, "narrow", narrow)
        frames = [json.loads(line) for line in
                  weft("top", t.pid, "--json", "--frames", "3", "--interval", "0.1").stdout.splitlines()]
        check(len(frames) == 3 and all(f["fibers"]["running"] == 1 for f in frames), "frames", frames)
        waits = {w["waits_for"]: w for w in frames[2]["waiting"]}
        check(waits["semaphore"]["at_least"] and waits["semaphore"]["longest_ns"] > 2e8, "how long", waits["semaphore"])
        check(sum(b["share"] for b in frames[2]["busiest"]) > 0.5, "the busiest", frames[2]["busiest"])
        os.kill(int(t.pid), signal.SIGSTOP)
        check("semaphore" in weft("top", t.pid, "--once", "--interval", "0.1").stdout, "a stopped process")
        os.kill(int(t.pid), signal.SIGCONT)
        check(weft("top", t.pid).returncode == 2, "no terminal")
        process = subprocess.Popen([TOOL, "top", t.pid, "--json", "--interval", "0.1"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        process.stdout.readline()
    _, stderr = process.communicate(timeout=60)
    check(process.returncode == 0 and "has ended" in stderr, "the process ends", process.returncode, stderr)


class Terminal:
    """tmux, with a server and a window of its own. A server that ends still answers for a moment, so none shares a name."""
    count = 0

    def __init__(self, width, height, *command):
        Terminal.count += 1
        self.name = "weft-test-%d-%d" % (os.getpid(), Terminal.count)
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height), " ".join(command))

    def tmux(self, *args):
        result = subprocess.run(["tmux", "-L", self.name, *args], capture_output=True, text=True)
        check(result.returncode == 0, "tmux", args, result.stderr)
        return result.stdout

    def wait_for(self, want, what):
        deadline = time.monotonic() + 60
        while True:
            text = self.tmux("capture-pane", "-p")
            if re.search(want, text, re.M) or time.monotonic() > deadline:
                check(re.search(want, text, re.M), what, want, text)
                return text

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")


def test_top_in_a_terminal():
    if not shutil.which("tmux"):
        print("no tmux: top is not tried in a terminal")
        return
    with Target("100") as t:
        for width, height in ((80, 24), (160, 50)):
            with Terminal(width, height, TOOL, "top", t.pid, "--interval", "0.2; echo over; sleep 100") as screen:
                text = screen.wait_for(r"^ +100 >.*semaphore", "the table")
                check(all(len(line) <= width for line in text.split("\n")), "the width", text)
                check("HELPS" in text if width > 100 else "HELPS" not in text, "columns", text)
                screen.keys("s")
                screen.wait_for(r"^by longest", "sorted by the longest")
                screen.keys("/", "locks at", "Enter")
                text = screen.wait_for(r"^by longest, with locks at", "filtered")
                check("locks at target.c" in text and "semaphore" not in text, "only these rows", text)
                screen.keys("Enter")
                text = screen.wait_for(r"^fiber 0x\w+ \"locks\" waits for mutex", "the stack of a fiber")
                check(re.search(r"#\d +locks at", text) and "spawned at" in text, "its frames", text)
                screen.keys("Escape")
                screen.wait_for(r"^WORKER", "back")
                screen.keys("Space")
                screen.wait_for("FROZEN", "frozen")
                screen.keys("Space", "h")
                screen.wait_for("help", "help")
                screen.keys("x", "Escape", "Down")
                screen.wait_for("semaphore", "no filter")
                screen.tmux("resize-window", "-x", "60", "-y", "20")
                text = screen.wait_for(r"^q quit .*h$|^q quit  arrows select  Enter stack  s sort  / filter  sp", "resized")
                check(all(len(line) <= 60 for line in text.split("\n")), "the new width", text)
                screen.keys("q")
                screen.wait_for("^over", "the end")


# --- profiles --------------------------------------------------------------------------------------------------------

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


# --- programs at work ------------------------------------------------------------------------------------------

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
            for _ in range(TIMES):
                text = dump(t.pid)
                torn += text.count(", torn:")
                check(text.startswith("weft "), "a report")
                check_stacks(text)
            frames = weft("top", t.pid, "--json", "--frames", str(min(TIMES, 500)), "--interval", "0.1")
            check(frames.returncode == 0 and frames.stdout.count("\n") == min(TIMES, 500), "top", frames.stderr)
            with tempfile.TemporaryDirectory() as there:
                check(weft("profile", t.pid, "--hz", "500", "--seconds", str(min(TIMES / 20, 30)), "-o",
                           there + "/p.folded").returncode == 0, "profile")
            check(t.process.poll() is None, "it lives")
            t.process.stdin.close()
            check(t.process.wait(60) == 0, "it was not disturbed", t.process.returncode)


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


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
    return tally.verdict("look")


if __name__ == "__main__":
    sys.exit(main())
