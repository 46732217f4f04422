#!/bin/sh
# The everyday tests: the release build whole, the sanitizers and the special builds at a smaller
# size, the models. Ends in "N passed, N failed". Less than ten minutes on two processors.
cd "$(dirname "$0")/.." || exit 1
. scripts/builds.sh
: "${WEFT_STRESS_SECONDS:=0.3}"
export WEFT_STRESS_SECONDS

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

# They take a processor for two minutes, and wait for nothing: beside the tests, which mostly sleep.
models=$(mktemp)
trap 'rm -f "$log" "$failures" "$models"' EXIT
tests/model/run.sh brief >"$models" 2>&1 &
models_run=$!
models_end() {
    wait "$models_run"
    status=$?
    cat "$models"
    return "$status"
}

configure release
step "release" tests/run.sh build/release unit fiber misuse stress sim
step "examples" examples_run
configure asan
step "AddressSanitizer" env WEFT_TEST_SCALE=20 WEFT_STRESS_WORKERS=8 tests/run.sh build/asan unit fiber misuse stress planted
configure tsan
step "ThreadSanitizer" env WEFT_TEST_SCALE=50 WEFT_STRESS_WORKERS=8 tests/run.sh build/tsan unit fiber stress planted
configure migrate
step "every switch migrates" env WEFT_TEST_SCALE=20 WEFT_STRESS_WORKERS=8 tests/run.sh build/migrate fiber stress
configure faults
step "every call fails once" tests/run.sh build/faults fault
step "models" models_end
finish
