/* SPDX-License-Identifier: MIT */
/* Reads the memory of a process, also of the calling process, by process_vm_readv, which needs no help from the target.
 * Writes only fields of the recorder. */
#define _GNU_SOURCE
#include "look/trace.h"

#include <sys/uio.h>

#define WEFT_READ_AT_ONCE 48 /* small frames: see meson.build */

/* How many of the first n wants were read whole. A call stops at the first byte that it cannot read. */
static unsigned read_some(pid_t pid, struct weft__want *wants, unsigned n) {
    struct iovec to[WEFT_READ_AT_ONCE], from[WEFT_READ_AT_ONCE];
    for (unsigned i = 0; i < n; i++) {
        to[i] = (struct iovec){wants[i].to, wants[i].size};
        from[i] = (struct iovec){(void *)(uintptr_t)wants[i].at, wants[i].size};
    }
    ssize_t got = process_vm_readv(pid, to, n, from, n, 0);
    unsigned whole = 0;
    while (whole < n && got >= (ssize_t)wants[whole].size) {
        got -= (ssize_t)wants[whole].size;
        wants[whole++].ok = true;
    }
    return whole;
}

static void read_process(struct weft__memory *m, struct weft__want *wants, unsigned n) {
    while (n) {
        unsigned some = n < WEFT_READ_AT_ONCE ? n : WEFT_READ_AT_ONCE;
        unsigned whole = read_some(m->pid, wants, some);
        if (whole < some) wants[whole++].ok = false;
        wants += whole;
        n -= whole;
    }
}

struct weft__memory weft__memory_of(pid_t pid) {
    return (struct weft__memory){.read = read_process, .pid = pid};
}

bool weft__poke(struct weft__memory *m, uint64_t at, const void *from, size_t size) {
    if (m->table && weft__peek64(m, m->table) != m->table_begins) return false;
    struct iovec own = {(void *)(uintptr_t)from, size}, there = {(void *)(uintptr_t)at, size};
    return process_vm_writev(m->pid, &own, 1, &there, 1, 0) == (ssize_t)size;
}

void weft__peek_string(struct weft__memory *m, uint64_t at, char *to, size_t size) {
    enum { PIECE = 32 };
    size_t n = 0;
    while (n + 1 < size) {
        size_t piece = PIECE - (at + n) % PIECE; /* within one page, because the next page may not be readable */
        if (piece > size - 1 - n) piece = size - 1 - n;
        if (!weft__peek(m, at + n, to + n, piece)) break;
        char *end = memchr(to + n, 0, piece);
        if (end) return;
        n += piece;
    }
    to[n] = 0;
}
