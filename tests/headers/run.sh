#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles a program that uses weft's headers with every compiler, standard and warning. Each is a test case. Compilers
# and standards that are not installed are left out. run.sh [INCLUDE_DIR]
here=$(cd "$(dirname "$0")" && pwd)
include=${1:-$here/../../include}
warnings="-Wall -Wextra -pedantic -Werror -Wconversion -Wshadow"
passed=0
failed=0
say=$(mktemp) || exit 1
trap 'rm -f "$say" "$say.c"' EXIT

compile() { # the wanted outcome, then the command
    wanted=$1
    shift
    "$@" >"$say" 2>&1
    got=$?
    if { [ "$got" -eq 0 ] && [ "$wanted" = compiles ]; } || { [ "$got" -ne 0 ] && [ "$wanted" = refused ]; }; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED ($wanted): $*"
        head -n 10 "$say"
    fi
}

knows() { echo 'int main(void) { return 0; }' | "$1" "-std=$2" -x "$3" -fsyntax-only - >/dev/null 2>&1; }

for family in gcc:g++ clang:clang++; do
    cc=${family%:*}
    cxx=${family#*:}
    for std in c11 c17 c2x gnu11; do
        command -v "$cc" >/dev/null && knows "$cc" $std c || continue
        for program in use more; do
            # shellcheck disable=SC2086
            compile compiles "$cc" -std=$std $warnings -D_GNU_SOURCE -I"$include" -fsyntax-only "$here/$program.c"
        done
        compile refused "$cc" -std=$std -Wall -Werror -I"$include" -c -o /dev/null "$here/ignored.c"
    done
    for std in c++11 c++14 c++17 c++20 c++2b; do
        command -v "$cxx" >/dev/null && knows "$cxx" $std c++ || continue
        for program in use more; do
            # shellcheck disable=SC2086
            compile compiles "$cxx" -std=$std $warnings -D_GNU_SOURCE -I"$include" -fsyntax-only -x c++ "$here/$program.c"
        done
        case $std in c++11 | c++14) continue ;; esac
        # shellcheck disable=SC2086
        compile compiles "$cxx" -std=$std $warnings -I"$include" -fsyntax-only "$here/use.cpp"
    done
    # Each header by itself, except headers that are parts of others; in C and in the oldest C++.
    for header in $(cd "$include" && find . -name '*.h' | sort); do
        case $header in */sort_few.h | */sort_nearly.h | */scope.h | */par.h | */task.h | */sort.h | */scan.h | */old.h) continue ;; esac
        for language in "$cc -std=c11 -x c" "$cxx -std=c++11 -x c++"; do
            command -v "${language%% *}" >/dev/null || continue
            printf '#include <%s>\nextern int some;\n' "$header" >"$say.c"
            # shellcheck disable=SC2086
            compile compiles $language $warnings -D_GNU_SOURCE -I"$include" -fsyntax-only "$say.c"
        done
    done
done
echo "headers: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
