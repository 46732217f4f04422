# SPDX-License-Identifier: MIT
"""A server of weft cached and its clients, for the scripts that test memcached's interface beside commands on items."""
import signal, socket, subprocess, tempfile, time

from cases import command

servers = []


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


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


def kill_servers():
    """Kills the servers of a case that has failed."""
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
    servers.clear()
