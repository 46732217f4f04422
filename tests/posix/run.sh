#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs with fibers that call blocking functions: run.sh BUILD [PROGRAM...]. With 1, 2 and 8 workers, on both engines, with
# thread-local storage of their own and without; linked with libweft-posix, and linked with libweft and preloaded.
build=$1
shift
programs=${*:-calls locks}
. "$(dirname "$0")/../check.sh"

for program in $programs; do
    path=$build/tests/posix/posix_$program
    for workers in 1 2 8; do
        check_ok "$program, $workers workers" env WEFT_WORKERS=$workers "$path"
        check_ok "$program, $workers workers, own storage" env WEFT_WORKERS=$workers WEFT_POSIX_OWN_TLS=1 "$path"
    done
    check_ok "$program, epoll" env WEFT_WORKERS=2 WEFT_IO=epoll "$path"
    check_ok "$program, epoll, own storage" env WEFT_WORKERS=2 WEFT_IO=epoll WEFT_POSIX_OWN_TLS=1 "$path"
    check_ok "$program, preloaded" env WEFT_WORKERS=2 WEFT_POSIX=1 LD_PRELOAD="$build/libweft-threads.so" "$path-plain"
done
verdict posix
