# SPDX-License-Identifier: MIT
"""Answers that were begun arrive whole, whatever else the client has sent and whenever the server ends. How often each
case is tried: WEFT_SERVE_TIMES (2)."""
import os
import random
import socket
import struct
import threading
import time

from client import Server, pattern
from suite import GET, PROGRAM, ROOT, SLOW, same, shared, test

TIMES = int(os.environ.get("WEFT_SERVE_TIMES", "2"))
SIZES = {"/w1k.bin": 1 << 10, "/w16k.bin": 1 << 14, "/w512k.bin": 1 << 19, "/w4m.bin": 1 << 22}
CLOSE = "Connection: close\r\n"

for path, size in SIZES.items():
    with open(ROOT + path, "wb") as f:
        f.write(pattern(size))


class Reader:
    """A client with small buffers, which reads in small pieces, and slowly on request."""

    def __init__(self, port, slow=0.0):
        self.s = socket.socket()
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
        self.s.settimeout(30)
        self.s.connect(("127.0.0.1", port))
        self.slow, self.got = slow, bytearray()

    def send(self, text):
        """Sends as long as the server takes it."""
        try:
            self.s.sendall(text if isinstance(text, bytes) else text.encode())
            return True
        except OSError:
            return False

    def sending(self, text):
        t = threading.Thread(target=self.send, args=(text,))
        t.start()
        return t

    def more(self):
        try:
            piece = self.s.recv(65536)
        except ConnectionError:  # after all received bytes
            return False
        self.got += piece
        if self.slow:
            time.sleep(self.slow)
        return bool(piece)

    def read(self, least):
        while len(self.got) < least and self.more():
            pass
        assert len(self.got) >= least, "%d bytes of %d" % (len(self.got), least)

    def answers(self):
        """Returns all answers up to the end of the connection: each is complete or missing. (status, announced close)"""
        while self.more():
            pass
        self.s.close()
        found, at = [], 0
        while at < len(self.got):
            end = self.got.find(b"\r\n\r\n", at)
            assert end >= 0, "a head is cut: %r" % bytes(self.got[at:at + 200])
            head = bytes(self.got[at:end]).decode()
            size = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
            there = len(self.got) - end - 4
            assert there >= size, "the last of %d answers is cut: %d of %d bytes" % (len(found) + 1, there, size)
            found.append((int(head[9:12]), "connection: close" in head.lower()))
            at = end + 4 + size
        return found


def slowness(size):
    return 0.002 if size <= 1 << 19 else 0.0005


@test
def closed_with_more_sent():
    for path, size in SIZES.items():
        for behind in (b"\r\n", (GET % (path, "")).encode(), (GET % ("/", "")).encode() * 50, b"x" * 100000, b"y" * 1000000):
            for ask in (GET % (path, CLOSE), "GET %s HTTP/1.0\r\n\r\n" % path):
                for i in range(TIMES):
                    c = Reader(shared.port, slowness(size) if i % 2 else 0)
                    t = c.sending(ask.encode() + behind)
                    same(c.answers(), [(200, True)])
                    t.join()


@test
def closed_while_more_comes():
    """Nothing is unread when the server closes; the bytes that would cause a reset come later."""
    for path, size in SIZES.items():
        for _ in range(TIMES):
            c = Reader(shared.port, slowness(size))
            c.send(GET % (path, CLOSE))
            done = []

            def keep_sending():
                while not done and c.send(GET % ("/", "")):
                    time.sleep(0.001)
            t = threading.Thread(target=keep_sending)
            t.start()
            try:
                same(c.answers(), [(200, True)])
            finally:
                done.append(1)
                t.join()


@test
def refused_with_more_sent():
    for text, status in ((b"BAD\r\n\r\n", 400), (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 300000, 431),
                         (b"GET /" + b"a" * 300000, 414), ((GET % ("/", "Content-Length: 9000000\r\n")).encode(), 413)):
        for _ in range(TIMES):
            c = Reader(shared.port, 0.001)
            t = c.sending((GET % ("/w512k.bin", "")).encode() + text + b"z" * 1000000)
            same(c.answers(), [(200, False), (status, True)])
            t.join()


def end_under_load(path, size, pipelined):
    """Five clients at different points; the signal comes at any moment."""
    s = Server(PROGRAM, ROOT, "--grace", "60")
    results, begun = [], threading.Semaphore(0)

    def client(n):
        c = Reader(s.port, slowness(size) if n % 2 else 0)
        t = None
        if pipelined:
            t = c.sending((GET % (path, "")).encode() * (50 if size > 1 << 20 else 2000))
        try:
            if not pipelined:
                wanted = 0
                while c.send(GET % (path, "")) and c.more():
                    wanted = wanted + size + 200  # with its head: the next answer is sent while this one still arrives
                    while len(c.got) < wanted - size // 2 and c.more():
                        pass
                    begun.release()
            else:
                c.read(size // 2)
                begun.release()
            results.append(c.answers())
        except Exception as e:
            results.append(e)
        begun.release()
        if t:
            t.join()
    threads = [threading.Thread(target=client, args=(n,)) for n in range(5)]
    for t in threads:
        t.start()
    for _ in threads:
        begun.acquire()
    time.sleep(random.random() * 0.02)
    s.signal()
    for t in threads:
        t.join()
    s.end(within=60)
    for r in results:
        if isinstance(r, Exception):
            raise r
        assert r and all(status == 200 for status, _ in r), r
        assert not any(said for _, said in r[:-1]), r


@test
def ends_under_load():
    for path, size in SIZES.items():
        for _ in range(TIMES):
            end_under_load(path, size, False)


@test
def ends_with_requests_in_line():
    for path, size in SIZES.items():
        for _ in range(TIMES):
            end_under_load(path, size, True)


SENT = 5 << 19  # so much of the 4 MiB was taken when the server waits for the next request, in all likelihood


@test
def ends_while_the_kernel_sends():
    """The server has sent its answer, and waits for the next request. Not all has arrived when a request comes."""
    for _ in range(TIMES):
        s = Server(PROGRAM, ROOT, "--grace", "60")
        clients = [Reader(s.port, 0.0005) for _ in range(3)]
        for c in clients:
            c.send(GET % ("/w4m.bin", ""))
            c.read(SENT)
        s.signal()
        time.sleep(0.1)
        for c in clients:
            c.send(GET % ("/", ""))
            found = c.answers()
            assert found[0] == (200, False) and found[1:] in ([], [(200, True)]), found
        s.end(within=60)


@test
def idle_while_the_kernel_sends():
    s = Server(PROGRAM, ROOT, "--idle", "1")
    for _ in range(TIMES):
        c = Reader(s.port, 0.0005)
        c.send(GET % ("/w4m.bin", ""))
        c.read(SENT)
        time.sleep(2.5)
        c.send(GET % ("/", ""))
        found = c.answers()
        assert found[0] == (200, False) and found[1:] in ([], [(200, False)]), found
    s.end()


@test
def late_while_the_kernel_sends():
    """The head of the next request does not come in time, and comes later."""
    s = Server(PROGRAM, ROOT, "--slow", "2")
    for _ in range(TIMES):
        c = Reader(s.port, 0.0005)
        c.send(GET % ("/w4m.bin", "") + "GET / HTTP/1.1\r\n")
        done = []

        def drip():
            while not done and c.send("A"):
                time.sleep(0.05)
        t = threading.Thread(target=drip)
        t.start()
        try:
            c.read(SENT)
            c.slow = 0.2
            same(c.answers(), [(200, False), (408, True)])
        finally:
            done.append(1)
            t.join()
    s.end()


@test
def a_body_that_comes_after_the_signal():
    for body, rest in (("Content-Length: 5\r\n", "llo"), ("Transfer-Encoding: chunked\r\n", "llo\r\n0\r\n\r\n")):
        s = Server(PROGRAM, ROOT)
        c, idle = Reader(s.port), s.client()
        c.send(GET % ("/", "") + GET % ("/w1k.bin", body) + ("5\r\nhe" if "chunked" in body else "he"))
        c.read(100)
        idle.send(GET % ("/", ""))
        idle.answer()
        s.signal()
        assert idle.ended()
        c.send(rest)
        same(c.answers(), [(200, False), (200, True)])
        s.end()


@test
def clients_that_have_gone_are_not_waited_for():
    """Clients reset their connections, during an answer or after it, while the server ends."""
    for _ in range(TIMES):
        s = Server(PROGRAM, ROOT, "--grace", "3600", "--slow", "3600", "--idle", "3600")
        clients = [Reader(s.port) for _ in range(100 if SLOW else 300)]
        for i, c in enumerate(clients):
            c.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            c.send(GET % ("/w1k.bin" if i % 3 else "/w4m.bin", CLOSE if i % 2 else ""))
        for c in clients:
            c.read(100)
        s.signal()
        for c in clients:
            c.s.close()
        s.end()


@test
def who_does_not_go_makes_room():
    """Clients that have their last answer and stay connected do not keep others out."""
    s = Server(PROGRAM, ROOT, descriptors=100)
    stay = []
    for _ in range(60 if SLOW else 200):
        stay.append(s.client())
        stay[-1].send(GET % ("/w1k.bin", CLOSE))
        same(len(stay[-1].answer().body), 1 << 10)
    for c in stay:
        assert c.ended()
        c.close()
    s.end()
