/*
 * A thread that brings work in from outside, and workers that do it in its stead. See dry.c.
 */
#ifndef WEFT_SCHED_DRY_H
#define WEFT_SCHED_DRY_H

#include "sched/sched.h"

enum { WEFT_DRY_SERVED, WEFT_DRY_HELD, WEFT_DRY_DOZED, WEFT_DRY_AWAITED };

/* What workers call in the thread's stead. */
struct weft__dry {
    bool (*fetch)(void); /* makes ready what has come, and says whether there was any */
    int (*begin)(void);  /* a sleep begins: the bell that ends it; -1: the source of work is closed */
    /* Sleeps until there is something to fetch (true), the bell, or the deadline. */
    bool (*doze)(uint64_t deadline);
    void (*end)(void);        /* the sleep has ended */
    bool (*has_duties)(void); /* must the thread itself wake for anything else? */
};

/* The thread: waits until it is told, if all workers are busy; for so long at most if it has duties. */
void weft__dry_await(const struct weft__dry *by, uint64_t most);

/* A worker with nothing to do fetches. False: there was nothing. */
bool weft__dry_fetch(void);
/* A busy worker fetches, if that was not done for a while. */
void weft__dry_look(uint64_t now);
/* A tick of the monitor: if no worker has fetched since the last one, the thread goes on. */
void weft__dry_tick(void);

/* A worker that is a sleeper, after its fence. True: it must sleep by weft__dry_sleep, and leave then, or leave at
 * once. False: it sleeps elsewhere. */
bool weft__dry_take(struct weft__worker *w);
bool weft__dry_sleep(struct weft__worker *w, uint64_t deadline);
void weft__dry_leave(struct weft__worker *w);

#endif
