#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares the binary interface with that of the last tag vMAJOR.MINOR.PATCH, by abidiff: abi.sh [TAG]
#
# Within a MINOR version nothing may go away or change its layout; a new MINOR before 1.0, and a new MAJOR, may break it
# (docs/VERSIONS.md): then the changes are printed. Without a tag nothing is compared.
#
# The comparison itself is always tested: the library is the same as itself, and a member in a public struct, and a
# function that is gone, are found.
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"; git worktree prune' EXIT
version=$(sed -n "s/.*version: '\([0-9.]*\)'.*/\1/p" meson.build | head -n 1)
tag=${1:-$(git tag --list 'v[0-9]*' --merged HEAD --sort=-version:refname | head -n 1)}
passed=0
failed=0

built() { # source directory, build directory
    (cd "$1" && meson setup "$2" -Dtests=false -Dexamples=false -Dtool=false -Dwerror=false -Dbuildtype=debugoptimized &&
        ninja -C "$2") >"$work/log" 2>&1 ||
        { tail -n 30 "$work/log" && echo "abi: 0 passed, 1 failed" && exit 1; }
}
tree_of() { # commit, directory
    git worktree add --quiet --detach "$2" "$1" || { echo "abi: 0 passed, 1 failed" && exit 1; }
}
# Sets `changed` to yes or no. Bits of the result: 1 an error, 2 wrong use, 4 something has changed, 8 programs break.
compare() { # library before, its headers, library after, its headers
    abidiff --headers-dir1 "$2" --headers-dir2 "$4" --no-added-syms "$1" "$3" >"$work/said" 2>&1
    result=$?
    [ $((result & 3)) -eq 0 ] || { cat "$work/said" && echo "abi: 0 passed, 1 failed" && exit 1; }
    [ $((result & 12)) -ne 0 ] && changed=yes || changed=no
}
expect() { # yes or no, what
    if [ "$changed" = "$1" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $2"
        head -n 60 "$work/said"
    fi
}

built "$PWD" "$work/new"

# The comparison finds what it should.
compare "$work/new/libweft.so" include "$work/new/libweft.so" include
expect no "the library is the same as itself"
tree_of HEAD "$work/planted"
sed -i 's|^struct weft_attr {$|struct weft_attr {\n    uint64_t planted;|' "$work/planted/include/weft.h"
sed -i 's|^    global: weft_tls_\*;|    global: weft_tls_context_*;|' "$work/planted/src/tls.map"
built "$work/planted" "$work/planted-build"
compare "$work/planted-build/libweft.so" "$work/planted/include" "$work/new/libweft.so" include
expect yes "a member that is gone from a struct is found"
compare "$work/new/libweft-tls.so" include "$work/planted-build/libweft-tls.so" "$work/planted/include"
expect yes "functions that are gone are found"

if [ -z "$tag" ]; then
    echo "there is no tag yet: nothing is promised"
else
    echo "compared with $tag"
    tree_of "$tag" "$work/old"
    built "$work/old" "$work/older"
    # 0.1.2 and 0.1.0 must agree; so must 1.3.0 and 1.2.0.
    before=${tag#v}
    promised=no
    if [ "${version%%.*}" = "${before%%.*}" ]; then
        [ "${version%%.*}" -ge 1 ] || [ "${version%.*}" = "${before%.*}" ] && promised=yes
    fi
    for name in weft weft-tls weft-ffi; do
        [ -e "$work/older/lib$name.so" ] || continue
        compare "$work/older/lib$name.so" "$work/old/include" "$work/new/lib$name.so" include
        if [ "$promised" = yes ]; then expect no "lib$name is as it was in $tag"; else cat "$work/said"; fi
    done
fi
echo "abi: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
