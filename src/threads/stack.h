/* SPDX-License-Identifier: MIT */
/* Calls a function on a stack that the program supplied. */
#ifndef WEFT_THREADS_STACK_H
#define WEFT_THREADS_STACK_H

/* Calls fn(arg) on the stack that ends at top. (stack_*.S) */
void weft__stack_call(void (*fn)(void *), void *arg, void *top) __attribute__((visibility("hidden")));

#endif
