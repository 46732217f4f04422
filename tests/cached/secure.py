#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""weft cached by TLS: secure.py BUILD_DIR [NAME...]."""
import os, signal, socket, ssl, subprocess, sys, time

from cases import DIR, SERVER, main, test


def make(name, host="localhost"):
    crt, key = os.path.join(DIR, name + ".crt"), os.path.join(DIR, name + ".key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                    key + ".new", "-out", crt + ".new", "-days", "30", "-subj", "/CN=" + name, "-addext", "subjectAltName=DNS:" + host],
                   check=True, stderr=subprocess.DEVNULL)
    os.rename(key + ".new", key)
    os.rename(crt + ".new", crt)
    return crt, key


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class Server:
    def __init__(self, *options, listen="127.0.0.1"):
        self.crt, self.key = make("server")
        self.port = free_port()
        user = ["-u", "root"] if os.geteuid() == 0 else []
        self.process = subprocess.Popen([SERVER, "-l", listen, "-p", str(self.port), *user, "-Z", "-o",
                                         "ssl_chain_cert=%s,ssl_key=%s" % (self.crt, self.key), *options], stderr=subprocess.PIPE)
        for _ in range(1000):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            except OSError:
                time.sleep(0.01)

    def connect(self, trusts=None, certificate=None, session=None, context=None):
        context = context or ssl.create_default_context(cafile=trusts or self.crt)
        if certificate:
            context.load_cert_chain(*certificate)
        s = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        return context.wrap_socket(s, server_hostname="localhost", session=session)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0, "status"


def ask(s, text, end=b"\r\n"):
    s.sendall(text)
    got = b""
    while not got.endswith(end):
        more = s.recv(1 << 16)
        assert more, got[:200]
        got += more
    return got


@test
def values_come_back():
    server = Server()
    with server.connect() as s:
        for size in (1, 1000, 1400, 16384, 100000, 900000):
            value = os.urandom(size)
            assert ask(s, b"set k 7 0 %d\r\n%s\r\n" % (size, value)) == b"STORED\r\n"
            assert ask(s, b"get k\r\n", b"END\r\n") == b"VALUE k 7 %d\r\n%s\r\nEND\r\n" % (size, value)
        assert ask(s, b"set n 0 0 1\r\n0\r\n" * 1 + b"incr n 1\r\n" * 2000, b"2000\r\n").count(b"\r\n") == 2001
        with server.connect() as watcher:
            assert ask(watcher, b"watch fetchers\r\n") == b"OK\r\n"
            ask(s, b"get n\r\n", b"END\r\n")
            assert b"item_get key=n" in watcher.recv(1000)
    server.end()


@test
def what_it_says_of_itself():
    server = Server("-o", "ssl_session_cache,ssl_min_version=tlsv1.3")
    with server.connect() as s:
        settings = ask(s, b"stats settings\r\n", b"END\r\n")
        assert b"STAT ssl_enabled yes" in settings and b"STAT ssl_min_version tlsv1.3" in settings, settings
        stats = ask(s, b"stats\r\n", b"END\r\n")
        assert b"STAT ssl_new_sessions 1\r\n" in stats and b"STAT time_since_server_cert_refresh" in stats, stats
        again = s.session
    context = s.context
    with server.connect(context=context, session=again) as s:
        assert s.session_reused and b"STAT ssl_resumed_sessions 1\r\n" in ask(s, b"stats\r\n", b"END\r\n")
    old = ssl.create_default_context(cafile=server.crt)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    try:
        server.connect(context=old)
        raise AssertionError("an old version was accepted")
    except ssl.SSLError:
        pass
    server.end()


@test
def certificates_are_refreshed():
    server = Server()
    with server.connect() as s:
        make("server")
        assert ask(s, b"refresh_certs\r\n") == b"OK\r\n"
        server.connect().close()
        with open(server.crt, "w") as f:
            f.write("nothing")
        assert ask(s, b"refresh_certs\r\n").startswith(b"Error ")
        assert ask(s, b"version\r\n").startswith(b"VERSION ")
    server.end()


@test
def clients_are_checked():
    known, unknown = make("known"), make("unknown")
    server = Server("-o", "ssl_verify_mode=2,ssl_ca_cert=%s" % known[0])
    with server.connect(certificate=known) as s:
        assert ask(s, b"version\r\n").startswith(b"VERSION ")
    for certificate in (None, unknown):
        try:
            with server.connect(certificate=certificate) as s:
                ask(s, b"version\r\n")
            raise AssertionError("it was let in")
        except (ssl.SSLError, ConnectionError):
            pass
    server.end()


@test
def some_ports_are_plain():
    plain = free_port()
    server = Server(listen="127.0.0.1,notls:127.0.0.1:%d" % plain)
    with socket.create_connection(("127.0.0.1", plain)) as s, server.connect() as t:
        assert ask(s, b"set a 0 0 1\r\nx\r\n") == b"STORED\r\n"
        assert ask(t, b"get a\r\n", b"END\r\n") == b"VALUE a 0 1\r\nx\r\nEND\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        s.sendall(b"version\r\n")
        assert b"VERSION" not in s.recv(1000)
    server.end()


@test
def ends_and_half_handshakes():
    server = Server()
    half = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
    for s in half:
        s.sendall(b"\x16\x03\x01")
    with server.connect() as s:
        s.suppress_ragged_eofs = False
        s.sendall(b"quit\r\n")
        assert s.recv(1) == b""
    server.end()  # does not wait for the handshakes


@test
def arguments():
    crt, key = make("a")
    other = make("b")[1]
    for options, said in ((["-Z"], b"ssl_chain_cert"), (["-Z", "-o", "ssl_chain_cert=/nowhere"], b"No such file"),
                          (["-Z", "-o", "ssl_chain_cert=%s,ssl_key=%s" % (crt, other)], b"mismatch"),
                          (["-o", "ssl_min_version=tlsv1.0"], b"not safe"), (["-o", "ssl_verify_mode=4"], b"from 0 to 3"),
                          (["-Z", "-U", "11211", "-o", "ssl_chain_cert=%s,ssl_key=%s" % (crt, key)], b"UDP")):
        p = subprocess.run([SERVER, "-p", "0", "-u", "root", *options], stderr=subprocess.PIPE, timeout=60)
        assert p.returncode and said in p.stderr, (options, p.stderr)


sys.exit(main())
