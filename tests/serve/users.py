# SPDX-License-Identifier: MIT
"""Rights of the server: it has none of root's, unless it is told to keep them. Only where the tests run as root."""
import os
import pwd
import socket
import subprocess

from client import Server, pattern
from suite import GET, PROGRAM, ROOT, same, test


def rights(pid):
    """User and group ids, groups and the right to get more, the same in all threads."""
    found = set()
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, thread)) as f:
            lines = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        found.add((tuple(lines["Uid"].split()), tuple(lines["Gid"].split()), tuple(sorted(lines["Groups"].split())),
                   lines["NoNewPrivs"], int(lines["CapPrm"], 16) == 0))
    assert len(found) == 1, found
    return found.pop()


def expected(name):
    user = pwd.getpwnam(name)
    groups = tuple(sorted(map(str, os.getgrouplist(name, user.pw_gid))))
    return ((str(user.pw_uid),) * 4, (str(user.pw_gid),) * 4, groups, "1", True)


def as_root(f):
    return test(f) if os.geteuid() == 0 else f


def open_to_all():
    for at in os.path.dirname(ROOT), ROOT:
        os.chmod(at, 0o755)
    with open(os.path.join(ROOT, "roots.txt"), "wb") as f:
        f.write(b"root's\n")
    os.chmod(os.path.join(ROOT, "roots.txt"), 0o600)


@as_root
def root_is_given_up():
    open_to_all()
    log = os.path.join(ROOT, "..", "roots.log")
    for user, name in (None, "nobody"), ("nobody", "nobody"), ("daemon", "daemon"), ("2", "bin"):
        s = Server(PROGRAM, ROOT, "--workers", "4", "--log", log, user=user)
        with s.client() as c:
            for _ in range(50):  # by then most workers have run
                c.send(GET % ("/small.txt", ""))
                same(c.answer().body, pattern(1000))
        same(s.ask("/roots.txt").status, 403)
        same(rights(s.process.pid), expected(name))
        s.end()
    with open(log) as f:
        same(f.read().count(" 403 "), 4)


@as_root
def root_is_kept_if_it_is_told_to():
    open_to_all()
    s = Server(PROGRAM, ROOT, user="root")
    same((s.ask("/roots.txt").body, rights(s.process.pid)[0]), (b"root's\n", ("0",) * 4))
    s.end()


@as_root
def a_port_of_roots():
    """The log is opened before the rights are dropped. All descriptors may be in use."""
    open_to_all()
    for port in range(1023, 900, -1):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        try:
            s = Server(PROGRAM, ROOT, "--port", str(port), user=None)
        except AssertionError as failed:
            if "already in use" not in str(failed):
                raise
            continue  # the same test of the other engine was faster
        same((s.port, s.ask("/small.txt").status), (port, 200))
        same(rights(s.process.pid), expected("nobody"))
        s.end()
        return


@as_root
def users_that_cannot_be():
    os.chmod(ROOT, 0o700)
    for args, said in (["--user", "no such user"], "there is no user"), ([], "may not enter it; see --user"):
        r = subprocess.run([PROGRAM, ROOT, "--port", "0", *args], capture_output=True, text=True, timeout=20)
        assert r.returncode in (1, 2) and said in r.stderr and r.stderr.count("\n") == 1 and not r.stdout, (args, r)
    open_to_all()
    r = subprocess.run([PROGRAM, ROOT, "--port", "0", "--user", "root"], capture_output=True, text=True, timeout=20, user="nobody")
    assert r.returncode == 2 and "only root can become" in r.stderr, r
