#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The binary protocol."""
import random, socket, struct, sys, threading

from cases import main, test
from served import Server, kill_servers


def frame(op, key=b"", value=b"", extra=b"", cas=0, opaque=b"abcd", **wrong):
    head = dict(key_size=len(key), body=len(extra) + len(key) + len(value))
    head.update(wrong)
    return struct.pack(">BBHBBHI4sQ", 0x80, op, head["key_size"], len(extra), 0, 0, head["body"], opaque, cas) + extra + key + value


def read_frame(f):
    head = f.read(24)
    if len(head) < 24:
        return None
    magic, op, key, extra, _, status, body, opaque, cas = struct.unpack(">BBHBBHI4sQ", head)
    assert magic == 0x81 and opaque == b"abcd", head
    rest = f.read(body)
    return op, status, rest[:extra], rest[extra:extra + key], rest[extra + key:], cas


FLAGS = struct.pack(">II", 0xdeadbeef, 0)


@test
def frames():
    """In one piece, and byte by byte; each protocol finds what the other has stored."""
    server = Server("-I", "2m", "-m", "64")
    text = server.client()
    large = random.Random(5).randbytes(1500000)
    said = b"".join([
        frame(1, b"k", b"value", FLAGS), frame(0, b"k"), frame(0x0c, b"k"), frame(9, b"none"), frame(0x0d, b"none"), frame(0x0c, b"none"), frame(2, b"k", b"x", FLAGS),
        frame(3, b"none", b"x", FLAGS), frame(0x0e, b"k", b"+"), frame(0x0f, b"k", b"-"), frame(0x19, b"k", b"!"), frame(0, b"k"),
        frame(5, b"n", extra=struct.pack(">QQI", 5, 7, 0)), frame(5, b"n", extra=struct.pack(">QQI", 5, 7, 0)), frame(6, b"n", extra=struct.pack(">QQI", 50, 7, 0)),
        frame(5, b"m", extra=struct.pack(">QQI", 5, 7, 0xffffffff)), frame(5, b"k", extra=struct.pack(">QQI", 5, 7, 0)),
        frame(1, b"k", b"y", FLAGS, cas=1 << 50), frame(4, b"k", cas=1 << 50), frame(0x1c, b"k", extra=struct.pack(">I", 100)), frame(4, b"n"), frame(4, b"n"),
        frame(0x99, b"k", b"any", b"extra"), frame(0x0b), frame(0x0a), frame(1, b"large", large, FLAGS), frame(0, b"large"), frame(0x11, b"q", b"quiet", FLAGS), frame(0x0a)])
    text.ask(b"flush_all\r\n", b"OK\r\n")
    s = server.connect()
    f = s.makefile("rb")
    sender = threading.Thread(target=s.sendall, args=(said,))
    sender.start()
    flags = FLAGS[:4]
    want = [(1, 0, b"", b"", b""), (0, 0, flags, b"", b"value"), (0x0c, 0, flags, b"k", b"value"), (0x0c, 1, b"", b"none", b""), (2, 2, b"", b"", b"Data exists for key."),
            (3, 1, b"", b"", b"Not found"), (0x0e, 0, b"", b"", b""), (0x0f, 0, b"", b"", b""), (0, 0, flags, b"", b"-value+!")]
    want += [(5, 0, b"", b"", struct.pack(">Q", 7)), (5, 0, b"", b"", struct.pack(">Q", 12)), (6, 0, b"", b"", struct.pack(">Q", 0)), (5, 1, b"", b"", b"Not found"),
             (5, 6, b"", b"", b"Non-numeric server-side value for incr or decr"), (1, 2, b"", b"", b"Data exists for key."), (4, 2, b"", b"", b"Data exists for key."),
             (0x1c, 0, flags, b"", b""), (4, 0, b"", b"", b""), (4, 1, b"", b"", b"Not found"), (0x99, 0x81, b"", b"", b"Unknown command"), (0x0b, 0, b"", b"", b"1.6.18"),
             (0x0a, 0, b"", b"", b""), (1, 0, b"", b"", b""), (0, 0, flags, b"", large), (0x0a, 0, b"", b"", b"")]
    for w in want:
        got = read_frame(f)
        assert got and got[:5] == w, (got and [str(g)[:60] for g in got], str(w)[:100])
    sender.join()
    assert text.get(b"q") == b"quiet" and text.get(b"k") == b"-value+!" and text.get(b"large") == large
    for b in frame(1, b"slow", b"slowly", FLAGS) + frame(0, b"slow"):
        s.sendall(bytes([b]))
    assert read_frame(f)[1] == 0 and read_frame(f)[4] == b"slowly"
    s.sendall(frame(0x10) + frame(0x10, b"settings") + frame(0x10, b"nonsense") + frame(7))
    names = [got[3] for got in iter(lambda: read_frame(f), None)]
    assert b"curr_items" in names and b"udpport" in names and names.count(b"") == 4
    server.end()


@test
def frames_that_are_none():
    server = Server()
    r = random.Random(6)
    for said, status in ((frame(1, b"k", b"v"), 4), (frame(0, b"k", b"v"), 4), (frame(0, b"k" * 251), 4), (frame(0), 4), (frame(0x0a, b"k"), 4), (
            frame(0, b"k", key_size=9), 0x81), (frame(0, b"k", body=0), 0x81), (frame(5, b"n", extra=b"123"), 4)):
        s = server.connect()
        s.sendall(said + frame(0x0a))
        f = s.makefile("rb")
        got = read_frame(f)
        assert got and got[1] == status and f.read() == b"", (said, got)
    s = server.connect()
    s.sendall(frame(1, b"k", b"v" * 2000000, FLAGS) + frame(0x0a))
    f = s.makefile("rb")
    assert read_frame(f)[1] == 3 and read_frame(f)[0] == 0x0a
    s.sendall(b"get k\r\n" + b"x" * 30)
    assert f.read() == b""
    for _ in range(200):
        s = server.connect()
        whole = frame(r.randrange(40), r.randbytes(r.randrange(5)), r.randbytes(r.randrange(30)), r.randbytes(r.choice([0, 0, 4, 8, 20])))
        send = bytearray(whole * 2)
        for _ in range(r.randrange(4)):
            send[r.randrange(1, len(send))] = r.randrange(256)
        s.sendall(bytes(send[:r.randrange(len(send) + 1)]))
        s.shutdown(socket.SHUT_WR)
        try:
            while s.recv(65536):
                pass
        except ConnectionError:
            pass
        s.close()
    server.client().set(b"alive", b"yes")
    server.end()
    server = Server("-B", "ascii")
    server.client().ask(frame(0x0a) + b"\r\n", b"ERROR\r\n")
    server.end()


sys.exit(main(after_each=kill_servers))
