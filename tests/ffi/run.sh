#!/bin/sh
# SPDX-License-Identifier: MIT
# libweft-ffi: run.sh BUILD_DIR. Every inline function and macro of the headers has its symbol; programs in Rust and Python
# run. What is not installed (rustc, python3-cffi) is left out, and that is said. Ends in "ffi: N passed, N failed".
cd "$(dirname "$0")/../.." || exit 1
build=$1
library=$build/libweft-ffi.so
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. tests/check.sh
has() { grep -qx "$1" "$work/symbols"; }
knows() { grep -q "\"*\b$1\b" src/ffi/values.c; }

headers="include/weft.h $(find include/weft -maxdepth 1 -name '*.h' ! -name tls.h ! -name dist.h ! -name old.h)" # those two belong to other libraries
nm -D --defined-only "$library" | sed 's/.* //; s/@.*//' >"$work/symbols"
for name in $(grep -hoE 'static inline [a-z_ ]*\*?weft_[a-z_]+\(' $headers | grep -oE 'weft_[a-z_]+' | grep -v weft__ | sort -u) \
    $(grep -hoE '^#define weft_[a-z_]+\(' $headers | grep -oE 'weft_[a-z_]+' | sort -u); do
    check "$name is a symbol" has "$name"
done
# Structs that a program makes, and numbers.
for name in $(grep -hoE '^struct weft_[a-z_]+ \{' $headers | grep -oE 'weft_[a-z_]+' | sort -u); do
    case $name in weft_queue | weft_call | weft_deque | weft_entry | weft_waiter | weft__*) continue ;; esac # private
    check "the size of struct $name" knows "$name"
done
for name in $(printf '#include <weft.h>\n#include <weft/io.h>\n' | cc -E -dM -D_GNU_SOURCE -DWEFT_NO_OLD_NAMES -Iinclude -xc - |
    sed -nE 's/^#define (WEFT_[A-Z][A-Z_]*) (\(*[0-9].*|UINT64.*)$/\1/p' | grep -v '_H$\|^WEFT_NO_OLD_NAMES$'); do
    check "the value of $name" knows "$name"
done
# The tasks of weft/task.h, sorts, scans and typed channels are code that the C compiler writes: no symbol could do that.

cat >"$work/use.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <weft.h>
static int main_of(void *unused) { return (void)unused, 7; }
int main(int argc, char **argv) {
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    int (*run)(int (*)(void *), void *, const struct weft_config *) = library ? dlsym(library, "weft_run") : 0;
    size_t (*size)(const char *) = library ? dlsym(library, "weft_ffi_size") : 0;
    int (*python)(void *, void *) = library ? dlsym(library, "weft_ffi_python_run") : 0;
    if (!run) return puts(dlerror()), 1;
    if (size("weft_config") != sizeof(struct weft_config) || size("weft_scope") != sizeof(struct weft_scope)) return 2;
    if (size("nothing") || python(main, 0) != -38) return 3;
    return run(main_of, 0, 0) == 7 ? 0 : 4;
}
END
export LD_LIBRARY_PATH="$build${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
check "a program that opens it" sh -c "cc -Iinclude -o '$work/use' '$work/use.c' -ldl && '$work/use' '$library'"
if command -v rustc >/dev/null; then
    check "rustc" rustc -O -o "$work/rust" -L "$build" examples/ffi/weft.rs
    check "the program in Rust" sh -c "'$work/rust' | grep -x '1000 fibers, the sum is 500500'"
else
    echo "left out: there is no rustc"
fi
if python3 -c 'import cffi' 2>/dev/null; then
    export WEFT_FFI="$library"
    for workers in 1 2 4; do
        check "Python, $workers workers" env "WEFT_WORKERS=$workers" python3 examples/ffi/weft.py
    done
    check "Python, 1000 fibers" python3 examples/ffi/weft.py 1000 5
    cat >"$work/refused.py" <<'END'
import sys
sys.path.insert(0, "examples/ffi")
import weft
@weft.ffi.callback("void *(void *)")
def fiber(arg):
    return arg
handle = weft.ffi.new("struct weft_fiber *")
print(weft.lib.weft_spawn(handle, weft.ffi.NULL, fiber, weft.ffi.NULL))
def fails(): raise ValueError("as it should")
try:
    weft.run(fails)
except OSError as e:
    print("raised", e.errno)
END
    python3 "$work/refused.py" >"$work/refused" 2>&1
    check "a callback as a fiber is refused, with a line that says what to use" grep "use weft_ffi_python_run" "$work/refused"
    check "and an error" grep -qx -- -95 "$work/refused"
    check "an exception in main is an error" grep -qx "raised 5" "$work/refused"
else
    echo "left out: there is no cffi for Python"
fi
verdict ffi
