#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The numbers for Prometheus: of a process, and of servers."""
import http.client
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from looking import TARGET, TOOL, check, free_port, run_all, weft  # noqa: E402


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


if __name__ == "__main__":
    sys.exit(run_all(globals()))
