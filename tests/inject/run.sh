#!/bin/sh
# SPDX-License-Identifier: MIT
# Errors that the kernel may return: run.sh BUILD_DIR [brief]. strace makes every second or seventh call into the ring
# fail, and every attempt to set one up. The tests of rings must still pass. Ends in "inject: N passed, N failed".
build=${1:?"usage: run.sh BUILD_DIR"}
program=$build/tests/fiber/rings
passed=0
failed=0
output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # it would trace the program, as strace does

injected() { # call, error, when; tests
    call=$1
    how=error=$2${3:+:when=$3}
    shift 3
    if timeout 120 strace -f -qq -o /dev/null -e trace="$call" -e inject="$call:$how" "$program" "$@" >"$output" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$call:$how"
        cat "$output"
    fi
}

for error in EAGAIN EBUSY EINTR ENOMEM; do
    injected io_uring_enter $error 1+2 completions stop retires
    [ "$2" = brief ] || injected io_uring_enter $error 3+7 burst
done
for error in EPERM ENOSYS ENOMEM EMFILE; do
    injected io_uring_setup $error "" completions worker
done
# Only the first worker gets a ring.
injected io_uring_setup ENOMEM 2+1 completions worker

echo "inject: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
