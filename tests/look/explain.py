#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""weft explain: hangs, deadlocks that end the program, and no false alarm."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from looking import BUILD, TIMES, TOOL, Target, check, check_quiet, free_port, run_all, wait_for_port, weft  # noqa: E402


WHOLE = 100  # from so many on, every hang is planted with each number of workers on each engine

HANGS = {
    "circle2": r"deadlock \(certain\): 2 fibers wait for each other\n(.*hangs\.c:\d+\n|.*mutex.*\n){4}",
    "circle3": r"deadlock \(certain\): 3 fibers wait for each other\n(.*hangs\.c:\d+\n|.*mutex.*\n){6}",
    "circle4": r"deadlock \(certain\): 4 fibers wait for each other\n(.*hangs\.c:\d+\n|.*mutex.*\n){8}",
    "circle5": r"deadlock \(certain\): 5 fibers wait for each other\n(.*hangs\.c:\d+\n|.*mutex.*\n){10}",
    "sleeper": r"held up \(likely\): mutex 0x\w+, held by a fiber that sleeps\n",
    "hog": r"held up \(likely\): mutex 0x\w+, held by a fiber that computes\n",
    "blocked": r"held up \(likely\): mutex 0x\w+, held by a fiber that blocks in C\n",
    "forgotten": r"held up \(certain\): mutex 0x\w+, held by a fiber that has ended: an unlock was forgotten\n",
    "thread": r"held up \(likely\): mutex 0x\w+, held by a thread of the program\n",
    "upgrade": r"held up \(likely\): rwlock to write 0x\w+, held by 1 reader; .*it waits for itself\n",
    "lost_close": r"hopeless \(likely\): channel to receive 0x\w+.*: nothing sends to it or closes it\n",
    "receiver": r"hopeless \(likely\): channel to receive 0x\w+.*: nothing sends to it or closes it\n",
    "two_selects": r"hopeless \(likely\): select: nothing completes any of its cases\n.*select of channel(.|\n)*select of channel",
    "semaphore": r"hopeless \(likely\): semaphore 0x\w+.*: nothing posts it\n",
    "barrier": r"hopeless \(likely\): barrier 0x\w+.*: too few fibers arrive at it\n",
    "condition": r"hopeless \(likely\): condition 0x\w+.*: nothing signals it\n",
    "counter": r"hopeless \(likely\): counter 0x\w+.*: nothing completes it\n",
    "join_circle": r"deadlock \(certain\): 2 fibers wait for each other\n.*end of fiber",
    "scope_child": r"deadlock \(certain\): 2 fibers wait for each other\n.*children of a scope(.|\n)*held by fiber",
    "forked": r"deadlock \(certain\): 2 fibers wait for each other\n(.|\n)*end of a forked call 0x\w+, which fiber 0x\w+ runs",
    "queue": r"held up \(likely\): mutex 0x\w+, held by a fiber that waits\n(.|\n)*hopeless \(likely\): .*: nothing posts it(.|\n)*"
             r"behind these: 1 fiber waits for fibers that are named above\n    fiber 0x\w+ waits for end of fiber",
    "descriptor": r"outside \(likely\): no fiber can run: 1 wait for something outside\n.*descriptor \d+ \(pipe, the other end is descriptor \d+\) for in",
    "full_pipe": r"outside \(likely\): no fiber can run: 1 wait for something outside\n(.*request to the kernel, descriptor \d+ \(pipe, .*|.*descriptor \d+ \(pipe, .*for out)",
    "timer": r"stuck \(likely\): worker \d+ \(thread \d+\) has been in the function of a timer for ",
    "starved": r"starved \(likely\): \d+ fibers are ready, and \d+ of \d+ workers have a hog\n",
    "priority": r"starved \(likely\): 1 fiber has been ready for 0\.5 s without running, 1 of low priority; (.|\n)*\"low\" ready",
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


def check_no_alarm(server, load, what):
    """Servers under load have no deadlock, and explain says of none that anything is wrong."""
    with subprocess.Popen(load, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as busy:
        explain_until(str(server.pid), "nothing is wrong")  # the load has begun
        for _ in range(min(max(5, TIMES // 4), 200)):
            check_quiet(server.pid, what)
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


if __name__ == "__main__":
    sys.exit(run_all(globals()))
