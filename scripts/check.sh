#!/bin/sh
# SPDX-License-Identifier: MIT
# The everyday tests: check.sh [quick]. Ends in "N passed, N failed"; before that line, what failed is repeated.
#
# quick is for daily work: the release build, its tests but for the suite long, and the form of the sources. Otherwise
# also a build with AddressSanitizer in which every switch migrates and calls can be made to fail, ThreadSanitizer,
# clang's build with the unit tests, the models in brief, and clang-tidy. Two lanes go on side by side. docs/TESTING.md says what runs where.
cd "$(dirname "$0")/.." || exit 1
. scripts/builds.sh
export WEFT_TEST_PATIENCE="${WEFT_TEST_PATIENCE:-10}" # many at once are slow
begun_all=$(date +%s)

if [ "${1:-}" = quick ]; then
    export WEFT_STRESS_SECONDS="${WEFT_STRESS_SECONDS:-0.05}" WEFT_RANDOM_SECONDS="${WEFT_RANDOM_SECONDS:-5}" WEFT_TEST_SCALE="${WEFT_TEST_SCALE:-10}"
    configure release || exit 1
    step "form" scripts/form.sh
    step "release" tests/run.sh build/release unit fiber misuse stress-8 random threads examples docs --no-suite=long
    finish
    exit
fi

export WEFT_STRESS_SECONDS="${WEFT_STRESS_SECONDS:-0.1}" WEFT_RANDOM_SECONDS="${WEFT_RANDOM_SECONDS:-5}"
configure release || exit 1
{
    begin tsan scaled 50 tested tsan unit fiber stress-8 random planted --no-suite=many-fibers --no-suite=many-steals
    begin everyday scaled 20 tested everyday unit fiber misuse stress-8 random planted fault --no-suite=many-fibers
} &
lane=$!
step "form" scripts/form.sh
step "release" scaled 4 tests/run.sh build/release unit fiber engines misuse stress random sim inject serve cached look threads examples dist docs install model arch
step "clang" scaled 4 tested clang unit
step "clang-tidy" scripts/tidy.sh
step "ThreadSanitizer" end tsan
step "AddressSanitizer, every switch migrates, every call fails once" end everyday
echo "-- in all: $(($(date +%s) - begun_all)) s"
finish
