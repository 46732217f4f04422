#!/bin/sh
# SPDX-License-Identifier: MIT
# The programs of this directory for aarch64, under qemu: aarch64.sh BUILD. Each runs with fibers on 1, 2 and 8 workers.
# Not `process`: qemu ends with a message when a thread forks that is not the first one it has seen.
build=$1
here=$(dirname "$0")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$here/../check.sh"
WEFT_TEST_LIMIT=300
library=$(realpath "$build")/libweft-threads.so

for program in storage life locks signals io exceptions; do
    compiler=gcc
    source=$here/$program.c
    [ -f "$source" ] || { compiler=g++ && source=$here/$program.cpp; }
    check "$program" "aarch64-linux-gnu-$compiler" -O1 -pthread -I"$here/../../src" -o "$work/$program" "$source"
    for workers in 1 2 8; do
        check_ok "$program, $workers workers" qemu-aarch64 -L /usr/aarch64-linux-gnu -E WEFT_WORKERS=$workers \
            -E LD_PRELOAD="$library" "$work/$program"
    done
done
verdict threads
