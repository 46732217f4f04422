#!/bin/sh
# SPDX-License-Identifier: MIT
# Values that live across a context switch, for machines with few and with many registers, by every installed compiler:
# run.sh. It runs the builds that this processor or qemu can run, and inspects the code of all. Ends in "N passed, N
# failed".
here=$(cd "$(dirname "$0")" && pwd)
src=$here/../../src
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
passed=0
failed=0

judge() { # name, command...
    name=$1
    shift
    if "$@" >"$dir/out" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $name"
        cat "$dir/out"
    fi
}

# Can this processor run code for the machine, as far as the tests need it?
can_run() { # machine
    case $1 in
    x86-64) return 0 ;;
    x86-64-v3) grep -qw avx2 /proc/cpuinfo ;;
    x86-64-v4) grep -qw avx512vl /proc/cpuinfo ;;
    esac
}

one() { # compiler, family, machine, runner
    flags="-std=gnu11 -O2 -Wall -Wextra -Werror -Wno-psabi -march=$3 -I$src"
    # shellcheck disable=SC2086
    if ! $1 $flags -S -o "$dir/across.s" "$here/across.c" >"$dir/out" 2>&1; then
        judge "$1 -march=$3: does not build" false
        return
    fi
    judge "$1 -march=$3, looked at" python3 "$here/inspect.py" "$dir/across.s" "$2"
    [ -n "$4" ] || return
    # shellcheck disable=SC2086
    judge "$1 -march=$3, built" $1 $flags -static -o "$dir/across" "$here/across.c"
    judge "$1 -march=$3, run" $4 "$dir/across"
}

for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    case $(uname -m) in
    x86_64)
        for machine in x86-64 x86-64-v3 x86-64-v4; do
            if can_run $machine; then one $compiler x86 $machine env; else one $compiler x86 $machine ""; fi
        done
        ;;
    aarch64)
        one $compiler arm armv8-a env
        if grep -qw sve /proc/cpuinfo; then one $compiler arm armv8.5-a+sve env; else one $compiler arm armv8.5-a+sve ""; fi
        ;;
    esac
done
cross=aarch64-linux-gnu-gcc
if [ "$(uname -m)" != aarch64 ] && command -v $cross >/dev/null; then
    qemu=$(command -v qemu-aarch64)
    for machine in armv8-a armv8.5-a+sve; do
        one $cross arm $machine "$qemu"
        command -v clang >/dev/null && one "clang --target=aarch64-linux-gnu" arm $machine ""
    done
fi
echo "arch: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
