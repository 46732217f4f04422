/* SPDX-License-Identifier: MIT */
/* Checks for programs that are a test each: the stress test, random programs. `broken` reports and ends the program. */
#ifndef WEFT_TESTS_WANT_H
#define WEFT_TESTS_WANT_H

_Noreturn void broken(const char *file, int line, const char *what, long long got, long long wanted);

#define WANT(got, wanted) \
    do { \
        long long got_ = (long long)(got), wanted_ = (long long)(wanted); \
        if (got_ != wanted_) broken(__FILE__, __LINE__, #got, got_, wanted_); \
    } while (0)
#define OK(call) WANT(call, 0)

#endif
