/* SPDX-License-Identifier: MIT */
/* Tests put their files into the directory for temporary files. */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>

#define SCRATCH_SIZE 256

/* A name for mkdtemp and mkostemp to complete. */
static inline char *scratch_name(char name[SCRATCH_SIZE]) {
    const char *dir = getenv("TMPDIR");
    snprintf(name, SCRATCH_SIZE, "%s/weft-test-XXXXXX", dir ? dir : "/tmp");
    return name;
}

#endif
