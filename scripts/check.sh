#!/bin/sh
# The everyday tests: the release build whole, the sanitizers and the special builds at a smaller
# size, the models. Ends in "N passed, N failed". About 25 minutes with the builds, on two processors.
cd "$(dirname "$0")/.." || exit 1
. scripts/builds.sh
: "${WEFT_STRESS_SECONDS:=0.15}"
: "${WEFT_RANDOM_SECONDS:=15}"
export WEFT_STRESS_SECONDS WEFT_RANDOM_SECONDS

examples_run() {
    ok=0
    bad=0
    for example in examples/*.c; do
        name=$(basename "$example" .c)
        if timeout 100 "build/release/examples/$name"; then ok=$((ok + 1)); else bad=$((bad + 1)); fi
    done
    echo "examples: $ok passed, $bad failed"
    [ "$bad" -eq 0 ]
}

# ThreadSanitizer takes a millisecond to make a fiber. Programs that make very many run with it in the soak.
many_fibers="bare flow loops_continued loops_cancelled_continued loops_behalf_continued tasks_continued"

for build in release asan tsan migrate faults; do configure $build; done
{
    begin models tests/model/run.sh brief
    begin tsan env WEFT_TEST_SCALE=50 WEFT_STRESS_WORKERS=8 WEFT_TEST_IO= \
        WEFT_TEST_LEAVE_OUT="$many_fibers" tests/run.sh build/tsan unit fiber stress random planted
} &
lane=$!
step "release" tests/run.sh build/release unit fiber misuse stress random sim inject serve cached
step "examples" examples_run
step "what lives across a switch" tests/arch/run.sh
step "AddressSanitizer" env WEFT_TEST_SCALE=20 WEFT_STRESS_WORKERS=8 WEFT_TEST_IO=epoll tests/run.sh build/asan unit fiber misuse stress random planted
step "every switch migrates" env WEFT_TEST_SCALE=20 WEFT_STRESS_WORKERS=8 WEFT_TEST_IO= tests/run.sh build/migrate fiber stress random
step "every call fails once" tests/run.sh build/faults fault
step "models" end models
step "ThreadSanitizer" end tsan
finish
