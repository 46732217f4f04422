/* SPDX-License-Identifier: MIT */
/*
 * The C library's own functions, for the stubs that stubs.py writes. All are looked up at the first call of any, which
 * may be before constructors run.
 */
#include "libc/libc.h"

#include <stdlib.h>
#include <string.h>

extern const char weft__real_names[] __attribute__((visibility("hidden"))); /* one after the other, then an empty one */
extern void *weft__real_table[] __attribute__((visibility("hidden")));
void weft__real_resolve(void);

/* Threads that come here at the same time write the same values. */
void weft__real_resolve(void) {
    size_t i = 0;
    for (const char *name = weft__real_names; *name; name += strlen(name) + 1) {
        void *f = weft__libc_function(name);
        weft__real_table[i++] = f ? f : (void *)(uintptr_t)abort; /* an older library has no such function */
    }
}
