#!/bin/sh
# Runs the tests of a build directory: run.sh BUILD_DIR [suite...]
#
# Suites: unit fiber misuse fault stress random planted sim serve cached inject; those that the build has, without arguments. Ends
# in one line "N passed, N failed", counting test cases, and with status 1 if one failed.
#
#   WEFT_TEST_SCALE      divides the sizes of the tests
#   WEFT_STRESS_SECONDS  of each stress run (1)
#   WEFT_RANDOM_SECONDS  of random programs (5)
#   WEFT_STRESS_WORKERS  numbers of workers to run it with ("2 8 32")
#   WEFT_TEST_IO         engines that tests of input and output are run with besides the usual one: epoll, forbidden,
#                        older: the ring of an older kernel
#   WEFT_TEST_MEMBARRIER forbidden: as on a kernel that has none
#   WEFT_TEST_LEAVE_OUT  names of programs that are not run
#   WEFT_TEST_UNDER      a command that runs each test binary, valgrind for instance
build=${1:?"usage: run.sh BUILD_DIR [suite...]"}
shift
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- unit fiber misuse fault stress random planted sim serve cached inject
passed=0
failed=0
output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT

# Adds up a last line "...: N passed, N failed"; without one, it counts as one failure.
count() {
    last=$(tail -n 1 "$output")
    p=$(echo "$last" | sed -n 's/.*: \([0-9]*\) passed, [0-9]* failed$/\1/p')
    f=$(echo "$last" | sed -n 's/.*: [0-9]* passed, \([0-9]*\) failed$/\1/p')
    if [ -n "$p" ] && [ -n "$f" ]; then
        passed=$((passed + p))
        failed=$((failed + f))
        [ "$1" -eq 0 ] || [ "$f" -gt 0 ] || failed=$((failed + 1))
    else
        echo "$2: no result, status $1"
        failed=$((failed + 1))
    fi
}

run() { # what it is called, then the command
    name=$1
    shift
    "$@" >"$output" 2>&1
    status=$?
    cat "$output"
    count "$status" "$name"
}

run_stress() {
    program=$build/tests/stress/stress
    [ -x "$program" ] || return
    for part in $("$program" list); do
        for workers in ${WEFT_STRESS_WORKERS:-2 8 32}; do
            run "stress $part" $WEFT_TEST_UNDER "$program" "$part" --seconds "${WEFT_STRESS_SECONDS:-1}" \
                --workers "$workers"
            case $part in
            io_*) run "stress $part, older kernel" env WEFT_RING_WITHOUT=51,sync_cancel $WEFT_TEST_UNDER "$program" \
                "$part" --seconds "${WEFT_STRESS_SECONDS:-1}" --workers "$workers" ;;
            esac
        done
    done
}

# From another seed each time; what fails is printed with its seed.
run_random() {
    program=$build/tests/random/random
    [ -x "$program" ] || return
    run random $WEFT_TEST_UNDER "$program" --seconds "${WEFT_RANDOM_SECONDS:-5}"
}

# On both engines, side by side: it waits more than it computes. Under ThreadSanitizer signals come too late to end it.
run_serve() {
    program=$build/tests/serve/serve
    [ -x "$program" ] || return
    case $build in *tsan*) return ;; esac
    WEFT_IO=epoll python3 "$here/serve/run.py" "$program" >"$output.epoll" 2>&1 &
    other=$!
    run serve python3 "$here/serve/run.py" "$program"
    wait "$other"
    run "serve on epoll" cat "$output.epoll"
    rm -f "$output.epoll"
    run "serve fuzz" "$build/tests/serve/fuzz" "$here/serve/corpus" 1
}

# Tests of input and output, again with the other engines.
run_other_engines() {
    for engine in ${WEFT_TEST_IO-epoll forbidden older}; do
        echo "$engine:"
        run "$1" env WEFT_TEST_IO="$engine" $WEFT_TEST_UNDER "$1"
    done
}

# The table of calls, on the smallest stack; a sanitizer's frames need more.
run_misuse() {
    case $build in *asan* | *tsan*) ;; *) WEFT_STACK_SIZE=16384 && export WEFT_STACK_SIZE ;; esac
    run_programs misuse
    unset WEFT_STACK_SIZE
}

run_programs() { # suite
    for program in "$build/tests/$1"/*; do
        [ -f "$program" ] && [ -x "$program" ] || continue
        case " $WEFT_TEST_LEAVE_OUT " in *" $(basename "$program") "*) continue ;; esac
        run "$program" $WEFT_TEST_UNDER "$program"
        case $program in
        */io_*) run_other_engines "$program" ;;
        esac
    done
}

for suite in "$@"; do
    case $suite in
    stress) run_stress ;;
    random) run_random ;;
    serve) run_serve ;;
    misuse) run_misuse ;;
    planted) [ -d "$build/tests/planted" ] && run planted "$here/planted/run.sh" "$build" ;;
    inject) run inject "$here/inject/run.sh" "$build" brief ;;
    sim) [ -x "$build/tests/sim/sim" ] && run sim $WEFT_TEST_UNDER "$build/tests/sim/sim" --quick ;;
    cached)
        run_programs cached
        # Under ThreadSanitizer signals come too late to end a server.
        case $build in *tsan*) continue ;; esac
        [ -x "$build/tests/cached/server/cached" ] && run cached "$here/cached/run.sh" "$build"
        ;;
    *) run_programs "$suite" ;;
    esac
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
