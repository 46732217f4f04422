/* SPDX-License-Identifier: MIT */
/*
 * alone: one thread hands in one item at a time, just when the workers are about to fall asleep, and nothing else
 * happens. So a lost wake-up stays lost: with more activity, the next wake-up would hide it. Even so a sleeping worker
 * wakes up some time later to return memory. So this part does not wait for a hang. It looks for work in a queue while
 * all workers sleep, by their own state and by the kernel's, for a while.
 */
#define _GNU_SOURCE
#include "crowd.h"

#include "sched/wake/idle.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PARKED = 4, LOOKS = 15 };

static _Atomic uint64_t arrived;

static void *arrive(void *unused) {
    (void)unused;
    atomic_fetch_add(&arrived, 1);
    return NULL;
}
static void arrive_by_timer(void *unused) { arrive(unused); }

static _Atomic bool ends;
static void *wait_and_arrive(void *unused) {
    for (;;) {
        OK(weft_park());
        if (atomic_load(&ends)) return NULL;
        arrive(unused);
    }
}

/* Do all workers sleep although there is work? And how often have they fallen asleep? */
static bool overslept(uint64_t *sleeps) {
    struct weft__cluster *c = &weft__cluster;
    bool work = load_rlx(&c->injector.length) > 0;
    *sleeps = 0;
    for (unsigned i = 0; i < c->count; i++) {
        struct weft__worker *w = c->workers[i];
        if (load_rlx(&w->driver.state) != WEFT_ASLEEP) return false;
        uint64_t due = weft__wheel_next(&w->wheel);
        work |= weft__ready_length(&w->ready) || !weft__mailbox_is_empty(&w->mailbox) ||
                due < weft__clock() - WEFT_MILLISECOND;
        *sleeps += load_rlx(&w->numbers.sleeps);
    }
    return work;
}

/* Is no other thread of this process runnable? A thread that is runnable but has no processor yet only seems to sleep.
 * */
static bool others_sleep(void) {
    bool all = true;
    DIR *tasks = opendir("/proc/self/task");
    SO(tasks);
    for (struct dirent *d; all && (d = readdir(tasks));) {
        char path[300], state = 'S';
        if (d->d_name[0] == '.' || atoi(d->d_name) == gettid()) continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", d->d_name);
        FILE *f = fopen(path, "re");
        if (f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1) all = state == 'S';
        if (f) fclose(f);
    }
    closedir(tasks);
    return all;
}

/*
 * A processor of a virtual machine may stop for a while, and the kernel's timers with it: a thread whose timer has
 * expired still seems to sleep. So this thread moves to each processor in turn, and sleeps there for a moment. By then
 * everything that was due before has happened.
 */
static void visit_all_processors(void) {
    cpu_set_t all, one;
    OK(sched_getaffinity(0, sizeof all, &all));
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all)) continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (!sched_setaffinity(0, sizeof one, &one)) weft_sleep_for(WEFT_MILLISECOND);
    }
    OK(sched_setaffinity(0, sizeof all, &all));
}

/* The workers seem to have missed the item. Is that still so when no thread can be about to run? */
static bool really_overslept(uint64_t sent, uint64_t seen) {
    uint64_t sleeps;
    visit_all_processors();
    return others_sleep() && overslept(&sleeps) && sleeps == seen && atomic_load(&arrived) < sent;
}

/* Waits until the item has arrived. True: the workers had missed it. */
static bool await_arrival(uint64_t sent) {
    uint64_t seen = 0, sleeps;
    unsigned same = 0;
    bool stuck = false;
    for (unsigned turn = 0; atomic_load(&arrived) < sent; turn++) {
        if (turn < 2000) {
            if (turn % 16 == 15) weft_yield();
            continue;
        }
        weft_sleep_for(WEFT_MILLISECOND);
        same = overslept(&sleeps) && sleeps == seen ? same + 1 : 0;
        seen = sleeps;
        stuck = stuck || (same >= LOOKS && really_overslept(sent, seen));
    }
    return stuck;
}

static void one_item(uint64_t *random, struct weft_fiber *parked, struct weft_timer *timer) {
    struct weft_attr pinned = {.pinned = 1 + (unsigned)below(random, workers)};
    switch (below(random, 5)) {
    case 0: OK(weft_spawn(NULL, NULL, arrive, NULL)); break;
    case 1: OK(weft_spawn(NULL, &pinned, arrive, NULL)); break;
    case 2:
    case 3: OK(weft_unpark(parked[below(random, PARKED)])); break;
    case 4: OK(weft_timer_arm(timer, weft_now() + below(random, 30000), arrive_by_timer, NULL)); break;
    }
}

/*
 * Waits until just before the workers fall asleep. It measures now and then how long after an arrival they do, and
 * hands in the next items after that time, or a little earlier.
 */
static void aim(uint64_t *random) {
    enum { KEPT = 32 };
    static uint64_t took[KEPT];
    static unsigned taken;
    uint64_t since = weft_now(), now, until;
    if (taken < KEPT || below(random, 8) == 0) {
        while ((load_rlx(&weft__cluster.idle.state) & WEFT_IDLE_SLEEPERS) != weft__cluster.count &&
               weft_now() - since < WEFT_MILLISECOND) {
        }
        took[taken++ % KEPT] = weft_now() - since;
        return;
    }
    until = since + took[below(random, KEPT)];
    until -= below(random, 4000);
    do now = weft_now();
    while (now < until);
}

static void alone_round(uint64_t random) {
    struct weft_fiber parked[PARKED];
    struct weft_timer timer = WEFT_TIMER_INIT;
    bool lost = false;
    uint64_t sent = 0;
    atomic_store(&arrived, 0);
    atomic_store(&ends, false);
    for (unsigned i = 0; i < PARKED; i++) {
        struct weft_attr attr = {.pinned = i % 2 ? 1 + i % workers : 0};
        parked[i] = spawn(&attr, wait_and_arrive, NULL);
    }
    while (!over() && !lost) {
        one_item(&random, parked, &timer);
        lost = await_arrival(++sent);
        WANT(atomic_load(&arrived), sent);
        moved();
        aim(&random);
    }
    atomic_store(&ends, true);
    for (unsigned i = 0; i < PARKED; i++) {
        OK(weft_unpark(parked[i]));
        join(parked[i]);
    }
    WANT(lost, false);
}

const struct part parts_alone[] = {{"alone", alone_round, false, true}, {NULL, NULL, false, false}};
