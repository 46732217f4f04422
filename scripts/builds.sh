# The kinds of build that the tests run in. Sourced by check.sh and soak.sh.
#
#   configure NAME   sets up build/NAME if it is not there, and builds it
#   step TITLE ...   runs a command, shows its output, and adds its "N passed, N failed" to the total
#   begin NAME ...   runs a command in the second lane, `{ begin ...; begin ...; } & lane=$!`
#   end NAME         a command for step: what that one has said
#   finish           repeats what failed, prints the total as the last line; status 1 if anything failed
total_passed=0
total_failed=0
log=$(mktemp)
failures=$(mktemp)
beside=$(mktemp -d)
trap 'rm -rf "$log" "$failures" "$beside"' EXIT

options() {
    case "$1" in
    release) echo "" ;;
    debug) echo "-Dbuildtype=debug -Dtool=false" ;;
    asan) echo "-Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false -Dtool=false" ;;
    tsan) echo "-Dbuildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false -Dtool=false" ;;
    migrate) echo "-Dbuildtype=debugoptimized -Dmigrate=true -Dready_first=2 -Dtool=false" ;;
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

configure() {
    echo "== build/$1"
    case "$1" in clang*) compilers="CC=clang CXX=clang++" ;; *) compilers="CC=gcc CXX=g++" ;; esac
    if [ ! -f "build/$1/build.ninja" ]; then
        # shellcheck disable=SC2046
        env $compilers meson setup "build/$1" $(options "$1") >"$log" 2>&1 || { cat "$log"; exit 1; }
    fi
    ninja -C "build/$1" >"$log" 2>&1 || { cat "$log"; exit 1; }
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
    # All of it when something failed, else what each program said in the end.
    if [ "$failed" -gt 0 ]; then
        cat "$log"
        { echo "== failed: $title" && what_failed; } >>"$failures"
    else
        grep ' passed, ' "$log"
    fi
    echo "-- $title: $passed passed, $failed failed, $(($(date +%s) - begun)) s"
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
}

# Most tests sleep more than they compute, so two lanes go on side by side. The second one writes to files, which
# are looked at in the end.
begin() {
    name=$1
    shift
    "$@" >"$beside/$name" 2>&1
    echo $? >"$beside/$name.status"
}
end() {
    wait "$lane"
    cat "$beside/$1"
    return "$(cat "$beside/$1.status")"
}

# The last lines of each failure in the log: what it said is indented and stands before its verdict.
what_failed() {
    awk '/^  .* passed \(/ || / [0-9]+ passed, 0 failed/ { n = 0; next }
         { kept[n++] = $0 }
         /^  .* FAILED \(/ || / passed, [1-9][0-9]* failed/ || /: no result, status/ {
             for (i = n > 30 ? n - 30 : 0; i < n; i++) print kept[i]
             n = 0
         }' "$log"
}

finish() {
    cat "$failures"
    echo "$total_passed passed, $total_failed failed"
    [ "$total_failed" -eq 0 ]
}
