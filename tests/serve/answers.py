# SPDX-License-Identifier: MIT
"""Answers: files, statuses, paths, ranges, conditions."""
import os

from client import pattern, wait_until
from suite import ROOT, same, shared, test


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
                         ("GET / HTTP/1.1\r\nHost: a b/c\r\n\r\n", 400),
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
    assert wait_until(lambda: shared.ask("/turns").status == 404)
    os.remove(link)


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
                           ("If-None-Match: \"x\"\r\nIf-None-Match: %s" % tag, 304), ("If-Match: \"x\"\r\nIf-Match: %s" % tag, 200),
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
        assert wait_until(lambda: shared.ask("/changes.txt").body == data)
    with open(path, "wb") as f:  # overwritten in place, and shorter: the body must never be shorter than announced
        f.write(b"")
    for _ in range(20):
        assert shared.ask("/changes.txt").body in (b"", b"3\n")
    os.remove(path)
    assert wait_until(lambda: shared.ask("/changes.txt").status == 404)
