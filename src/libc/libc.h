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
/* Finds the library that contains this address. False: there is none, or it has no symbol table. */
bool weft__module_containing(struct weft__module *m, uintptr_t address);
/* The address of a symbol in its default version; NULL: the library does not define it. */
void *weft__module_find(const struct weft__module *m, const char *name);
/* The function of this name in the C library, also if another library replaces it. NULL: there is none. */
void *weft__libc_function(const char *name);

/* What layout.c has read. Offsets are from the start of the descriptor, which is what pthread_self returns. */
struct weft__libc {
    size_t descriptor_size;
    ptrdiff_t descriptor;    /* from the thread pointer to the descriptor: 0, or minus its size */
    size_t tid, list, dtv;   /* offsets of the thread id, of the link in glibc's list of threads, and of the dtv */
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
/* Reads the layout, once for the process. NULL: blocks are not possible, and *why is a line that gives the reason: a
 * static program, an unknown C library, or a processor or kernel that does not allow it. why may be NULL. */
const struct weft__libc *weft__libc_read(const char **why);

/* The thread pointer of a new block; NULL: no memory, or not possible here. */
void *weft__block_get(void);
/* The fiber of this block has ended, and no carrier uses it. */
void weft__block_put(void *thread_pointer);
/* The descriptor of a block, as pthread_self returns it. */
void *weft__block_descriptor(void *thread_pointer);
/* In a forked child: makes the pool usable. Blocks of the parent's fibers are never used again. */
void weft__blocks_after_fork(void);
/* The kernel stops writing the number of the CPU into this storage of the calling thread (restartable sequences). For a
 * thread that goes on with other storage: this may be used for something else then. */
void weft__rseq_leave(void *thread_pointer);
/* For libraries.c. Copies the first values of a library's thread-locals to offset `at` of every block. */
void weft__blocks_initialise(ptrdiff_t at, const void *image, size_t filled, size_t size);
/* A library was loaded or unloaded. Gives the initial-exec thread-locals of new libraries their first values in every
 * block. With initialise = false it only records which libraries are loaded. */
void weft__libc_heed_libraries(bool initialise);

/* Does what a thread does at its end, for the fiber that runs on this block: calls the destructors of C++
 * thread-locals, then those of keys. */
void weft__thread_end(void);

#endif
