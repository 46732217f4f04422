#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Authentication by a file of names and passwords (-Y)."""
import os, signal, subprocess, sys, time

from cases import DIR, command, main, test
from served import Server, kill_servers


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


sys.exit(main(after_each=kill_servers))
