#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs with fibers that call blocking functions: run.sh BUILD [PROGRAM...]. With 1, 2 and 8 workers, on both engines, with
# thread-local storage of their own and without; linked with libweft-posix, and linked with libweft and preloaded.
build=$1
shift
programs=${*:-calls locks}
passed=0
failed=0

check() { # title, then a command that must print just "ok"
    title=$1
    shift
    if said=$(timeout "${WEFT_TEST_LIMIT:-60}" "$@" 2>&1) && [ "$said" = ok ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $title: $*"
        echo "$said" | tail -n 20
    fi
}

for program in $programs; do
    path=$build/tests/posix/posix_$program
    for workers in 1 2 8; do
        check "$program, $workers workers" env WEFT_WORKERS=$workers "$path"
        check "$program, $workers workers, own storage" env WEFT_WORKERS=$workers WEFT_POSIX_OWN_TLS=1 "$path"
    done
    check "$program, epoll" env WEFT_WORKERS=2 WEFT_IO=epoll "$path"
    check "$program, epoll, own storage" env WEFT_WORKERS=2 WEFT_IO=epoll WEFT_POSIX_OWN_TLS=1 "$path"
    check "$program, preloaded" env WEFT_WORKERS=2 WEFT_POSIX=1 LD_PRELOAD="$build/libweft-threads.so" "$path-plain"
done
echo "posix: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
