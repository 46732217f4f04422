#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Clients of a server: client.py PORT WHICH. Status 77: that one is not installed."""
import os, shutil, socket, subprocess, sys, tempfile, threading, time

port, which = int(sys.argv[1]), sys.argv[2]
address = "127.0.0.1:%d" % port


def connect():
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(20)
    return s


def check(condition, what=""):
    if not condition:
        raise SystemExit("wrong: %s" % what)


def ping():
    connect().close()


def plain():
    """Connections that end in the middle of a command leave nothing behind."""
    def current_items():
        with connect() as s:
            s.sendall(b"stats\r\n")
            text = b""
            while not text.endswith(b"END\r\n"):
                text += s.recv(65536)
        return int(text.split(b"curr_items ")[1].split()[0])
    before = current_items()
    for part in (b"", b"get", b"set x 0 0 10\r\nabc", b"set x 0 0 500000\r\n" + b"y" * 100000, b"get " + b"k " * 5000,
                 b"set x 0 0 9999999\r\nabc", b"mg"):
        s = connect()
        s.sendall(part)
        s.close()
    check(current_items() == before, "items")
    with connect() as s:  # requests much, and disconnects
        s.sendall(b"set big 0 0 900000\r\n" + b"z" * 900000 + b"\r\n" + b"get big\r\n" * 50)
        s.recv(10)


def crowd():
    """Many clients at once, each with its own keys; all increment one number."""
    with connect() as s:
        s.sendall(b"set number 0 0 1\r\n0\r\n")
        check(s.recv(100) == b"STORED\r\n")
    wrong = []

    def one(n):
        s = connect()
        f = s.makefile("rb")
        for i in range(50):
            v = b"%d" % n * (i * 37 % 500 + 1)
            s.sendall(b"set c%d 0 0 %d\r\n%s\r\nget c%d\r\nincr number 1\r\n" % (n, len(v), v, n))
            if f.readline() != b"STORED\r\n" or f.readline() != b"VALUE c%d 0 %d\r\n" % (n, len(v)) or \
                    f.readline() != v + b"\r\n" or f.readline() != b"END\r\n" or not f.readline()[:1].isdigit():
                wrong.append(n)
                break
        s.close()
    threads = [threading.Thread(target=one, args=(n,)) for n in range(40)]
    for t in threads: t.start()
    for t in threads: t.join()
    check(not wrong, wrong)
    with connect() as s:
        s.sendall(b"get number\r\n")
        check(s.recv(100) == b"VALUE number 0 4\r\n2000\r\nEND\r\n", "number")


def exercise(c, cas=None):
    check(c.set("key", "value"), "set")
    check(c.get("key") in ("value", b"value"), "get")
    check(c.add("fresh%d" % os.getpid(), "1") and not c.add("key", "x"), "add")
    check(c.replace("key", "9"), "replace")
    check(c.incr("key", 5) == 14 and c.decr("key", 4) == 10, "incr")
    check(c.append("key", "1") and c.prepend("key", "1"), "append")
    check(c.get("key") in ("1101", b"1101"), "joint")
    check(c.delete("key") and c.get("key") is None, "delete")
    c.set_multi({"k%d" % i: "v%d" % i for i in range(500)})
    many = c.get_multi(["k%d" % i for i in range(500)])
    check(len(many) == 500 and many["k77"] in ("v77", b"v77"), "multi")
    big = "x" * 900000
    check(c.set("big", big) and len(c.get("big")) == len(big), "big")


def pymemcache():
    try:
        from pymemcache.client.base import Client
    except ImportError:
        sys.exit(77)
    c = Client(("127.0.0.1", port), default_noreply=False)
    exercise(c)
    c.set("cas", "1")
    value, token = c.gets("cas")
    check(c.cas("cas", "2", token) is True and c.cas("cas", "3", token) is False, "cas")
    check(c.touch("cas", 100) and c.gat("cas", 100) == b"2" if hasattr(c, "gat") else True, "touch")
    check(c.flush_all() and c.get("cas") is None and b"pid" in c.stats() and c.version(), "rest")


def pylibmc():
    try:
        import pylibmc as library
    except ImportError:
        sys.exit(77)
    c = library.Client([address], behaviors={"cas": True, "tcp_nodelay": True})
    exercise(c)
    c.set("cas", "1")
    value, token = c.gets("cas")
    check(c.cas("cas", "2", token), "cas")
    check(c.get_stats() and c.flush_all() and c.get("cas") is None, "rest")


def memcache():
    try:
        import memcache as library
    except ImportError:
        sys.exit(77)
    c = library.Client([address], cache_cas=True)
    exercise(c)
    c.set("cas", "1")
    check(c.gets("cas") == "1" and c.cas("cas", "2") and c.touch("cas", 100) and c.get_stats(), "rest")


def perl():
    program = """use Cache::Memcached; my $c = Cache::Memcached->new({servers => ["%s"]});
        $c->set("p", "1") && $c->get("p") == 1 && $c->incr("p", 4) == 5 && !$c->add("p", 2) && $c->delete("p")
        && !defined $c->get("p") && $c->set("h", {a => [1, 2]}) && $c->get("h")->{a}[1] == 2
        && keys %%{$c->get_multi("h", "none")} == 1 or exit 1;""" % address
    if not shutil.which("perl") or subprocess.run(["perl", "-MCache::Memcached", "-e", "1"], stderr=subprocess.DEVNULL).returncode:
        sys.exit(77)
    check(subprocess.run(["perl", "-e", program]).returncode == 0)


def tools():
    """The programs of libmemcached."""
    prefix = "memc" if shutil.which("memccp") else "mem"
    if not shutil.which(prefix + "cp") or not shutil.which(prefix + "cat"):
        sys.exit(77)
    run = lambda tool, *args: subprocess.run([prefix + tool, "--servers=" + address, *args], stdout=subprocess.PIPE)
    with tempfile.TemporaryDirectory() as where:
        name = os.path.join(where, "weft-file")
        open(name, "w").write("contents")
        check(run("cp", name).returncode == 0, "cp")
    check(run("cat", "weft-file").stdout.strip() == b"contents", "cat")
    check(run("exist", "weft-file").returncode == 0, "exist")
    check(b"weft-file" in run("dump").stdout, "dump")
    check(run("touch", "weft-file").returncode == 0, "touch")
    check(run("rm", "weft-file").returncode == 0 and run("exist", "weft-file").returncode != 0, "rm")
    check(b"curr_items" in run("stat").stdout and run("ping").returncode == 0 and run("flush").returncode == 0, "stat")


def ask(s, command, end=b"END\r\n"):
    s.sendall(command)
    text = b""
    while not text.endswith(end):
        more = s.recv(65536)
        check(more, "the connection ended: %r" % text)
        text += more
    return text.decode()


def conns():
    """stats conns: the listening socket, and all clients."""
    with connect() as s, connect() as other:
        other.sendall(b"version\r\nset x 0 0 10\r\nabc")  # a value that is partly sent
        check(other.recv(100).startswith(b"VERSION"))
        until(lambda: "conn_nread" in ask(s, b"stats conns\r\n"))
        text = ask(s, b"stats conns\r\n")
        lines = dict(line.split(" ", 2)[1:] for line in text.splitlines()[:-1])
        by_address = {v: k.split(":")[0] for k, v in lines.items() if k.endswith(":addr")}
        check("tcp:" + address in by_address, text)
        check(lines[by_address["tcp:" + address] + ":state"] == "conn_listening", text)
        for socket_, state in ((s, "conn_parse_cmd"), (other, "conn_nread")):
            fd = by_address["tcp:127.0.0.1:%d" % socket_.getsockname()[1]]
            check(lines[fd + ":listen_addr"] == "tcp:" + address and lines[fd + ":state"] == state, text)
            check(lines[fd + ":secs_since_last_cmd"].isdigit(), text)
        other.sendall(b"defghij\r\n")
        check(other.recv(100) == b"STORED\r\n", "stored")
        gone = "tcp:127.0.0.1:%d" % other.getsockname()[1]
    with connect() as s:
        until(lambda: gone not in ask(s, b"stats conns\r\n"))


def idle():
    """-o idle_timeout=1: a silent client is disconnected, a client in the middle of a value is not."""
    value, silent = connect(), connect()
    value.sendall(b"version\r\nset x 0 0 10\r\nabc")
    check(value.recv(100).startswith(b"VERSION"))
    check(silent.recv(1) == b"", "silent")
    later = connect()
    later.sendall(b"version\r\n")
    check(later.recv(100).startswith(b"VERSION"))
    check(later.recv(1) == b"", "later")
    value.sendall(b"defghij\r\nstats\r\n")
    text = ask(value, b"")
    check(text.startswith("STORED") and int(text.split("idle_kicks ")[1].split()[0]) >= 2, text)
    check("STAT idle_timeout 1\r\n" in ask(value, b"stats settings\r\n"))


def daemon():
    """The server's command, the third argument, with -d: returns when the server accepts connections, or fails."""
    server = os.path.abspath(sys.argv[3])
    with tempfile.TemporaryDirectory() as where:
        def start(*options):
            user = ["-u", "root"] if os.geteuid() == 0 else []
            return subprocess.run([server, "-d", "-t", "1", "-A", *user, *options], cwd=where, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=60)  # which waits until no process has its pipes
        inet = start("-p", str(port), "-l", "127.0.0.1", "-P", "a pid")
        check(inet.returncode == 0 and not inet.stderr, inet)
        pid = int(open(os.path.join(where, "a pid")).read())
        check(pid != os.getpid() and os.getsid(pid) == pid and os.readlink("/proc/%d/cwd" % pid) == "/", "detached")
        check(all(os.readlink("/proc/%d/fd/%d" % (pid, fd)) == "/dev/null" for fd in range(3)), "files")
        with connect() as s:
            check("STAT pid %d\r\n" % pid in ask(s, b"stats\r\n"), "pid")
        again = start("-p", str(port), "-l", "127.0.0.1", "-P", "another pid")
        check(again.returncode == 1 and "cannot listen" in again.stderr, again)
        check(os.listdir(where) == ["a pid"], "what is left")
        unix = start("-s", "socket", "-P", "unix pid")
        check(unix.returncode == 0, unix)
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(os.path.join(where, "socket"))
            s.sendall(b"shutdown\r\n")
            check(s.recv(10) == b"", "shutdown")
        shutdown()
        until(lambda: not os.listdir(where))


def until(condition):
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.02)
    check(False, "it does not happen")


def shutdown():
    with connect() as s:
        s.sendall(b"shutdown\r\n")
        check(s.recv(10) == b"", "shutdown")


globals()[which]()
