#!/bin/sh
# Runs the planted faults of a build and checks that its tool reports each: run.sh BUILD_DIR
program=${1:?"usage: run.sh BUILD_DIR"}/tests/planted/planted
passed=0
failed=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT

expect() { # what the report must say, then the command
    want=$1
    shift
    timeout 60 "$@" >"$out" 2>&1
    if grep -q "$want" "$out"; then
        passed=$((passed + 1))
    else
        echo "$*: no report of \"$want\""
        cat "$out"
        failed=$((failed + 1))
    fi
}

[ -x "$program" ] || { echo "planted: 0 passed, 0 failed"; exit 0; }
case $("$program" kind) in
thread) expect "data race.*" "$program" race ;;
address)
    expect "heap-buffer-overflow" "$program" heap
    expect "stack-buffer-overflow" "$program" stack
    expect "heap-use-after-free" "$program" freed
    expect "stack-use-after-return" env ASAN_OPTIONS=detect_stack_use_after_return=1 "$program" returned
    expect "detected memory leaks" "$program" leaked
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
        timeout 60 gdb -batch -ex run -ex bt --args "$program" deep 2>&1 | grep -q "corrupt stack\|previous frame" && {
            echo "the backtrace does not end at the fiber's entry"
            failed=$((failed + 1))
        }
    fi
    ;;
esac
echo "planted: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
