#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the flight recorder costs weft serve: serve.py [--weft PROGRAM] [--rounds N] [--seconds S] [--connections N]
[--client uring|epoll|wrk] [--workers N]

Each round starts three servers of one page of 1 KiB: one without the recorder (off), one with WEFT_TRACE_LAST (on), and
another one without it (again). The client loads one after the other for so many seconds each, in an order that turns
with the round. Server and client have a processor each if there are two. Printed are the CPU times of each server per
request, and at the end the medians, and the median and the range over the rounds of two ratios: on to the mean of the
other two, and again to off. The second says how far the machine repeats itself. The machine must have nothing else to
do. Nine rounds take three minutes.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

KINDS = ["off", "on", "again"]


def pinned(cpu):
    return ["taskset", "-c", str(cpu)] if len(os.sched_getaffinity(0)) > 1 else []


class Server:
    def __init__(self, kind, args, cpu, scratch):
        env = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_TRACE")}
        if kind == "on":
            env["WEFT_TRACE_LAST"] = scratch + "/last.trace"
        self.process = subprocess.Popen([*pinned(cpu), args.weft, "serve", scratch + "/www", "--port", "0", "--workers",
                                         str(args.workers)], stdout=subprocess.PIPE, text=True, env=env)
        said = self.process.stdout.readline()
        found = re.search(r":(\d+)", said)
        if not found:
            raise SystemExit("weft serve does not listen: " + said)
        self.url = f"127.0.0.1:{found.group(1)}/page"

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def by_wrk(server, args, cpu):
    command = [*pinned(cpu), "wrk", "-t1", f"-c{args.connections}"]
    subprocess.run([*command, "-d1s", "http://" + server.url], check=True, capture_output=True)
    before = server.cpu()
    said = subprocess.run([*command, f"-d{max(1, round(args.seconds))}s", "http://" + server.url], check=True,
                          capture_output=True, text=True).stdout
    return (server.cpu() - before) * 1e6 / int(re.search(r"(\d+) requests in", said).group(1))


def by_weft(server, args, cpu):
    said = subprocess.run([*pinned(cpu), args.weft, "load", "http", "--json", "--warm-up", "1", "--duration",
                           str(args.seconds), "--connections", str(args.connections), "--pid", str(server.process.pid),
                           server.url], stdout=subprocess.PIPE, text=True, check=True,
                          env=dict(os.environ, WEFT_IO=args.client)).stdout
    return json.loads(said)["server_cpu_us"]


def measure(args, cpus, scratch, turn):
    """The CPU time of a request in us, by kind of server."""
    servers = {kind: Server(kind, args, cpus[0], scratch) for kind in KINDS}
    try:
        client = by_wrk if args.client == "wrk" else by_weft
        order = KINDS[turn % 3:] + KINDS[:turn % 3]
        return {kind: client(servers[kind], args, cpus[-1]) for kind in order}
    finally:
        for server in servers.values():
            server.stop()


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default="build/weft")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--client", choices=["uring", "epoll", "wrk"], default="epoll")
    args = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    costs = []
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        os.mkdir(scratch + "/www")
        with open(scratch + "/www/page", "wb") as file:
            file.write(b"x" * 1024)
        for turn in range(args.rounds):
            costs.append(measure(args, cpus, scratch, turn))
            print("  ".join(f"{kind} {costs[-1][kind]:.2f} us" for kind in KINDS), flush=True)
    print("median: " + "  ".join(f"{kind} {statistics.median(c[kind] for c in costs):.2f} us" for kind in KINDS))
    recorder = [2 * c["on"] / (c["off"] + c["again"]) for c in costs]
    print(f"on / off {spread(recorder)}, again / off {spread([c['again'] / c['off'] for c in costs])}; bar: 1.08")


if __name__ == "__main__":
    sys.exit(main())
