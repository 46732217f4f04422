#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""weft cached as a process with settings of its own: process.py BUILD_DIR [NAME...]. Which clients are let in; that
answers arrive whole, whatever else the client has sent, and when the server ends. WEFT_CACHED_TIMES (2): how often such
a case is tried."""
import os, pwd, random, resource, signal, socket, subprocess, sys, threading, time

from cases import SERVER, main, test

NEWCOMERS = os.path.join(sys.argv[1], "tests/serve/newcomers")
TIMES = int(os.environ.get("WEFT_CACHED_TIMES", "2"))
SLOW = bool(os.environ.get("WEFT_TEST_SCALE"))
SIZES = [1 << 10, 1 << 14, 1 << 17, 900000]


class Server:
    def __init__(self, *options, user="root"):
        probe = socket.create_server(("127.0.0.1", 0))
        self.port = probe.getsockname()[1]
        probe.close()
        user = ["-u", user] if os.geteuid() == 0 else []
        self.process = subprocess.Popen([SERVER, "-l", "127.0.0.1", "-p", str(self.port), *user, *options])
        for _ in range(1000):
            try:
                self.connect().close()
                break
            except OSError:
                time.sleep(0.01)
        with self.connect() as s:
            for size in SIZES:
                s.sendall(b"set k%d 0 0 %d\r\n%s\r\n" % (size, size, b"v" * size))
                assert s.recv(100) == b"STORED\r\n"

    def connect(self):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
        s.settimeout(30)
        s.connect(("127.0.0.1", self.port))
        return s

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0, "status"


def send(s, text):
    try:
        s.sendall(text)
    except OSError:
        pass


def sending(s, text):
    t = threading.Thread(target=send, args=(s, text))
    t.start()
    return t


def read_all(s, slow, got=b"", most=None):
    got = bytearray(got)
    while most is None or len(got) < most:
        try:
            piece = s.recv(65536)
        except ConnectionError:
            break
        if not piece:
            break
        got += piece
        if slow:
            time.sleep(slow)
    return bytes(got)


def whole(got, size):
    """The number of values, all of which are complete."""
    one = b"VALUE k%d 0 %d\r\n%s\r\nEND\r\n" % (size, size, b"v" * size)
    assert len(got) % len(one) == 0, "cut: %d values of %d bytes and %d bytes more" % (len(got) // len(one), size, len(got) % len(one))
    assert got == one * (len(got) // len(one)), "other bytes"
    return len(got) // len(one)


@test
def quit_with_more_sent():
    server = Server()
    for size in SIZES:
        for behind in (b"", b"\r\n", b"get k%d\r\n" % size * 3, b"x" * 300000):
            for i in range(TIMES):
                s = server.connect()
                t = sending(s, b"get k%d\r\n" % size * 5 + b"quit\r\n" + behind)
                assert whole(read_all(s, i % 2 * 0.0005), size) == 5, "not all"
                t.join()
                s.close()
    server.end()


@test
def a_line_without_an_end():
    server = Server()
    for size in SIZES:
        for i in range(TIMES):
            s = server.connect()
            t = sending(s, b"get k%d\r\n" % size * 5 + b"y" * 300000)
            got = read_all(s, i % 2 * 0.0005)
            assert whole(got, size) == 5, "not all"
            t.join()
            s.close()
    server.end()


@test
def ends_under_load():
    for size in SIZES:
        for _ in range(TIMES):
            server, failed, ready = Server(), [], threading.Semaphore(0)

            def client(n):
                s = server.connect()
                t = sending(s, b"get k%d\r\n" % size * (20 if size > 100000 else 2000))
                got = read_all(s, 0.0005, most=size)
                ready.release()
                try:
                    if not whole(read_all(s, 0.0005 if n % 2 else 0, got), size):
                        failed.append("nothing")
                except AssertionError as e:
                    failed.append(e)
                t.join()
                s.close()
            threads = [threading.Thread(target=client, args=(n,)) for n in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                ready.acquire()
            time.sleep(random.random() * 0.01)
            server.process.send_signal(signal.SIGTERM)
            for t in threads:
                t.join()
            server.end()
            assert not failed, failed


@test
def ends_without_a_reader():
    """After the time of grace, or at once at a second signal."""
    for signals in (2,) if os.environ.get("WEFT_IO") == "epoll" else (1, 2):
        server = Server()
        silent = [server.connect() for _ in range(5)]
        for s in silent:
            s.sendall(b"get k900000\r\n" * 20)
        time.sleep(0.2)
        if signals > 1:
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
        server.end()
        for s in silent:
            s.close()


@test
def ends_with_idle_clients():
    server = Server()
    clients = [server.connect() for _ in range(50)]
    for c in clients:
        c.sendall(b"version\r\n")
        assert c.recv(100).startswith(b"VERSION")
    server.end()
    for c in clients:
        assert c.recv(1) == b""
        c.close()


@test
def clients_that_do_not_read():
    """Clients request all values and read none: other clients can still store."""
    server = Server("-m", "64")
    value = b"w" * 900000
    with server.connect() as s:
        f = s.makefile("rb")
        for i in range(55):
            s.sendall(b"set p%d 0 0 %d\r\n%s\r\n" % (i, len(value), value))
            assert f.readline() == b"STORED\r\n"
        silent = []
        for i in range(200):
            c = socket.socket()
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            c.connect(("127.0.0.1", server.port))
            c.sendall(b"get p%d p%d p%d\r\n" % (i % 55, (i + 1) % 55, (i + 2) % 55))
            silent.append(c)
        time.sleep(0.3)
        for i in range(300):
            size = 900000 if i % 2 else 500
            s.sendall(b"set q%d 0 0 %d\r\n%s\r\n" % (i, size, value[:size]))
            assert f.readline() == b"STORED\r\n", i
    for c in silent:
        c.close()
    server.end()


@test
def few_descriptors():
    """With hardly more descriptors than connections the server starts, and serves as many clients as it can."""
    for files, connections in (256, 200), (256, 256), (100, 90):
        probe = socket.create_server(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        user = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []  # root may raise the limit
        process = subprocess.Popen([*user, SERVER, "-l", "127.0.0.1", "-p", str(port), "-c", str(connections)], preexec_fn=limit)
        clients = []
        for _ in range(1000):
            try:
                clients.append(socket.create_connection(("127.0.0.1", port)))
                break
            except OSError:
                assert process.poll() is None, "it has not begun"
                time.sleep(0.01)
        clients += [socket.create_connection(("127.0.0.1", port)) for _ in range(connections - 1)]
        for i, c in enumerate(clients[:connections - 50]):
            c.settimeout(20)
            c.sendall(b"version\r\n")
            assert c.recv(100).startswith(b"VERSION"), i
        for c in clients:
            c.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    r = subprocess.run([*user, SERVER, "-l", "127.0.0.1", "-p", "0", "-c", "101"], capture_output=True, text=True, preexec_fn=limit)
    assert r.returncode == 2 and "open files" in r.stderr, r


@test
def ended_at_once():
    """A signal at the moment when the server begins to listen ends it properly."""
    for _ in range(20):
        probe = socket.create_server(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        user = ["-u", "root"] if os.geteuid() == 0 else []
        process = subprocess.Popen([SERVER, "-l", "127.0.0.1", "-p", str(port), "-U", "0", *user])
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert process.poll() is None, "it has not begun"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, process.returncode


@test
def newcomers():
    """All clients connect at once: when the last has its first answer, no other client has had very many."""
    server = Server("-t", "1", "-c", "5000", "-b", "4096")
    n = 400 if SLOW else 4000
    threads = "1" if SLOW else "8"  # on a busy machine, a single thread of several could be late
    r = subprocess.run([NEWCOMERS, str(server.port), str(n), threads, "60", "get key\r\n"], capture_output=True, text=True)
    assert r.returncode == 0 and int(r.stdout.split("answers ")[1].split(",")[0]) <= 25 * n, r.stdout + r.stderr
    server.end()


def rights(pid):
    """Users, groups and the right to get more, the same in all threads."""
    found = set()
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, thread)) as f:
            lines = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        found.add(tuple(lines[name].strip() for name in ("Uid", "Gid", "Groups", "NoNewPrivs", "CapPrm")))
    assert len(found) == 1, found
    return found.pop()


@test
def root():
    if os.geteuid():
        return
    r = subprocess.run([SERVER, "-l", "127.0.0.1", "-p", "0"], capture_output=True, text=True, timeout=20)
    assert r.returncode == 2 and "can't run as root without -u" in r.stderr, r
    r = subprocess.run([SERVER, "-l", "127.0.0.1", "-p", "0", "-u", "no such user"], capture_output=True, text=True, timeout=20)
    assert r.returncode == 2 and "no user" in r.stderr, r
    for name in "nobody", "daemon":
        server, user = Server("-t", "4", user=name), pwd.getpwnam(name)
        assert rights(server.process.pid) == ("\t".join([str(user.pw_uid)] * 4), "\t".join([str(user.pw_gid)] * 4), "", "1", "0" * 16)
        server.end()
    server = Server()
    assert rights(server.process.pid)[0] == "0\t0\t0\t0"
    server.end()


sys.exit(main())
