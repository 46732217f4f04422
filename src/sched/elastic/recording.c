/* SPDX-License-Identifier: MIT */
/*
 * Switching the flight recorder on and off: tapes for all workers, and the bit WEFT_ASIDE_RECORDED in each.
 *
 * The program asks for a recording by weft__recording_ask. A tool in another process writes a time to
 * weft__recorder.asked_until, and the monitor sees that at its next tick. The tool renews the time again and again, so
 * the recording ends if the tool is killed. While all workers are idle the monitor rests, and looks again when a worker
 * finds work.
 *
 * A worker that is made while the recorder is on gets its tape then.
 */
#include "sched/elastic/recording.h"

#include "base/sys.h"
#include "sched/dispatch/priority.h"
#include "sched/record/record.h"

static struct weft__lock lock; /* held for tens of microseconds, because the holder maps memory */

/* Switches the recording of one worker. Its tape is kept for ever, like the worker. Locked. */
static void worker_record(struct weft__worker *w, bool on) {
    struct weft__tape *t = load_rlx(&w->tape);
    if (on && !t) {
        t = weft__tape_make(w->cluster->placement >> WEFT_PLACEMENT_CLUSTER_SHIFT, w->index);
        store_rel(&w->tape, t); /* pairs with own_tape in record.c */
    }
    weft__worker_set_recorded(w, on && t);
}

static bool cluster_record(struct weft__cluster *c, void *on) {
    for (unsigned i = 0; i < load_acq(&c->count); i++) /* pairs with the making of a worker */
        if (c->workers[i]) worker_record(c->workers[i], *(bool *)on);
    return true;
}

/* Locked. */
static int recording_set(bool on) {
    int err = on ? weft__recorder_prepare() : 0;
    if (err) return err;
    if (!on) store_rlx(&weft__recorder.is_on, 0);
    if (on && !weft__is_recording()) add_rlx(&weft__recorder.recording, 1);
    weft__each_cluster(cluster_record, &on);
    if (on) store_rlx(&weft__recorder.is_on, 1);
    return 0;
}

static bool recording_is_asked(uint64_t now) {
    return load_rlx(&weft__recorder.asked) || load_rlx(&weft__recorder.asked_until) > now;
}

void weft__recording_tick(uint64_t now) {
    bool on = recording_is_asked(now);
    if (likely(!on && !weft__is_recording())) return;
    if (!weft__lock_try(&lock)) return; /* the monitor must not wait: it tries again at the next tick */
    recording_set(on);
    weft__unlock(&lock);
}

int weft__recording_prepare(void) {
    weft__lock(&lock);
    int err = weft__recorder_prepare();
    weft__unlock(&lock);
    return err;
}

int weft__recording_ask(bool on) {
    weft__lock(&lock);
    store_rlx(&weft__recorder.asked, on);
    int err = recording_set(recording_is_asked(weft__clock()));
    if (err) store_rlx(&weft__recorder.asked, 0);
    struct weft__worker *w = weft__self();
    if (w && weft__is_recorded(w)) weft__ready_trap(&w->ready); /* the caller's next push is recorded, too */
    weft__unlock(&lock);
    return err;
}

void weft__recording_add(struct weft__worker *w) {
    if (likely(!weft__is_recording())) return;
    weft__lock(&lock);
    worker_record(w, weft__is_recording());
    weft__unlock(&lock);
}

void weft__recording_after_fork(void) {
    weft__unlock(&lock);
    store_rlx(&weft__recorder.asked, 0);
    store_rlx(&weft__recorder.asked_until, 0);
    store_rlx(&weft__recorder.is_on, 0);
}
