# SPDX-License-Identifier: MIT
"""Connections: kept, requests in pieces, requests with bodies, many connections, vanished clients."""
import os
import resource
import socket
import struct
import subprocess
import time

from client import Server, pattern, wait_until
from suite import GET, PROGRAM, ROOT, SLOW, same, shared, test


@test
def keep_alive():
    with shared.client() as c:
        for i in range(20):
            c.send(GET % ("/small.txt" if i % 2 else "/big.bin", ""))
            same(len(c.answer().body), 1000 if i % 2 else 3000000)
        c.send("HEAD /big.bin HTTP/1.1\r\nHost: t\r\n\r\n" + GET % ("/nothing", "") + GET % ("/", ""))
        same(c.answer(head=True).status, 200)
        same(c.answer().status, 404)
        same(c.answer().body, b"<p>root\n")
        c.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        same(c.answer().fields["connection"], "keep-alive")
        c.send("GET / HTTP/1.0\r\n\r\n")
        same(c.answer().fields["connection"], "close")
        assert c.ended()


@test
def pipelined():
    with shared.client() as c:
        paths = ["/small.txt", "/k16.bin", "/k17.bin", "/", "/nothing"]
        sizes = [1000, 16384, 16385, 8, None]
        c.send("".join(GET % (paths[i % 5], "") for i in range(100)))
        for i in range(100):
            a = c.answer()
            assert sizes[i % 5] in (None, len(a.body)), i


@test
def split_at_every_byte():
    text = ("\r\n" + GET % ("/small.txt", "Range: bytes=0-3\r\n") + GET % ("/", "")).encode()
    with shared.client() as c:
        for i in range(len(text)):
            c.send(text[i:i + 1])
        same((c.answer().body, c.answer().body), (pattern(4), b"<p>root\n"))
        for i in range(1, len(text)):
            c.send(text[:i])
            time.sleep(0.0005)
            c.send(text[i:])
            same((c.answer().body, c.answer().body), (pattern(4), b"<p>root\n"))


@test
def long_heads_in_pieces():
    with shared.client() as c:
        for size in [900, 1000, 1024, 1025, 3000, 7900]:
            text = (GET % ("/", "A: %s\r\n" % ("a" * size))) * 3
            for i in range(0, len(text), 700):
                c.send(text[i:i + 700])
            for _ in range(3):
                same(c.answer().body, b"<p>root\n")


@test
def bodies_are_dropped():
    with shared.client() as c:
        for fields, body in [("Content-Length: 5\r\n", "hello"), ("Content-Length: 60000\r\n", "x" * 60000),
                             ("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\nT: v\r\n\r\n"),
                             ("Transfer-Encoding: chunked\r\n", "4000\r\n%s\r\n0\r\n\r\n" % ("y" * 0x4000))]:
            c.send(GET % ("/", fields) + body + GET % ("/small.txt", ""))
            same((c.answer().body, c.answer().body), (b"<p>root\n", pattern(1000)))
        c.send(GET % ("/", "Content-Length: 3\r\nExpect: 100-continue\r\n"))
        same(c.answer().status, 100)
        c.send("abc")
        same(c.answer().status, 200)
        c.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc" + GET % ("/", ""))
        same((c.answer().status, c.answer().status), (405, 200))
    for fields, body, status in [("Content-Length: 70000\r\n", "", 413), ("Transfer-Encoding: chunked\r\n", "FFFFFF\r\n", 413),
                                 ("Transfer-Encoding: chunked\r\n", "x\r\n", 400), ("Transfer-Encoding: gzip\r\n", "", 501)]:
        with shared.client() as c:
            c.send(GET % ("/", fields) + body)
            same(c.answer().status, status)
            assert c.ended()


@test
def an_error_reaches_who_is_still_sending():
    for _ in range(5):
        with shared.client() as c:
            c.send(GET % ("/", "Content-Length: 500000\r\n") + "x" * 500000)
            same(c.answer().status, 413)


@test
def clients_that_go_away():
    for _ in range(50):
        with shared.client() as c:
            c.send(GET % ("/big.bin", ""))
    for _ in range(50):
        with shared.client() as c:
            c.send("GET /sm")
    same(shared.ask("/").status, 200)


@test
def many_clients():
    n = 100 if SLOW else 1000
    clients = [shared.client() for _ in range(n)]
    for _ in range(3):
        for c in clients:
            c.send(GET % ("/small.txt", ""))
        for c in clients:
            same(c.answer().body, pattern(1000))
    for c in clients:
        c.close()


@test
def curl_agrees():
    url = shared.url
    def curl(*args):
        return subprocess.run(["curl", "-s", "--max-time", "20", *args], capture_output=True, check=True).stdout
    same(curl(url("/big.bin")), pattern(3000000))
    same(curl("-L", url("/full%20dir")), b"<p>full\n")
    same(curl("-r", "100-199", url("/big.bin")), pattern(3000000)[100:200])
    same(curl("-o", "/dev/null", "-w", "%{http_code} %{size_download}", "-I", url("/big.bin")), b"200 0")
    same(curl("--http1.0", url("/small.txt"), url("/")), pattern(1000) + b"<p>root\n")
    same(curl("-o", "/dev/null", "-w", "%{http_code}", "--path-as-is", url("/../outside/secret.txt")), b"400")
    same(curl("-o", "/dev/null", "-w", "%{http_code}", "-d", "a=b", url("/")), b"405")


@test
def connect_first_and_speak_later():
    """More connections than the kernel's queue holds. A cookie would show in the size of segments."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    n = min(500 if SLOW else 5000, most // 4 * 3 - 200)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(n + 200, most), most))
    s = Server(PROGRAM, ROOT, "--slow", "3600")
    clients = []
    for i in range(n):
        clients.append(s.client())
        if i % 64 == 63:  # by then the earlier connections are accepted
            clients[-1].send(GET % ("/small.txt", ""))
            same(len(clients[-1].answer().body), 1000)
    for c in clients:
        c.send(GET % ("/k16.bin", ""))
        same(len(c.answer().body), 16384)
        segment = struct.unpack_from("I", c.s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 24), 20)[0]
        assert segment > 1460, segment
    for c in clients:
        c.close()
    s.end()


@test
def more_clients_than_descriptors():
    """Of 100 descriptors, 16 may belong to the cache and 32 to other files."""
    s = Server(PROGRAM, ROOT, descriptors=100)
    clients = [s.client() for _ in range(110)]
    assert wait_until(lambda: sum(c.has_ended() for c in clients) >= 58)  # they have made room for other clients
    assert sum(c.has_ended() for c in clients[-40:]) < 10  # most of the last clients are still connected
    for c in clients:
        for path, size in [("/small.txt", 1000), ("/big.bin", 3000000), ("/k17.bin", 16385)]:
            if not c.has_ended():
                c.send(GET % (path, ""))
                same(len(c.answer().body), size)
    for c in clients:
        c.close()
    s.end()
    s = Server(PROGRAM, ROOT, descriptors=100)
    busy = [s.client() for _ in range(52)]
    for c in busy:  # a request is under way on every possible connection
        c.send(GET % ("/", "") + "GET /small.txt HTTP/1.1\r\n")
        same(c.answer().status, 200)
    late = [s.client() for _ in range(20)]
    for c in late:
        c.send(GET % ("/k17.bin", ""))
    for c in busy:
        c.send("Host: t\r\nConnection: close\r\n\r\n")
        same((c.answer().body, c.ended()), (pattern(1000), True))
    for c in late:
        same(len(c.answer().body), 16385)
        c.close()
    s.end()


@test
def a_connection_a_request():
    for i in range(200):
        with shared.client() as c:
            if i == 150:  # silent for longer than the time-out of other clients
                time.sleep(1.2)
            c.send(GET % ("/small.txt", "Connection: close\r\n"))
            same(len(c.answer().body), 1000)
            assert c.ended()


@test
def newcomers_beside_busy_clients():
    """All clients connect at once, and the first are served repeatedly: no other client waits for that."""
    program = os.path.join(os.path.dirname(PROGRAM), "newcomers")
    for workers in "1", "2":
        s = Server(PROGRAM, ROOT, "--workers", workers)
        n = 400 if SLOW else 4000
        threads = "1" if SLOW else "8"  # on a busy machine, a single thread of several could be late
        r = subprocess.run([program, str(s.port), str(n), threads], capture_output=True, text=True)
        assert r.returncode == 0, r.stdout + r.stderr
        answers = int(r.stdout.split("answers ")[1].split(",")[0])
        assert answers <= 25 * n, r.stdout  # of all clients, when the last has its first answer
        s.end()
