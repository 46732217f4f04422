/* SPDX-License-Identifier: MIT */
/*
 * Hogs: fibers that keep a worker. Does the fiber compute, or is it in a blocking call? This file looks at one worker;
 * rescue.c decides what to do.
 *
 * A worker moves when it dispatches or polls: then its count of switches or the time of its last poll has changed.
 * A worker that has not moved runs one fiber all the time. That fiber is a hog once it has computed for half a tick, or
 * when its carrier is asleep in the kernel. A carrier that could run but has no processor is neither: nothing is wrong
 * with its fiber, and one more thread would only make it worse.
 *
 * Only the monitor calls these functions and writes struct weft__hog.
 */
#include "base/probe.h"
#include "sched/dispatch/delay.h"
#include "sched/dispatch/make_ready.h"
#include "sched/elastic/monitor.h"
#include "sched/elastic/rescue.h"
#include "sched/record/record.h"
#include "sched/wake/load.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * CPU time that the carrier has used, ns; 0: it has ended. The clock is named by the kernel's number of the thread, not
 * by the pthread: so the monitor may ask while the carrier is being joined. (The encoding is the kernel's and cannot
 * change: bits 0 to 1 the kind, bit 2 "of one thread", above them the complement of the number.)
 */
static uint64_t cpu_time(struct weft__worker *w) {
    enum { SCHED_TIME = 2, OF_THREAD = 4 };
    struct timespec t;
    clockid_t clock = (clockid_t)(~(unsigned)load_rlx(&w->carrier.tid) << 3 | OF_THREAD | SCHED_TIME);
    if (clock_gettime(clock, &t)) return 0;
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Is the carrier asleep in the kernel? */
static bool is_asleep(struct weft__worker *w) {
    char path[48], stat[128];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", load_rlx(&w->carrier.tid));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return true; /* no /proc: a carrier that uses no CPU time is taken to be asleep */
    ssize_t n = read(fd, stat, sizeof stat - 1);
    close(fd);
    stat[n > 0 ? n : 0] = 0;
    const char *end = strrchr(stat, ')'); /* the end of the name; the state follows */
    return !end || (end[1] && end[2] != 'R');
}

static bool has_moved(struct weft__worker *w) {
    struct weft__hog *h = &w->hog;
    uint64_t switches = load_rlx(&w->numbers.switches);
    uint64_t polled_at = load_rlx(&w->progress.polled_at);
    bool moved = switches != h->switches || polled_at != h->polled_at;
    h->switches = switches;
    h->polled_at = polled_at;
    return moved;
}

/*
 * Has the carrier slept since the last look? Not if it has used an eighth of the time. Reading /proc is slow. So a
 * carrier that was awake is not looked up again for half a tick, and a carrier that was asleep and has used no time
 * since is still asleep.
 */
static bool has_slept(struct weft__worker *w, uint64_t used, uint64_t now) {
    struct weft__hog *h = &w->hog;
    if (used > (now - h->seen_at) / 8) return false;
    if (h->blocks && !used) return true;
    if (now < h->next_ask) return false;
    if (is_asleep(w)) return true;
    h->next_ask = now + WEFT_TICK / 2;
    return false;
}

/* --- judging ---------------------------------------------------------------------------------------- */

/* Another fiber may use the record by now. Then the result names that fiber. */
WEFT_MAY_RACE void weft__hog_describe(struct weft__worker *w, struct weft__fiber *f, struct weft_hog *to) {
    to->fiber = weft__handle(f);
    to->since = load_rlx(&w->hog.since);
    to->where = f->where;
    memcpy(to->name, f->name, sizeof to->name);
    to->worker = w->index;
}

/* Records the fiber if it has kept the worker longer than any fiber before; for the statistics. */
static void remember_hog(struct weft__worker *w, struct weft__fiber *f, uint64_t now) {
    struct weft__hog *h = &w->hog;
    uint64_t kept = now - load_rlx(&h->since);
    if (kept <= h->kept) return;
    weft__lock(&h->lock);
    h->kept = kept;
    weft__hog_describe(w, f, &h->longest);
    weft__unlock(&h->lock);
}

/* The worker has run the same fiber since the last look. Does the fiber block, or has it computed for long enough? A
 * fiber that has computed may block later. On a busy machine it takes many ticks to compute for half a tick. */
static void hog_judge(struct weft__worker *w, struct weft__fiber *f, uint64_t cpu, uint64_t now) {
    struct weft__hog *h = &w->hog;
    bool blocks = has_slept(w, cpu - h->cpu_seen, now), computes = cpu - h->cpu >= WEFT_TICK / 2;
    h->cpu_seen = cpu;
    h->seen_at = now;
    if (!blocks && !computes) return;
    h->blocks = blocks;
    if (!load_rlx(&h->fiber)) {
        store_rlx(&h->since, now - WEFT_TICK);
        weft__probe3(hog, w->index, weft__handle(f).id, blocks);
        weft__record(WEFT_HAPPENED_HOG, weft__handle(f).id, w->index, blocks);
    }
    store_rel(&h->fiber, f); /* pairs with weft_hogs */
    weft__hog_remember(f);
    remember_hog(w, f, now);
}

static uint64_t hog_larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* How long the oldest fiber in the queue has waited: at least since the monitor first saw it at the head. */
static uint64_t waited_in_queue(struct weft__worker *w, uint64_t now) {
    struct weft__hog *h = &w->hog;
    uint64_t head = load_rlx(&w->ready.head);
    if (!weft__ready_length(&w->ready))
        h->head_at = 0;
    else if (!h->head_at || h->head != head) {
        h->head = head;
        h->head_at = now;
    }
    return hog_larger(weft__age_of(w, now), weft__since(h->head_at, now));
}

/* The same for the lists of pinned and prioritized fibers, and for the injector. */
static uint64_t waited_aside(struct weft__worker *w, uint64_t now) {
    uint64_t waited = weft__since(load_rlx(&w->cluster->injector.timed.since), now);
    for (unsigned i = 0; i < WEFT_ASIDES; i++)
        waited = hog_larger(waited, weft__since(load_rlx(&w->aside.timed[i].since), now));
    return waited;
}

static void note_waiting(struct weft__worker *w, struct weft__fiber *hog, uint64_t now) {
    uint64_t waited = waited_in_queue(w, now), longest = hog_larger(waited, waited_aside(w, now));
    uint64_t limit = load_rlx(&w->cluster->late_after);
    if (longest > load_rlx(&w->hog.waited)) store_rlx(&w->hog.waited, longest);
    if (unlikely(hog && limit && waited > limit)) weft__report_late(w, weft__ready_peek(&w->ready), hog, waited, now);
}

bool weft__hog_look(struct weft__worker *w, uint64_t now) {
    struct weft__hog *h = &w->hog;
    uint64_t cpu = cpu_time(w);
    weft__burden_look(w, cpu, now);
    struct weft__fiber *f = load_acq(&w->current); /* pairs with weft__choose: its record is looked at */
    if (!has_moved(w) && f)
        hog_judge(w, f, cpu, now);
    else {
        h->cpu = h->cpu_seen = cpu;
        h->seen_at = now;
        h->blocks = false;
        store_rlx(&h->fiber, NULL);
    }
    f = load_rlx(&h->fiber);
    note_waiting(w, f, now);
    return f != NULL;
}
