# SPDX-License-Identifier: MIT
"""TLS: what curl, openssl s_client and Python's own client get, which clients the server turns away, and which may not hold a connection."""
import atexit
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading

from client import Client, Server, pattern, wait_until
from load import BRIEF, TOOL, load
from suite import GET, PROGRAM, ROOT, SLOW, same, test

FILES = tempfile.mkdtemp(prefix="weft-tls-")
atexit.register(shutil.rmtree, FILES, ignore_errors=True)
BUILT = b"built without OpenSSL" not in subprocess.run(
    [PROGRAM, ROOT, "--port", "0", "--tls", "/nowhere", "/nowhere"], stderr=subprocess.PIPE, timeout=60).stderr and \
    shutil.which("openssl") is not None


def secure_test(f):
    return test(f) if BUILT else f


def make(name, hosts, kind=("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"), days="30"):
    """A self-signed certificate; the client trusts its file."""
    crt, key = os.path.join(FILES, name + ".crt"), os.path.join(FILES, name + ".key")
    names = ",".join(("IP:" if h[0].isdigit() else "DNS:") + h for h in hosts)
    subprocess.run(["openssl", "req", "-x509", "-newkey", *kind, "-nodes", "-keyout", key + ".new", "-out", crt + ".new",
                    "-days", days, "-subj", "/CN=" + name, "-addext", "subjectAltName=" + names],
                   check=True, stderr=subprocess.DEVNULL)
    os.chmod(key + ".new", 0o644)
    os.rename(key + ".new", key)
    os.rename(crt + ".new", crt)
    return crt, key


class SecureServer(Server):
    def __init__(self, *options, pairs=None):
        self.pairs = pairs or [make("a", ["localhost", "127.0.0.1", "a.test"])]
        super().__init__(PROGRAM, ROOT, *[o for p in self.pairs for o in ("--tls", *p)], *options)

    def context(self, **how):
        context = ssl.create_default_context(cafile=how.pop("trusts", self.pairs[0][0]))
        for name, value in how.items():
            setattr(context, name, value)
        return context

    def secure_client(self, context=None, host="localhost", session=None):
        c = Client(self.port)
        c.s = (context or self.context()).wrap_socket(c.s, server_hostname=host, session=session)
        return c

    def get(self, path="/small.txt", **how):
        with self.secure_client(**how) as c:
            c.send(GET % (path, ""))
            return c.answer()

    def get_or_none(self):
        try:
            return self.get()
        except ssl.SSLError:
            return None

    def s_client(self, *options, text=b""):
        p = subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % self.port, "-CAfile", self.pairs[0][0], *options],
                           input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        return p.stdout.decode("latin-1")


@secure_test
def tls_answers_are_the_same():
    server = SecureServer()
    for path, size in (("/small.txt", 1000), ("/k16.bin", 16384), ("/k17.bin", 16385), ("/big.bin", 3000000)):
        same(server.get(path).body, pattern(size))
    with server.secure_client() as c:  # several requests on one connection
        c.send((GET % ("/small.txt", "")) * 50 + GET % ("/big.bin", "Range: bytes=1000-299999\r\n") + GET % ("/nothing", ""))
        for _ in range(50):
            same(c.answer().body, pattern(1000))
        same(c.answer().body, pattern(3000000)[1000:300000])
        same(c.answer().status, 404)
    server.end()


@secure_test
def tls_by_curl():
    server = SecureServer()
    for options in (["--tlsv1.3"], ["--tlsv1.2", "--tls-max", "1.2"]):
        p = subprocess.run(["curl", "-s", "--cacert", server.pairs[0][0], *options, "-o", "/dev/null", "-o", "/dev/null",
                            "-w", "%{http_code} %{num_connects} %{size_download}\n", "https://localhost:%d/big.bin" % server.port,
                            "https://localhost:%d/k16.bin" % server.port], stdout=subprocess.PIPE, timeout=60, text=True)
        same(p.stdout.split(), ["200", "1", "3000000", "200", "0", "16384"])
    same(subprocess.run(["curl", "-s", "https://localhost:%d/" % server.port], timeout=60).returncode, 60)
    same(subprocess.run(["curl", "-s", "-o", "/dev/null", "-k", "https://localhost:%d/" % server.port], timeout=60).returncode, 0)
    wrong = subprocess.run(["curl", "-s", "--cacert", server.pairs[0][0], "--resolve", "b.test:%d:127.0.0.1" % server.port,
                            "https://b.test:%d/" % server.port], timeout=60)
    same(wrong.returncode, 60)
    server.end()


@secure_test
def tls_versions_ciphers_and_protocols():
    server = SecureServer()
    for old in ("-tls1", "-tls1_1"):
        said = server.s_client(old, "-cipher", "ALL:@SECLEVEL=0")
        assert "alert protocol version" in said or "no protocols available" in said, said
    for weak in ("AES128-SHA", "AES256-GCM-SHA384", "ECDHE-ECDSA-AES256-SHA", "DES-CBC3-SHA", "NULL", "aNULL", "RC4"):
        said = server.s_client("-tls1_2", "-cipher", weak + ":@SECLEVEL=0")
        assert "alert handshake failure" in said or "no cipher match" in said, said
    said = server.s_client("-tls1_2", "-alpn", "h2,http/1.1")
    assert "ALPN protocol: http/1.1" in said and re.search(r"Cipher is ECDHE-ECDSA-\S*(GCM|POLY1305)", said), said
    assert "Secure Renegotiation IS supported" in said and "Compression: NONE" in said, said
    assert "alert no application protocol" in server.s_client("-alpn", "h2"), "h2 is not spoken"
    assert "Verify return code: 0 (ok)" in server.s_client("-tls1_3")
    said = server.s_client("-tls1_2", text=b"R\n")  # requests a renegotiation
    assert "no renegotiation" in said, said
    server.end()


@secure_test
def tls_sessions_are_resumed():
    server = SecureServer()
    for version in ("-tls1_2", "-tls1_3"):
        kept = os.path.join(FILES, "session")
        # -ign_eof: the ticket comes behind the handshake, so it waits until the server has answered and closed.
        text = b"GET /small.txt HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"
        said = server.s_client(version, "-ign_eof", "-sess_out", kept, text=text)
        assert "New, TLSv" in said, said
        server.signal(signal.SIGHUP)  # tickets stay valid
        assert "Reused, TLSv" in server.s_client(version, "-ign_eof", "-sess_in", kept, text=text)
    server.end(says="new certificates are in use")


@secure_test
def tls_certificates_by_name():
    pairs = [make("one", ["one.test"]), make("two", ["two.test", "*.two.test"], kind=("rsa:2048",))]
    server = SecureServer(pairs=pairs)
    for host, name in (("one.test", "one"), ("two.test", "two"), ("x.two.test", "two"), ("other.test", "one")):
        assert "subject=CN = " + name in server.s_client("-servername", host), host
    same(server.get(host="x.two.test", context=server.context(trusts=pairs[1][0])).status, 200)
    server.end()


@secure_test
def tls_certificates_are_read_anew():
    server = SecureServer()
    before = server.secure_client()
    stop = threading.Event()
    failed = []

    def ask_on():
        lax = server.context(check_hostname=False, verify_mode=ssl.CERT_NONE)
        while not stop.is_set():
            try:
                assert server.get(context=lax).body == pattern(1000)
            except Exception as e:
                failed.append(e)

    askers = [threading.Thread(target=ask_on) for _ in range(4)]
    for t in askers:
        t.start()
    for i in range(3 if SLOW else 10):
        make("a", ["localhost", "a.test"])
        server.signal(signal.SIGHUP)
        assert wait_until(lambda: server.get_or_none()), "the new certificate is not used"
    with open(server.pairs[0][0], "w") as f:
        f.write("nothing")
    server.signal(signal.SIGHUP)
    stop.set()
    for t in askers:
        t.join()
    assert not failed, failed[:3]
    lax = server.context(trusts=None, check_hostname=False, verify_mode=ssl.CERT_NONE)
    same(server.get(context=lax).status, 200)
    before.send(GET % ("/small.txt", ""))  # a connection continues with its old certificate
    same(before.answer().status, 200)
    before.close()
    server.end(says="the certificates stay as they were")


@secure_test
def tls_files_that_cannot_be_used():
    crt, key = make("a", ["a.test"])
    other = make("b", ["b.test"])[1]
    for arguments, said in (((crt, other), "key values mismatch"), (("/nowhere", key), "No such file"), ((key, key), "a.key"),
                            ((crt,), "--tls wants two files"), ((crt, "--list"), "--tls wants two files")):
        p = subprocess.run([PROGRAM, ROOT, "--port", "0", "--tls", *arguments], stderr=subprocess.PIPE, timeout=60, text=True)
        assert p.returncode and said in p.stderr, (arguments, p.stderr)


@secure_test
def tls_ends_are_said():
    server = SecureServer()
    with server.secure_client() as c:
        c.s.suppress_ragged_eofs = False
        c.send("GET /big.bin HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
        same(len(c.answer().body), 3000000)
        same(c.s.recv(1), b"")  # otherwise an exception: the end was not announced
    idle = server.secure_client()
    idle.s.suppress_ragged_eofs = False
    server.signal()
    same(idle.s.recv(1), b"")
    server.end()


def hello():
    """The first bytes of a client's handshake."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


@secure_test
def tls_half_handshakes_hold_no_place():
    server = SecureServer("--slow", "1", "--idle", "60")
    text = hello()
    clients = [server.client() for _ in range(20)]
    for i, c in enumerate(clients):
        c.send(text[:i * len(text) // 19])
    established = server.secure_client()
    for c in clients:  # after a second, not after sixty
        c.s.settimeout(20)
        try:
            while c.s.recv(65536):
                pass
        except ConnectionResetError:
            pass
        c.close()
    established.send(GET % ("/small.txt", ""))
    same(established.answer().status, 200)
    established.close()
    server.end()


@secure_test
def tls_clients_that_vanish():
    server = SecureServer()
    text = hello()
    for i in range(0, len(text), 40):
        with server.client() as c:
            c.send(text[:i])
            if i % 80:
                c.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    for junk in (b"GET / HTTP/1.1\r\nHost: t\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"x" * 70000, os.urandom(300)):
        with server.client() as c:
            try:
                c.send(junk)
                while c.s.recv(65536):
                    pass
            except (ConnectionResetError, BrokenPipeError):
                pass
    for _ in range(20):  # in the middle of an answer
        c = server.secure_client()
        c.send(GET % ("/big.bin", ""))
        c.s.recv(1000)
        c.close()
    same(server.get().status, 200)
    server.end()


@secure_test
def tls_places_are_taken_from_the_idle():
    server = SecureServer("--idle", "60")
    server.end()
    server = Server(PROGRAM, ROOT, "--tls", *server.pairs[0], descriptors=100)
    halves = [server.client() for _ in range(80)]
    for c in halves:
        c.send(b"\x16\x03\x01")
    context = ssl.create_default_context(cafile=os.path.join(FILES, "a.crt"))
    c = Client(server.port)
    c.s = context.wrap_socket(c.s, server_hostname="localhost")
    c.send(GET % ("/small.txt", ""))
    same(c.answer().status, 200)
    c.close()
    for h in halves:
        h.close()
    server.end()


@secure_test
def tls_load():
    if not os.access(TOOL, os.X_OK):
        return
    server = SecureServer()
    address = "https://localhost:%d/k17.bin" % server.port
    ca = ["--ca", server.pairs[0][0]]
    for more in (ca, ["-k"], [*ca, "--one-request"], [*ca, "--one-request", "--resume"], [*ca, "--depth=4"]):
        r = load("http", *BRIEF, *more, "--json", address)
        same((r.returncode, json.loads(r.stdout)["errors"]), (0, 0))
    for command in (["https", address], ["https", address[len("https://"):]], [address]):
        same(load(*command, *BRIEF, *ca).returncode, 0)
    for more, said in (([], "self-signed"), (["--ca", "/nowhere"], "No such file"), (["--ca", make("b", ["b.test"])[0]], "self-signed")):
        r = load("http", *BRIEF, *more, address)
        assert r.returncode == 1 and said in r.stderr, r.stderr
    r = load("http", *BRIEF, *ca, "https://127.0.0.2:%d/" % server.port)
    assert r.returncode == 1, r.stderr
    server.end()


CHROMIUM = shutil.which("chromium")


@secure_test
def tls_by_chromium():
    if not CHROMIUM:
        print("  serve: chromium is not installed (make soak installs it): left out")
        return
    server = SecureServer()
    with open(os.path.join(ROOT, "page.html"), "w") as f:
        f.write('<p id="x">before</p><script src="page.js"></script>')
    with open(os.path.join(ROOT, "page.js"), "w") as f:
        f.write('document.getElementById("x").textContent = "ran by " + location.protocol')
    key = subprocess.run(["sh", "-c", "openssl x509 -in '%s' -pubkey -noout | openssl pkey -pubin -outform der | "
                          "openssl dgst -sha256 -binary | base64" % server.pairs[0][0]], stdout=subprocess.PIPE, text=True).stdout
    p = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + os.path.join(FILES, "profile"),
                        "--ignore-certificate-errors-spki-list=" + key.strip(), "--dump-dom", "https://localhost:%d/page.html" % server.port],
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=200, text=True)
    assert "ran by https:" in p.stdout, p.stdout
    server.end()
