/* SPDX-License-Identifier: MIT */
/* Timers: called once, or cancelled, and the answers are true. */
#include "random.h"

enum { TIMERS = 6 };

struct alarm {
    struct weft_timer timer;
    uint64_t deadline;
    _Atomic unsigned fired;
    struct weft_sem rang;
};

/* On a worker, between fibers: it must not wait. */
static void ring(void *alarm) {
    struct alarm *a = alarm;
    SO(weft_now() >= a->deadline);
    atomic_fetch_add(&a->fired, 1);
    OK(weft_sem_post(&a->rang));
}

static void arm(struct party *p, struct alarm *a) {
    a->deadline = one_in(p, 4) ? below(p, weft_now()) : weft_now() + below(p, 300 * WEFT_MICROSECOND);
    if (one_in(p, 8)) a->deadline = weft_now() + 1000 * WEFT_SECOND; /* it will be cancelled */
    OK(weft_timer_arm(&a->timer, a->deadline, ring, a));
}

static bool is_far(const struct alarm *a) { return a->deadline > weft_now() + 100 * WEFT_SECOND; }

/* Cancels the timer, unless its function has been called. Returns whether it has been called. After a stop it certainly
 * has. */
static bool end_alarm(struct party *p, struct alarm *a) {
    bool far = is_far(a), stops = one_in(p, 3);
    if (far || one_in(p, 2)) {
        int err = stops ? weft_timer_stop(&a->timer) : weft_timer_cancel(&a->timer);
        if (!err) return false;
        SO(!far);
        WANT(err, -EALREADY);
        if (stops) OK(weft_sem_try(&a->rang));
        if (stops) return true;
    }
    OK(insist(p, wait_for_sem, &a->rang));
    return true;
}

static void run_timers(struct party *p) {
    struct alarm *a = p->op->data;
    unsigned n = 1 + (unsigned)below(p, TIMERS), rang[TIMERS] = {0};
    for (uint64_t rounds = 1 + below(p, 4); rounds; rounds--) {
        for (unsigned i = 0; i < n; i++) arm(p, &a[i]);
        if (is_far(&a[0])) WANT(weft_timer_arm(&a[0].timer, 0, ring, &a[0]), -EBUSY);
        pause_a_bit(p);
        for (unsigned i = 0; i < n; i++) rang[i] += end_alarm(p, &a[i]);
    }
    for (unsigned i = 0; i < n; i++) WANT(atomic_load(&a[i].fired), rang[i]);
}

/* After the program: no cancelled timer has called its function. */
static void check_timers(struct op *op) {
    struct alarm *a = op->data;
    for (unsigned i = 0; i < TIMERS; i++) WANT(weft_sem_try(&a[i].rang), -EAGAIN);
}

/* --- one arms, the others cancel: one of them, or the timer, wins ----------------------------- */

struct contested {
    struct alarm alarm;
    struct weft_latch armed, tried;
    _Atomic unsigned cancelled;
};

static bool make_contested(struct program *p, struct op *op) {
    struct contested *c = op->data;
    (void)p;
    OK(weft_latch_init(&c->armed, 1));
    OK(weft_latch_init(&c->tried, op->parties - 1));
    return true;
}

static void run_contested(struct party *p) {
    struct contested *c = p->op->data;
    if (p->role) {
        OK(insist(p, wait_for_latch, &c->armed));
        pause_a_bit(p);
        int err = weft_timer_cancel(&c->alarm.timer);
        SO(!err || err == -EALREADY);
        atomic_fetch_add(&c->cancelled, !err);
        OK(weft_latch_count_down(&c->tried, 1));
        return;
    }
    c->alarm.deadline = weft_now() + below(p, 50 * WEFT_MICROSECOND);
    OK(weft_timer_arm(&c->alarm.timer, c->alarm.deadline, ring, &c->alarm));
    OK(weft_latch_count_down(&c->armed, 1));
    OK(insist(p, wait_for_latch, &c->tried));
    if (!atomic_load(&c->cancelled)) OK(insist(p, wait_for_sem, &c->alarm.rang));
}

static void check_contested(struct op *op) {
    struct contested *c = op->data;
    WANT(atomic_load(&c->cancelled) + atomic_load(&c->alarm.fired), 1);
}

/* --- a timer that arms itself again, until it is stopped -------------------------------------- */

struct rearmed {
    struct weft_timer timer;
    _Atomic unsigned rang;
    unsigned at_stop;
};

static void ring_again(void *rearmed) {
    struct rearmed *r = rearmed;
    unsigned n = atomic_fetch_add(&r->rang, 1);
    OK(weft_timer_arm(&r->timer, weft_now() + n % 7 * 10 * WEFT_MICROSECOND, ring_again, r));
}

static void run_rearmed(struct party *p) {
    struct rearmed *r = p->op->data;
    OK(weft_timer_arm(&r->timer, weft_now() + below(p, 50 * WEFT_MICROSECOND), ring_again, r));
    pause_a_bit(p);
    int err = weft_timer_stop(&r->timer);
    SO(!err || err == -EALREADY);
    r->at_stop = atomic_load(&r->rang);
    WANT(weft_timer_stop(&r->timer), -EALREADY);
}

static void check_rearmed(struct op *op) {
    struct rearmed *r = op->data;
    WANT(atomic_load(&r->rang), r->at_stop);
}

static const struct kind kinds[] = {
    {"rearmed", 15, BY_THREADS, 1, 1, sizeof(struct rearmed), NULL, run_rearmed, check_rearmed},
    {"timers", 30, BY_THREADS, 1, 1, TIMERS * sizeof(struct alarm), NULL, run_timers, check_timers},
    {"contested", 20, BY_THREADS, 2, 5, sizeof(struct contested), make_contested, run_contested, check_contested},
    {0},
};
const struct family family_time = {kinds, NULL, NULL};
