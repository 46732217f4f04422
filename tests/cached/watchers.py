#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Watchers: the lines that clients with `watch` get, and watchers that are slow, refused, or come and go."""
import random, re, socket, sys, threading

from cases import main, test
from served import Server, kill_servers


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


sys.exit(main(after_each=kill_servers))
