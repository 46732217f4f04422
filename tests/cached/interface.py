#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The parts of memcached's interface beside commands on items: interface.py BUILD_DIR [NAME...]. Datagrams, watchers,
authentication, items that outlive the process, the crawler, statistics."""
import os, random, re, signal, socket, struct, subprocess, sys, tempfile, threading, time

SERVER = os.path.join(sys.argv[1], "tests/cached/server/cached")
DIR = tempfile.mkdtemp()
tests = []
servers = []


def test(f):
    tests.append(f)
    return f


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def command(*options):
    return [SERVER, *(["-u", "root"] if os.geteuid() == 0 else []), *options]


class Server:
    def __init__(self, *options):
        self.port, self.udp = free_port(), free_port(socket.SOCK_DGRAM)
        self.log = tempfile.TemporaryFile()
        servers.append(self)
        self.process = subprocess.Popen(command("-l", "127.0.0.1", "-p", str(self.port), "-t", "2", *[
            str(self.udp) if o == "UDP" else o for o in options]), stderr=self.log)
        while True:
            try:
                with self.connect() as s:  # an answer: signals are heeded, too
                    s.sendall(b"mn\r\n")
                    s.recv(100)
                break
            except OSError:
                assert self.process.poll() is None, "it has not begun"
                time.sleep(0.01)

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port))
        s.settimeout(60)
        return s

    def client(self):
        return Client(self.connect())

    def datagrams(self):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        s.connect(("127.0.0.1", self.udp))
        s.settimeout(60)
        return s

    def end(self, number=signal.SIGTERM, status=0):
        self.process.send_signal(number)
        got = self.process.wait(60)
        self.log.seek(0)
        said = self.log.read().decode()
        assert got == status, (got, said)
        return said


class Client:
    def __init__(self, s):
        self.s, self.f = s, s.makefile("rb")

    def say(self, text):
        self.s.sendall(text)

    def line(self):
        return self.f.readline()

    def ask(self, text, answer):
        self.say(text)
        got = b"".join(self.line() for _ in range(answer.count(b"\n")))
        assert got == answer, (text[:60], got[:200], answer[:200])

    def stats(self, which=b""):
        self.say(b"stats " + which + b"\r\n")
        found = {}
        while True:
            line = self.line()
            if not line.startswith(b"STAT "):
                assert line == b"END\r\n", line
                return found
            _, name, value = line.decode().rstrip().split(" ", 2)
            found[name] = value

    def set(self, key, value, time=0):
        self.ask(b"set %s 0 %d %d\r\n%s\r\n" % (key, time, len(value), value), b"STORED\r\n")

    def get(self, key):
        self.say(b"get %s\r\n" % key)
        head = self.line()
        if head == b"END\r\n":
            return None
        value = self.f.read(int(head.split()[3]) + 2)[:-2]
        assert self.line() == b"END\r\n"
        return value

    def until(self, what, found, tries=600):
        """Waits until the condition holds."""
        for _ in range(tries):
            if found(what()):
                return
            time.sleep(0.05)
        raise AssertionError("it does not come: %r" % (what(),))

    def close(self):
        self.f.close()
        self.s.close()


# --- datagrams ---

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


# --- watch ---

def watch(server, what=b""):
    w = server.client()
    w.ask(b"watch%s\r\n" % what, b"OK\r\n")
    return w


LINE = re.compile(rb"ts=\d+\.\d+ gid=(\d+) (.*)\n$")


def event(w):
    line = w.line()
    found = LINE.match(line)
    assert found, line
    return found.group(2)


@test
def watchers():
    server = Server()
    c = server.client()
    fd = re.search(r"(\d+):state", [n for n in c.stats(b"conns") if n.endswith(":state")][-1]).group(1).encode()
    w, m = watch(server, b" fetchers"), watch(server, b" mutations")
    both = watch(server, b" fetchers mutations rawcmds sysevents")
    c.set(b"a b".replace(b" ", b"%"), b"12345", 100)
    c.get(b"a%b")
    c.get(b"none")
    c.ask(b"touch none 0\r\ndelete none\r\nincr none 1\r\nmg a%b\r\nappend x 0 0 1\r\ny\r\ncas a%b 0 0 1 1\r\nx\r\n",
          b"NOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\nHD\r\nNOT_STORED\r\nSTORED\r\n")
    c.ask(b"set big 0 0 2000000\r\n", b"SERVER_ERROR object too large for cache\r\n")
    c.say(b"x" * 2000000 + b"\r\n")
    c.get(b"last")
    fetched = [(b"a%25b", b"not_found", 0), (b"a%25b", b"found", 5), (b"none", b"not_found", 0), (b"none", b"not_found", 0),
               (b"none", b"not_found", 0), (b"none", b"not_found", 0), (b"a%25b", b"found", 5), (b"x", b"not_found", 0),
               (b"a%25b", b"found", 5), (b"last", b"not_found", 0)]
    for key, status, size in fetched:
        got = event(w)
        assert re.match(rb"type=item_get key=%s status=%s clsid=\d+ cfd=%s size=%d$" % (re.escape(key), status, fd, size), got), got
    for key, status, cmd, ttl, size in ((b"a%25b", b"stored", b"set", 100, 5), (b"x", b"not_stored", b"append", 0, 1),
                                        (b"a%25b", b"stored", b"cas", 0, 1), (b"big", b"too_large", b"set", 0, 2000000)):
        got = event(m)
        assert re.match(rb"type=item_store key=%s status=%s cmd=%s ttl=(%d|%d) clsid=\d+ cfd=%s size=%d$" % (
            re.escape(key), status, cmd, ttl, ttl - 1, fd, size), got), got
    numbers = []
    for _ in range(len(fetched) + 4):
        numbers.append(int(LINE.match(both.line()).group(1)))
    assert numbers == sorted(numbers)
    stats = c.stats()
    assert stats["log_watchers"] == "3" and int(stats["log_watcher_sent"]) == 2 * (len(fetched) + 4), stats
    w.close()
    c.until(c.stats, lambda s: s["log_watchers"] == "2")
    server.end()
    assert m.line() == b""


@test
def watched_connections():
    server = Server("-o", "idle_timeout=1")
    w = watch(server, b" connevents")
    for said, reason in (b"quit\r\n", b"normal"), (b"GET / HTTP/1.1\r\n", b"error"), (b"x" * 5000, b"error"), (None, b"normal"), (b"", b"idle_timeout"):
        c = server.client()
        port = c.s.getsockname()[1]
        mine = lambda: next(e for e in iter(lambda: event(w), None) if b" rport=%d " % port in e)
        got = mine()
        assert re.match(rb"type=conn_new rip=127.0.0.1 rport=\d+ transport=tcp cfd=\d+$", got), got
        if said is None:
            c.close()
        else:
            c.say(said)
        got = mine()
        assert re.match(rb"type=conn_close rip=127.0.0.1 rport=\d+ transport=tcp reason=%s cfd=\d+$" % reason, got), got
    server.end()


@test
def watched_evictions():
    server = Server("-m", "8", "-I", "256k")
    c, w = server.client(), watch(server, b" evictions")
    for i in range(1200):
        c.set(b"k%d" % i, b"v" * 10000, 1000)
    got = event(w)
    assert re.match(rb"type=eviction key=k\d+ fetch=no ttl=\d+ la=\d+ clsid=\d+ size=10000$", got), got
    server.end()


@test
def a_watcher_that_does_not_read():
    """A slow watcher loses lines, and gets their number; other clients do not wait. At the end all lines were sent or counted."""
    server = Server("-o", "watcher_logbuf_size=8")
    w, c = socket.socket(), server.client()
    w.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    w.connect(("127.0.0.1", server.port))
    w.settimeout(60)
    w.sendall(b"watch fetchers\r\n")
    asked = 0
    c.until(c.stats, lambda s: s["log_watchers"] == "1")
    while int(c.stats()["log_watcher_skipped"]) < 1000:
        for _ in range(200):
            c.say(b"get %s\r\n" % (b"k" * 200) * 10)
            for _ in range(10):
                assert c.line() == b"END\r\n"
            asked += 10
    f = w.makefile("rb")
    assert f.readline() == b"OK\r\n"
    lines = skipped = 0
    while lines + skipped < asked:
        line = f.readline()
        if line.startswith(b"skipped="):
            skipped += int(line.split(b"=")[1])
        else:
            assert LINE.match(line), line
            lines += 1
        if lines % 10 == 0:  # a loss is reported with the next line
            c.ask(b"get x\r\n", b"END\r\n")
            asked += 1
        if skipped and lines + skipped >= asked - 1:
            break
    assert skipped >= 1000
    silent = [watch(server) for _ in range(3)]
    server.end()
    assert all(s.line() == b"" for s in silent)


@test
def watchers_that_are_refused():
    server = Server()
    c = server.client()
    c.ask(b"watch nonsense\r\n", b"ERROR\r\n")
    c.ask(b"mn\r\nwatch\r\n", b"MN\r\nERROR cannot pipeline other commands before watch\r\n")
    w = [watch(server, b" proxyreqs") for _ in range(20)]
    c.ask(b"watch\r\n", b"WATCHER_TOO_MANY log watcher limit reached\r\n")
    w[7].say(b"get a\r\n" * 1000)  # is dropped
    w[3].close()
    c.until(c.stats, lambda s: s["log_watchers"] == "19")
    c.ask(b"watch\r\n", b"OK\r\n")
    server.end()
    server = Server("-W")
    server.client().ask(b"watch\r\n", b"CLIENT_ERROR watch commands not allowed\r\n")
    server.end()


@test
def watchers_come_and_go():
    """While other clients work."""
    server = Server("-o", "watcher_logbuf_size=2", "-t", "4")
    stop, failed = threading.Event(), []

    def work(n):
        c = server.client()
        try:
            i = 0
            while not stop.is_set():
                i += 1
                c.set(b"w%d" % (i % 50), b"x" * (i % 3000))
                c.get(b"w%d" % (i % 50))
        except Exception as e:
            failed.append(e)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for t in threads:
        t.start()
    r = random.Random(2)
    for i in range(40):
        some = [watch(server, r.choice([b"", b" mutations", b" connevents fetchers"])) for _ in range(r.randrange(1, 6))]
        for w in some:
            if r.random() < 0.7:
                w.s.recv(r.randrange(1, 5000))
        for w in some:
            w.close()
    stop.set()
    for t in threads:
        t.join()
    assert not failed, failed
    server.end()


# --- the binary protocol ---

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


# --- authentication ---

def password_file(text):
    name = os.path.join(DIR, "passwords")
    with open(name, "w") as f:
        f.write(text)
    return name


@test
def authentication():
    name = password_file("foo:bar\nbaz:with space\nempty:\n")
    server = Server("-Y", name)
    no = b"CLIENT_ERROR unauthenticated\r\n"
    for text, answer in (
            (b"get a\r\n", no), (b"set a 0 0 3\r\nfoo\r\n", b"CLIENT_ERROR bad authentication token format\r\n"),
            (b"set a 0 0 7\r\nfoo bab\r\n", b"CLIENT_ERROR authentication failure\r\n"),
            (b"set a 0 0 6\r\nfoo ba\r\n", b"CLIENT_ERROR authentication failure\r\n"),
            (b"set a 0 0 8\r\nfoo barr\r\n", b"CLIENT_ERROR authentication failure\r\n"),
            (b"set a 0 0 7\r\nbar foo\r\n", b"CLIENT_ERROR authentication failure\r\n"),
            (b"set a 0 0 7\r\nfoo barxx", b"CLIENT_ERROR bad command line termination\r\n"),
            (b"set a 0 0 5\r\nfoo:\r\r\n", b"CLIENT_ERROR bad authentication token format\r\n"),
            (b"add a 0 0 7\r\n", no), (b"\r\n", no), (b"stats\r\nshutdown\r\nwatch\r\n", no * 3), (b"set a 0 0 x\r\n", no),
            (b"set a 0 0 4294967295\r\n", no), (b"set a 0 0 -3\r\n", no), (b"mg a v\r\nflush_all\r\n", no * 2)):
        c = server.client()
        c.ask(text, answer)
        c.ask(b"get a\r\n", no)
        c.close()
    for cut in range(1, 24):  # in two pieces, and a command follows
        c = server.client()
        text = b"set a 0 0 7\r\nfoo bar\r\nmn\r\n"
        c.say(text[:cut])
        time.sleep(0.002)
        c.ask(text[cut:], b"STORED\r\nMN\r\n")
        assert c.get(b"a") is None
        c.close()
    junk = server.client()
    junk.say(b"x" * 5000)
    assert junk.s.recv(1) == b""
    c = server.client()
    c.ask(b"set a 0 0 7\r\nfoo bar\r\n", b"STORED\r\n")
    s = c.stats()
    assert int(s["auth_errors"]) == 4 and int(s["auth_cmds"]) == 4 + 23 + 1, s
    assert c.stats(b"settings")["auth_enabled_ascii"] != "no"
    password_file("new:one\n")
    server.process.send_signal(signal.SIGHUP)

    def try_new():
        d = server.client()
        d.say(b"set a 0 0 7\r\nnew one\r\n")
        line = d.line()
        d.close()
        return line
    c.until(try_new, lambda line: line == b"STORED\r\n")
    password_file("no colon\n")  # is refused; the previous passwords stay
    server.process.send_signal(signal.SIGHUP)
    server.process.send_signal(signal.SIGHUP)
    assert try_new() == b"STORED\r\n"
    c.set(b"still", b"there")
    server.end()


@test
def authentication_that_is_refused():
    for text in "", "no colon\n", "a:b\nno colon\n", "x" * 300 + ":y\n":
        r = subprocess.run(command("-l", "127.0.0.1", "-p", "-1", "-Y", password_file(text)), capture_output=True, text=True, timeout=60)
        assert r.returncode == 1 and "passwords" in r.stderr, r
    r = subprocess.run(command("-Y", os.path.join(DIR, "none")), capture_output=True, text=True, timeout=60)
    assert r.returncode == 1 and "No such file" in r.stderr, r
    r = subprocess.run(command("-Y", password_file("a:b\n"), "-U", "11211"), capture_output=True, text=True, timeout=60)
    assert r.returncode == 2 and "UDP" in r.stderr, r


# --- items that outlive the process ---

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


# --- the crawler, slabs, lru ---

@test
def crawler():
    server = Server()
    c = server.client()
    for text, answer in ((b"sleep 10", b"OK"), (b"sleep 1000001", b"CLIENT_ERROR sleep must be one second or less"), (
            b"sleep x", b"CLIENT_ERROR bad command line format"), (b"tocrawl 7", b"OK"), (b"tocrawl x", b"CLIENT_ERROR bad command line format"), (
            b"crawl x", b"BADCLASS invalid class id"), (b"nonsense", b"ERROR"), (b"crawl", b"ERROR"), (b"disable", b"OK"), (
            b"crawl all", b"CLIENT_ERROR lru crawler disabled"), (b"metadump all", b"CLIENT_ERROR lru crawler disabled"), (
            b"enable", b"OK"), (b"tocrawl 0", b"OK")):
        c.ask(b"lru_crawler " + text + b"\r\n", answer + b"\r\n")
    settings = c.stats(b"settings")
    assert settings["lru_crawler"] == "yes" and settings["lru_crawler_sleep"] == "10", settings
    for i in range(500):
        c.set(b"stay%d" % i, b"x")
        c.set(b"go%d" % i, b"x", 100)
        c.set(b"large%d" % i, b"x" * 2000, 100)
    c.ask(b"debugtime 200\r\n", b"OK\r\n")
    c.ask(b"lru_crawler crawl 1\r\n", b"OK\r\n")
    c.until(c.stats, lambda s: s["lru_crawler_running"] == "0")
    items = c.stats(b"items")
    assert items["items:1:number"] == "500" and items["items:1:crawler_reclaimed"] == "500", items
    c.ask(b"lru_crawler crawl all\r\n", b"OK\r\n")
    c.until(c.stats, lambda s: s["lru_crawler_running"] == "0")
    after = c.stats()
    assert after["curr_items"] == "500" and after["lru_crawler_starts"] == "2", after
    c.say(b"lru_crawler mgdump all\r\n")
    keys = set(iter(c.line, b"EN\r\n"))
    assert keys == {b"mg stay%d\r\n" % i for i in range(500)}
    c.say(b"lru_crawler metadump all\r\n")
    assert len(list(iter(c.line, b"END\r\n"))) == 500
    c.ask(b"mn\r\nlru_crawler metadump all\r\n", b"MN\r\nERROR cannot pipeline other commands before metadump\r\n")
    server.end()


@test
def slabs_and_lru():
    server = Server("-m", "16", "-I", "512k")
    c = server.client()
    for text, answer in ((b"lru tune 10 20 0.1 1.5", b"OK"), (b"lru tune 50 40 0.1 1.5", b"ERROR hot and warm pcts must not exceed 80"), (
            b"lru tune 10 20 0 1", b"ERROR hot/warm age factors must be greater than 0"), (b"lru tune x 1 1 1", b"ERROR"), (b"lru mode flat", b"OK"), (
            b"lru mode x", b"ERROR"), (b"lru temp_ttl 5", b"OK"), (b"lru temp_ttl -1", b"OK"), (b"lru", b"ERROR"), (b"slabs", b"ERROR"), (
            b"slabs automove 0", b"OK"), (b"slabs automove 3", b"ERROR"), (b"slabs automove x", b"CLIENT_ERROR bad command line format"), (
            b"slabs automove ratio 0.5", b"OK"), (b"slabs automove ratio x", b"ERROR"), (b"slabs reassign 1 1", b"SAME src and dst class are identical"), (
            b"slabs reassign a b", b"CLIENT_ERROR bad command line format"), (b"slabs reassign 99 1", b"BADCLASS invalid src or dst class id"), (
            b"slabs reassign 1 2", b"NOSPARE source class has no spare pages")):
        c.ask(text + b"\r\n", answer + b"\r\n")
    s = c.stats(b"settings")
    assert s["hot_lru_pct"] == "10" and s["warm_max_factor"] == "1.50" and s["lru_segmented"] == "no" and s["slab_automove_ratio"] == "0.50", s
    for i in range(2000):
        c.set(b"k%d" % i, b"v" * 1000)
    slabs = c.stats(b"slabs")
    cls = max((int(n.split(":")[0]) for n in slabs if n.endswith(":total_pages")), key=lambda n: int(slabs["%d:total_pages" % n]))
    pages = int(slabs["%d:total_pages" % cls])
    c.ask(b"slabs reassign %d 1\r\n" % cls, b"OK\r\n")
    assert int(c.stats(b"slabs")["%d:total_pages" % cls]) == pages - 1
    s = c.stats()
    assert s["slabs_moved"] == "1" and s["slab_global_page_pool"] == "1" and int(s["slab_reassign_evictions_nomem"]) > 10, s
    server.end()


# --- statistics ---

@test
def statistics():
    """The numbers for monitoring agree with each other, and with the work that was done."""
    server = Server("-m", "8", "-I", "512k", "-o", "track_sizes")
    c = server.client()
    for i in range(3000):
        c.set(b"k%d" % i, b"v" * (i * 7 % 9000))
    s, items, slabs, sizes = c.stats(), c.stats(b"items"), c.stats(b"slabs"), c.stats(b"sizes")
    total = lambda found, name: sum(int(v) for n, v in found.items() if n.endswith(":" + name))
    assert total(items, "number") == int(s["curr_items"]) == sum(map(int, sizes.values())) == 3000 - int(s["evictions"])
    assert total(items, "mem_requested") == int(s["bytes"])
    assert total(slabs, "used_chunks") >= total(items, "number")
    assert total(slabs, "total_chunks") == total(slabs, "used_chunks") + total(slabs, "free_chunks")
    assert total(slabs, "total_pages") * 65536 == int(slabs["total_malloced"]) <= 8 << 20
    assert total(slabs, "cmd_set") == int(s["cmd_set"]) == 3000
    assert total(items, "evicted") == int(s["evictions"]) > 0 and total(items, "evicted_unfetched") > 0
    assert int(s["read_buf_count"]) >= 1 and int(s["response_obj_count"]) >= 1
    c.ask(b"stats reset\r\n", b"RESET\r\n")
    assert c.stats()["cmd_set"] == "0"
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


@test
def turns():
    """-R: after this many commands other clients have their turn."""
    server = Server("-R", "5")
    c = server.client()
    c.ask(b"mn\r\n" * 101, b"MN\r\n" * 101)
    assert int(c.stats()["conn_yields"]) >= 18
    server.end()


def main():
    status = 0
    for t in tests:
        if sys.argv[2:] and t.__name__ not in sys.argv[2:]:
            continue
        begun = time.monotonic()
        try:
            t()
        except Exception as e:
            print("%s: %s: %s (line %s)" % (t.__name__, type(e).__name__, e, e.__traceback__.tb_next.tb_lineno))
            status = 1
        for server in servers:  # servers of a failed test
            if server.process.poll() is None:
                server.process.kill()
        servers.clear()
        print("  %s (%.2f s)" % (t.__name__, time.monotonic() - begun), flush=True)
    subprocess.run(["rm", "-rf", DIR])
    return status


sys.exit(main())
