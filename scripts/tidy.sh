#!/bin/sh
# SPDX-License-Identifier: MIT
# clang-tidy over the library as build/clang has it, which clang compiles, with the checks of .clang-tidy. Ends in "tidy: N passed, N failed", counting files.
cd "$(dirname "$0")/.." || exit 1
found=$(mktemp -d) || exit 1
trap 'rm -rf "$found"' EXIT
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(sed -n 's|.*"file": ".*\(src/.*\.c\)".*|\1|p' build/clang/compile_commands.json | sort -u)
[ $# -gt 0 ] || { echo "build/clang is not set up: 0 passed, 1 failed" && exit 1; }
total=$#
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} sh -c \
    'clang-tidy -p build/clang --quiet "$1" >"$2/$(echo "$1" | tr / _)" 2>/dev/null || echo "$1" >>"$2/bad"' - {} "$found"
failed=0
[ ! -f "$found/bad" ] || {
    failed=$(wc -l <"$found/bad")
    while read -r file; do cat "$found/$(echo "$file" | tr / _)"; done <"$found/bad"
}
echo "tidy: $((total - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
