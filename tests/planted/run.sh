#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the planted faults of a build and checks that its tool reports each: run.sh BUILD_DIR
program=${1:?"usage: run.sh BUILD_DIR"}/tests/planted/planted
passed=0
failed=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT

expect() { # what the report must say, then the command
    want=$1
    shift
    timeout 300 "$@" >"$out" 2>&1
    if grep -q "$want" "$out"; then
        passed=$((passed + 1))
    else
        echo "$*: no report of \"$want\""
        cat "$out"
        failed=$((failed + 1))
    fi
}

expect_once() {
    expect "$@"
    if [ "$(grep -c "$1" "$out")" -gt 1 ]; then
        echo "$2 $3: said more than once"
        failed=$((failed + 1))
    fi
}
expect_nothing() {
    if timeout 300 "$@" >"$out" 2>&1 && [ ! -s "$out" ]; then
        passed=$((passed + 1))
    else
        echo "$*: a report of nothing, or an error"
        cat "$out"
        failed=$((failed + 1))
    fi
}

[ -x "$program" ] || { echo "planted: 0 passed, 0 failed"; exit 0; }
# Builds with assertions: broken invariants.
if "$program" asserts 2>"$out"; then
    expect "broken invariant in weft__wait_begin, .*WAITING" "$program" waits_twice
    expect "broken invariant in weft__make_ready, .*WAITING" "$program" made_ready_unwon
    expect "broken invariant in weft__wait_block_for, .*current" "$program" blocks_another
    expect "broken invariant in weft__next_after, .*weft__self" "$program" takes_elsewhere
    expect "broken invariant in weft__frames_unlock, .*LOCKED" "$program" unlocks_twice
    expect "broken invariant in weft__wait_queue_unlock, .*is_locked" "$program" unlocks_queue
    expect "broken invariant in weft__chain_remove, .*chained" "$program" leaves_chain
    expect "broken invariant in weft__chan_unlock, .*capacity" "$program" overfills_channel
    expect "broken invariant in unlink_it, .*link" "$program" cancels_foreign_timer
    expect "broken invariant in weft__ring_claim, .*is_held" "$program" claims_without_lock
fi
case $("$program" kind) in
thread) expect "data race.*" "$program" race ;;
address)
    expect "heap-buffer-overflow" "$program" heap
    expect "stack-buffer-overflow" "$program" stack
    expect "heap-use-after-free" "$program" freed
    expect "stack-use-after-return" env ASAN_OPTIONS=detect_stack_use_after_return=1 "$program" returned
    expect "detected memory leaks" "$program" leaked
    ;;
locks)
    expect_once 'fiber .* "yields" spawned at .*planted.c:[0-9]* yields while it holds the mutex 0x.*: planted+0x' "$program" yields
    expect_once '"parks".* parks while it holds the read lock 0x' "$program" parks
    expect_once '"tries".* parks while it holds the spin lock 0x' "$program" tries
    expect_once '"waits".* yields while it holds the mutex 0x' "$program" waits
    expect_once '"ends".* ends while it holds the write lock 0x' "$program" ends
    expect_nothing "$program" innocent
    ;;
none)
    if command -v valgrind >/dev/null; then
        expect "Invalid write" valgrind -q "$program" heap
        expect "Invalid write" valgrind -q "$program" freed
        expect "uninitialised value" valgrind -q "$program" uninitialised
    fi
    if command -v gdb >/dev/null; then
        # From the fault up to the first instruction of the fiber, and no further.
        expect "second.*" gdb -batch -ex run -ex bt --args "$program" deep
        expect "in weft.*context_entry" gdb -batch -ex run -ex bt --args "$program" deep
        timeout 300 gdb -batch -ex run -ex bt --args "$program" deep 2>&1 | grep -q "corrupt stack\|previous frame" && {
            echo "the backtrace does not end at the fiber's entry"
            failed=$((failed + 1))
        }
        # The stack of a parked fiber, with weft's commands for gdb.
        fibers=$(dirname "$0")/../../tools/gdb/weft.py
        expect 'fiber 0x[0-9a-f]* "outer" waiting, spawned at .*planted.c:[0-9]*, in [a-z_]*park[^ ]*, called by inner at ' \
            gdb -batch -ex run -ex "source $fibers" -ex "weft fibers" --args "$program" parked
        expect ' in outer ' gdb -batch -ex run -ex "source $fibers" -ex "weft bt" --args "$program" parked
    fi
    ;;
esac
echo "planted: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
