/* SPDX-License-Identifier: MIT */
/*
 * Blocks: thread-local storage and a thread descriptor of glibc that belong to a fiber. See README.md.
 */
#ifndef WEFT_LIBC_H
#define WEFT_LIBC_H

#include "base/base.h"

/* A loaded library, by its dynamic symbol table. */
struct weft__module {
    uintptr_t base;
    const void *symbols, *versions;
    const uint32_t *hash;
    const char *names;
};
/* The library that contains this address; false: none that has a symbol table. */
bool weft__module_containing(struct weft__module *m, uintptr_t address);
/* The address of a symbol in its default version; NULL: the library does not define it. */
void *weft__module_find(const struct weft__module *m, const char *name);
/* A function of the C library itself, whatever other libraries are loaded. NULL: there is none. */
void *weft__libc_function(const char *name);

/* What layout.c has read. Offsets are from the start of the descriptor, which is what pthread_self returns. */
struct weft__libc {
    size_t descriptor_size;
    ptrdiff_t descriptor;    /* from the thread pointer to the descriptor: 0, or minus its size */
    size_t tid, list, dtv;   /* fields of the descriptor, or behind it */
    size_t specific, levels; /* the values of keys: an array of pointers to second levels */
    size_t robust;           /* the list of robust mutexes that the kernel knows */
    ptrdiff_t storage;       /* from the thread pointer to the thread-locals of the C library */
    size_t storage_size;
    void *(*allocate)(void *);
    void *(*initialise)(void *, bool);
    void (*deallocate)(void *, bool);
    void (*call_destructors)(void);
    const struct weft__libc_key *keys;
};
struct weft__libc_key {
    uintptr_t sequence; /* odd: in use */
    void (*destructor)(void *);
};
/* Reads the layout once. NULL: a static program, an unknown C library, or a processor or kernel that does not allow it;
 * *why then is a line that says which. why may be NULL. */
const struct weft__libc *weft__libc_read(const char **why);

/* The thread pointer of a new block; NULL: no memory, or not possible here. */
void *weft__block_get(void);
/* The fiber of this block has ended, and no carrier uses it. */
void weft__block_put(void *thread_pointer);
/* The descriptor of a block, as pthread_self returns it. */
void *weft__block_descriptor(void *thread_pointer);
/* In a forked child: blocks of fibers that are not there stay as they are, the pool can be used. */
void weft__blocks_after_fork(void);
/* Copies the first values of thread-locals to a fixed place in every block. (block.c) */
void weft__blocks_initialise(ptrdiff_t at, const void *image, size_t filled, size_t size);
/* A library was loaded or unloaded: gives the initial-exec thread-locals of new libraries their values in every
 * block. Before the first block is made, it only notes which libraries are loaded. (libraries.c) */
void weft__libc_heed_libraries(bool initialise);

/* The flow that runs on this block ends as a thread does: destructors of C++ thread-locals, then of keys. */
void weft__thread_end(void);

#endif
