#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Libraries that block, called from fibers, against real servers: servers.py BUILD [brief].

Starts Redis, PostgreSQL, nginx and weft serve, each on a port of its own, and runs the programs of examples/posix with
them on one and two workers and on both engines. In brief: fewer fibers, two workers, and programs whose servers are not
installed are left out. Otherwise a missing server or program is a failure.
"""
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BUILD = sys.argv[1]
BRIEF = "brief" in sys.argv[2:]
FIBERS = 60 if BRIEF else 400
LIMIT = 120
passed = failed = 0
servers = []


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(command, port, **keys):
    """Starts a server, and waits until it accepts connections."""
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, **keys)
    servers.append(p)
    for _ in range(600):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return port
        if p.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"{command[0]} does not answer")


def stop_all():
    for p in reversed(servers):
        try:
            os.killpg(p.pid, signal.SIGTERM)
            p.wait(20)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            p.kill()


def tool(name, *places):
    return shutil.which(name) or next((p for p in places if os.path.exists(p)), None)


def note(title, complaint):
    global passed, failed
    if complaint:
        failed += 1
        print(f"FAILED: {title}: {complaint}", flush=True)
    else:
        passed += 1


def run(name, arguments, expect="done", **environment):
    """Runs the program on each number of workers and each engine."""
    program = f"{BUILD}/examples/posix/posix_{name}"
    if not os.path.exists(program):
        if not BRIEF:
            note(name, "was not built")
        return
    for workers, engine in [(2, "")] if BRIEF else [(1, ""), (2, ""), (8, ""), (2, "epoll")]:
        env = {**os.environ, "WEFT_WORKERS": str(workers), "WEFT_IO": engine, **environment}
        if not engine:
            del env["WEFT_IO"]
        title = f"{name} {' '.join(arguments)}, {workers} workers{engine and ', ' + engine}"
        try:
            r = subprocess.run([program, *arguments], env=env, capture_output=True, text=True, timeout=LIMIT)
            said = (r.stdout + r.stderr).strip()
            note(title, None if r.returncode == 0 and expect in said else f"{r.returncode}: {said[-500:]}")
            print(f"{title}: {said[-200:]}", flush=True)
        except subprocess.TimeoutExpired:
            note(title, "did not end")


def have(what, found):
    if not found and not BRIEF:
        note(what, "is not installed")
    return found


def redis(work):
    server = have("redis-server", tool("redis-server"))
    if server:
        port = free_port()
        start([server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", work], port)
        run("redis", ["127.0.0.1", str(port), str(FIBERS)])


def postgres(work):
    places = sorted(f"/usr/lib/postgresql/{v}/bin" for v in os.listdir("/usr/lib/postgresql")) \
        if os.path.isdir("/usr/lib/postgresql") else []
    if not have("PostgreSQL", places):
        return
    keys = {}
    data = f"{work}/postgres"
    os.mkdir(data, 0o700)
    if os.getuid() == 0:  # which PostgreSQL refuses
        user = pwd.getpwnam("postgres")
        os.chown(data, user.pw_uid, user.pw_gid)
        keys = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    subprocess.run([f"{places[-1]}/initdb", "-D", data, "-A", "trust", "-U", "weft", "-N"], check=True, cwd="/",
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **keys)
    port = free_port()
    start([f"{places[-1]}/postgres", "-D", data, "-p", str(port), "-k", data, "-c", "fsync=off", "-c",
           "listen_addresses=127.0.0.1", "-c", "max_connections=500"], port, cwd="/", **keys)
    run("postgres", [f"host=127.0.0.1 port={port} user=weft dbname=postgres", str(FIBERS // 2)])
    run("postgres", [f"host={data} port={port} user=weft dbname=postgres", str(FIBERS // 2)])


def certificate(work):
    if not have("openssl", tool("openssl")):
        return None
    pair = f"{work}/certificate.pem", f"{work}/key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=localhost", "-out", pair[0], "-keyout", pair[1]], check=True,
                   stderr=subprocess.DEVNULL)
    return pair


def nginx(work, pair):
    program = have("nginx", tool("nginx", "/usr/sbin/nginx"))
    if not program:
        return
    port, secure = free_port(), free_port()
    user = "user root;" if os.getuid() == 0 else ""
    tls = pair and f"""server {{ listen 127.0.0.1:{secure} ssl; root {work}/pages; ssl_certificate {pair[0]};
        ssl_certificate_key {pair[1]}; }}"""
    with open(f"{work}/nginx.conf", "w", encoding="ascii") as f:
        f.write(f"""daemon off; {user} pid {work}/nginx.pid; error_log {work}/nginx.log; worker_processes 1;
            events {{ worker_connections 2000; }}
            http {{ access_log off; client_body_temp_path {work}; proxy_temp_path {work}; fastcgi_temp_path {work};
            uwsgi_temp_path {work}; scgi_temp_path {work};
            server {{ listen 127.0.0.1:{port}; root {work}/pages; }} {tls or ''} }}""")
    start([program, "-p", work, "-c", f"{work}/nginx.conf"], port)
    run("curl", [f"http://localhost:{port}/index.html", str(FIBERS)])
    if pair:
        run("curl", [f"https://localhost:{secure}/index.html", str(FIBERS // 4)])


def serve(work):
    program = f"{BUILD}/tools/weft"
    if os.path.exists(program):
        port = free_port()
        start([program, "serve", "--port", str(port), f"{work}/pages"], port)
        run("curl", [f"http://127.0.0.1:{port}/index.html", str(FIBERS)])


def dead_server():
    """Fibers that ask a server which never answers wait, and a heartbeat beside them goes on until a deadline."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen(500)
        run("dead", ["127.0.0.1", str(s.getsockname()[1]), str(FIBERS)])


def main():
    work = tempfile.mkdtemp(prefix="weft-posix-")
    os.chmod(work, 0o755)
    os.mkdir(f"{work}/pages")
    with open(f"{work}/pages/index.html", "w", encoding="ascii") as f:
        f.write("hello\n" * 3000)
    try:
        run("resolve", ["localhost", str(FIBERS)])
        run("zlib", [str(FIBERS // 4)])
        run("sqlite", [f"{work}/database", str(FIBERS // 10)])
        pair = certificate(work)
        if pair:
            run("openssl", [*pair, str(FIBERS // 2)])
        dead_server()
        redis(work)
        serve(work)
        nginx(work, pair)
        postgres(work)
    finally:
        stop_all()
        shutil.rmtree(work, ignore_errors=True)
    print(f"posix servers: {passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
