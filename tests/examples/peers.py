#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the example programs that talk to others, with real peers: peers.py BUILD_DIR SOURCE_DIR [NAME...]

Servers and clients are Python's, files are compared with grep and wc, databases read by SQLite. Each program runs on
io_uring and on epoll, with one worker and with the usual number. Ends in "peers: N passed, N failed"."""
import contextlib
import glob
import http.server
import os
import re
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
import tally  # noqa: E402

BUILD, SOURCE = os.path.abspath(sys.argv[1]) + "/examples", os.path.abspath(sys.argv[2])
PATIENCE = 300 * float(os.environ.get("WEFT_TEST_PATIENCE", "1"))
setting = {}


def check(is_so, what, *more):
    tally.check(is_so, what, setting, *more)


def run(name, *args, **more):
    return subprocess.run([f"{BUILD}/{name}", *args], env=dict(os.environ, **setting), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=PATIENCE, **more)


class Server:
    """A program that listens. SIGTERM ends it, and its status must be 0."""

    def __init__(self, name, *args):
        self.name = name
        self.process = subprocess.Popen([f"{BUILD}/{name}", *args], env=dict(os.environ, **setting),
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = int(re.search(r":(\d+)$", line).group(1))

    def __enter__(self):
        return self

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=PATIENCE)
        return out

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        check(self.process.returncode == 0, self.name, "ends well when it is told to", self.process.returncode)


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


@contextlib.contextmanager
def listening(handle):
    """A TCP server of Python's: a thread for each connection. Yields its port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=200)

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=handle, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def upper(connection):
    """Reads everything, then answers on the half-closed connection."""
    with connection:
        data = b"".join(iter(lambda: connection.recv(65536), b""))
        with contextlib.suppress(OSError):
            connection.sendall(data.upper())


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def proxy():
    with listening(upper) as port, Server("proxy", "0", "localhost", str(port)) as server:
        def ask(size, results):
            with connect(server.port) as client:
                data = os.urandom(size // 2).hex().encode()
                sender = threading.Thread(target=lambda: (client.sendall(data), client.shutdown(socket.SHUT_WR)))
                sender.start()
                results.append(b"".join(iter(lambda: client.recv(65536), b"")) == data.upper())
                sender.join()
        results = []
        threads = [threading.Thread(target=ask, args=(size, results)) for size in [4000000] + 40 * [3000]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(len(results) == 41 and all(results), "bytes arrive through the proxy, both ways")
        with connect(server.port) as idle:  # the proxy ends although this one is open
            idle.sendall(b"x")
            server.stop()
            try:
                rest = idle.recv(10)
            except ConnectionResetError:
                rest = b""
            check(rest == b"", "open connections end with the proxy", rest)
    with Server("proxy", "0", "127.0.0.1", str(closed_port())) as server, connect(server.port) as client:
        check(client.recv(10) == b"", "a server that is not there ends the connection")


def line(reader):
    """The next line, but for the announcement of the first client: it may have come while the second was there."""
    text = reader.readline()
    return reader.readline() if text == "1: has come\n" else text


def in_order(*sockets):
    """Two new clients of chat, as the server numbers them: it may serve the second connection first."""
    heard = select.select(sockets, [], [], PATIENCE)[0][0]
    other = sockets[1] if heard is sockets[0] else sockets[0]
    is_second = heard.recv(1024, socket.MSG_PEEK).startswith(b"1:")
    return (other, heard) if is_second else (heard, other)


def chat():
    with Server("chat", "0") as server:
        with connect(server.port) as one, connect(server.port) as another:
            first, second = in_order(one, another)
            reads = [first.makefile("r"), second.makefile("r")]
            check(reads[0].readline() == "2: has come\n", "a newcomer is announced")
            first.sendall(b"hel")
            first.sendall(b"lo\r\nagain\n")
            check([line(reads[1]), reads[1].readline()] == ["1: hello\n", "1: again\n"], "lines arrive, in order")
            second.sendall(b"x" * 1200 + b"\n")
            got = "".join(re.sub("^2: |\n", "", reads[0].readline()) for _ in range(3))
            check(got == "x" * 1200, "a long line arrives in pieces", len(got))
            with connect(server.port) as third:
                check(reads[0].readline() == "3: has come\n", "a third comes")
                third.sendall(b"bye\n")
            check([reads[0].readline(), reads[0].readline()] == ["3: bye\n", "3: has gone\n"], "and goes")
            check([reads[1].readline() for _ in range(3)][-1] == "3: has gone\n", "everybody sees that")


class Site(http.server.BaseHTTPRequestHandler):
    """Page n links to 2 n + 1 and 2 n + 2, to itself, to a page that does not exist, and to another host."""
    pages, lock, now, most, asked = 40, threading.Lock(), 0, 0, []

    def do_GET(self):
        with Site.lock:
            Site.now += 1
            Site.most = max(Site.most, Site.now)
            Site.asked.append(self.path)
        match = re.fullmatch(r"/page/(\d+)", self.path)
        number = int(match.group(1)) if match else self.pages
        links = [f"/page/{n}" for n in (2 * number + 1, 2 * number + 2, number) if n < self.pages]
        body = "".join(f'<a href="{link}">x</a>' for link in links + ["/missing", "//other/", "http://other/"]).encode()
        with Site.lock:
            Site.now -= 1
        self.send_response(200 if number < self.pages else 404)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def crawler():
    Site.most, Site.asked = 0, []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        result = run("crawler", "127.0.0.1", str(server.server_port), "/page/0", "3")
        server.shutdown()
    lines = result.stdout.splitlines()
    paths = sorted(line.split()[2] for line in lines[:-1])
    wanted = sorted([f"/page/{n}" for n in range(Site.pages)] + ["/missing"])
    check(result.returncode == 0 and paths == wanted, "every page is visited", result.stdout, result.stderr)
    check(sorted(Site.asked) == wanted, "and asked for once")
    check(Site.most <= 3 and re.fullmatch(r"41 pages, at most [123] at a time", lines[-1]), "the limit holds", lines[-1:])
    result = run("crawler", "127.0.0.1", str(closed_port()), "/", "3")
    check("Connection refused" in result.stdout, "a server that is not there is named", result.stdout)


def search():
    for text, where in (("weft__notify", "src"), ("the owner", "src"), ("nothing has this text", "src"), ("#include", "tests/unit")):
        ours = run("search", text, where, cwd=SOURCE)
        theirs = subprocess.run(["grep", "-rnFI", text, where], cwd=SOURCE, stdout=subprocess.PIPE, text=True)
        check(ours.returncode == 0 and sorted(ours.stdout.splitlines()) == sorted(theirs.stdout.splitlines()),
              "search finds what grep finds", text, len(ours.stdout), len(theirs.stdout))
    check(run("search", "x", "/nowhere").returncode == 2, "a directory that does not exist is an error")


def jobs():
    with Server("jobs", "0", "3", "30") as server, connect(server.port) as client:
        client.sendall("".join(f"{n} 5\n" for n in range(60)).encode())
        lines = client.makefile("r")
        answers = [lines.readline()]  # the first answer: so all have been accepted, in one piece
        out = server.stop()
        answers += lines.readlines()
        check(sorted(answers) == sorted(f"done {n}\n" for n in range(60)), "what was accepted is done", len(answers))
        check("60 jobs done, 0 dropped" in out, "and counted", out)
    with Server("jobs", "0", "2", "0") as server, connect(server.port) as client:
        client.sendall(b"1 1\n2 1\n" + b"".join(b"%d 600000\n" % n for n in range(3, 11)))
        lines = client.makefile("r")
        first = sorted([lines.readline(), lines.readline()])
        out = server.stop()
        rest = sorted(lines.readlines())
        check(first == ["done 1\n", "done 2\n"] and rest == sorted(f"dropped {n}\n" for n in range(3, 11)),
              "after the grace period the rest is dropped, and the client is told", first, rest)
        check("2 jobs done, 8 dropped" in out, "and counted", out)
    with Server("jobs", "0", "1", "0") as server, connect(server.port) as client:
        client.sendall(b"".join(b"%d 600000\n" % n for n in range(400)))
        lines = client.makefile("r")
        check(lines.readline().startswith("busy"), "a full queue says so")


def sqlite():
    in_memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # every row is synced: a busy disk takes minutes
    with tempfile.TemporaryDirectory(dir=in_memory) as scratch:
        path = scratch + "/log.db"
        result = run("sqlite", path, "20", "5")
        check(result.returncode == 0 and result.stdout == "100 rows\n", "rows are inserted", result.stdout, result.stderr)
        with contextlib.closing(sqlite3.connect(path)) as db:
            rows = db.execute("select fiber, row from log order by fiber, row").fetchall()
        check(rows == [(f, r) for f in range(20) for r in range(5)], "each once", len(rows))
    check(run("sqlite", "/nowhere/log.db", "2", "2").returncode == 1, "a database that cannot be opened is an error")


def loop(name):
    def greet(connection):
        with connection:
            connection.sendall(b"hello from %d\n" % connection.getsockname()[1])
    with listening(greet) as port:
        bad = closed_port()
        result = run(name, input=f"{port}\n{bad}\n" + 200 * f"{port}\n")
        lines = sorted(result.stdout.splitlines())
        wanted = sorted([f"{bad}: failed: Connection refused"] + 201 * [f"{port}: hello from {port}"])
        other = [line for line in lines if line not in wanted]
        check(result.returncode == 0 and lines == wanted, f"{name} shows every answer", len(lines), other, result.stderr)
        check(run(name, input="").returncode == 0, f"{name} ends without work")


def words():
    files = sorted(glob.glob(SOURCE + "/docs/*.md"))
    ours = run("words", *files)
    theirs = subprocess.run(["wc", "-w", *files], stdout=subprocess.PIPE, text=True, env=dict(os.environ, LC_ALL="C"))
    check([line.split() for line in ours.stdout.splitlines()] == [line.split() for line in theirs.stdout.splitlines()],
          "words counts what wc counts")
    result = run("words", files[0], "/nowhere")
    check(result.returncode == 1 and "/nowhere" in result.stderr, "a missing file is named", result.stderr)


OPTIONAL = ("sqlite", "loop_glib", "loop_libuv")
EXAMPLES = {"proxy": proxy, "chat": chat, "crawler": crawler, "search": search, "jobs": jobs, "sqlite": sqlite,
            "words": words, "loop_epoll": lambda: loop("loop_epoll"), "loop_glib": lambda: loop("loop_glib"),
            "loop_libuv": lambda: loop("loop_libuv")}


def main():
    chosen = sys.argv[3:] or list(EXAMPLES)
    for name in chosen:
        if not os.path.exists(f"{BUILD}/{name}"):
            check(name in OPTIONAL, name, "is built")
            print(name, "is left out: its library is not there, or not in this kind of build")
            continue
        for setting_of_one in ({}, {"WEFT_IO": "epoll"}, {"WEFT_WORKERS": "1"}):
            setting.clear()
            setting.update(setting_of_one)
            EXAMPLES[name]()
    return tally.verdict("peers")


if __name__ == "__main__":
    sys.exit(main())
