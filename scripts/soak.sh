#!/bin/sh
# The long tests, some four hours: in one lane SOAK_MINUTES (60) of stress in the release build, models and fuzzing, in
# the other every other build whole, both compilers, valgrind, and aarch64 under qemu; SOAK_RANDOM_MINUTES (120) of random
# programs in several builds. Ends in "N passed, N failed".
cd "$(dirname "$0")/.." || exit 1
. scripts/builds.sh

# As many passes of a second each, over all parts and numbers of workers, as fit into the time.
stress_for() { # build minutes
    end=$(($(date +%s) + $2 * 60))
    passes=0
    ok=0
    bad=0
    while [ "$(date +%s)" -lt "$end" ]; do
        WEFT_STRESS_SECONDS=1 tests/run.sh "$1" stress >"$log.stress" 2>&1
        p=$(tail -n 1 "$log.stress" | sed -n 's/^\([0-9]*\) passed.*/\1/p')
        f=$(tail -n 1 "$log.stress" | sed -n 's/.* \([0-9]*\) failed$/\1/p')
        ok=$((ok + ${p:-0}))
        bad=$((bad + ${f:-1}))
        [ "${f:-1}" -eq 0 ] || cat "$log.stress"
        passes=$((passes + 1))
        echo "   pass $passes: $ok passed, $bad failed" >&2
    done
    rm -f "$log.stress"
    echo "$passes passes over all parts at 2, 8 and 32 workers"
    echo "stress: $ok passed, $bad failed"
    [ "$bad" -eq 0 ]
}

# Random programs, a part (in per cent) of SOAK_RANDOM_MINUTES.
random_for() { # build part [a command that runs it]
    seconds=$((${SOAK_RANDOM_MINUTES:-120} * 60 * $2 / 100))
    WEFT_RANDOM_SECONDS=$seconds WEFT_TEST_UNDER=$3 tests/run.sh "$1" random
}

# The tests hold none, and what is planted is found.
held_locks() { # build
    tests/run.sh "$1" fiber planted >"$log.locks" 2>&1
    status=$?
    cat "$log.locks"
    if grep -q "while it holds" "$log.locks"; then
        echo "locks: 0 passed, 1 failed"
        status=1
    fi
    rm -f "$log.locks"
    return "$status"
}

# A part of the stress test until it has counted so many.
counted() { # build part workers unit many
    sum=0
    while [ "$sum" -lt "$5" ]; do
        "$1/tests/stress/stress" "$2" --seconds 20 --workers "$3" --seed "$((sum + 1))" >"$log.$2" 2>&1 || break
        more=$(sed -n "s/.*\\b\\([0-9][0-9]*\\) $4\\b.*/\\1/p" "$log.$2")
        sum=$((sum + ${more:-0}))
    done
    [ "$sum" -ge "$5" ] || { cat "$log.$2" && echo "$2: 0 passed, 1 failed" && return 1; }
    rm -f "$log.$2"
    echo "$2: $sum $4"
    echo "$2: 1 passed, 0 failed"
}

# The tests of starvation are worth something: workers that only steal do not pass them.
stealing_alone() { # build
    if WEFT_HELPING=0 WEFT_RESCUE=0 timeout 30 "$1/tests/fiber/starvation" a_leader >"$log.plain" 2>&1; then
        cat "$log.plain"
        echo "starvation without helping: 0 passed, 1 failed"
        return 1
    fi
    rm -f "$log.plain"
    echo "starvation without helping: 1 passed, 0 failed"
}

# What forks, with the other kinds of deques.
tasks_in_deques() { # build
    for kind in 1 2 3; do
        WEFT_DEQUE=$kind "$1/tests/fiber/tasks" || return 1
        for part in trees flats typed deques; do
            WEFT_DEQUE=$kind "$1/tests/stress/stress" $part --seconds 20 --workers 4 || return 1
        done
    done
    echo "tasks in deques: 1 passed, 0 failed"
}

configure release
{
    begin stress stress_for build/release "${SOAK_MINUTES:-60}"
    begin random random_for build/release 20
    begin deques counted build/release steals 4 rounds 1000 # of a million operations each
    begin tasks tasks_in_deques build/release
    begin resizes counted build/release resize 8 resizes 100000
    begin lives counted build/release lives 4 lives 100000 # of a runtime, each with resizes and clusters
    begin plain stealing_alone build/release
    begin models tests/model/run.sh
    begin fuzz_serve tests/serve/fuzz.sh 600
    begin fuzz_cached tests/cached/fuzz.sh 600
} &
lane=$!
step "release" tests/run.sh build/release
step "what the kernel may answer" tests/inject/run.sh build/release
for build in debug lto frames clang; do
    configure $build
    step "$build" tests/run.sh "build/$build"
done
step "what lives across a switch" tests/arch/run.sh
step "without membarrier" env WEFT_TEST_MEMBARRIER=forbidden WEFT_TEST_IO= tests/run.sh build/release unit fiber stress
if grep -qw avx512vl /proc/cpuinfo; then
    configure v4
    step "v4" tests/run.sh build/v4
    step "random programs, v4" random_for build/v4 10
else
    echo "== v4: this processor has no AVX-512, left out"
fi
for build in asan clang-asan; do
    configure $build
    step "$build" env WEFT_TEST_SCALE=4 tests/run.sh "build/$build"
done
step "random programs, AddressSanitizer" random_for build/asan 20
for build in tsan clang-tsan; do
    configure $build
    step "$build" env WEFT_TEST_SCALE=20 tests/run.sh "build/$build"
done
step "random programs, ThreadSanitizer" random_for build/tsan 20
configure migrate
step "every switch migrates" tests/run.sh build/migrate
step "random programs, every switch migrates" random_for build/migrate 20
configure faults
step "every call fails once" tests/run.sh build/faults
configure locks
step "locks that a fiber holds" held_locks build/locks
step "valgrind" env WEFT_TEST_SCALE=100 WEFT_STRESS_WORKERS=2 \
    WEFT_TEST_UNDER="valgrind -q --error-exitcode=99 --trace-children=no --suppressions=tests/valgrind.supp" \
    tests/run.sh build/debug unit fiber
configure aarch64
step "aarch64 under qemu" env WEFT_TEST_SCALE=20 WEFT_TEST_IO=epoll QEMU_LD_PREFIX=/usr/aarch64-linux-gnu \
    WEFT_TEST_UNDER=qemu-aarch64 tests/run.sh build/aarch64 unit fiber
step "random programs, aarch64" random_for build/aarch64 10 "qemu-aarch64 -L /usr/aarch64-linux-gnu"
step "stress" end stress
step "random programs" end random
step "deques" end deques
step "tasks in all deques" end tasks
step "resizes" end resizes
step "lives" end lives
step "stealing alone starves" end plain
step "models" end models
step "what clients send" end fuzz_serve
step "what clients of cached send" end fuzz_cached
finish
