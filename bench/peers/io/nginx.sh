#!/bin/sh
# SPDX-License-Identifier: MIT
# nginx as a server of the benchmark: nginx.sh http port=N dir=DIR scratch=DIR connections=N files=N
# Files of DIR, with what makes it fastest for them; one worker. Called nginx-deferred it accepts a connection when its
# first bytes have come, as weft serve does.
set -eu
case $0 in *deferred) deferred=deferred ;; *) deferred= ;; esac
shift
for word; do
    case $word in
    port=*) port=${word#*=} ;;
    dir=*) dir=${word#*=} ;;
    scratch=*) scratch=${word#*=} ;;
    connections=*) connections=${word#*=} ;;
    files=*) files=${word#*=} ;;
    esac
done
mkdir -p "$scratch/logs"
cat >"$scratch/nginx.conf" <<END
daemon off;
user $(id -un);
worker_processes 1;
worker_rlimit_nofile $((connections * 2 + 1000));
pid $scratch/nginx.pid;
error_log $scratch/error.log crit;
events {
    use epoll;
    multi_accept on;
    accept_mutex off;
    worker_connections $((connections * 2 + 500)); # it closes idle connections when few are left
}
http {
    access_log off;
    server_tokens off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_timeout 600s;
    keepalive_requests 1000000000;
    open_file_cache max=$files inactive=600s;
    open_file_cache_valid 600s;
    client_body_temp_path $scratch/body;
    proxy_temp_path $scratch/proxy;
    fastcgi_temp_path $scratch/fastcgi;
    uwsgi_temp_path $scratch/uwsgi;
    scgi_temp_path $scratch/scgi;
    server {
        listen 127.0.0.1:$port backlog=4096 $deferred;
        root $dir;
    }
}
END
exec "$(command -v nginx || echo /usr/sbin/nginx)" -p "$scratch" -e "$scratch/error.log" -c "$scratch/nginx.conf"
