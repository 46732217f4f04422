#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Items that outlive the process (-e)."""
import os, random, re, signal, subprocess, sys, time

from cases import DIR, command, main, test
from served import Server, kill_servers


def fill(c):
    values = {b"k%d" % i: b"%d," % i * (i * i % 4000) for i in range(400)}
    values[b"empty"] = b""
    values[b"large"] = random.Random(3).randbytes(700000)
    for k, v in values.items():
        c.set(k, v)
    return values


def check(c, values):
    for k, v in values.items():
        assert c.get(k) == v, k


@test
def restart():
    file = os.path.join(DIR, "memory")
    options = ["-e", file, "-m", "64"]
    server = Server(*options)
    c = server.client()
    assert c.stats(b"settings")["memory_file"] == file
    values = fill(c)
    c.set(b"short", b"x", 1)
    c.set(b"long", b"y", 1000)
    c.ask(b"ms YWI= 2 b F77 T500 I\r\nhi\r\nmd YWI= b I T500\r\ngets k0\r\ntouch k1 900\r\n",
          b"HD\r\nHD\r\nVALUE k0 0 0 1\r\n\r\nEND\r\nTOUCHED\r\n")
    c.ask(b"set gone 0 0 1\r\nx\r\ndelete gone\r\n", b"STORED\r\nDELETED\r\n")
    half = server.client()
    half.say(b"set half 0 0 100000\r\nabc")
    assert "clean cache" in server.end(signal.SIGUSR1)
    assert os.path.exists(file + ".meta") and os.path.getsize(file) > 700000
    assert os.stat(file + ".meta").st_mode & 0o77 == 0
    time.sleep(1.1)  # so that some items expire meanwhile
    server = Server(*options, "-t", "4")
    assert not os.path.exists(file + ".meta")
    c = server.client()
    check(c, values)
    assert c.get(b"short") is None and c.get(b"gone") is None and c.get(b"half") is None
    c.say(b"mg long t\r\nmg YWI= b v f t k\r\nmg k1 t\r\n")
    assert 900 < int(c.line().split(b"t")[1]) <= 1000
    got = c.line()
    assert re.match(rb"VA 2 f77 t4\d\d kYWI= b X W\r\n", got) and c.line() == b"hi\r\n", got
    assert 800 < int(c.line().split(b"t")[1]) <= 900
    c.ask(b"gets k0\r\n", b"VALUE k0 0 0 1\r\n\r\nEND\r\n")
    c.ask(b"cas k0 0 0 1 1\r\nz\r\n", b"STORED\r\n")
    c.say(b"gets k0\r\n")
    assert int(c.line().split()[4]) > 403
    assert c.line() == b"z\r\n" and c.line() == b"END\r\n"
    values[b"k0"] = b"z"
    stats = c.stats()
    assert stats["curr_items"] == str(len(values) + 2) and int(stats["uptime"]) < 1000, stats
    assert server.end(signal.SIGUSR1) == ""
    for extra in ["-m", "128", "-t", "1"], ["-I", "2m"], ["-C"]:  # other layouts of memory
        server = Server(*options, *extra)
        check(server.client(), values)
        server.end(signal.SIGUSR1)
    server = Server(*options)
    server.end(signal.SIGTERM)  # this signal stores nothing
    assert not os.path.exists(file + ".meta")
    server = Server(*options)
    assert server.client().stats()["curr_items"] == "0"
    assert "no metadata" in server.end()


@test
def restart_by_command_with_less_memory():
    file = os.path.join(DIR, "less")
    server = Server("-e", file, "-m", "64", "-A")
    c = server.client()
    for i in range(3000):
        c.set(b"n%d" % i, b"%d" % i * 2000)
    c.say(b"shutdown graceful\r\n")
    assert server.process.wait(60) == 0
    server = Server("-e", file, "-m", "4", "-I", "512k")
    c = server.client()
    n = int(c.stats()["curr_items"])
    assert 100 < n < 3000, n
    assert sum(c.get(b"n%d" % i) == b"%d" % i * 2000 for i in range(3000)) == n
    server.end()


@test
def restart_with_damage():
    """With damaged files the server starts empty, and reports that. With files of another kind it does not start."""
    file = os.path.join(DIR, "damaged")
    options = ["-e", file]
    server = Server(*options)
    fill(server.client())
    server.end(signal.SIGUSR1)
    data, meta = open(file, "rb").read(), open(file + ".meta").read()

    def begin(data, meta):
        with open(file, "wb") as f:
            f.write(data)
        with open(file + ".meta", "w") as f:
            f.write(meta)
        server = Server(*options)
        c = server.client()
        n = int(c.stats()["curr_items"])
        c.set(b"new", b"1")
        assert c.get(b"new") == b"1"
        return n, server.end()
    assert begin(data, meta) == (402, "")
    r = random.Random(4)
    damaged = [b"", data[:1], data[:-1], data[:-40], data[:len(data) // 2], data + b"x", data[40:], bytes(len(data)), r.randbytes(5000)]
    for _ in range(12):
        at = r.randrange(len(data))
        damaged.append(data[:at] + bytes([data[at] ^ 1 << r.randrange(8)]) + data[at + 1:])
    for d in damaged:
        n, said = begin(d, meta)
        assert n == 0 and "damaged" in said, (n, said)
    for old, new in ("format 1", "format 2"), ("Tcached", "Tmain"), ("pointer_size 64", "pointer_size 32"), ("Khashpower", "Kx"), (
            "process_started ", "process_started 9"), ("hashpower 16", "hashpower 60"):
        assert old in meta, meta
        n, said = begin(data, meta.replace(old, new))
        assert n == 0 and "failed to validate" in said, (old, n, said)
    for text in "", "x\n", "Tcached\nnonsense\n", "Tcached\nKformat 1", "\0" * 100:
        with open(file + ".meta", "w") as f:
            f.write(text)
        p = subprocess.run(command("-l", "127.0.0.1", "-p", "-1", *options), capture_output=True, text=True, timeout=60)
        assert p.returncode == 1 and "corrupt" in p.stderr and os.path.exists(file + ".meta"), p
    os.unlink(file + ".meta")
    for bad in DIR, os.path.join(DIR, "no", "where"), "/dev/null":
        p = subprocess.run(command("-l", "127.0.0.1", "-p", "-1", "-e", bad), capture_output=True, text=True, timeout=60)
        assert p.returncode == 1 and "failed to open" in p.stderr, p


@test
def restart_without_room():
    """If the files cannot be written, an error is reported, and no partial file is left."""
    file = os.path.join(DIR, "full")
    server = Server("-e", file)
    fill(server.client())
    os.symlink("/dev/full", file + ".meta")
    assert "failed to save" in server.end(signal.SIGUSR1, status=1)
    assert not os.path.lexists(file + ".meta") and os.path.getsize(file) == 0


sys.exit(main(after_each=kill_servers))
