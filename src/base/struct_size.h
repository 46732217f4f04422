/* SPDX-License-Identifier: MIT */
/*
 * Public structs that may grow. A program passes the size that it was compiled with (weft.h). That may be the size of
 * an older or a newer header than the library's.
 */
#ifndef WEFT_BASE_STRUCT_SIZE_H
#define WEFT_BASE_STRUCT_SIZE_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Copies the program's struct to `own`. Members that the program does not know become zero. -E2BIG: the program has set
 * members that this library does not know. */
static inline int weft__struct_read(void *own, size_t known, const void *given, size_t size) {
    const char *bytes = (const char *)given;
    memset(own, 0, known);
    if (!given) return 0;
    for (size_t i = known; i < size; i++)
        if (bytes[i]) return -E2BIG;
    memcpy(own, given, size < known ? size : known);
    return 0;
}

#endif
