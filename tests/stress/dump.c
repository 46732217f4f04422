/* SPDX-License-Identifier: MIT */
/* Prints the state of the runtime after it has stopped moving. It reads without locks. */
#include "stress.h"

#include "sched/core/wait_word.h"
#include "sched/wake/idle.h"

#include <stdio.h>

static void dump_worker(struct weft__worker *w) {
    static const char *const states[] = {"awake", "searching", "asleep"};
    fprintf(stderr, "  worker %u: %s%s%s%s, %llu ready, %s mail, %s pinned, %llu timers, next in %lld us\n", w->index,
            states[load_rlx(&w->driver.state) % 3], w->search.is_searcher ? ", searcher" : "",
            w->cluster->idle.watchman == w ? ", watchman" : "", load_rlx(&w->current) ? ", runs a fiber" : "",
            (unsigned long long)weft__ready_length(&w->ready), weft__mailbox_is_empty(&w->mailbox) ? "no" : "some",
            load_rlx(&w->aside.state) ? "some" : "no", (unsigned long long)load_rlx(&w->wheel.armed),
            (long long)(weft__wheel_next(&w->wheel) - weft__clock()) / 1000);
}

static void dump_fiber(struct weft__fiber *f) {
    struct weft__text text;
    uint64_t wait = load_rlx(&f->wait);
    fprintf(stderr, "  %s: %s%s%s%s, reason %llu, epoch %llu\n", weft__describe(f, &text),
            wait & WEFT_WAIT_WAITING ? "waits" : "does not wait", wait & WEFT_WAIT_PERMIT ? ", has a permit" : "",
            wait & WEFT_WAIT_CANCEL ? ", is cancelled" : "", load_rlx(&f->context.on_stack) ? ", on its stack" : "",
            (unsigned long long)(wait & WEFT_WAIT_REASON) >> 5, (unsigned long long)(wait >> 8));
}

void dump(void) {
    struct weft__cluster *c = &weft__cluster;
    uint64_t state = load_rlx(&c->idle.state);
    unsigned shown = 0;
    fprintf(stderr, "  %llu sleepers, %llu searchers, %s watchman, %llu injected%s\n",
            (unsigned long long)(state & WEFT_IDLE_SLEEPERS),
            (unsigned long long)((state & WEFT_IDLE_SEARCHERS) / WEFT_IDLE_SEARCHER),
            state & WEFT_IDLE_WATCHED ? "a" : "no", (unsigned long long)load_rlx(&c->injector.length),
            load_rlx(&c->running) ? "" : ", not running");
    for (unsigned i = 0; i < c->count; i++) dump_worker(c->workers[i]);
    for (uint32_t i = 0; i < load_acq(&weft__fibers.records) && shown < 60; i++) {
        struct weft__slot *slot = weft__slab_at(&weft__fibers, i);
        if (!weft__slot_in_use(slot)) continue;
        dump_fiber(container_of(slot, struct weft__fiber, slot));
        shown++;
    }
    weft_stats_print();
}
