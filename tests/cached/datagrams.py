#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Datagrams: requests and answers over UDP, and the file that shows the ports."""
import os, random, signal, socket, struct, subprocess, sys, threading, time

from cases import DIR, command, main, test
from served import Client, Server, kill_servers


def receive(s, number):
    """Returns the whole answer; checks every head."""
    parts, count = {}, None
    while count is None or len(parts) < count:
        data = s.recv(65536)
        n, i, count, zero = struct.unpack(">HHHH", data[:8])
        assert n == number and zero == 0 and i < count and i not in parts and len(data) <= 1400, (n, i, count, zero)
        parts[i] = data[8:]
    return b"".join(parts[i] for i in range(count))


def ask(s, number, text, parts=1, first=0):
    s.send(struct.pack(">HHHH", number, first, parts, 0) + text)


def among_others(s, number, text):
    """Answers to others may come before; and the kernel drops datagrams when there are too many: then it is asked again."""
    s.settimeout(0.5)
    for _ in range(100):
        try:
            ask(s, number, text)
            data = s.recv(65536)
            while data[:2] != struct.pack(">H", number):
                data = s.recv(65536)
            return data[8:]
        except socket.timeout:
            pass


@test
def datagrams():
    server = Server("-U", "UDP")
    c, s = server.client(), server.datagrams()
    assert c.stats(b"settings")["udpport"] == str(server.udp)
    assert any(v == "udp:127.0.0.1:%d" % server.udp for v in c.stats(b"conns").values())
    for number, text, answer in (
            (0, b"set a 7 0 3\r\nabc\r\n", b"STORED\r\n"), (65535, b"get a\r\n", b"VALUE a 7 3\r\nabc\r\nEND\r\n"),
            (300, b"incr a 1\r\n", b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"),
            (5, b"get nothing\r\n", b"END\r\n"), (6, b"mg a v\r\nmn\r\n", b"VA 3\r\nabc\r\nMN\r\n"), (7, b"delete a\r\n", b"DELETED\r\n"),
            (8, b"nonsense\r\n", b"ERROR\r\n"), (9, b"watch\r\n", b"CLIENT_ERROR watch commands not allowed\r\n"),
            (10, b"set a 0 0 100\r\nabc\r\n", b"CLIENT_ERROR bad data chunk\r\n"), (11, b"get a\r\n", b"END\r\n"),
            (12, b"set a 0 0 2000000\r\nabc", b"SERVER_ERROR object too large for cache\r\n")):
        ask(s, number, text)
        assert receive(s, number) == answer, text
    for size in 1385, 1392 - len(b"VALUE big 0 1385\r\n\r\nEND\r\n"), 1400, 20000, 300000:
        value = bytes(random.randrange(65, 90) for _ in range(min(size, 1000))) * (size // 1000 + 1)
        c.set(b"big", value[:size])
        ask(s, size % 65536, b"get big\r\n")
        assert receive(s, size % 65536) == b"VALUE big 0 %d\r\n%s\r\nEND\r\n" % (size, value[:size])
    assert int(c.stats()["bytes_read"]) > 0
    server.end()


@test
def datagrams_that_are_none():
    """Short, divided, unterminated and random datagrams are dropped, and the server continues."""
    server = Server("-U", "UDP")
    s = server.datagrams()
    r = random.Random(1)
    for n in range(9):
        s.send(b"\0\1\0\0\0\1\0\0"[:n])
    for parts, first in (0, 0), (2, 0), (2, 1), (256, 0), (65535, 3):
        ask(s, 1, b"get a\r\n", parts, first)
    ask(s, 2, b"get a")
    ask(s, 3, b"set b 0 0 5\r\n12345\r\n set", 1)
    for _ in range(300):
        s.send(b"\0\4\0\0\0\1\0\0" + r.randbytes(r.randrange(2000)) if r.random() < 0.5 else r.randbytes(r.randrange(2000)))
    assert among_others(s, 77, b"get b\r\n") == b"VALUE b 0 5\r\n12345\r\nEND\r\n"
    gone = server.datagrams()
    for i in range(100):  # the client does not read the answers
        ask(gone, i, b"get b\r\n")
    gone.close()
    assert among_others(s, 78, b"get b\r\n") == b"VALUE b 0 5\r\n12345\r\nEND\r\n"
    server.end()


@test
def datagrams_from_many():
    server = Server("-U", "UDP", "-t", "4")
    failed = []

    def one(n):
        s = server.datagrams()
        try:
            for i in range(200):
                v = b"%d-%d" % (n, i) * 50
                ask(s, i, b"set m%d 0 0 %d\r\n%s\r\n" % (n, len(v), v))
                assert receive(s, i) == b"STORED\r\n"
                ask(s, i, b"get m%d\r\n" % n)
                assert receive(s, i) == b"VALUE m%d 0 %d\r\n%s\r\nEND\r\n" % (n, len(v), v)
        except Exception as e:
            failed.append(e)
    threads = [threading.Thread(target=one, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed, failed
    server.end()


@test
def ports():
    """-1 means any port; the file shows which."""
    name = os.path.join(DIR, "ports")
    p = subprocess.Popen(command("-l", "127.0.0.1", "-p", "-1", "-U", "-1"), env=dict(os.environ, MEMCACHED_PORT_FILENAME=name))
    while not os.path.exists(name):
        assert p.poll() is None
        time.sleep(0.01)
    ports = dict(line.split(": ") for line in open(name))
    c = Client(socket.create_connection(("127.0.0.1", int(ports["TCP INET"]))))
    c.ask(b"mn\r\n", b"MN\r\n")
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(60)
    s.connect(("127.0.0.1", int(ports["UDP INET"])))
    ask(s, 1, b"mn\r\n")
    assert receive(s, 1) == b"MN\r\n"
    p.send_signal(signal.SIGTERM)
    assert p.wait(60) == 0


sys.exit(main(after_each=kill_servers))
