/* SPDX-License-Identifier: MIT */
/* What a fiber waits for, besides the objects that have chains (enum weft__wait_object, wait/wait_chain.h). */
#ifndef WEFT_SCHED_CORE_WAITS_FOR_H
#define WEFT_SCHED_CORE_WAITS_FOR_H

enum {
    WEFT_WAITS_JOIN = 32, /* the end of a fiber */
    WEFT_WAITS_PARK,      /* weft_unpark */
    WEFT_WAITS_SLEEP,     /* only a time */
    WEFT_WAITS_SCOPE,     /* the end of a scope's children */
    WEFT_WAITS_SELECT,    /* the first of several events */
    WEFT_WAITS_STACK,     /* a free stack */
    WEFT_WAITS_IO,        /* a request to the kernel */
    WEFT_WAITS_CALL,      /* the end of a forked call */
    WEFT_WAITS_OTHER,
    WEFT_WAITS_FUTEX, /* a word in memory: a futex call of a program whose threads are fibers */
};

/* What a fiber waits for, as an argument of calls. It is passed in registers; only the recorder's slow path reads it.
 */
struct weft__waits_for {
    const void *object; /* or the number of a fiber or descriptor */
    unsigned on;        /* enum weft__wait_object, or one of the above; 0: unknown */
};
static inline struct weft__waits_for weft__for(unsigned on, const void *object) {
    return (struct weft__waits_for){object, on};
}

#endif
