# SPDX-License-Identifier: MIT
"""A real server on its own directory, and clients that send exactly the bytes of a test."""
import functools
import os
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time


class Answer:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body


class Client:
    """A connection. Answers are read one after the other, in whatever pieces they come."""

    def __init__(self, port, timeout=20, host="127.0.0.1"):
        self.s = socket.create_connection((host, port), timeout=timeout)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.got = b""

    def send(self, data):
        self.s.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))

    def more(self):
        data = self.s.recv(1 << 20)
        self.got += data
        return bool(data)

    def answer(self, head=False):
        while b"\r\n\r\n" not in self.got:
            if not self.more():
                raise AssertionError("no answer: %r" % self.got[:200])
        text, _, rest = self.got.partition(b"\r\n\r\n")
        lines = text.decode("latin-1").split("\r\n")
        m = re.fullmatch(r"HTTP/1\.1 (\d\d\d) [A-Za-z ]+", lines[0])
        assert m, lines[0]
        fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(": ")
            assert name.lower() not in fields, "twice: " + line
            fields[name.lower()] = value
        status = int(m.group(1))
        size = 0 if head or status in (100, 304) else int(fields["content-length"])
        rest = bytearray(rest)
        while len(rest) < size:
            data = self.s.recv(1 << 20)
            assert data, "the body ends after %d of %d bytes" % (len(rest), size)
            rest += data
        self.got = bytes(rest[size:])
        return Answer(status, fields, bytes(rest[:size]))

    def ended(self):
        """Does the server send nothing more, and close?"""
        try:
            return not self.got and self.s.recv(1) == b""
        except ConnectionResetError:
            return True

    def has_ended(self):
        """Has the server closed by now, with nothing left to read?"""
        poll = select.poll()
        poll.register(self.s, select.POLLIN)
        return bool(not self.got and poll.poll(0)) and self.s.recv(1, socket.MSG_PEEK) == b""

    def close(self):
        self.s.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Server:
    """As root it stays root, so that it can enter the directory, unless it is to be another user; None: nothing is
    said."""

    def __init__(self, program, root, *options, pass_fds=(), descriptors=None, user="root"):
        def limit():
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
        self.root = root
        if os.geteuid() == 0 and user:
            options += ("--user", user)
        self.process = subprocess.Popen([program, root, "--port", "0", *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, pass_fds=pass_fds, preexec_fn=limit)
        line = self.process.stdout.readline()
        m = re.search(r"https?://\S+?:(\d+)/", line)
        if not m:
            raise AssertionError("no server: %r %r" % (line, self.process.stderr.read()))
        self.port = int(m.group(1))

    def client(self, **how):
        return Client(self.port, **how)

    def ask(self, path, fields="", method="GET", version="HTTP/1.1"):
        with self.client() as c:
            c.send("%s %s %s\r\nHost: test\r\nConnection: close\r\n%s\r\n" % (method, path, version, fields))
            a = c.answer(head=method == "HEAD")
            assert c.ended(), "not closed"
            return a

    def url(self, path):
        return "http://127.0.0.1:%d%s" % (self.port, path)

    def signal(self, which=signal.SIGTERM):
        self.process.send_signal(which)

    def end(self, within=20, says=None):
        if self.process.poll() is None:
            self.signal()
        try:
            self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("the server did not end")
        said = self.process.stderr.read()
        assert self.process.returncode == 0, "status %d: %s" % (self.process.returncode, said[-2000:])
        assert says in said if says else not said, said[-2000:]


@functools.lru_cache
def pattern(size, seed=1):
    """Bytes in which all pieces differ."""
    block = b"".join((i * 2654435761 + seed & 0xffffffff).to_bytes(4, "little") for i in range(16384))
    return (block * (size // len(block) + 1))[:size]


def make_root():
    root = tempfile.mkdtemp(prefix="weft-serve-")
    site, outside = os.path.join(root, "site"), os.path.join(root, "outside")
    os.makedirs(os.path.join(site, "sub"))
    os.makedirs(os.path.join(site, "full dir", "evil.com"))
    os.makedirs(os.path.join(outside, "dir"))
    files = {"index.html": b"<p>root\n", "small.txt": pattern(1000), "k16.bin": pattern(16384), "k17.bin": pattern(16385),
             "big.bin": pattern(3000000), "empty.txt": b"", "a b.txt": b"space\n", "x&y<z>.txt": b"odd\n", "a&lt;b.txt": b"entity\n", ".dot": b"dot\n",
             "full dir/index.html": b"<p>full\n", "sub/one.css": b"a{}\n", "sub/t%25o": b"percent\n"}
    for name, data in files.items():
        with open(os.path.join(site, name), "wb") as f:
            f.write(data)
    with open(os.path.join(outside, "secret.txt"), "wb") as f:
        f.write(b"secret\n")
    with open(os.path.join(site, "closed.txt"), "wb") as f:
        f.write(b"closed\n")
    os.chmod(os.path.join(site, "closed.txt"), 0)
    os.mkfifo(os.path.join(site, "pipe"))
    links = {"in.txt": "small.txt", "in_dir": "sub", "out.txt": "../outside/secret.txt", "out_dir": "../outside",
             "absolute": outside + "/secret.txt", "loop": "loop", "proc": "/proc/self/root",
             "sub/up": "../../outside/secret.txt", "sub/back.txt": "../small.txt", "nowhere": "not there"}
    for name, to in links.items():
        os.symlink(to, os.path.join(site, name))
    return site


def remove_root(site):
    shutil.rmtree(os.path.dirname(site), ignore_errors=True)


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False
