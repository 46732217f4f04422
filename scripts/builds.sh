# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# The kinds of build that the tests run in. Sourced by check.sh and soak.sh.
#
#   configure NAME   sets up build/NAME if it is not there, and builds it
#   tested NAME S... sets it up, builds what the suites S need, and runs them: a command for step and begin
#   scaled N ...     runs a command with the sizes of tests divided by N
#   step TITLE ...   runs a command, shows its output, and adds its "N passed, N failed" to the total
#   begin NAME ...   runs a command in a lane of its own: `begin NAME ... & lane=$!`
#   end NAME LANE    a command for step: waits for that lane, and repeats what its command has said
#   finish           repeats what failed, prints the total as the last line; status 1 if anything failed
total_passed=0
total_failed=0
log=$(mktemp)
failures=$(mktemp)
beside=$(mktemp -d)
trap 'rm -rf "$log" "$log.build" "$failures" "$beside"' EXIT

options() {
    case "$1" in
    release) echo "" ;;
    debug) echo "-Dbuildtype=debug -Dtool=false" ;;
    asan) echo "-Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false -Dtool=false" ;;
    # Less optimization and line numbers only: compiling the library takes two thirds of the time.
    tsan) echo "-Doptimization=1 -Dc_args=-g1 -Db_sanitize=thread -Db_lundef=false -Dtool=false" ;;
    # For every day, three in one: calls fail while fibers migrate, and AddressSanitizer looks. Compiling for UBSan would
    # take as long again.
    everyday) echo "-Doptimization=1 -Dc_args=-g1 -Db_sanitize=address -Db_lundef=false -Dmigrate=true -Dfaults=true -Dready_first=2 -Dtool=false" ;;
    # By clang; and with faults, so that the calls that fail do so while fibers migrate.
    migrate) echo "-Dbuildtype=debugoptimized -Dmigrate=true -Dfaults=true -Dready_first=2 -Dtool=false" ;;
    faults) echo "-Dbuildtype=debugoptimized -Dfaults=true -Dready_first=2 -Dtool=false" ;;
    locks) echo "-Dbuildtype=debugoptimized -Dlocks=true -Dtool=false" ;;
    lto) echo "-Db_lto=true -Db_pie=true" ;;
    frames) echo "-Dbuildtype=debugoptimized -Dc_args=-fno-omit-frame-pointer -Dtool=false" ;;
    v4) echo "-Dc_args=-march=x86-64-v4 -Dcpp_args=-march=x86-64-v4" ;; # AVX-512: more registers, and masks
    clang) echo "" ;;
    clang-asan) echo "-Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false -Dtool=false" ;;
    clang-tsan) echo "-Dbuildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false -Dtool=false" ;;
    aarch64) echo "--cross-file scripts/aarch64.ini -Dbuildtype=debugoptimized -Ddefault_library=static -Dtool=false" ;;
    esac
}

set_up() {
    case "$1" in clang* | migrate) compilers="CC=clang CXX=clang++" ;; *) compilers="CC=gcc CXX=g++" ;; esac
    # An MPI that was installed since then has its library built, too.
    if [ -f "build/$1/build.ninja" ]; then
        [ "$1" != release ] || ! pkg-config --exists ompi-c || grep -q weft-mpi "build/$1/build.ninja" ||
            meson setup --reconfigure "build/$1"
        return
    fi
    # shellcheck disable=SC2046
    env $compilers meson setup "build/$1" $(options "$1")
}

configure() {
    echo "== build/$1"
    set_up "$1" >"$log.build" 2>&1 && ninja -C "build/$1" >"$log.build" 2>&1 && return
    cat "$log.build"
    return 1
}

scaled() ( # the tests' sizes divided by a number, then a command
    WEFT_TEST_SCALE=$1
    export WEFT_TEST_SCALE
    shift
    "$@"
)

tested() {
    build=$1
    shift
    set_up "$build" && tests/run.sh "build/$build" "$@"
}

step() {
    title=$1
    shift
    echo "== $title"
    begun=$(date +%s)
    "$@" >"$log" 2>&1
    status=$?
    passed=$(sed -n 's/^\(.*: \)\{0,1\}\([0-9]*\) passed, [0-9]* failed.*/\2/p' "$log" | tail -n 1)
    failed=$(sed -n 's/^\(.*: \)\{0,1\}[0-9]* passed, \([0-9]*\) failed.*/\2/p' "$log" | tail -n 1)
    if [ -z "$passed" ] || [ -z "$failed" ]; then
        passed=0
        failed=1
    fi
    [ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
    grep ' passed, ' "$log"
    [ "$failed" -eq 0 ] || { echo "== failed: $title" && what_failed; } | tee -a "$failures"
    [ "$failed" -gt 0 ] || sed -n '/^-- unsteady/,$p' "$log" | tee -a "$failures"
    echo "-- $title: $passed passed, $failed failed, $(($(date +%s) - begun)) s"
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
}

# Most tests sleep more than they compute, so lanes go on side by side. A lane writes to a file, which is read at its end.
begin() {
    name=$1
    shift
    "$@" >"$beside/$name" 2>&1
}
end() {
    wait "$2"
    lane_status=$?
    cat "$beside/$1"
    return "$lane_status"
}

# What run.sh repeats of the programs that failed; of another script, its last lines.
what_failed() {
    if grep -q '^-- failed: ' "$log"; then
        sed -n '/^-- failed: /,$p' "$log"
    else
        tail -n 60 "$log"
    fi
}

finish() {
    cat "$failures"
    echo "$total_passed passed, $total_failed failed"
    [ "$total_failed" -eq 0 ]
}
