/* SPDX-License-Identifier: MIT */
/*
 * Where errno is, for code that may continue on another kernel thread.
 */
#include "weft.h"

#include "base/base.h"

/* See weft.h: not const, not inlined, and opaque to link-time optimisation, so never kept. */
#undef errno
WEFT_PUBLIC WEFT_NOINLINE int *weft_errno_location(void) {
    int *location = __errno_location();
    __asm__ volatile("" : "+r"(location)::"memory");
    return location;
}
