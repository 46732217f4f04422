#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""weft top: frames as text and as JSON, and in a terminal."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from looking import TOOL, Target, check, run_all, weft  # noqa: E402


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


if __name__ == "__main__":
    sys.exit(run_all(globals()))
