#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that know nothing of weft, with kernel threads and with fibers: run.sh BUILD [PROGRAM...]. Each must pass
# both times, with 1, 2 and 8 workers, and without io_uring. Then programs that cannot run with fibers: they must print
# one line.
build=$1
shift
here=$(dirname "$0")
programs=${*:-storage life locks signals io process exceptions}
tool=$build/tools/weft
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../check.sh"

says() { # title, text that a line must have, then a command
    title=$1
    text=$2
    shift 2
    if timeout 60 "$@" 2>&1 | grep -qF -- "$text"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $title: no \"$text\""
    fi
}

for program in $programs; do
    path=$build/tests/threads/threads_$program
    argument=
    [ "$program" != process ] || argument=$build/tests/threads/libthreads_library.so
    # shellcheck disable=SC2086 # none, or one word
    check_ok "$program, kernel threads" "$path" $argument
    for workers in 1 2 8; do
        # shellcheck disable=SC2086
        check_ok "$program, $workers workers" "$tool" threads --workers "$workers" "$path" $argument
    done
    # shellcheck disable=SC2086
    check_ok "$program, epoll" "$tool" threads --workers 2 --io epoll "$path" $argument
done

if [ $# -eq 0 ]; then
    cc=${CC:-cc}
    "$cc" -pthread -static -o "$work/static" "$here/life.c" 2>/dev/null
    says "a static program" "linked statically" "$tool" threads "$work/static"
    cp "$build/tests/threads/threads_storage" "$work/setuid" && chmod u+s "$work/setuid"
    says "a setuid program" "setuid" "$tool" threads "$work/setuid"
    "$cc" -pthread -fsanitize=thread -o "$work/sanitized" "$here/life.c" 2>/dev/null
    says "a program with a sanitizer" "sanitizer" "$tool" threads "$work/sanitized"
    says "no such program" "no such program" "$tool" threads is-not-there
    says "no library" "WEFT_THREADS_LIBRARY" env WEFT_THREADS_LIBRARY=/nowhere "$tool" threads "$build/tests/threads/threads_storage"
    says "a program without threads" "hello" "$tool" threads echo hello
fi
verdict threads
