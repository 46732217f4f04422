/* SPDX-License-Identifier: MIT */
/* Attributes that all of weft's headers use. They include this header themselves. */
#ifndef WEFT_ATTRIBUTES_H
#define WEFT_ATTRIBUTES_H

/*
 * Makes the compiler warn when a program ignores the result of a function. It marks every function that can fail in a
 * correct program (out of memory, cancellation, a deadline) so that the caller does not get what it asked for.
 * Functions that fail only when misused (weft_mutex_unlock), and sleeps, are not marked.
 *
 * To ignore a result on purpose, write (void)!weft_join(fiber, NULL). To turn these warnings off, define WEFT_MUST_USE
 * as nothing before including weft.h.
 */
#ifndef WEFT_MUST_USE
#define WEFT_MUST_USE __attribute__((warn_unused_result))
#endif

/* Initialises any struct with zeros, in C and in C++. */
#ifdef __cplusplus
#define WEFT_ZERO \
    {}
#else
#define WEFT_ZERO \
    { 0 }
#endif

#endif
