# SPDX-License-Identifier: MIT
"""Shared by the scripts that look at programs with the tool: SCRIPT BUILD_DIR [TIMES]

TIMES: how often a program at work is looked at. Each script ends in "look/SCRIPT: N passed, N failed"."""
import os
import re
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tally  # noqa: E402
from tally import check  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
TIMES = int(sys.argv[2]) if len(sys.argv) > 2 else 20
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


# What explain may say of a program that works: there was a moment without requests.
QUIET = re.compile(r"nothing is wrong|outside \(likely\)|for information: ")


def check_quiet(pid, *what):
    """explain finds nothing wrong."""
    said = weft("explain", str(pid))
    findings = re.findall(r"^\S.*", said.stdout, re.M)
    check(findings and all(QUIET.match(f) for f in findings), "no false alarm", *what, said.stdout, said.stderr)


def line_of(text, name):
    found = re.search(r'^  fiber (0x[0-9a-f]+) "%s"(.*)$' % name, text, re.M)
    return found.groups() if found else ("", "")


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


def run_all(tests):
    """Runs the functions of a script that are called test_... Returns the exit status."""
    for name, test in list(tests.items()):
        if name.startswith("test_"):
            test()
    return tally.verdict("look/" + os.path.basename(sys.argv[0])[:-3])
