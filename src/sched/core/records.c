/* SPDX-License-Identifier: MIT */
/*
 * The records of fibers: their slab, a loop over all live fibers, and the text that names a fiber in a message.
 */
#include "sched/core/self.h"

#include "base/message.h"

#include <stdlib.h>
#include <unistd.h>

/*
 * A thread may write to a free record: a cancellation by a stale handle takes the fiber's own lock before it sees that
 * the handle is stale. So that lock is the seal. The flags beside it mean nothing in a free record: CALLS outlasts the
 * fiber. The epoch of the wait word is never reset.
 */
static bool record_seal(struct weft__slot *slot) {
    _Atomic uint8_t *flags = &container_of(slot, struct weft__fiber, slot)->context.open;
    uint8_t open = load_rlx(flags);
    return !(open & WEFT_OPEN_LOCKED) && cas_ar(flags, &open, WEFT_OPEN_LOCKED); /* see fiber.h */
}

static void unseal_records(struct weft__slot *slot) {
    weft__frames_unlock(container_of(slot, struct weft__fiber, slot), 0);
}

static const struct weft__slab_trim_rules care = {offsetof(struct weft__fiber, wait), record_seal, unseal_records};

struct weft__slab weft__fibers = {.record_size = sizeof(struct weft__fiber), .care = &care};

__thread struct weft__worker *weft__tls WEFT_USED;

bool weft__each_live(bool (*fn)(struct weft__fiber *, void *), void *arg) {
    uint32_t records = load_acq(&weft__fibers.records);
    for (uint32_t i = 0; i < records; i++) {
        struct weft__fiber *f = weft__fiber_at(i);
        if (weft__slot_in_use(&f->slot) && load_rlx(&f->context.kind) == WEFT_KIND_FIBER &&
            !weft__join_has_ended(load_acq(&f->join)) && !fn(f, arg))
            return false;
    }
    return true;
}

/* --- messages ------------------------------------------------------------------------------- */

const char *weft__describe_as(struct weft_fiber fiber, const char *name, const char *where, struct weft__text *to) {
    static const char hex[] = "0123456789abcdef";
    char *p = to->text, *stop = to->text + sizeof to->text - 1;
    for (const char *s = "fiber 0x"; *s;) *p++ = *s++;
    for (int shift = 60; shift >= 0; shift -= 4)
        if (fiber.id >> shift) *p++ = hex[fiber.id >> shift & 15];
    const char *parts[] = {name[0] ? " \"" : "", name, name[0] ? "\"" : "", " spawned at ",
                           where ? where : "an unknown place"};
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        for (const char *s = parts[i]; *s && p < stop;) *p++ = *s++;
    *p = 0;
    return to->text;
}

const char *weft__describe(const struct weft__fiber *f, struct weft__text *to) {
    return weft__describe_as(weft__handle((struct weft__fiber *)(uintptr_t)f), f->name, f->where, to);
}

const char *weft__describe_caller(struct weft__text *to) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *me = w ? load_rlx(&w->current) : NULL;
    return me ? weft__describe(me, to) : "a thread";
}

WEFT_COLD _Noreturn void weft__forked_end(const struct weft__fiber *f) {
    struct weft__text text;
    weft__say("%s has come to its end in a forked child, and no runtime is there to go on: the child ends. "
              "Call _exit or exec before",
              f ? weft__describe(f, &text) : "a timer's function");
    _exit(EXIT_FAILURE);
}
