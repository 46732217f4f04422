#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""weft serve beside nginx over TLS: tls.py [--weft PROGRAM] [--rounds N] [--seconds S] [ROW...]

Each server has one processor and one worker, the client has another processor. Both have the same certificate, TLS 1.3
and the same files. Rounds are interleaved; medians are printed, with the least and the most. Needs nginx, openssl and,
for its rows, wrk. Rows:

  handshakes        a connection with a whole handshake for each request of 1 KiB; ECDSA, P-256
  handshakes-rsa    the same; RSA of 2048 bits
  16k, 512k         keep-alive, 64 connections
  ...-wrk           the same by wrk, in place of weft load
  ...-s_time        handshakes by openssl s_time -new, one connection at a time
"""
import argparse
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROWS = ["handshakes", "handshakes-wrk", "handshakes-s_time", "handshakes-rsa", "16k", "16k-wrk", "512k", "512k-wrk"]
TICK = os.sysconf("SC_CLK_TCK")
NGINX = """
worker_processes 1; daemon off; pid {scratch}/pid; error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; keepalive_timeout 600s;
  open_file_cache max=1000 inactive=600s; open_file_cache_valid 600s; types {{ }}
  client_body_temp_path {scratch}/b; proxy_temp_path {scratch}/p; fastcgi_temp_path {scratch}/f;
  uwsgi_temp_path {scratch}/u; scgi_temp_path {scratch}/s;
  server {{
    listen 127.0.0.1:{port} ssl backlog=4096; root {scratch}/www;
    ssl_certificate {scratch}/{key}.pem; ssl_certificate_key {scratch}/{key}.key; ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_tickets on; ssl_conf_command Options KTLS;
  }}
}}
"""


def make_files(scratch):
    os.makedirs(scratch + "/www")
    for name, size in ("1k", 1024), ("16k", 16384), ("512k", 524288):
        with open(f"{scratch}/www/{name}", "wb") as file:
            file.write(os.urandom(size))
    for name, kind in ("ecdsa", ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]), ("rsa", ["rsa:2048"]):
        subprocess.run(["openssl", "req", "-x509", "-nodes", "-days", "30", "-newkey", *kind, "-keyout", f"{scratch}/{name}.key",
                        "-out", f"{scratch}/{name}.pem", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                       check=True, capture_output=True)
    subprocess.run(["chmod", "-R", "a+rX", scratch], check=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    def __init__(self, kind, key, scratch, weft):
        self.port = free_port()
        if kind == "nginx":
            path = f"{scratch}/nginx.conf"
            with open(path, "w", encoding="utf-8") as file:
                file.write(NGINX.format(scratch=scratch, port=self.port, key=key))
            command = [shutil.which("nginx") or "/usr/sbin/nginx", "-c", path]
        else:
            command = [weft, "serve", scratch + "/www", "--port", str(self.port), "--workers", "1", "--tls", f"{scratch}/{key}.pem",
                       f"{scratch}/{key}.key"]
        self.process = subprocess.Popen(["taskset", "-c", "0", *command], stdout=subprocess.DEVNULL)
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise SystemExit(f"{kind} does not listen")

    def cpu(self):
        """Seconds of the server: it and its children."""
        total, family = 0, [self.process.pid]
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        family += [int(pid) for pid in open(children, encoding="ascii").read().split()]
        for pid in family:
            fields = open(f"/proc/{pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        return total / TICK

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def client(row, port, scratch, seconds, weft):
    """Runs the client; returns requests, and seconds that it took."""
    name = "1k" if row.startswith("handshakes") else row.split("-")[0]
    url, once = f"https://127.0.0.1:{port}/{name}", row.startswith("handshakes")
    if row.endswith("s_time"):
        said = subprocess.run(["taskset", "-c", "1", "openssl", "s_time", "-connect", f"127.0.0.1:{port}", "-new", "-tls1_3", "-www", "/1k", "-time",
                               str(max(1, round(seconds)))], capture_output=True, text=True, check=True).stdout
        number, elapsed = re.search(r"(\d+) connections in (\d+) real seconds", said).groups()
        return int(number), int(elapsed)
    if row.endswith("wrk"):
        close = ["-H", "Connection: close"] if once else []
        said = subprocess.run(["taskset", "-c", "1", "wrk", "-t1", "-c64", f"-d{max(1, round(seconds))}s", *close, url],
                              capture_output=True, text=True, check=True).stdout
        number, elapsed = re.search(r"(\d+) requests in ([\d.]+)s", said).groups()
        return int(number), float(elapsed)
    once = ["--one-request"] if once else []
    said = subprocess.run(["taskset", "-c", "1", weft, "load", "http", "--insecure", "--json", "--warm-up", "0", "--duration", str(seconds),
                           "--connections", "64", *once, url], capture_output=True, text=True, check=True).stdout
    told = json.loads(said)
    return told["requests"], told["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default="build/weft")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("rows", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        make_files(scratch)
        print("| row | requests a second, weft / nginx | CPU us a request, weft / nginx |\n|---|---|---|")
        for row in args.rows or ROWS:
            key = "rsa" if "rsa" in row else "ecdsa"
            servers = {kind: Server(kind, key, scratch, args.weft) for kind in ("weft", "nginx")}
            rates, costs = {"weft": [], "nginx": []}, {"weft": [], "nginx": []}
            for round_number in range(args.rounds + 1):
                for kind, server in servers.items():
                    before = server.cpu()
                    number, elapsed = client(row, server.port, scratch, args.seconds, args.weft)
                    if round_number:  # the first warms up
                        rates[kind].append(number / elapsed)
                        costs[kind].append((server.cpu() - before) / number * 1e6)
            for server in servers.values():
                server.stop()
            print("| " + row + " | " + " | ".join(compared(values) for values in (rates, costs)) + " |", flush=True)


def compared(values):
    weft, nginx = (statistics.median(values[kind]) for kind in ("weft", "nginx"))
    spread = "; ".join(f"{min(values[kind]):.0f} to {max(values[kind]):.0f}" for kind in ("weft", "nginx"))
    return f"{weft:.0f} / {nginx:.0f} = {weft / nginx:.2f} ({spread})"


if __name__ == "__main__":
    sys.exit(main())
