/* SPDX-License-Identifier: MIT */
/* CHECK, for the programs of this directory and of tests/posix. It does not use weft. */
#ifndef WEFT_TESTS_THREADS_REQUIRE_H
#define WEFT_TESTS_THREADS_REQUIRE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
            _exit(1); \
        } \
    } while (0)

#endif
