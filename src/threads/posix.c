/* SPDX-License-Identifier: MIT */
/*
 * Programs that are written for weft, and call libraries that block. libweft-posix is linked to such a program; or
 * libweft-threads is preloaded, with WEFT_POSIX=1. Both have the whole of weft inside, so weft's own calls never come
 * here. All weft_ functions of the process must then be theirs: the library comes before libweft in the order in which
 * the loader looks for symbols.
 */
#define _GNU_SOURCE
#include "base/message.h"
#include "threads/threads.h"

#include <dlfcn.h>
#include <stdlib.h>

#ifndef WEFT_POSIX_LINKED
#define WEFT_POSIX_LINKED 0 /* libweft-posix is compiled with 1 */
#endif

bool weft__posix = WEFT_POSIX_LINKED;

/* Where the program's calls of weft lead. */
static void check_order(void) {
    void *theirs = dlsym(RTLD_DEFAULT, "weft_version");
    if (theirs && theirs != (void *)(uintptr_t)weft_version)
        weft__die("another libweft comes before libweft-posix: link -lweft-posix before -lweft, or preload it");
}

__attribute__((constructor)) static void weft__posix_begin(void) {
    const char *asked = getenv("WEFT_POSIX");
    if (asked && *asked && *asked != '0') weft__posix = true;
    if (!weft__posix) return;
    check_order();
    weft__libc_heed_libraries(false); /* thread-locals of libraries that are loaded later: see dlopen */
}
