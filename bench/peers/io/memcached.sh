#!/bin/sh
# SPDX-License-Identifier: MIT
# memcached as a server of the benchmark: memcached.sh memcached port=N connections=N ...; one thread.
set -eu
shift
for word; do
    case $word in
    port=*) port=${word#*=} ;;
    connections=*) connections=${word#*=} ;;
    esac
done
exec memcached -u "$(id -un)" -l 127.0.0.1 -p "$port" -U 0 -t 1 -b 4096 -m 512 -c $((connections + 500))
