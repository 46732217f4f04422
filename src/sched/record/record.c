/* SPDX-License-Identifier: MIT */
/* See record.h. */
#include "sched/record/record.h"

#include "base/sys.h"

#include <string.h>

struct weft__recorder weft__recorder = {.version = WEFT_RECORDER_VERSION};

/* --- any event ---------------------------------------------------------------------------------------- */

/* The worker's tape; NULL: it has none. Resets the tape if its state belongs to an earlier recording. */
static struct weft__tape *own_tape(struct weft__worker *w) {
    struct weft__tape *t = w ? load_acq(&w->tape) : NULL; /* pairs with elastic/recording.c, which makes the tape */
    uint32_t now = load_rlx(&weft__recorder.recording);
    if (t && unlikely(t->recording != now)) {
        t->recording = now;
        t->running = 0;
        t->yields = false;
    }
    return t;
}

WEFT_COLD void weft__record_slow(enum weft__happened kind, uint64_t fiber, uint64_t a, uint64_t b) {
    struct weft__tape *t = own_tape(weft__self());
    if (t) {
        weft__tape_write(t, weft__record_now(), kind, fiber, a, b);
        return;
    }
    t = load_acq(&weft__recorder.threads); /* pairs with elastic/recording.c */
    if (!t) return;
    weft__lock(&t->lock);
    weft__tape_write(t, weft__record_now(), kind, fiber, a, b);
    weft__unlock(&t->lock);
}

uint64_t weft__record_caller(void) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *f = w ? load_rlx(&w->current) : NULL;
    return f ? weft__life(f) : 0;
}

/* --- names ---------------------------------------------------------------------------------------------- */

static void name_write(struct weft__known_name *n, const char *string, bool from_end) {
    size_t length = strlen(string), skip = from_end && length >= sizeof n->text ? length - sizeof n->text + 1 : 0;
    strncpy(n->text, string + skip, sizeof n->text - 1);
    store_rel(&n->is_set, 1); /* pairs with readers: the text is written */
    add_rlx(&weft__recorder.known_names, 1);
}

uint32_t weft__record_name(const char *string, bool from_end) {
    uintptr_t key = (uintptr_t)string;
    if (!string || !weft__recorder.names) return 0;
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    for (unsigned i = 0; i < 16; i++) {
        uint32_t number = (uint32_t)((hash + i) % (WEFT_NAMES_MOST - 1)) + 1;
        struct weft__known_name *n = &weft__recorder.names[number];
        uintptr_t there = load_rlx(&n->string);
        if (likely(there == key)) return number;
        if (there) continue;
        if (cas_ar(&n->string, &there, key)) { /* claims the entry; no other thread writes it then */
            name_write(n, string, from_end);
            return number;
        }
        if (there == key) return number;
    }
    add_rlx(&weft__recorder.lost_names, 1);
    return 0;
}

/* --- fibers --------------------------------------------------------------------------------------------- */

static void record_spawn(uint64_t fiber, uint64_t by, struct weft__fiber *f) {
    uint64_t name[2];
    weft__record_slow(WEFT_HAPPENED_SPAWN, fiber, by, weft__record_name(f->where, true));
    if (!f->name[0]) return;
    memcpy(name, f->name, sizeof name);
    weft__record_slow(WEFT_HAPPENED_NAME, fiber, name[0], name[1]);
}

/* A fresh fiber that moves from queue to queue is recorded as spawned several times. Readers use the first event. */
WEFT_COLD void weft__record_ready(struct weft__worker *w, struct weft__fiber *f) {
    struct weft__tape *t = own_tape(w);
    struct weft__fiber *current = w ? load_rlx(&w->current) : NULL;
    uint64_t fiber = weft__life(f), by = !current ? 0 : t && t->running ? t->running : weft__life(current);
    if (load_rlx(&f->context.on_stack) == WEFT_FRESH) {
        record_spawn(fiber, by, f);
        return;
    }
    if (unlikely(!t)) {
        weft__record_slow(WEFT_HAPPENED_READY, fiber, by, 0);
        return;
    }
    /* The fiber yields; or w could not enter it yet, because its last carrier is still on its stack. */
    if (f == current || t->running == fiber) t->yields = true, by = fiber;
    weft__tape_write(t, weft__record_now(), WEFT_HAPPENED_READY, fiber, by, 0);
}

/* Has the fiber that the worker ran ended? Its record may be free already, or be used for another fiber. */
static bool has_ended(const struct weft__tape *t, struct weft__fiber *old) {
    return load_rlx(&old->slot.life) != t->running || weft__join_has_ended(load_rlx(&old->join));
}

WEFT_COLD WEFT_NOINLINE bool weft__record_leave(struct weft__worker *w, struct weft__fiber *old,
                                                struct weft__waits_for what) {
    struct weft__tape *t = own_tape(w);
    if (unlikely(!t)) return false;
    if (unlikely(!t->running)) {
        if (!old) return false;
        t->running = weft__life(old);
        t->fiber = old;
    }
    if (t->yields)
        t->yields = false; /* its yield was recorded just now, by weft__record_ready */
    else if (has_ended(t, t->fiber))
        weft__tape_write(t, weft__record_now(), WEFT_HAPPENED_END, t->running, 0, 0);
    else {
        uint64_t now = weft__record_now(), stack = weft__record_stack(t->fiber, t->walks);
        weft__tape_write(t, now, WEFT_HAPPENED_PARK, t->running, weft__what(what), stack);
    }
    t->running = 0;
    return true;
}

void weft__record_run(struct weft__worker *w, struct weft__fiber *f, bool left) {
    struct weft__tape *t = own_tape(w);
    if (unlikely(!t) || t->running == weft__life(f)) return;
    t->running = weft__life(f);
    t->fiber = f;
    weft__tape_write(t, left ? weft__tape_newest(t) : weft__record_now(), WEFT_HAPPENED_RUN, t->running, 0, 0);
}

/* --- preparation ------------------------------------------------------------------------------------------ */

int weft__recorder_prepare(void) {
    struct weft__recorder *r = &weft__recorder;
    void *rules, *stacks, *names;
    if (r->rules) return 0;
    if (weft__pages_map(&rules, sizeof *r->rules)) return -ENOMEM;
    if (weft__pages_map(&stacks, WEFT_STACKS_MOST * sizeof *r->stacks)) goto no_stacks;
    if (weft__pages_map(&names, WEFT_NAMES_MOST * sizeof *r->names)) goto no_names;
    struct weft__tape *threads = weft__tape_make(WEFT_TAPE_THREADS, WEFT_TAPE_THREADS);
    if (!threads) goto no_tape;
    store_rlx(&r->begin, weft__ticks());
    store_rlx(&r->begin_ns, weft__clock());
    r->stacks = stacks;
    r->names = names;
    r->rules = rules;
    store_rel(&r->threads, threads); /* pairs with weft__record_slow */
    return 0;
no_tape:
    weft__pages_unmap(names, WEFT_NAMES_MOST * sizeof *r->names);
no_names:
    weft__pages_unmap(stacks, WEFT_STACKS_MOST * sizeof *r->stacks);
no_stacks:
    weft__pages_unmap(rules, sizeof *r->rules);
    return -ENOMEM;
}
