# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# For scripts whose test cases are commands. Sourced by the run.sh of install, ffi, threads and posix.
#
#   work                  set by the script: a directory for files. The output of the last command is in $work/said
#   check TITLE CMD...    runs a command, and counts it in `passed` or `failed`. A failure is shown with its last lines
#   check_ok TITLE CMD... the same for a program that must print just "ok", in WEFT_TEST_LIMIT seconds (60)
#   verdict NAME          prints "NAME: N passed, N failed", the last line; status 1 if anything failed
passed=0
failed=0

check() {
    title=$1
    shift
    if "$@" >"$work/said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $title: $*"
        tail -n 40 "$work/said"
    fi
}

check_ok() {
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

verdict() {
    echo "$1: $passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
