/*
 * The kernel and the C library's allocator, as weft uses them: every call that can fail passes
 * here, so that a test can make the Nth one fail, and a later build can put another world
 * underneath. All return 0, or a value, or a negative errno.
 */
#ifndef WEFT_BASE_SYS_H
#define WEFT_BASE_SYS_H

#include "base/atomic.h"
#include "base/base.h"

#include <pthread.h>

#define WEFT_PAGE 4096

/* Memory of the C library: zeroed. NULL when there is none. */
void *weft__alloc(size_t bytes);
void *weft__alloc_aligned(size_t alignment, size_t bytes);
void weft__free(void *memory);

/* Address space: zeroed pages, committed when touched, never huge pages. */
int weft__map(void **out, size_t bytes);
void weft__unmap(void *memory, size_t bytes);

/* Makes the ranges inaccessible. Guard markers cost no mapping (Linux 6.13); -EINVAL where the kernel has none.
 * weft__protect does the same at the price of two mappings: what is accessible is divided in two. */
struct weft__range {
    void *start;
    size_t bytes;
};
int weft__guard(const struct weft__range *ranges, size_t n);
int weft__protect(const struct weft__range *range);
/* Gives the pages of the ranges back; they read as zeros afterwards. After an error some do, and some are as they were.
 */
int weft__discard(const struct weft__range *ranges, size_t n);
/* How many mappings the kernel allows a process. */
unsigned long weft__mappings_most(void);
/* Which pages of the range have memory: 1 in pages[i], one byte each. -errno: the kernel does not tell. */
int weft__resident(const struct weft__range *range, unsigned char *pages);

/* From when on some threads are bound to CPUs, new ones may use those of the thread that began, whatever their makers
 * are bound to. */
void weft__threads_begin(void);
void weft__threads_bind(void);
int weft__thread_create(pthread_t *thread, void *(*fn)(void *), void *arg);
/* The same, and it blocks all signals: the program's handlers do not run on it. */
int weft__thread_create_deaf(pthread_t *thread, void *(*fn)(void *), void *arg);

/* The kernel lets the calling thread run for so many ns at a time, 0: for the usual time. Only a wish, which Linux
 * heeds since 6.12. */
void weft__thread_slice(uint64_t nanoseconds);

/*
 * How many threads of the process are the program's, the caller included; or more, for a moment, when one of any kind
 * begins or ends, but never fewer. UINT_MAX: the kernel does not say, or threads begin or end just now.
 */
unsigned weft__threads_foreign(void);
/* The calling thread, which weft has made, runs code of the program from now on, or does not any more: it counts as
 * one of the program's meanwhile. */
void weft__thread_lent(bool lent);
/* In a forked child: none of the others is there. */
void weft__threads_forked(void);

/* Descriptors that an exec closes and that never block. */
int weft__epoll_create(void);
int weft__eventfd(void);
void weft__eventfd_ring(int fd); /* wakes the thread that waits for the descriptor */
int weft__pipe(int ends[2]);

/* Sleeps while *word == value, until the deadline (monotonic, WEFT_FOREVER: none) or a wake. May
 * return early. -ETIMEDOUT when the deadline has passed. */
int weft__futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline);
void weft__futex_wake(_Atomic uint32_t *word, int threads);

/*
 * Asymmetric fences, of two threads that each store one word and load the other's. The light side pays nothing, the
 * heavy side makes all threads pass a full fence by membarrier.
 *
 *   weft__fence_heavy   pairs with weft__fence_light, which is a compiler barrier where the kernel offers
 *                       membarrier, and a full fence where it does not
 *   weft__fence_all     pairs with a compiler barrier alone: every thread has passed a full fence when it returns.
 *                       Takes milliseconds while weft__fence_is_symmetric is true
 *
 * A program may forbid membarrier after it worked, by seccomp. Then fences are symmetric from then on; see sys.c for
 * how they become so.
 */
void weft__fence_heavy(void);
void weft__fence_all(void);
extern _Atomic bool weft__fence_is_symmetric;
static inline void weft__fence_light(void) {
    fence_compiler();
    if (unlikely(load_rlx(&weft__fence_is_symmetric))) fence_sc();
}
/* Before the first worker starts. */
void weft__fence_init(void);
/* In a forked child: it must say anew that it wants membarrier. */
void weft__fence_forked(void);

/* Nanoseconds of the monotonic clock. */
uint64_t weft__clock(void);

void weft__cpu_yield(void);
void weft__nap(uint64_t nanoseconds);

#ifdef WEFT_FAULTS
/* Test builds: the call that brings this to zero fails; at -1 none does, at WEFT_FAULT_ALL all do. */
#define WEFT_FAULT_ALL (-2L)
extern _Atomic long weft__fault_countdown;
bool weft__fault(void);
#else
static inline bool weft__fault(void) { return false; }
#endif

#endif
