/* SPDX-License-Identifier: MIT */
/*
 * The kernel and the C library's allocator, as weft uses them. Every call that can fail goes through here, so that a
 * test can make the Nth call fail. All functions return 0, a value, or a negative errno.
 */
#ifndef WEFT_BASE_SYS_H
#define WEFT_BASE_SYS_H

#include "base/atomic.h"
#include "base/base.h"

#include <pthread.h>

#define WEFT_PAGE 4096

/* Zeroed memory of the C library, or NULL. */
void *weft__alloc(size_t bytes);
void *weft__alloc_aligned(size_t alignment, size_t bytes);
void weft__free(void *memory);

/* Address space: zeroed pages, committed when touched, never huge pages. */
int weft__pages_map(void **out, size_t bytes);
void weft__pages_unmap(void *memory, size_t bytes);

/* Makes the ranges inaccessible. Guard markers need no mapping (Linux 6.13); -EINVAL if the kernel has none.
 * weft__pages_protect does the same, but costs two mappings, because it divides the accessible memory. */
struct weft__range {
    void *start;
    size_t bytes;
};
int weft__pages_guard(const struct weft__range *ranges, size_t n);
int weft__pages_protect(const struct weft__range *range);
/* Gives the pages of the ranges back to the kernel; they read as zeros afterwards. After an error some ranges are
 * unchanged. */
int weft__pages_discard(const struct weft__range *ranges, size_t n);
/* How many mappings the kernel allows a process. */
unsigned long weft__mappings_limit(void);
/* Sets pages[i] to 1 if page i of the range has memory. -errno: the kernel does not tell. */
int weft__pages_resident(const struct weft__range *range, unsigned char *pages);

/* weft__threads_begin records the CPUs of the calling thread. After weft__threads_bind, new threads may use those CPUs,
 * even if the creating thread is bound to fewer. */
void weft__threads_begin(void);
void weft__threads_bind(void);
int weft__thread_create(pthread_t *thread, void *(*fn)(void *), void *arg);
/* The same, with all signals blocked: no signal handler of the program runs on this thread. */
int weft__thread_create_masked(pthread_t *thread, void *(*fn)(void *), void *arg);

/* Asks the kernel to run the calling thread for this many ns at a time; 0: the default. A hint that Linux honours since
 * 6.12. */
void weft__thread_set_slice(uint64_t nanoseconds);

/*
 * How many threads of the process belong to the program, the caller included. While threads start or end, the result
 * may be too high, but is never too low. UINT_MAX: unknown, because the kernel does not tell or threads start or end
 * right now.
 */
unsigned weft__threads_count_foreign(void);
/* For a thread that weft made. true: from now on it runs code of the program and counts as a thread of the program.
 * false: it does so no longer. */
void weft__thread_set_foreign(bool lent);
/* In a forked child, which has only the calling thread. */
void weft__threads_after_fork(void);

/* Descriptors with close-on-exec that never block. */
int weft__epoll_create(void);
int weft__eventfd(void);
void weft__eventfd_notify(int fd); /* wakes the thread that waits for the descriptor */
int weft__pipe(int ends[2]);

/* Sleeps while *word == value, until a wake or the deadline (monotonic clock; WEFT_FOREVER: none). May return early.
 * -ETIMEDOUT when the deadline has passed. */
int weft__futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline);
void weft__futex_wake(_Atomic uint32_t *word, int threads);

/*
 * Asymmetric fences, for two threads that each store one word and load the other word. The light side is free; the
 * heavy side makes all threads execute a full fence by membarrier.
 *
 *   weft__fence_heavy   pairs with weft__fence_light, which is a compiler barrier if the kernel offers
 *                       membarrier, else a full fence
 *   weft__fence_all     pairs with a plain compiler barrier: when it returns, every thread has executed a full
 *                       fence. Takes milliseconds while weft__fence_is_symmetric is true
 *
 * A program may forbid membarrier later, by seccomp. Then fences become symmetric; sys.c describes how.
 */
void weft__fence_heavy(void);
void weft__fence_all(void);
extern _Atomic bool weft__fence_is_symmetric;
static inline void weft__fence_light(void) {
    fence_compiler();
    if (unlikely(load_rlx(&weft__fence_is_symmetric))) fence_sc();
}
/* Call before the first worker starts. */
void weft__fence_init(void);
/* In a forked child, which must register for membarrier again. */
void weft__fence_after_fork(void);

/* Nanoseconds of the monotonic clock. */
uint64_t weft__clock(void);

void weft__cpu_yield(void);
void weft__nap(uint64_t nanoseconds);

#ifdef WEFT_FAULTS
/* Test builds: the call that decrements this to zero fails. -1: no call fails. WEFT_FAULT_ALL: every call fails. */
#define WEFT_FAULT_ALL (-2L)
extern _Atomic long weft__fault_countdown;
bool weft__fault_is_due(void);
#else
static inline bool weft__fault_is_due(void) { return false; }
#endif

#endif
