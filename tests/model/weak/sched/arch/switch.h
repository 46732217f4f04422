/* SPDX-License-Identifier: MIT */
/*
 * Replaces src/arch/switch.h: a switch reports that its stack was left, as the assembly does, and returns.
 * explored_switch tells the program where the thread is then.
 */
#ifndef WEFT_ARCH_SWITCH_H
#define WEFT_ARCH_SWITCH_H

#include "arch/context.h"

#define WEFT_SWITCHES __attribute__((noinline))

void explored_switch(struct weft__context *from, struct weft__context *to);

static inline void *weft__switch(struct weft__context *from, struct weft__context *to, void *carried) {
    explored_switch(from, to);
    store_rel(&from->on_stack, WEFT_AT_REST);
    return carried;
}
static inline __attribute__((noreturn)) void weft__switch_away(struct weft__context *to, void *carried) {
    (void)to, (void)carried;
    __builtin_trap();
}

extern __thread struct weft__worker *weft__tls;
static inline void *weft__tls_get(void) { return weft__tls; }

#endif
