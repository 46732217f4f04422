#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What clients say and are answered, beside memcached itself.

    protocol.py SERVER... [--record] [--random N] [--seed S]
    protocol.py --corpus DIR

SERVER is the command that starts `weft cached`. Each stream of streams.txt is sent to a fresh server, and its answers
compared with the recorded answers; if memcached is installed, with its, too. Then N random streams go to both.
--record writes memcached's answers into streams.txt, --corpus what is said into files. Ends in "N passed, N failed".
"""
import os, random, re, shutil, signal, socket, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
STREAMS = os.path.join(HERE, "streams.txt")
PEER = shutil.which("memcached")
AS_ROOT = ["-u", "root"] if os.geteuid() == 0 else []  # else they refuse to run
PEER_COMMAND = [PEER, *AS_ROOT]
PEER_VERSION = "1.6.18"  # other versions word some answers differently


class Server:
    """A process that listens on its own UNIX socket."""

    def __init__(self, command, options=()):
        self.dir = tempfile.mkdtemp()
        self.path = os.path.join(self.dir, "s")
        self.process = subprocess.Popen(command + ["-s", self.path, "-U", "0", "-t", "1", *options])
        for _ in range(2000):
            try:
                self.connect().close()
                return
            except OSError:
                time.sleep(0.005)
        self.process.kill()
        raise SystemExit("%s: does not listen" % command[0])

    def connect(self):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(60)
        s.connect(self.path)
        return s

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        shutil.rmtree(self.dir)
        return status


def read_answer(s):
    parts = []
    while True:
        try:
            part = s.recv(1 << 20)
        except ConnectionResetError:
            break  # the server closed before it had read everything
        except socket.timeout:
            parts.append(b"<no answer>")
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


def say(s, phase):
    try:
        s.sendall(phase)
        s.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def ask(server, phases):
    """One connection for each phase: sends everything, then the end; a number is a pause."""
    answer = b""
    for phase in phases:
        if isinstance(phase, float):
            time.sleep(phase)
            continue
        with server.connect() as s:
            sender = threading.Thread(target=say, args=(s, phase))
            sender.start()
            answer += read_answer(s)
            sender.join()
    return plain(answer)


def plain(answer):
    """Removes what differs between implementations."""
    return re.sub(rb"(ME [^\r]*) cls=\d+ size=\d+", rb"\1", answer)


def unescape(text):
    text = re.sub(r"\\\*(\d+)(.)", lambda m: m.group(2) * int(m.group(1)), text)
    return text.encode("latin1").decode("unicode_escape").encode("latin1")


def escape(answer):
    text = answer.decode("latin1").encode("unicode_escape").decode("ascii")
    return re.sub(r"(.)\1{63,}", lambda m: "\\*%d%s" % (len(m.group(0)), m.group(1)), text)


def read_streams():
    """name, phases, recorded answer; see the head of streams.txt."""
    streams, head = [], []
    for line in open(STREAMS):
        line = line.rstrip("\n")
        if line.startswith("= "):
            streams.append([line[2:], [], b""])
        elif not streams:
            head.append(line)
        elif line.startswith("> "):
            said = unescape(line[2:])
            phases = streams[-1][1]
            if phases and isinstance(phases[-1], bytes):
                phases[-1] += said
            else:
                phases.append(said)
        elif line.startswith("~ "):
            streams[-1][1].append(float(line[2:]))
        elif line.startswith("< "):
            streams[-1][2] += unescape(line[2:])
    return head, streams


def record():
    head, streams = read_streams()
    out = head[:]
    source = open(STREAMS).read().split("\n= ")[1:]
    for (name, phases, _), text in zip(streams, source):
        server = Server(PEER_COMMAND)
        answer = ask(server, phases)
        server.end()
        out.append("= " + name)
        out += [l for l in text.split("\n")[1:] if l[:2] in ("> ", "~ ")]
        for line in re.findall(rb"[^\n]*\n|[^\n]+$", answer):
            out.append("< " + escape(line))
        out.append("")
    open(STREAMS, "w").write("\n".join(out).rstrip("\n") + "\n")


KEYS = [b"a", b"b", b"c", b"n", b"k" * 250, b"k" * 251, b"YQ==", b"key with", b"\x01\xff"]
FLAGS = "b c f h k l O P q s t u v I C F M J D N T R E S z".split()


def number(r):
    return r.choice([b"0", b"1", b"2", b"10", b"-1", b"-2", b"99", b"18446744073709551615", b"18446744073709551616",
                     b"4294967295", b"4294967296", b"2147483647", b"2147483648", b"x", b"1x", b"", b"+3", b" 4", b"1.5"])


def value(r):
    return r.choice([b"", b"1", b"41", b"abc", b"99", b"18446744073709551615", b"5 ", b" 7", b"-3", b"x\r\ny",
                     b"v" * r.randrange(300), b"w" * r.choice([1300, 4096, 4097, 16400, 40000])])


def meta_flag(r):
    f = r.choice(FLAGS).encode()
    if f in b"CRJDF":
        return f + number(r)
    if f in b"NT":
        return f + r.choice([b"0", b"1000", b"2592001", b"x", b"", b"18446744073709551616"])
    if f == b"M":
        return f + r.choice([b"", b"I", b"D", b"+", b"-", b"E", b"A", b"P", b"R", b"S", b"x", b"EE"])
    if f in b"OPL":
        return f + r.choice([b"", b"1", b"opaque", b"o" * 31, b"o" * 32])
    return f


def random_command(r):
    key = r.choice(KEYS[:5] if r.random() < 0.9 else KEYS)
    quiet = r.choice([b"", b"", b"", b" noreply"])
    kind = r.randrange(12)
    if kind < 3:
        name = r.choice([b"set", b"add", b"replace", b"append", b"prepend", b"cas", b"set", b"set"])
        v, size, flags, time_ = value(r), None, b"0", b"0"
        if r.random() < 0.2 or key not in KEYS[:5]:  # a value that is refused is a line: then a long one ends the connection, or does not
            v, flags, time_ = v[:300], number(r), r.choice([b"0", b"100", b"-1", b"x"])
            size = r.choice([None, b"-1", b"x", b"0", b"1"])
        size = size or b"%d" % len(v)
        cas = b" " + r.choice([b"1", b"2", b"3", b"9", number(r)]) if name == b"cas" else b""
        return b"%s %s %s %s %s%s%s\r\n%s\r\n" % (name, key, flags, time_, size, cas, quiet, v)
    if kind < 5:
        name = r.choice([b"get", b"gets", b"get", b"gat 0", b"gats 100", b"gat x"])
        return name + b" " + b" ".join(r.choice(KEYS[:5]) for _ in range(r.choice([1, 1, 1, 2, 5, 30]))) + b"\r\n"
    if kind == 5:
        return b"%s %s %s%s\r\n" % (r.choice([b"incr", b"decr"]), key, number(r), quiet)
    if kind == 6:
        return b"delete %s%s%s\r\n" % (key, r.choice([b"", b"", b" 0", b" 1"]), quiet)
    if kind == 7:
        return b"touch %s %s%s\r\n" % (key, r.choice([b"0", b"100", b"-1", b"x"]), quiet)
    if kind < 11:
        name = r.choice([b"mg", b"mg", b"ms", b"md", b"ma", b"me", b"mn"])
        flags = b"".join(b" " + meta_flag(r) for _ in range(r.choice([0, 1, 2, 3, 4, 22])))
        # Keys in base64 that memcached makes itself come back as they are: see docs/CACHED.md.
        if b" N" in flags: flags = flags.replace(b" b", b"")
        if name == b"ms":
            v = value(r)[:300]
            return b"ms %s %d%s\r\n%s\r\n" % (key, len(v), flags, v)
        return name + b" " + key + flags + b"\r\n"
    return r.choice([b"version\r\n", b"flush_all%s\r\n" % quiet, b"verbosity 0%s\r\n" % quiet, b"\r\n", b"nonsense\r\n",
                     b"get\r\n", b"set a\r\n", b"stats nothing\r\n", b"  get   a  \r\n", b"x\n",
                     b"get a\n", b"cache_memlimit 64\r\n", b"cache_memlimit 1\r\n", b"shutdown\r\n", b"mn\r\n"])


def difference(said, got, wanted):
    at = len(os.path.commonprefix([got, wanted]))
    begin = max(0, at - 200)
    said = re.sub(r"(.)\1{63,}", lambda m: "%s*%d" % (m.group(1), len(m.group(0))), repr(said))
    return "\n  said   %s\n  got    ...%r\n  wanted ...%r" % (said[:4000], got[begin:at + 200], wanted[begin:at + 200])


def random_streams(ours, peer, count, seed):
    failed = 0
    for n in range(count):
        r = random.Random(seed * 1000003 + n)
        commands = [random_command(r) for _ in range(r.randrange(1, 25))]
        stream = [b"flush_all\r\n" + b"".join(commands)]
        got, wanted = ask(ours, stream), ask(peer, stream)
        if got == wanted:
            continue
        failed += 1
        print("random stream %d of seed %d:" % (n, seed), difference(stream[0], got, wanted))
        if failed == 5:
            break
    return failed


def main():
    arguments = sys.argv[1:]
    def option(name, default):
        if name not in arguments:
            return default
        at = arguments.index(name)
        text = arguments[at + 1]
        del arguments[at:at + 2]
        return int(text)
    count, seed = option("--random", 150), option("--seed", 1)
    if "--record" in arguments:
        return record()
    if "--corpus" in arguments:
        for name, phases, _ in read_streams()[1]:
            with open(os.path.join(arguments[-1], name.replace(" ", "-")), "wb") as f:
                f.write(b"".join(p for p in phases if isinstance(p, bytes))[:4000])
        return 0
    peer = PEER and PEER_VERSION in subprocess.run([PEER, "-V"], stdout=subprocess.PIPE, text=True).stdout
    passed = failed = 0
    ours = arguments + AS_ROOT
    for name, phases, wanted in read_streams()[1]:
        server = Server(ours)
        got = ask(server, phases)
        status = server.end()
        if got == wanted and status == 0:
            passed += 1
            continue
        failed += 1
        print("%s: status %d" % (name, status), difference(phases, got, wanted))
    if peer:
        us, them = Server(ours), Server(PEER_COMMAND)
        wrong = random_streams(us, them, count, seed)
        passed, failed = passed + count - wrong, failed + wrong
        us.end(), them.end()
    else:
        print("memcached %s is not installed: no random streams" % PEER_VERSION)
    print("cached/protocol: %d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
