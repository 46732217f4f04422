/* SPDX-License-Identifier: MIT */
/*
 * Spawning fibers with thread-local storage of their own, and their end. See own_tls_spawn.c.
 */
#ifndef WEFT_SCHED_LIFE_OWN_TLS_SPAWN_H
#define WEFT_SCHED_LIFE_OWN_TLS_SPAWN_H

#include "sched/core/cluster.h"
#include "sched/wait/cancel.h"

/* Conditions that make a spawn take its slow path: a byte that is 0 in most programs. */
enum { WEFT_HEED_SCARCE = 1, WEFT_HEED_OWN_TLS = 2 };
extern _Atomic uint8_t weft__spawn_heeds;

/* Can such fibers be made in this process? 0 or -ENOTSUP. */
int weft__own_tls_check(void);
/* A cluster was made in which all fibers have storage of their own: spawns must take the slow path from now on. */
void weft__own_tls_heed(void);

/* As weft__spawn, and weft__spawn_child. */
int weft__own_tls_spawn(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg,
                        const char *where);
int weft__own_tls_spawn_child(struct weft__scope *s, const struct weft_attr *attr, int (*fn)(void *), void *arg,
                              const char *where);
/* Are these the functions with which such a fiber begins? */
bool weft__own_tls_is_begun_by(void *(*fn)(void *), int (*child)(void *));
/* The calling fiber, which has storage of its own, is about to end. */
void weft__own_tls_end(void);

#endif
