/* SPDX-License-Identifier: MIT */
/*
 * For programs that are written for weft and call libraries that block. Such a program is linked with libweft-posix, or
 * runs with libweft-threads preloaded and WEFT_POSIX=1. Both libraries contain the whole of weft, so weft's own calls
 * never come here. The process must use their weft_ functions, so the library must come before libweft in the order in
 * which the loader looks for symbols.
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

/* Checks that the program's calls of weft lead to this library. */
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
    weft__libc_heed_libraries(false); /* for libraries that the program loads later: see dlopen in process.c */
}
