#!/bin/sh
# SPDX-License-Identifier: MIT
# libFuzzer over fuzz.c, with AddressSanitizer: fuzz.sh SECONDS. What it finds stays in build/fuzz-cached.
cd "$(dirname "$0")/../.." || exit 1
mkdir -p build/fuzz-cached/corpus build/fuzz-cached/streams
python3 tests/cached/protocol.py --corpus build/fuzz-cached/streams || exit 1
parts=$(sed -n "/'cached_core',/,/c_args/p" tools/cached/meson.build | grep -o "'[a-z_]*\.c'" | tr -d "'" | sed 's|^|tools/cached/|')
# shellcheck disable=SC2086
clang -g -O1 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Itools/cached -Iinclude \
    -Isrc -o build/fuzz-cached/fuzz tests/cached/fuzz.c $parts build/release/libweft.a \
    $(pkg-config --libs liburing 2>/dev/null) -lpthread || exit 1
if build/fuzz-cached/fuzz -max_total_time="$1" -max_len=4000 -artifact_prefix=build/fuzz-cached/ -verbosity=0 \
    -print_final_stats=1 -dict=tests/cached/fuzz.dict build/fuzz-cached/corpus build/fuzz-cached/streams; then
    echo "fuzz cached: 1 passed, 0 failed"
else
    echo "fuzz cached: 0 passed, 1 failed"
    exit 1
fi
