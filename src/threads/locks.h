/* SPDX-License-Identifier: MIT */
/* The parts of mutexes that conditions use. */
#ifndef WEFT_THREADS_LOCKS_H
#define WEFT_THREADS_LOCKS_H

#include "threads/threads.h"

/* Is it a mutex of this library, not of glibc? */
bool weft__mutex_is_ours(pthread_mutex_t *mutex);
/* Unlocks a mutex, also if it is recursive and locked several times; *depth says how often. EPERM: not the owner. */
int weft__mutex_release(pthread_mutex_t *mutex, uint32_t *depth);
int weft__mutex_retake(pthread_mutex_t *mutex, uint32_t depth);

#endif
