#!/bin/sh
# SPDX-License-Identifier: MIT
# The long tests, in parts of at most 20 minutes on two processors.
#
#   soak.sh              all parts that this source has not passed, one after the other; so it can be stopped and resumed
#   soak.sh PART...      these, in any case
#   soak.sh list         their names, and what each tests (scripts/soak_state.py) and does
#   soak.sh status       which have passed on this source; status 1 if a part has not
#
# Three parts run side by side (SOAK_LANES), because most tests sleep more than they compute. What passed is recorded in
# docs/results/soak.txt, a line each: part, state of the source, seconds, numbers, day, commit. Commit that file: then the
# soak goes on where it was, on another day and another machine, as long as the source stays the same. Ends in "N passed,
# N failed".
cd "$(dirname "$0")/.." || exit 1
. scripts/builds.sh
record=docs/results/soak.txt
export WEFT_TEST_PATIENCE="${WEFT_TEST_PATIENCE:-10}"
export WEFT_TEST_JOBS="${WEFT_TEST_JOBS:-$(($(nproc) * 2))}" # of each part
export WEFT_TEST_BUILT=1 # parts build what they need first, each directory only once
export WEFT_TEST_STRICT="${WEFT_TEST_STRICT:-1}" # a test that fails only now and then has failed

# Parts that take a given time stand between parts that compute.
parts() {
    cat <<'EOF'
release              whole   the release build, whole
stress-1             stress  20 minutes of stress (a third of SOAK_MINUTES, 60)
valgrind-1           fiber   valgrind, unit tests and fibers a to h
model-orders         model   every memory order weakened
random-release       stress  random programs, two at a time for 12 minutes (a tenth of SOAK_RANDOM_MINUTES, 120)
debug                whole   without optimization, whole
stress-2             stress  20 more
valgrind-2           fiber   valgrind, fibers i to q
model-planted        model   mistakes in the source
random-asan          stress  for 12 minutes
asan                 fiber   AddressSanitizer and UBSan, without stress
asan-stress          stress  the stress test with it
stress-3             stress  20 more
valgrind-3           fiber   valgrind, fibers r to z
model-whole          model   the explorations of whole sources
random-tsan          stress  for 12 minutes
tsan                 fiber   ThreadSanitizer, without stress
tsan-stress          stress  the stress test with it
lives                stress  100,000 lives of a runtime
valgrind-4           fiber   valgrind, input and output on the other engines
model-queues         model   those of queues, and of mistakes in them
random-migrate       stress  for 12 minutes
migrate              whole   every switch migrates, whole; by clang
deques               stress  a thousand million operations of stealing
model-spin           model   the models for spin
clang-asan           fiber   the same by clang, without stress
clang-asan-stress    stress  the stress test with it
fuzz-serve           server  what clients send to weft serve
clang-tsan           fiber   the same by clang, without stress
clang-tsan-stress    stress  the stress test with it
fuzz-cached          server  what clients send to weft cached
dist-kills           dist    ranks are killed at a random moment, 200 times
aarch64              fiber   aarch64 under qemu
threads-aarch64      threads unmodified programs for aarch64 with their threads as fibers
random-aarch64       stress  for 6 minutes
v4                   whole   for AVX-512, where the processor has it
random-v4            stress  for 6 minutes
resizes              stress  100,000 changes of the number of workers
tasks-in-deques      stress  what forks, with the other kinds of deques
clang                whole   the release build by clang, whole
lto                  whole   link-time optimization and PIE, whole
frames               whole   with frame pointers, whole
faults               whole   every call fails once, and the rest with two slots a queue
locks                fiber   locks that a fiber holds: the tests hold none, and what is planted is found
membarrier           fiber   as on a kernel that has no membarrier
inject               fiber   what the kernel may answer to calls for rings
arch                 fiber   what lives across a switch, for every compiler and machine
install-bare         whole   the README's commands on a bare Debian 12; needs root
install              whole   make install, and programs by pkg-config and CMake; make uninstall
install-more         whole   as a subproject of meson, with sanitizers, as Debian packages
kernel-tls           whole   kernel TLS, on Debian's kernel under qemu
abi                  whole   the binary interface is that of the last tag, or newer
report               whole   the quick report, and every plot in it; random programs with the policies of experiments
look                 look    programs at work are looked at eleven thousand times, servers for false alarms; the page of a trace in Chromium
dist                 dist    libweft-mpi on Open MPI and MPICH, whole; the policy with 8,192 ranks
posix                threads libraries that block, with the servers that they are for
ffi                  whole   every inline function and macro is a symbol; programs in Rust and Python
instructions         fiber   weft.hpp takes no more instructions than the C calls
starves              fiber   the tests of starvation do not pass without helping
EOF
}
names() { parts | sed 's/ .*//'; }

# libweft-mpi with both MPIs.
ranks() { # what dist.py is to do
    python3 tests/dist/dist.py build/release openmpi "$@" && python3 tests/dist/dist.py build/release mpich "$@"
}

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

# Random programs, two processes side by side, each for a part (in per cent) of SOAK_RANDOM_MINUTES.
random_for() { # build part [a command that runs it]
    seconds=$((${SOAK_RANDOM_MINUTES:-120} * 60 * $2 / 100))
    export WEFT_TEST_UNDER="${3:-}"
    $WEFT_TEST_UNDER "build/$1/tests/random/random" --seconds "$seconds" >"$log.other" 2>&1 &
    other=$!
    $WEFT_TEST_UNDER "build/$1/tests/random/random" --seconds "$seconds" >"$log.random" 2>&1
    first=$?
    wait "$other"
    second=$?
    cat "$log.other" "$log.random"
    echo "random: $(((first == 0) + (second == 0))) passed, $(((first != 0) + (second != 0))) failed"
    rm -f "$log.other" "$log.random"
    [ "$first" -eq 0 ] && [ "$second" -eq 0 ]
}

# The tests hold none, and what is planted is found.
held_locks() { # build
    WEFT_TEST_LOG=$log.locks tests/run.sh "$1" fiber planted
    status=$?
    if grep -o "[^\\]*while it holds[^\\]*" "$log.locks"; then
        echo "a test parks while it holds a lock: 0 passed, 1 failed"
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

# Each row of the table of bench/instructions.sh: C++ beside C. A hundredth more is allowed, because timers interrupt.
no_dearer() { # build
    bench/instructions.sh cpp "$1" >"$log.cpp"
    cat "$log.cpp"
    awk -F'|' '$3 + 0 > 0 { if ($4 + 0 <= $3 * 1.01) passed++; else failed++ }
        END { print "instructions: " passed + 0 " passed, " failed + 0 " failed"; exit !passed || failed }' "$log.cpp"
    status=$?
    rm -f "$log.cpp"
    return "$status"
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
        for program in tasks tasks_scopes tasks_sizes tasks_waiting; do
            WEFT_DEQUE=$kind "$1/tests/fiber/$program" || return 1
        done
        for part in trees flats typed deques; do
            WEFT_DEQUE=$kind "$1/tests/stress/stress" $part --seconds 20 --workers 4 || return 1
        done
    done
    echo "tasks in deques: 1 passed, 0 failed"
}

under_valgrind() { # tests
    scaled 100 tests/run.sh build/debug "$@" \
        "--wrapper=valgrind -q --error-exitcode=99 --trace-children=no"
}

on_avx512() { # command
    if grep -qw avx512vl /proc/cpuinfo; then "$@"; else echo "left out, there is no AVX-512: 0 passed, 0 failed"; fi
}

models() { # pattern
    # shellcheck disable=SC2046
    tests/model/run.sh $(tests/model/run.sh list | grep -E "$1")
}

# Everything but stress and random programs, which have parts of their own.
without_stress() { # build scale [options]
    build=build/$1 scale=$2
    shift 2
    scaled "$scale" tests/run.sh "$build" --no-suite=stress --no-suite=random --no-suite=model --no-suite=arch "$@"
}

# ThreadSanitizer cannot hold the fibers of some programs at a time, nor follow a fork of a program with threads.
traced() { # build
    without_stress "$1" 20 --no-suite=many-steals --no-suite=examples --no-suite=sim
}

run_part() { # name
    case $1 in
    release | debug | lto | frames | clang | migrate | faults) built "$1" && tests/run.sh "build/$1" --no-suite=model --no-suite=arch ;;
    v4) on_avx512 built v4 && on_avx512 tests/run.sh build/v4 --no-suite=model --no-suite=arch ;;
    inject) built release && tests/inject/run.sh build/release ;;
    arch) tests/arch/run.sh ;;
    membarrier) built release && WEFT_TEST_MEMBARRIER=forbidden tests/run.sh build/release unit fiber stress ;;
    asan | clang-asan) built "$1" && without_stress "$1" 4 ;;
    tsan | clang-tsan) built "$1" && traced "$1" ;;
    asan-stress | clang-asan-stress) built "${1%-stress}" && scaled 4 tests/run.sh "build/${1%-stress}" stress ;;
    tsan-stress | clang-tsan-stress) built "${1%-stress}" && scaled 20 tests/run.sh "build/${1%-stress}" stress ;;
    locks) built locks && held_locks build/locks ;;
    valgrind-1) built debug && under_valgrind 'unit/*' 'fiber/[a-h]*' ;;
    valgrind-2) built debug && under_valgrind 'fiber/[i-q]*' --no-suite=engines ;;
    valgrind-3) built debug && under_valgrind 'fiber/[r-z]*' ;;
    valgrind-4) built debug && under_valgrind 'fiber/io_*-*' ;;
    aarch64) built aarch64 && WEFT_TEST_UNDER=qemu-aarch64 scaled 20 tests/run.sh build/aarch64 unit fiber engine-epoll ;;
    threads-aarch64) built aarch64 && ninja -C build/aarch64 libweft-threads.so.0.1.0 && tests/threads/aarch64.sh build/aarch64 ;;
    stress-*) built release && stress_for build/release "$((${SOAK_MINUTES:-60} / 3))" ;;
    random-v4) on_avx512 built v4 && on_avx512 random_for v4 5 ;;
    random-aarch64) built aarch64 && random_for aarch64 5 "qemu-aarch64 -L /usr/aarch64-linux-gnu" ;;
    random-*) built "${1#random-}" && random_for "${1#random-}" 10 ;;
    deques) built release && counted build/release steals 4 rounds 1000 ;; # of a million operations each
    tasks-in-deques) built release && tasks_in_deques build/release ;;
    resizes) built release && counted build/release resize 8 resizes 100000 ;;
    lives) built release && counted build/release lives 4 lives 100000 ;; # each with resizes and clusters
    instructions) built release && ninja -C build/release libweft.a && no_dearer build/release ;;
    starves) built release && stealing_alone build/release ;;
    model-whole) models '^[a-z_]+$' ;;
    model-queues) models '^queue-' ;;
    model-spin) models '^spin-' ;;
    model-orders) models '^planted-orders$' ;;
    model-planted) models '^planted-[^o]' ;;
    fuzz-serve) tests/serve/fuzz.sh 600 ;;
    fuzz-cached) tests/cached/fuzz.sh 600 ;;
    install) tests/install/run.sh user cmake ;;
    install-more) tests/install/run.sh subproject sanitizers debian ;;
    install-bare) tests/install/run.sh bare ;;
    ffi) built release && tests/ffi/run.sh "$PWD/build/release" ;;
    kernel-tls) built release && tests/tls/kernel.sh "$PWD/build/release" ;;
    abi) tests/install/abi.sh ;;
    report)
        built release && ninja -C build/release && python3 tests/report/run.py build/release/tools/weft docs/REPORT.md quick &&
            for queue in own global shared; do
                WEFT_QUEUE=$queue WEFT_VICTIMS=round WEFT_AMOUNT=all WEFT_BACKOFF=0 WEFT_RANDOM_SECONDS=60 \
                    build/release/tests/random/random || return 1
            done
        ;;
    dist) built release && ranks && build/release/tests/dist/dist_sim ;;
    dist-kills) built release && ranks kills 100 ;;
    posix) built release && python3 tests/posix/servers.py "$PWD/build/release" ;;
    look)
        built release || return 1
        for script in dump explain top profiles metrics at_work; do
            python3 tests/look/$script.py build/release 5000 || return 1
        done
        python3 tests/look/page.py build/release
        ;;
    *) echo "$1: there is no such part: 0 passed, 1 failed" && return 1 ;;
    esac
}

state_of() { # part: the state of what it tests
    echo "$states" | sed -n "s/^$(parts | sed -n "s/^$1  *\([a-z]*\) .*/\1/p") //p"
}
passed_here() { grep -q "^$1 $(state_of "$1") " "$record" 2>/dev/null; } # part

status() {
    missing=0
    for name in $(names); do
        if passed_here "$name"; then
            line="passed, $(sed -n "s/^$name $(state_of "$name") \([0-9]*\) \(.*\)/\1 s, \2/p" "$record" | tail -n 1)"
        else
            missing=$((missing + 1))
            last=$(grep "^$name " "$record" 2>/dev/null | tail -n 1)
            line="not passed here${last:+; last on ${last##* }}"
        fi
        printf '%-20s %s\n' "$name" "$line"
    done
    echo "$missing of $(names | wc -l) parts are still to be passed"
    [ "$missing" -eq 0 ]
}

# A lock for each directory that parts build in, so that two lanes do not build the same.
built() { # build
    mkdir -p build && (flock 9 && configure "$1") 9>"build/$1.lock"
}

one() { # name
    before=$total_failed
    began=$(date +%s)
    passed_before=$total_passed
    state=$(state_of "$1") # before it runs: the source may change meanwhile
    step "$1" run_part "$1"
    [ "$total_failed" -gt "$before" ] && return
    echo "$1 $state $(($(date +%s) - began)) $((total_passed - passed_before)) passed $(date +%F) $(git rev-parse --short=12 HEAD)" >>"$record"
}

states=$(scripts/soak_state.py)
case ${1:-} in
list) parts && exit ;;
status)
    status
    exit
    ;;
esac
[ $# -gt 0 ] && chosen="$*" || chosen=$(for name in $(names); do passed_here "$name" || echo "$name"; done)
if [ "$chosen" = "${chosen% *}" ] && [ $# -gt 0 ]; then # a single part, here
    one "$chosen"
    finish
    exit
fi
# Each part in a process of its own. Its output appears when it has ended.
# shellcheck disable=SC2086
printf '%s\n' $chosen | xargs -P "${SOAK_LANES:-3}" -I{} sh -c '"$1" "$2" >"$3/$2" 2>&1; cat "$3/$2"' - scripts/soak.sh {} "$beside"
for name in $chosen; do
    last=$(tail -n 1 "$beside/$name")
    passed=${last%% passed,*} failed=${last##*, }
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + ${failed%% *}))
    [ "${failed%% *}" -eq 0 ] || sed '$d' "$beside/$name" >>"$failures"
done
finish
