/* SPDX-License-Identifier: MIT */
/*
 * Threads that are no carriers: their records, and how many of them could still wake a fiber. See thread.c.
 */
#ifndef WEFT_SCHED_CORE_THREAD_H
#define WEFT_SCHED_CORE_THREAD_H

#include "sched/core/self.h"

/* The calling thread begins to wait without a deadline. */
void weft__thread_waits(void);
/* The caller ends the wait of a thread. */
void weft__thread_released(void);
/* The calling thread's wait is over. waited: it called weft__thread_waits before. */
void weft__thread_resumes(bool waited);
/* How many threads of the program, besides the caller, could wake a fiber. UINT_MAX: unknown, ask again later. */
unsigned weft__threads_awake(void);
/* In a forked child: gives the record to the calling thread. NULL: the thread keeps its own. Returns the thread's
 * record, or NULL. */
struct weft__fiber *weft__thread_adopt(struct weft__fiber *f);
void weft__threads_awake_after_fork(void);

/* The word that a thread sleeps on while its record waits: the lower half of the join word, which has no other use
 * there. Both machines are little-endian. */
static inline _Atomic uint32_t *weft__wait_thread_futex(struct weft__fiber *f) {
    return (_Atomic uint32_t *)(void *)&f->join;
}
/* The caller has won the wait of a thread: wakes the thread. */
void weft__wait_thread_release(struct weft__fiber *f);

#endif
