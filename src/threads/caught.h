/* SPDX-License-Identifier: MIT */
/*
 * The end of pthread_exit and of cancellations: a jump buffer that glibc knows, as in the macros of <pthread.h> for C
 * without exceptions. That header does not declare these functions for code that is compiled with exceptions.
 */
#ifndef WEFT_THREADS_CAUGHT_H
#define WEFT_THREADS_CAUGHT_H

#include <pthread.h>

int weft__caught_set(void *buffer, int save_mask) __asm__("__sigsetjmp") __attribute__((returns_twice));
void weft__caught_begin(__pthread_unwind_buf_t *buffer) __asm__("__pthread_register_cancel");
void weft__caught_end(__pthread_unwind_buf_t *buffer) __asm__("__pthread_unregister_cancel");

/* Returns 0 at first. Returns again, with another value, if the code after weft__caught_begin calls pthread_exit. */
#define weft__caught(buffer) weft__caught_set((buffer)->__cancel_jmp_buf, 0)

#endif
