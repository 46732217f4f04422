/* SPDX-License-Identifier: MIT */
/*
 * The end of a fiber with thread-local storage of its own. Does what glibc does in start_thread after the thread's
 * function has returned; glibc exports no function for it.
 */
#define _GNU_SOURCE
#include "arch/thread_pointer.h"
#include "libc/libc.h"

#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>

static void **levels_of(const struct weft__libc *c) {
    return (void **)((char *)weft__thread_pointer() + c->descriptor + (ptrdiff_t)c->specific);
}

/* Calls the destructors of all values once. False: there was no value. */
static bool destroy_values(const struct weft__libc *c, unsigned per_level) {
    bool any = false;
    for (unsigned level = 0; level < c->levels; level++) {
        if (!levels_of(c)[level]) continue;
        for (pthread_key_t k = level * per_level; k < (level + 1) * per_level; k++) {
            void *value = c->keys[k].sequence & 1 ? pthread_getspecific(k) : NULL;
            if (!value) continue;
            pthread_setspecific(k, NULL);
            any = true;
            if (c->keys[k].destructor) c->keys[k].destructor(value);
        }
    }
    return any;
}

void weft__thread_end(void) {
    const struct weft__libc *c = weft__libc_read(NULL);
    unsigned per_level = (unsigned)(PTHREAD_KEYS_MAX / c->levels);
    c->call_destructors();
    for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS && destroy_values(c, per_level); round++) continue;
    /* The first level is part of the descriptor, the others were allocated. */
    for (size_t i = 1; i < c->levels; i++) {
        free(levels_of(c)[i]);
        levels_of(c)[i] = NULL;
    }
    uselocale(LC_GLOBAL_LOCALE);
}
