# SPDX-License-Identifier: MIT
"""weft load as a command, with this server and others: its output and its exit code."""
import json
import os
import socket
import subprocess
import tempfile
import threading

from client import Server
from suite import PROGRAM, same, shared, test

TOOL = os.path.join(os.path.dirname(PROGRAM), "..", "..", "tools", "weft")
BRIEF = ["--connections", "2", "--warm-up", "0", "--duration", "0.2"]


def load(*args):
    return subprocess.run([TOOL, "load", *args], capture_output=True, text=True, timeout=60)


def tested(f):
    """Is this a build with the tool?"""
    return test(f) if os.access(TOOL, os.X_OK) else f


@tested
def load_asks_this_server():
    address = "127.0.0.1:%d/small.txt" % shared.port
    for more in ([], ["--one-request"], ["--depth=4"], ["--pid=%d" % shared.process.pid]):
        r = load("http", *BRIEF, *more, "--json", address)
        same((r.returncode, json.loads(r.stdout)["errors"]), (0, 0))
        assert json.loads(r.stdout)["p99_us"] > 0, r.stdout
    same(load("http://" + address, *BRIEF).returncode, 0)


@tested
def load_asks_for_a_set_of_files():
    with tempfile.TemporaryDirectory() as place:
        made = load("files", place + "/site", "100")
        same((made.returncode, len(os.listdir(place + "/site"))), (0, 5))  # the list, and 33 files a directory
        site = ["--files", place + "/site/files.txt"]
        s = Server(PROGRAM, place + "/site", "--cache", "0")
        for more in ([], ["--session", "5"], ["--session", "3", "--depth", "2"], ["--session", "4", "--rate", "400"],
                     ["--session", "2", "--think", "0.01"], ["--depth", "8"], ["--one-request"]):
            r = load("http", *BRIEF, *site, *more, "--json", "127.0.0.1:%d" % s.port)
            same((r.returncode, json.loads(r.stdout)["errors"]), (0, 0))
            assert json.loads(r.stdout)["requests"] > 4, r.stdout
        with open(place + "/site/d00000/f0000000", "r+b") as spoilt:  # the most frequently requested file
            spoilt.write(b"?")
        r = load("http", *BRIEF, *site, "--json", "127.0.0.1:%d" % s.port)
        same((r.returncode, json.loads(r.stdout)["faults"]["content"] > 0), (1, True))
        s.end()


@tested
def load_says_what_it_cannot():
    address = "127.0.0.1:%d" % shared.port
    ended = subprocess.Popen(["true"])
    ended.wait()
    for args, said in [(["memcached", "https://" + address], "https:// are for http"), (["http", "--json=1", address], "no value"),
                       (["echo", "--files", "x", address], "--files is for http"),
                       (["http", "--session", "2", "--one-request", address], "one or the other"),
                       (["http", "--think", "1", address], "--session N is missing"),
                       (["http", "--session", "2", "--think", "1", "--rate", "9", address], "one or the other"),
                       (["files"], "wants a directory"), (["files", "/tmp/x", "99"], "from 100 to"),
                       (["http", "--pid", str(ended.pid), address], "no process %d" % ended.pid)]:
        r = load(*args)
        assert r.returncode == 2 and said in r.stderr and r.stderr.count("\n") == 1, (args, r.stderr)


@tested
def load_tells_what_was_not_answered():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "127.0.0.1:%d" % silent.getsockname()[1]
        for more in ([], ["--rate", "20"]):
            r = load("echo", *BRIEF, *more, "--timeout", "0.1", address)
            assert r.returncode == 1 and "no request was answered" in r.stdout and "p50" not in r.stdout, r.stdout
        r = load("echo", *BRIEF, "--timeout", "0.1", "--json", address)
        same((r.returncode, json.loads(r.stdout)["p50_us"]), (1, None))


@tested
def load_tells_timeouts_beside_the_times():
    """Every second connection is answered, the others never."""
    with socket.create_server(("127.0.0.1", 0)) as half:
        def echo():
            kept = []
            try:
                while True:
                    c = half.accept()[0]
                    kept.append(c)
                    if len(kept) % 2:
                        threading.Thread(target=answer, args=(c,), daemon=True).start()
            except OSError:
                pass
        def answer(c):
            try:
                while True:
                    data = c.recv(65536)
                    if not data:
                        return
                    c.sendall(data)
            except OSError:
                pass
        threading.Thread(target=echo, daemon=True).start()
        r = load("echo", *BRIEF, "--rate", "100", "--timeout", "0.15", "127.0.0.1:%d" % half.getsockname()[1])
        assert r.returncode == 1 and "p50" in r.stdout and "timed out, each after more than 150000 us" in r.stdout, r.stdout
        half.shutdown(socket.SHUT_RDWR)


@tested
def load_passes_over_interim_answers():
    """100, 102 and 103 come before the answer, in the same piece or in others; 101 was not requested."""
    heads = [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 7\r\n\r\n",
             b"HTTP/1.1 102 Processing\r\nConnection: close\r\n\r\n"]
    right = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    def serve(c, pieces):
        try:
            c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while c.recv(65536).endswith(b"\r\n\r\n"):
                for piece in pieces:
                    c.sendall(piece)
        except OSError:
            pass

    def listen(listener, pieces):
        try:
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0], pieces), daemon=True).start()
        except OSError:
            pass
    heads.append(b"HTTP/1.1 103 Early Hints\r\nLink: </%s>\r\n\r\n" % (b"b" * 2000))
    whole = b"".join(heads) + right
    for pieces, code in ([whole], 0), ([*heads, right], 0), ([whole[i:i + 1] for i in range(len(whole))], 0), \
            ([b"HTTP/1.1 101 Switching Protocols\r\n\r\n"], 1):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=listen, args=(listener, pieces), daemon=True).start()
            r = load("http", *BRIEF, "--json", "127.0.0.1:%d/" % listener.getsockname()[1])
            same(r.returncode, code)
            if not code:
                same(json.loads(r.stdout)["errors"], 0)
            listener.shutdown(socket.SHUT_RDWR)
