#!/bin/sh
# SPDX-License-Identifier: MIT
# libFuzzer over fuzz.c, with AddressSanitizer: fuzz.sh SECONDS. What it finds stays in build/fuzz.
cd "$(dirname "$0")/../.." || exit 1
mkdir -p build/fuzz/corpus
parts=$(for part in chunks condition date parse range target; do echo "tools/serve/$part.c"; done)
# shellcheck disable=SC2086
clang -g -O1 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Itools/serve -Iinclude -Isrc \
    -o build/fuzz/fuzz tests/serve/fuzz.c $parts || exit 1
if build/fuzz/fuzz -max_total_time="$1" -max_len=10000 -artifact_prefix=build/fuzz/ -verbosity=0 -print_final_stats=1 \
    build/fuzz/corpus tests/serve/corpus; then
    echo "fuzz: 1 passed, 0 failed"
else
    echo "fuzz: 0 passed, 1 failed"
    exit 1
fi
