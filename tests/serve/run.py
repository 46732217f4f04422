#!/usr/bin/env python3
"""Tests of the server: run.py PROGRAM [name...]. Each runs against a process of its own or shared one, through
sockets and curl. The last line is "serve: N passed, N failed"."""
import os
import signal
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Server, make_root, pattern, remove_root, wait_until  # noqa: E402

PROGRAM = sys.argv[1]
SLOW = bool(os.environ.get("WEFT_TEST_SCALE"))  # a sanitizer: fewer of what there are many
ROOT = make_root()
tests = []
shared = None


def test(f):
    tests.append(f)
    return f


def same(got, wanted):
    assert got == wanted, "%r, and %r would be right" % (got, wanted)


GET = "GET %s HTTP/1.1\r\nHost: t\r\n%s\r\n"


# --- what is answered ------------------------------------------------------------------------------

@test
def files_and_types():
    for path, wanted, kind in [("/", b"<p>root\n", "text/html; charset=utf-8"), ("/small.txt", pattern(1000), "text/plain; charset=utf-8"),
                               ("/k16.bin", pattern(16384), "application/octet-stream"), ("/k17.bin", pattern(16385), None),
                               ("/big.bin", pattern(3000000), None), ("/empty.txt", b"", None), ("/a%20b.txt", b"space\n", None),
                               ("/sub/one.css", b"a{}\n", "text/css; charset=utf-8"), ("/sub/t%2525o", b"percent\n", None),
                               ("/full%20dir/", b"<p>full\n", None), ("/small.txt?x=y", pattern(1000), None),
                               ("http://h/small.txt", pattern(1000), None), ("/sub/../small.txt", pattern(1000), None)]:
        for _ in range(2):  # from the file, and from the cache
            a = shared.ask(path)
            same((a.status, a.body), (200, wanted))
            assert kind in (None, a.fields["content-type"]), a.fields
            assert "date" in a.fields and "etag" in a.fields and "last-modified" in a.fields
        h = shared.ask(path, method="HEAD")
        same((h.status, h.fields["content-length"]), (200, str(len(wanted))))


@test
def statuses():
    for path, status in [("/nothing", 404), ("/small.txt/", 404), ("/sub/", 403), ("/pipe", 403), ("/%00", 400), ("/%zz", 400),
                         ("/" + "a" * 300, 404), ("/" + "a/" * 2500, 414), ("/sub", 301), ("/loop", 404), ("/nowhere", 404)]:
        same(shared.ask(path).status, status)
    if os.geteuid():
        same(shared.ask("/closed.txt").status, 403)
    for method, status in [("POST", 405), ("DELETE", 405), ("OPTIONS", 405), ("BREW", 501)]:
        same(shared.ask("/", method=method).status, status)
    same(shared.ask("/", method="PUT").fields["allow"], "GET, HEAD")
    same(shared.ask("/", version="HTTP/3.0").status, 505)
    for text, status in [("GET /\r\n\r\n", 400), ("GET / HTTP/1.1\r\n\r\n", 400), ("\x16\x03\x01\x02", 400),
                         ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
                         ("GET /%s HTTP/1.1\r\n" % ("a" * 9000), 414), ("GET / HTTP/1.1\r\nA: %s\r\n\r\n" % ("a" * 9000), 431),
                         ("GET / HTTP/1.1\r\nHost: t\r\n%s\r\n" % ("a: b\r\n" * 200), 431),
                         ("GET / HTTP/1.1\r\nHost: t\r\nExpect: x\r\n\r\n", 417)]:
        with shared.client() as c:
            c.send(text)
            same(c.answer().status, status)
            assert c.ended()


@test
def redirects_stay_here():
    same(shared.ask("/sub?a=b").fields["location"], "/sub/?a=b")
    same(shared.ask("/full%20dir").fields["location"], "/full%20dir/")
    same(shared.ask("//full%20dir/evil.com").fields["location"], "/full%20dir/evil.com/")
    same(shared.ask("//sub").fields["location"], "/sub/")


@test
def never_outside():
    paths = ["/../outside/secret.txt", "/..", "/../", "/%2e%2e/outside/secret.txt", "/%2e%2e%2foutside%2fsecret.txt",
             "/..%2foutside%2fsecret.txt", "/.%2e/outside/secret.txt", "/%2E%2E/outside/secret.txt", "/sub/../../outside/secret.txt",
             "/sub/..%2f..%2foutside/secret.txt", "/sub/%2e%2e/%2e%2e/outside/secret.txt", "//../outside/secret.txt",
             "/./../outside/secret.txt", "/sub/./.././../outside/secret.txt", "/..%5coutside%5csecret.txt", "/..\\outside\\secret.txt",
             "/%252e%252e/outside/secret.txt", "/..%252foutside/secret.txt", "/%c0%ae%c0%ae/outside/secret.txt",
             "/..%c0%afoutside/secret.txt", "/..;/outside/secret.txt", "/../outside/secret.txt%00.html", "/small.txt%00/../../outside/secret.txt",
             "/out.txt", "/out_dir/secret.txt", "/out_dir/", "/absolute", "/proc/etc/passwd", "/sub/up", "/in_dir/up",
             "/in_dir/../../outside/secret.txt", "/etc/passwd", "//etc/passwd", "/.../outside/secret.txt", "http://h/../outside/secret.txt",
             "/sub//..//..//outside/secret.txt", "/%2f%2e%2e/outside/secret.txt", os.path.dirname(ROOT) + "/outside/secret.txt"]
    for path in paths:
        for _ in range(2):
            a = shared.ask(path)
            assert a.status in (400, 403, 404), (path, a.status)
            assert b"secret" not in a.body and b"root:" not in a.body, path
    for path, wanted in [("/in.txt", pattern(1000)), ("/in_dir/one.css", b"a{}\n"), ("/sub/back.txt", pattern(1000))]:
        same(shared.ask(path).body, wanted)


@test
def a_link_that_turns_outside():
    link = os.path.join(ROOT, "turns")
    os.symlink("small.txt", link)
    same(shared.ask("/turns").status, 200)
    os.remove(link)
    os.symlink("../outside/secret.txt", link)
    assert wait_until(lambda: shared.ask("/turns").status == 404, 4)
    os.remove(link)


# --- ranges and conditions ----------------------------------------------------------------------------

@test
def single_ranges():
    for name, size in [("/small.txt", 1000), ("/big.bin", 3000000)]:
        whole = pattern(size)
        for text, first, last in [("0-0", 0, 0), ("10-19", 10, 19), ("990-", 990, size - 1), ("-5", size - 5, size - 1), ("500-99999999", 500, size - 1)]:
            a = shared.ask(name, "Range: bytes=%s\r\n" % text)
            same((a.status, a.fields["content-range"]), (206, "bytes %d-%d/%d" % (first, last, size)))
            assert a.body == whole[first:last + 1]
        a = shared.ask(name, "Range: bytes=%d-\r\n" % size)
        same((a.status, a.fields["content-range"]), (416, "bytes */%d" % size))
        for text in ["bytes=5-4", "bytes=x", "lines=0-1", "bytes=0-,0-"]:
            same(shared.ask(name, "Range: %s\r\n" % text).status, 200)
        same(shared.ask(name, "Range: bytes=0-1\r\n", method="HEAD").status, 200)


@test
def several_ranges():
    whole = pattern(3000000)
    a = shared.ask("/big.bin", "Range: bytes=0-9,1000-2999,5000000-,-7\r\n")
    same(a.status, 206)
    boundary = a.fields["content-type"].split("boundary=")[1].encode()
    parts = a.body.split(b"\r\n--" + boundary)
    same(len(parts), 5)
    same((parts[0], parts[-1]), (b"", b"--\r\n"))
    for part, (first, last) in zip(parts[1:], [(0, 9), (1000, 2999), (2999993, 2999999)]):
        head, _, data = part.partition(b"\r\n\r\n")
        assert b"Content-Range: bytes %d-%d/3000000" % (first, last) in head
        same(data, whole[first:last + 1])


@test
def conditions():
    a = shared.ask("/small.txt")
    tag, date = a.fields["etag"], a.fields["last-modified"]
    old = "Sun, 06 Nov 1994 08:49:37 GMT"
    for fields, status in [("If-None-Match: %s" % tag, 304), ("If-None-Match: \"x\", W/%s" % tag, 304), ("If-None-Match: *", 304),
                           ("If-None-Match: \"x\"", 200), ("If-Modified-Since: %s" % date, 304), ("If-Modified-Since: %s" % old, 200),
                           ("If-None-Match: \"x\"\r\nIf-Modified-Since: %s" % date, 200), ("If-Match: %s" % tag, 200), ("If-Match: \"x\"", 412),
                           ("If-Unmodified-Since: %s" % old, 412), ("If-Unmodified-Since: %s" % date, 200),
                           ("Range: bytes=0-1\r\nIf-Range: %s" % tag, 206), ("Range: bytes=0-1\r\nIf-Range: \"x\"", 200),
                           ("Range: bytes=0-1\r\nIf-Range: %s" % date, 206), ("Range: bytes=0-1\r\nIf-Range: %s" % old, 200),
                           ("Range: bytes=0-1\r\nIf-Range: W/%s" % tag, 200), ("Range: bytes=0-1\r\nIf-None-Match: %s" % tag, 304)]:
        a = shared.ask("/small.txt", fields + "\r\n")
        same((fields, a.status), (fields, status))
        assert a.status != 304 or (a.fields["etag"] == tag and not a.body)


@test
def a_file_that_changes():
    path = os.path.join(ROOT, "changes.txt")
    for data in [b"first\n", b"second one\n", b"3\n"]:
        with open(path + ".new", "wb") as f:
            f.write(data)
        os.rename(path + ".new", path)
        assert wait_until(lambda: shared.ask("/changes.txt").body == data, 4)
    with open(path, "wb") as f:  # in place, and shorter: never a body that is not as long as announced
        f.write(b"")
    for _ in range(20):
        assert shared.ask("/changes.txt").body in (b"", b"3\n")
    os.remove(path)
    assert wait_until(lambda: shared.ask("/changes.txt").status == 404, 4)


# --- connections --------------------------------------------------------------------------------------------

@test
def keep_alive():
    with shared.client() as c:
        for i in range(20):
            c.send(GET % ("/small.txt" if i % 2 else "/big.bin", ""))
            same(len(c.answer().body), 1000 if i % 2 else 3000000)
        c.send("HEAD /big.bin HTTP/1.1\r\nHost: t\r\n\r\n" + GET % ("/nothing", "") + GET % ("/", ""))
        same(c.answer(head=True).status, 200)
        same(c.answer().status, 404)
        same(c.answer().body, b"<p>root\n")
        c.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        same(c.answer().fields["connection"], "keep-alive")
        c.send("GET / HTTP/1.0\r\n\r\n")
        same(c.answer().fields["connection"], "close")
        assert c.ended()


@test
def pipelined():
    with shared.client() as c:
        paths = ["/small.txt", "/k16.bin", "/k17.bin", "/", "/nothing"]
        sizes = [1000, 16384, 16385, 8, None]
        c.send("".join(GET % (paths[i % 5], "") for i in range(100)))
        for i in range(100):
            a = c.answer()
            assert sizes[i % 5] in (None, len(a.body)), i


@test
def split_at_every_byte():
    text = ("\r\n" + GET % ("/small.txt", "Range: bytes=0-3\r\n") + GET % ("/", "")).encode()
    with shared.client() as c:
        for i in range(len(text)):
            c.send(text[i:i + 1])
        same((c.answer().body, c.answer().body), (pattern(4), b"<p>root\n"))
        for i in range(1, len(text)):
            c.send(text[:i])
            time.sleep(0.0005)
            c.send(text[i:])
            same((c.answer().body, c.answer().body), (pattern(4), b"<p>root\n"))


@test
def long_heads_in_pieces():
    with shared.client() as c:
        for size in [900, 1000, 1024, 1025, 3000, 7900]:
            text = (GET % ("/", "A: %s\r\n" % ("a" * size))) * 3
            for i in range(0, len(text), 700):
                c.send(text[i:i + 700])
            for _ in range(3):
                same(c.answer().body, b"<p>root\n")


@test
def bodies_are_dropped():
    with shared.client() as c:
        for fields, body in [("Content-Length: 5\r\n", "hello"), ("Content-Length: 60000\r\n", "x" * 60000),
                             ("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\nT: v\r\n\r\n"),
                             ("Transfer-Encoding: chunked\r\n", "4000\r\n%s\r\n0\r\n\r\n" % ("y" * 0x4000))]:
            c.send(GET % ("/", fields) + body + GET % ("/small.txt", ""))
            same((c.answer().body, c.answer().body), (b"<p>root\n", pattern(1000)))
        c.send(GET % ("/", "Content-Length: 3\r\nExpect: 100-continue\r\n"))
        same(c.answer().status, 100)
        c.send("abc")
        same(c.answer().status, 200)
        c.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc" + GET % ("/", ""))
        same((c.answer().status, c.answer().status), (405, 200))
    for fields, body, status in [("Content-Length: 70000\r\n", "", 413), ("Transfer-Encoding: chunked\r\n", "FFFFFF\r\n", 413),
                                 ("Transfer-Encoding: chunked\r\n", "x\r\n", 400), ("Transfer-Encoding: gzip\r\n", "", 501)]:
        with shared.client() as c:
            c.send(GET % ("/", fields) + body)
            same(c.answer().status, status)
            assert c.ended()


@test
def an_error_reaches_who_is_still_sending():
    for _ in range(5):
        with shared.client() as c:
            c.send(GET % ("/", "Content-Length: 500000\r\n") + "x" * 500000)
            same(c.answer().status, 413)


@test
def clients_that_go_away():
    for _ in range(50):
        with shared.client() as c:
            c.send(GET % ("/big.bin", ""))
    for _ in range(50):
        with shared.client() as c:
            c.send("GET /sm")
    same(shared.ask("/").status, 200)


@test
def many_clients():
    n = 100 if SLOW else 1000
    clients = [shared.client() for _ in range(n)]
    for _ in range(3):
        for c in clients:
            c.send(GET % ("/small.txt", ""))
        for c in clients:
            same(c.answer().body, pattern(1000))
    for c in clients:
        c.close()


@test
def curl_agrees():
    url = shared.url
    def curl(*args):
        return subprocess.run(["curl", "-s", "--max-time", "20", *args], capture_output=True, check=True).stdout
    same(curl(url("/big.bin")), pattern(3000000))
    same(curl("-L", url("/full%20dir")), b"<p>full\n")
    same(curl("-r", "100-199", url("/big.bin")), pattern(3000000)[100:200])
    same(curl("-o", "/dev/null", "-w", "%{http_code} %{size_download}", "-I", url("/big.bin")), b"200 0")
    same(curl("--http1.0", url("/small.txt"), url("/")), pattern(1000) + b"<p>root\n")
    same(curl("-o", "/dev/null", "-w", "%{http_code}", "--path-as-is", url("/../outside/secret.txt")), b"400")
    same(curl("-o", "/dev/null", "-w", "%{http_code}", "-d", "a=b", url("/")), b"405")


# --- with settings of their own -------------------------------------------------------------------------------

@test
def time_outs():
    s = Server(PROGRAM, ROOT, "--slow", "1", "--idle", "2")
    silent, slow, idle, body, stuck, small = [s.client() for _ in range(6)]
    slow.send("GET / HTT")
    idle.send(GET % ("/", ""))
    same(idle.answer().status, 200)
    body.send(GET % ("/", "Content-Length: 10\r\n") + "abc")
    stuck.s.setsockopt(__import__("socket").SOL_SOCKET, __import__("socket").SO_RCVBUF, 4096)
    stuck.send((GET % ("/big.bin", "")) * 3)
    small.s.setblocking(False)  # answers that are small, and many, and nobody takes them
    try:
        for _ in range(1000):
            small.send((GET % ("/k16.bin", "")) * 100)
    except BlockingIOError:
        pass
    begun = time.monotonic()
    drip = s.client()  # a byte at a time does not get around it
    drip.send("GET / HTTP/1.1\r\n")
    ended = []
    def keep_dripping():
        try:
            while time.monotonic() - begun < 8:
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
    assert time.monotonic() - begun < 5
    assert idle.ended()
    assert 1 < time.monotonic() - begun < 7
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
    assert time.monotonic() - begun < 12
    s.end()


@test
def ends_gracefully():
    with open(os.path.join(ROOT, "huge.bin"), "wb") as f:
        f.write(pattern(1 << 20) * (10 if SLOW else 100))
    size = os.path.getsize(os.path.join(ROOT, "huge.bin"))
    s = Server(PROGRAM, ROOT, "--grace", "20")
    idle, loads, half = s.client(), s.client(), s.client()
    idle.send(GET % ("/", ""))
    same(idle.answer().status, 200)
    loads.send(GET % ("/huge.bin", ""))
    half.send("GET /small.txt HTTP/1.1\r\nHo")
    assert loads.more()
    time.sleep(0.2)
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
        assert time.monotonic() - begun < 8
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
    assert wait_until(lambda: b"<ul>" in s.ask("/").body, 4)
    a = s.ask("/")
    assert b"x&amp;y&lt;z&gt;.txt</a>" in a.body and b".dot" not in a.body and b'<a href="./sub/">sub/</a>' in a.body
    same(len(s.ask("/", method="HEAD").body), 0)
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
def options_that_make_no_sense():
    for args, said in [([], "which directory"), (["/not there"], "cannot serve"), ([ROOT, "--port", "x"], "--port wants"),
                       ([ROOT, "--port"], "wants a value"), ([ROOT, "--what"], "no such option"), ([ROOT, "--bind", "here"], "--bind wants"),
                       ([ROOT, ROOT], "one directory"), ([ROOT, "--log", "/not/there"], "log"), ([ROOT, "--port", str(shared.port)], "try another")]:
        r = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=20)
        assert r.returncode in (1, 2) and said in r.stderr and r.stderr.count("\n") == 1, (args, r.stderr)
    assert "--grace" in subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=20).stdout


def main():
    global shared
    wanted = sys.argv[2:]
    passed = failed = 0
    shared = Server(PROGRAM, ROOT)
    for t in tests + [the_server_ends]:
        if wanted and t.__name__ not in wanted and t is not the_server_ends:
            continue
        begun = time.monotonic()
        try:
            t()
            passed += 1
            verdict = "passed"
        except Exception:
            traceback.print_exc(file=sys.stdout)
            failed += 1
            verdict = "FAILED"
        print("  serve: %s %s (%.2f s)" % (t.__name__, verdict, time.monotonic() - begun), flush=True)
    remove_root(ROOT)
    print("serve: %d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


def the_server_ends():
    shared.end()


if __name__ == "__main__":
    sys.exit(main())
