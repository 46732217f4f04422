# SPDX-License-Identifier: MIT
"""Servers with special settings: time-outs, ends, lists, logs, options."""
import html
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

from client import Server, pattern, wait_until
from suite import GET, PROGRAM, ROOT, SLOW, same, shared, test


@test
def ended_at_once():
    """A signal at the moment when the server begins to listen ends it properly."""
    for _ in range(20):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        user = ("--user", "root") if os.geteuid() == 0 else ()
        process = subprocess.Popen([PROGRAM, ROOT, "--port", str(port), *user], stdout=subprocess.DEVNULL)
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert process.poll() is None, "it has not begun"
        process.send_signal(signal.SIGTERM)
        same(process.wait(60), 0)


@test
def time_outs():
    s = Server(PROGRAM, ROOT, "--slow", "3", "--idle", "4")
    before = time.monotonic()
    silent, slow, idle, body, stuck, small = [s.client() for _ in range(6)]
    slow.send("GET / HTT")
    idle.send(GET % ("/", ""))
    same(idle.answer().status, 200)
    body.send(GET % ("/", "Content-Length: 10\r\n") + "abc")
    stuck.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stuck.send((GET % ("/big.bin", "")) * 3)
    small.s.setblocking(False)  # many small answers that the client does not read
    try:
        for _ in range(1000):
            small.send((GET % ("/k16.bin", "")) * 100)
    except OSError:  # the server takes no more, or has already disconnected
        pass
    begun = time.monotonic()
    drip = s.client()  # sending a byte at a time does not extend the deadline
    drip.send("GET / HTTP/1.1\r\n")
    ended = []
    def keep_dripping():
        try:
            while time.monotonic() - begun < 60:
                drip.send("A")
                time.sleep(0.1)
        except OSError:
            ended.append(1)
    t = threading.Thread(target=keep_dripping)
    t.start()
    assert silent.ended()
    same((slow.answer().status, slow.ended()), (408, True))
    same((body.answer().status, body.ended()), (408, True))
    same(drip.answer().status, 408)
    assert idle.ended()
    assert time.monotonic() - before > 2
    try:
        while stuck.more():
            pass
        assert len(stuck.got) < 9000000
    except ConnectionResetError:
        pass
    t.join()
    assert ended
    same(s.ask("/").status, 200)
    small.s.settimeout(20)
    try:
        while small.s.recv(1 << 20):
            pass
    except ConnectionResetError:
        pass
    s.end()


@test
def ends_gracefully():
    with open(os.path.join(ROOT, "huge.bin"), "wb") as f:
        f.write(pattern(1 << 20) * (10 if SLOW else 100))
    size = os.path.getsize(os.path.join(ROOT, "huge.bin"))
    s = Server(PROGRAM, ROOT, "--grace", "20")
    half, idle, loads = s.client(), s.client(), s.client()  # accepted in this order
    idle.send(GET % ("/", ""))
    same(idle.answer().status, 200)
    loads.send(GET % ("/huge.bin", ""))
    half.send(GET % ("/", "") + "GET /small.txt HTTP/1.1\r\nHo")
    same(half.answer().status, 200)
    assert loads.more()
    s.signal()
    assert idle.ended()
    try:
        s.client(timeout=2).answer()
        raise AssertionError("still accepted")
    except (OSError, AssertionError) as e:
        assert "accepted" not in str(e)
    half.send("st: t\r\n\r\n")
    a = half.answer()
    same((len(a.body), a.fields["connection"]), (1000, "close"))
    assert half.ended()
    a = loads.answer()
    assert len(a.body) == size and a.body[-1000:] == pattern(1 << 20)[-1000:] and loads.ended()
    s.end()


@test
def who_has_said_nothing_is_not_waited_for():
    s = Server(PROGRAM, ROOT, "--grace", "3600", "--slow", "3600")
    silent = [s.client() for _ in range(3)]
    with s.client() as c:  # accepted after them
        c.send(GET % ("/", ""))
        same(c.answer().status, 200)
        s.signal()
        for client in silent:
            assert client.ended()
    s.end()


@test
def ends_in_time():
    for second in (False, True):
        s = Server(PROGRAM, ROOT, "--grace", "60" if second else "1")
        stuck = s.client()
        stuck.send((GET % ("/big.bin", "")) * 20)
        time.sleep(0.3)
        begun = time.monotonic()
        s.signal()
        if second:
            time.sleep(0.2)
            s.signal(signal.SIGINT)
        s.process.wait(20)
        assert time.monotonic() - begun < 20
        s.end()
        stuck.close()


@test
def lists():
    s = Server(PROGRAM, ROOT, "--list")
    same(s.ask("/").body, b"<p>root\n")
    a = s.ask("/sub/")
    same(a.status, 200)
    assert b'<a href="./one.css">one.css</a>' in a.body and b'<a href="./t%2525o">t%25o</a>' in a.body, a.body
    os.rename(os.path.join(ROOT, "index.html"), os.path.join(ROOT, "not.html"))
    assert wait_until(lambda: b"<ul>" in s.ask("/").body)
    a = s.ask("/")
    assert b"x&amp;y&lt;z&gt;.txt</a>" in a.body and b".dot" not in a.body and b'<a href="./sub/">sub/</a>' in a.body
    assert b'<a href="./a%26lt;b.txt">a&amp;lt;b.txt</a>' in a.body and b'<a href="./in_dir/">in_dir/</a>' in a.body, a.body
    same(len(s.ask("/", method="HEAD").body), 0)
    shown = re.findall(r'<a href="\./([^"]*)">', a.body.decode())
    for name in shown:
        same(s.ask("/" + html.unescape(name)).status, 200)
    for name in ["in.txt", "in_dir/", "small.txt", "sub/"]:
        assert name in shown, name
    for name in ["pipe", "out.txt", "out_dir", "out_dir/", "absolute", "loop", "proc", "proc/", "nowhere"]:
        assert name not in shown, name
    os.rename(os.path.join(ROOT, "not.html"), os.path.join(ROOT, "index.html"))
    s.end()


@test
def logs():
    name = os.path.join(ROOT, "..", "access.log")
    s = Server(PROGRAM, ROOT, "--log", name)
    s.ask("/small.txt", "User-Agent: \"a\xe4\r\nReferer: r\r\n")
    s.ask("/nothing")
    with s.client() as c:
        c.send("nonsense\r\n\r\n")
        same(c.answer().status, 400)
    os.rename(name, name + ".1")
    s.signal(signal.SIGHUP)
    assert wait_until(lambda: os.path.exists(name))
    s.ask("/sub/one.css")
    s.end()
    with open(name + ".1") as f:
        text = f.read()
    with open(name) as f:
        text += f.read()
    lines = text.splitlines()
    same(len(lines), 4)
    assert lines[0].startswith("127.0.0.1 - - ["), lines[0]
    assert '] "GET /small.txt HTTP/1.1" 200 1000 "r" "\\x22a\\xe4"' in lines[0], lines[0]
    assert '" 404 ' in lines[1] and '"nonsense" 400 ' in lines[2] and "one.css" in lines[3]


@test
def what_was_sent_is_logged():
    name, size = os.path.join(ROOT, "..", "sent.log"), 64 << 20  # more than all buffers together
    with open(os.path.join(ROOT, "wide.bin"), "wb") as f:
        f.truncate(size)
    s = Server(PROGRAM, ROOT, "--log", name)
    gone, half = s.client(), s.client()
    gone.send(GET % ("/wide.bin", ""))
    while len(gone.got) < 100000:
        assert gone.more()
    gone.close()
    half.send(GET % ("/wide.bin", "Range: bytes=0-%d\r\n" % (size // 2)))
    same(len(half.answer().body), size // 2 + 1)
    half.send("HEAD /wide.bin HTTP/1.1\r\nHost: t\r\n\r\n" + GET % ("/small.txt", ""))
    same((half.answer(head=True).status, half.answer().status), (200, 200))
    half.close()
    s.end()
    with open(name) as f:
        sent = [(line.split('"')[1].split()[:2], int(line.split('" ')[1].split()[1])) for line in f]
    cut = [n for what, n in sent if what == ["GET", "/wide.bin"] and n != size // 2 + 1]
    assert len(cut) == 1 and 90000 <= cut[0] < size, sent
    assert (["HEAD", "/wide.bin"], 0) in sent and (["GET", "/small.txt"], 1000) in sent, sent
    same(len(sent), 4)


@test
def a_log_that_nobody_reads():
    there, away = os.pipe()
    s = Server(PROGRAM, ROOT, "--log", "/proc/self/fd/%d" % away, pass_fds=[away])
    os.close(away)
    with s.client() as c:
        line = GET % ("/nothing", "User-Agent: %s\r\n" % ("u" * 400))  # more than a pipe holds
        for _ in range(400):
            c.send(line)
            same(c.answer().status, 404)
        time.sleep(2.5)  # the server has given up the log
        for _ in range(400):
            c.send(line)
            same(c.answer().status, 404)
    text = []

    def read_all():
        while piece := os.read(there, 1 << 16):
            text.append(piece)
    reader = threading.Thread(target=read_all)
    reader.start()
    while b"small.txt" not in b"".join(text):  # the log is writable again, and lines appear after a while
        s.ask("/small.txt")
        time.sleep(0.1)
    s.end(says="lines are left out")
    reader.join()
    os.close(there)
    assert b"".join(text).count(b"/nothing") < 800


@test
def a_log_on_a_disk_that_is_full_for_a_while():
    """It takes a part of a line, then nothing, then again everything: each line stands alone. Only root can have such a
    disk."""
    disk = tempfile.mkdtemp()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True).returncode:
        os.rmdir(disk)
        return

    def read():
        with open(disk + "/log", "rb") as f:
            return f.read()
    try:
        with open(disk + "/other", "wb") as f:
            f.write(b"x" * 40000)
        s = Server(PROGRAM, ROOT, "--log", disk + "/log")
        with s.client() as c:
            for n in (300, 10, 10):
                for _ in range(n):
                    c.send(GET % ("/nothing", "User-Agent: %s\r\n" % ("u" * 400)))
                    same(c.answer().status, 404)
                time.sleep(1.2)  # the log is written once a second
            os.unlink(disk + "/other")

            def is_logged():
                c.send(GET % ("/small.txt", ""))
                return c.answer().status == 200 and b"small.txt" in read()
            assert wait_until(is_logged), "it is not written any more"
        s.end(says="lines are left out")
        lines = read().split(b"\n")
    finally:
        subprocess.run(["umount", disk], check=True)
        os.rmdir(disk)
    same(lines.pop(), b"")
    whole = re.compile(rb'127\.0\.0\.1 - - \[[^]]*\] "GET /\S+ HTTP/1\.1" \d+ \d+ "-" "[^"]*"')
    cut = [line for line in lines if not whole.fullmatch(line)]
    assert len(cut) == 1 and cut[0].count(b" - - [") == 1, cut  # the request that was under way when the disk was full


@test
def many_workers_and_a_small_cache():
    for options in (["--workers", "8", "--cache", "16"], ["--workers", "1", "--cache", "0"]):
        for i in range(200):
            with open(os.path.join(ROOT, "n%d.txt" % i), "wb") as f:
                f.write(b"number %d\n" % i)
        s = Server(PROGRAM, ROOT, *options)
        wrong = []
        def load(seed):
            try:
                with s.client() as c:
                    for i in range(50 if SLOW else 300):
                        n = (i * 7 + seed * 31) % 200
                        c.send(GET % ("/n%d.txt" % n, ""))
                        same(c.answer().body, b"number %d\n" % n)
            except Exception as e:
                wrong.append(e)
        threads = [threading.Thread(target=load, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong, wrong[0]
        s.end()


@test
def addresses_and_names():
    hosts = [("localhost", "localhost"), ("127.0.0.2", "127.0.0.2")]
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            hosts += [("::1", "::1"), ("[::1]", "::1")]
    except OSError:  # this machine has none
        pass
    for name, host in hosts:
        for options in (["--bind", name], ["--bind=" + name, "--port=0", "--workers=1"]):
            s = Server(PROGRAM, ROOT, *options)
            with s.client(host=host) as c:
                c.send(GET % ("/", ""))
                same(c.answer().status, 200)
            s.end()


@test
def options_that_make_no_sense():
    for args, said in [([], "which directory"), (["/not there"], "cannot serve"), ([ROOT, "--port", "x"], "--port wants"),
                       ([ROOT, "--port"], "wants a value"), ([ROOT, "--what"], "no such option"), ([ROOT, "--bind", "not.here.invalid"], "--bind wants"),
                       ([ROOT, ROOT], "one directory"), ([ROOT, "--log", "/not/there"], "log"), ([ROOT, "--bind", ""], "--bind wants"), ([ROOT, "--bind", "[]"], "--bind wants"),
                       ([ROOT, "--bind", "192.0.2.1"], "of this machine"), ([ROOT, "--port="], "--port wants"), ([ROOT, "--list=x"], "no value"), ([ROOT, "--port", str(shared.port)], "try another")]:
        r = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=20)
        assert r.returncode in (1, 2) and said in r.stderr and r.stderr.count("\n") == 1, (args, r.stderr)
    assert "--grace" in subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=20).stdout
