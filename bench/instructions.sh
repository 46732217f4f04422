#!/bin/sh
# SPDX-License-Identifier: MIT
# How many instructions an operation of weft takes, counted by callgrind: the table in docs/BENCHMARKS.md.
#   bench/instructions.sh [cpp] [BUILD]     BUILD: a directory with libweft.a, build/release if none is named
# With cpp: those of weft.hpp beside the same in C, the table in docs/CPP.md.
# Needs valgrind. Work that a worker does at intervals of some microseconds is counted, too, and more often than in a
# usual run, because valgrind is slow: some instructions of a switch are of that kind.
set -eu
cd "$(dirname "$0")/.."
cpp=
[ "${1:-}" != cpp ] || { cpp=yes && shift; }
build=${1:-build/release}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

libraries=$(PKG_CONFIG_PATH="$build/meson-uninstalled" pkg-config --static --libs-only-l weft | sed 's/-lweft//g')
# shellcheck disable=SC2086 # a list of words
if [ -n "$cpp" ]; then
    ${CXX:-c++} -std=c++17 -O2 -Iinclude -o "$dir/ops" bench/instructions/pairs.cpp "$build/libweft.a" $libraries -pthread
else
    ${CC:-cc} -O2 -Iinclude -o "$dir/ops" bench/instructions/ops.c "$build/libweft.a" $libraries -pthread
fi

# instructions name count: of the worker, which of all threads has done most by far
instructions() {
    rm -f "$dir"/out*
    valgrind --tool=callgrind --separate-threads=yes --callgrind-out-file="$dir/out" "$dir/ops" "$1" "$2" 2>"$dir/log" ||
        { cat "$dir/log" >&2; exit 1; }
    cat "$dir"/out* | sed -n 's/^totals: //p' | sort -n | tail -1
}

# row name operations-of-a-count text
row() {
    few=$(instructions "$1" 10000)
    many=$(instructions "$1" 110000)
    echo "| $3 | $(((many - few + 50000 * $2) / (100000 * $2))) |"
}

# fewest name count: of three runs. Loops are cut by the clock, so a machine that is busy costs them instructions.
fewest() {
    for _ in 1 2 3; do instructions "$1" "$2"; done | sort -n | head -n 1
}

# per_operation name least more: with one decimal. The least must be work enough to be most of what a thread does.
per_operation() {
    few=$(fewest "$1" "$2")
    many=$(fewest "$1" $(($2 + $3)))
    echo "$many $few $3" | awk '{ printf "%.1f", ($1 - $2) / $3 }'
}

if [ -n "$cpp" ]; then
    echo '| operation | C | C++ |'
    echo '|---|---|---|'
    while read -r name least more text; do
        echo "| $text | $(per_operation "c-$name" "$least" "$more") | $(per_operation "cpp-$name" "$least" "$more") |"
    done <<'END'
spawn 20000 100000 spawn, run and join a fiber that captures a reference
result 20000 100000 the same with three values and a result; in C a struct from malloc
mutex 200000 100000 lock and unlock; std::lock_guard
channel 100000 100000 send and receive a number, 64 in the buffer
pingpong 20000 100000 a round trip by two semaphores
loop 1000000 3000000 an element of a loop that computes x * 3 + 1
sort 100000 100000 an element of 100,000 to 200,000 random numbers, sorted; in C weft_sort
END
    exit
fi

echo '| operation | instructions |'
echo '|---|---|'
row yield 2 'yield'
row park 2 'unpark another fiber, and park'
row create 1 'create: spawn, run and join, in batches of 100'
row pingpong 1 'pingpong: a round trip by two semaphores'
row typed 1 'fork and join, typed'
row generic 1 'fork and join, generic'
row flat 1 'fork and join, typed, all forks before the first join'
