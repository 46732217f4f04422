/* SPDX-License-Identifier: MIT */
/*
 * A single look cannot tell whether a ready fiber is starved: the fiber may run a microsecond later. So there are two
 * looks. A fiber that is ready in both, and has not run in between, is starved if other fibers ran meanwhile, and
 * forgotten if all workers slept. A fiber that has not begun has certainly not run. A fiber that yields in a loop looks
 * the same each time, although it runs. So of fibers that have begun only those of low priority count: they run seldom.
 */
#include "look/starved.h"

#include "base/sys.h"
#include "sched/core/fiber.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#define WEFT_SECOND_LOOK 500000000 /* ns after the first */
#define WEFT_SHORT_LOOK 100000000

static uint64_t switches_of(const struct weft__look *look) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < look->workers; i++)
        sum += look->worker[i].numbers[offsetof(struct weft_stats, switches) / sizeof(uint64_t)];
    return sum;
}

bool weft__has_worked(struct weft__report *report) {
    struct weft__look *look = report->look;
    struct timespec pause = {0, WEFT_SHORT_LOOK};
    uint64_t before = switches_of(look);
    if (report->has_stopped || look->memory->pid == getpid()) return false;
    while (nanosleep(&pause, &pause) && errno == EINTR) {
    }
    return !weft__look_workers(look) && switches_of(look) != before;
}

static bool all_sleep(const struct weft__look *look) {
    for (unsigned i = 0; i < look->workers; i++)
        if (look->worker[i].busy_since || look->worker[i].current) return false;
    return look->workers > 0;
}

static bool is_as_before(struct weft__look *look, const struct weft__seen *f, struct weft__seen *again) {
    if (!weft__look_fiber(look, f->id, again) || again->state != f->state || again->torn) return false;
    return again->at.pc == f->at.pc && again->at.sp == f->at.sp && again->wait == f->wait;
}

void weft__starved_find(struct weft__report *report, const struct weft__seen **ready, size_t n,
                        struct weft__starved *to) {
    struct weft__look *look = report->look;
    struct weft__seen *again = weft__alloc(sizeof *again);
    struct timespec pause = {0, WEFT_SECOND_LOOK};
    *to = (struct weft__starved){.seconds = WEFT_SECOND_LOOK / 1e9};
    if (!n || !again || report->has_stopped || look->memory->pid == getpid()) {
        weft__free(again);
        return;
    }
    bool slept = all_sleep(look), stacks = look->stacks;
    uint64_t before = switches_of(look);
    while (nanosleep(&pause, &pause) && errno == EINTR) {
    }
    if (!weft__look_workers(look)) {
        to->switches = switches_of(look) - before;
        to->asleep = slept && all_sleep(look) && !to->switches;
        look->stacks = false;
        for (size_t i = 0; i < n && (to->asleep || to->switches > n); i++) {
            const struct weft__seen *f = ready[i];
            bool low = (f->placement >> WEFT_PLACEMENT_PRIORITY_SHIFT & 3) == WEFT_LOW;
            if (!to->asleep && !low && f->state != WEFT_SEEN_FRESH) continue;
            if (!is_as_before(look, f, again)) continue;
            to->low += low;
            ready[i] = ready[to->count];
            ready[to->count++] = f;
        }
        look->stacks = stacks;
    }
    weft__free(again);
}
