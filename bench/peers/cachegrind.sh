#!/bin/sh
# SPDX-License-Identifier: MIT
# A fork-join benchmark of weft on the simulated caches of cachegrind: cachegrind.sh misses work=fib|matmul key=value ...
# It prints the line of a measuring program: thousand misses of the first level and of the last, million references to
# data. The simulation has the sizes of this machine's caches. All threads share them and run in turn, so it counts what a
# deque touches, and not what processors take from each other.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
shift
words=''
for word; do
    case $word in
    work=*) work=${word#*=} ;;
    *) words="$words $word" ;;
    esac
done
out=$(mktemp)
trap 'rm -f "$out"' EXIT
# shellcheck disable=SC2086 # a list of words
result=$(valgrind --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null --log-file="$out" \
    "$here/../weft" bench-one "$work" ms=0 $words) || exit
awk -v word="${result%% *}" '
    function number(at) { gsub(",", "", $at); return $at + 0 }
    /D +refs:/ { refs = number(4) }
    /D1 +misses:/ { first = number(4) }
    /LLd misses:/ { last = number(4) }
    END {
        if (!refs) exit 1
        print word, first / 1e3, last / 1e3, refs / 1e6
    }' "$out"
