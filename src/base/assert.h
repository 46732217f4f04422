/* SPDX-License-Identifier: MIT */
/*
 * Assertions: invariants that the code relies on. They are checked in debug and sanitizer builds, and cost nothing in
 * others: the condition is compiled, so that it stays correct, but never evaluated. A broken invariant stops the
 * program with one line.
 */
#ifndef WEFT_BASE_ASSERT_H
#define WEFT_BASE_ASSERT_H

#include "base/base.h"

_Noreturn void weft__assert_failed(const char *condition, const char *file, int line, const char *function);

#ifdef WEFT_ASSERTIONS
#define WEFT_ASSERT(condition) \
    (likely(condition) ? (void)0 : weft__assert_failed(#condition, __FILE__, __LINE__, __func__))
#else
#define WEFT_ASSERT(condition) ((void)sizeof(!(condition)))
#endif

#endif
