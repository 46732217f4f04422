#!/bin/sh
# SPDX-License-Identifier: MIT
# The everyday tests: check.sh [quick]. Ends in "N passed, N failed"; before that line, what failed is repeated.
#
# quick is for daily work: the release build, its tests but for the suite long, and the form of the sources. Otherwise
# also a build with AddressSanitizer in which every switch migrates and calls can be made to fail, ThreadSanitizer,
# clang's build with the unit tests, the models in brief, and clang-tidy. docs/TESTING.md says what runs where.
#
# Three lanes go on side by side, because most tests sleep more than they compute: the release build with its long tests
# first, and one lane for each sanitizer.
cd "$(dirname "$0")/.." || exit 1
. scripts/builds.sh
export WEFT_TEST_PATIENCE="${WEFT_TEST_PATIENCE:-10}" # many at once are slow
begun_all=$(date +%s)

if [ "${1:-}" = quick ]; then
    export WEFT_STRESS_SECONDS="${WEFT_STRESS_SECONDS:-0.05}" WEFT_RANDOM_SECONDS="${WEFT_RANDOM_SECONDS:-5}" WEFT_TEST_SCALE="${WEFT_TEST_SCALE:-10}"
    step "form" scripts/form.sh
    step "release" tested release unit fiber misuse stress-8 random threads examples docs --no-suite=long
    finish
    exit
fi

export WEFT_STRESS_SECONDS="${WEFT_STRESS_SECONDS:-0.1}" WEFT_RANDOM_SECONDS="${WEFT_RANDOM_SECONDS:-5}"
export WEFT_TEST_JOBS="${WEFT_TEST_JOBS:-$(($(nproc) * 2))}" # of each lane
configure release || exit 1
echo "-- built: $(($(date +%s) - begun_all)) s"
begin tsan scaled 50 tested tsan unit fiber stress-8 random planted --no-suite=many-fibers --no-suite=many-steals --no-suite=traced-long &
tsan=$!
begin everyday scaled 20 tested everyday unit fiber misuse stress-8 random planted fault --no-suite=many-fibers --no-suite=traced-long &
everyday=$!
step "release" scaled 10 tests/run.sh build/release unit fiber engine-epoll engine-older misuse stress random sim inject serve cached look threads examples dist docs install model arch planted
step "clang" scaled 4 tested clang unit
step "clang-tidy" scripts/tidy.sh
step "form" scripts/form.sh
step "ThreadSanitizer" end tsan "$tsan"
step "AddressSanitizer, every switch migrates, every call fails once" end everyday "$everyday"
echo "-- in all: $(($(date +%s) - begun_all)) s"
finish
