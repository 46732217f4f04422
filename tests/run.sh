#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and runs tests of a build directory by `meson test`, and adds up what they say: run.sh BUILD_DIR [suite...]
# Without suites: all that the build has. A name with a slash is a test or a pattern ('fiber/io*').
# Options of `meson test` may stand among them (--no-suite, --wrapper=...).
#
# Shows a line a test, then everything that a failed one said, and at last "N passed, N failed", counting test cases.
#
#   WEFT_TEST_JOBS       tests that run at the same time; three a processor: most of them sleep more than they compute
#   WEFT_TEST_SCALE      divides the sizes of the tests
#   WEFT_TEST_PATIENCE   multiplies the time after which a test case counts as a hang (4)
#   WEFT_STRESS_SECONDS  of each stress run (1)
#   WEFT_RANDOM_SECONDS  of random programs (10)
#   WEFT_TEST_STRICT     1: a test that fails, but passes three times alone, has failed
#   WEFT_TEST_BUILT      1: everything is built already
#   WEFT_TEST_LOG        a file for all that the tests have written, in meson's form
#   WEFT_TEST_MEMBARRIER forbidden: as on a kernel that has none
#   WEFT_DEADLOCK        2: a test aborts if weft takes its fibers for blocked for ever, so each test looks for false alarms (2)
build=${1:?"usage: run.sh BUILD_DIR [suite...]"}
shift
here=$(cd "$(dirname "$0")" && pwd)
: "${WEFT_TEST_JOBS:=$(($(nproc) * 3))}"
export WEFT_DEADLOCK="${WEFT_DEADLOCK-2}"
# The names of the tests of a suite, or of those that match a pattern. meson itself understands patterns from 1.2 on
# (Debian 12 has 1.0), and runs no test if both suites and names are given.
names_of() { # suite or pattern
    meson introspect --tests "$build" | python3 -c '
import fnmatch, json, sys
for test in json.load(sys.stdin):
    suites = [suite.split(":")[-1] for suite in test["suite"]]
    if sys.argv[1] in suites or fnmatch.fnmatchcase(test["name"], sys.argv[1]):
        print(test["name"])' "$1"
}
by_name=
for argument in "$@"; do case $argument in -*) ;; */* | *[*?[]*) by_name=1 ;; esac done
for argument in "$@"; do
    shift
    case $argument in
    -*) set -- "$@" "$argument" ;;
    *)
        if [ -z "$by_name" ]; then
            set -- "$@" --suite "$argument"
        else
            chosen=$(names_of "$argument")
            # shellcheck disable=SC2086
            set -- "$@" ${chosen:-"$argument"}
        fi
        ;;
    esac
done
log=$build/meson-logs/run.$$
trap 'rm -f "$log".*' EXIT
[ -z "${WEFT_TEST_BUILT:-}" ] || set -- "$@" --no-rebuild
meson test -C "$build" --num-processes "$WEFT_TEST_JOBS" --logbase "run.$$" "$@" >"$log.out" 2>&1
status=0 # count.py judges; meson has failed otherwise if it wrote no log
for json in "$log"*.json; do
    [ -s "$json" ] || { cat "$log.out" && echo "0 passed, 1 failed" && exit 1; }
    python3 "$here/count.py" "$json" || status=1
    [ -z "${WEFT_TEST_LOG:-}" ] || cp "$json" "$WEFT_TEST_LOG"
done
exit "$status"
