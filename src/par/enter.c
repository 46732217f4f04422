/*
 * The way into a loop from a thread that is no fiber: a fiber is made that runs it, and the thread waits for
 * that one. The request stands on the thread's stack, so the wait must not fail: what it needs is had before.
 *
 * And how a loop lets others in: it keeps its worker for WEFT_TURN, or one piece, at a time.
 */
#include "par/par.h"

#define WEFT_TURN (20 * WEFT_MICROSECOND)

struct request {
    int (*fn)(void *);
    void *arg;
    int result;
};

static void *run_request(void *p) {
    struct request *r = p;
    r->result = r->fn(r->arg);
    return NULL;
}

int weft__par_enter(int (*fn)(void *), void *arg) {
    if (likely(weft__par_in_fiber())) return fn(arg);
    if (!weft__me()) return -ENOMEM;
    struct request r = {fn, arg, 0};
    struct weft_fiber fiber;
    int err = weft_spawn(&fiber, NULL, run_request, &r);
    if (!err) err = weft_join(fiber, NULL);
    return err ? err : r.result;
}

WEFT_COLD void weft__let_in_slow(struct weft__worker *w) {
    if (weft__clock() < w->next_turn) return;
    weft_yield();
    weft__self()->next_turn = weft__clock() + WEFT_TURN;
}
