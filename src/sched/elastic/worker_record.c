/* SPDX-License-Identifier: MIT */
/*
 * The records of workers: made once, reset for each carrier, and kept when the carrier has ended.
 *
 * A thread that cancels a timer, posts mail, or asks for statistics during a stop may still use the record of a worker.
 * So the record is kept, and a stop leaves its shared part as it was at the beginning: awake, no sleeper, no mail, no
 * timers.
 *
 * A thread that posts mail reads the worker's cluster after the fiber is in the mailbox. By then the fiber may have run
 * and ended, and the runtime may have been stopped and started again. So `cluster` and `index` are never written again,
 * and such a thread at worst wakes a worker without need.
 */
#include "sched/elastic/worker_record.h"
#include "sched/elastic/recording.h"

/* Slots of a new ready queue. Test builds start with few, so that the queue grows often. */
#ifndef WEFT_READY_FIRST
#define WEFT_READY_FIRST 256
#endif

static struct weft__worker *worker_record_make(struct weft__cluster *c, unsigned index) {
    struct weft__worker *w = weft__alloc_aligned(WEFT_APART, sizeof *w);
    if (!w) return NULL;
    weft__wheel_init(&w->wheel, weft__clock());
    w->cluster = c;
    w->index = index;
    return c->workers[index] = w;
}

/* Resets the carrier's own part. No carrier runs yet, and other threads read only the atomic fields. */
static void reset_own_part(struct weft__worker *w) {
    store_rlx(&w->current, NULL);
    w->placement = w->cluster->placement;
    w->pace = (struct weft__pace){0};
    w->sampling = (struct weft__sampling){0};
    w->search = (struct weft__search){0};
    w->help = (struct weft__help){0};
    w->carrier = (struct weft__carrier){0};
    w->home = (struct weft__home){0};
    w->tasks = (struct weft__worker_tasks){0};
    w->worth = (struct weft__worth){0};
    w->split_trial = (struct weft__split_trial){0};
    w->earned = (struct weft__earned){0};
    w->io_calls = 0;
    w->next_keep = 0;
    w->owed = 0;
    w->random = UINT64_C(0x9e3779b97f4a7c15) * (w->index + 1);
    w->cache = (struct weft__worker_cache){0};
    w->location = (struct weft__location){0};
    w->seen = (struct weft__seen_queues){0};
}

static void reset_shared_part(struct weft__worker *w) {
    weft__numbers_reset(&w->numbers);
    weft__progress_reset(&w->progress);
    weft__delays_reset(&w->delays);
    weft__age_reset(&w->age, weft__clock());
    weft__aside_reset(&w->aside);
    store_rlx(&w->sharing, WEFT_SHARED);
    weft__worker_calls_reset(&w->calls);
    weft__worker_rescue_reset(&w->rescue);
    weft__hog_reset(&w->hog);
    weft__wheel_open(&w->wheel);
}

int weft__worker_make(struct weft__cluster *c, unsigned index) {
    struct weft__worker *w = c->workers[index];
    if (!w && !(w = worker_record_make(c, index))) return -ENOMEM;
    reset_own_part(w);
    reset_shared_part(w);
    int err = weft__ready_init(&w->ready, WEFT_READY_FIRST, 0);
    if (!err) weft__recording_add(w);
    return err;
}

void weft__worker_release(struct weft__worker *w) {
    weft__wheel_close(&w->wheel);
    weft__ready_destroy(&w->ready);
    weft__free(w->seen.queue);
    w->seen = (struct weft__seen_queues){0};
    weft__victims_free(&w->location.victims);
}

void weft__worker_after_fork(struct weft__worker *w) {
    weft__wheel_after_fork(&w->wheel);
    weft__uring_close_copy(&w->ring);
}
