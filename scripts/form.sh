#!/bin/sh
# SPDX-License-Identifier: MIT
# The form of the sources: clang-format has nothing to change, lines have at most 120 columns, every source names its
# licence, comments and documents avoid vague pronouns (words.py) and name only what exists (stale.py), and static
# functions have names that are good for a profile (names.py). clang-format does not reflow comments: it would join the
# items of a list.
#   form.sh         names the files that break a rule. Ends in "form: N passed, N failed", counting files
#   form.sh mend    formats them and adds the licence line; `make format`
cd "$(dirname "$0")/.." || exit 1
found=$(mktemp) || exit 1
trap 'rm -f "$found"' EXIT

formatted() { git ls-files '*.c' '*.h' '*.cpp' '*.hpp' ':!tests/model/weak.h'; } # that one is spin's
licensed() { git ls-files '*.c' '*.h' '*.cpp' '*.hpp' '*.S' '*.sh' '*.py' '*.pml' '*.go' '*.rs' '*meson.build' meson_options.txt Makefile .ci/run; }
without_licence() { licensed | xargs grep -L 'SPDX-License-Identifier: MIT'; }

name_licence() { # file
    case $1 in
    *.c | *.h | *.cpp | *.hpp | *.S | *.pml) line='/* SPDX-License-Identifier: MIT */' ;;
    *.go | *.rs) line='// SPDX-License-Identifier: MIT' ;;
    *) line='# SPDX-License-Identifier: MIT' ;;
    esac
    if head -n 1 "$1" | grep -q '^#!'; then sed -i "1a $line" "$1"; else sed -i "1i $line" "$1"; fi
}

if [ "${1:-}" = mend ]; then
    formatted | xargs clang-format -i
    for file in $(without_licence); do name_licence "$file"; done
    exit
fi
formatted | xargs -P "$(nproc)" -n 50 clang-format --dry-run 2>&1 |
    sed -n 's/^\([^:]*\):[0-9].*Wclang-format.*/\1: not formatted/p' | sort -u >"$found"
formatted | xargs awk 'length > 120 { print FILENAME ": line " FNR " has more than 120 columns" }' | sort -u -t: -k1,1 >>"$found"
without_licence | sed 's/$/: no line SPDX-License-Identifier: MIT/' >>"$found"
failed=$(wc -l <"$found")
passed=$(($(licensed | wc -l) - failed))
[ "$failed" -eq 0 ] || { cat "$found" && echo "make format mends the form and the licence"; }
for rule in words names stale; do
    if ! scripts/$rule.py >"$found"; then
        cat "$found"
        failed=$((failed + 1))
    fi
done
echo "form: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
