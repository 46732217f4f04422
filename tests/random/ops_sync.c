/* SPDX-License-Identifier: MIT */
/* Meetings by semaphores, conditions, barriers, once, latches and counters: each party does its share. */
#include "random.h"

/* --- semaphores: role 0 posts for all the others ---------------------------------------------- */

struct posts {
    struct weft_sem sem;
    unsigned each;
};

static bool make_posts(struct program *p, struct op *op) {
    struct posts *s = op->data;
    s->each = 1 + (unsigned)choose(p, 10);
    return true;
}

static void run_posts(struct party *p) {
    struct posts *s = p->op->data;
    unsigned n = p->role ? s->each : s->each * (p->op->parties - 1);
    for (; n; n--) {
        if (p->role) {
            OK(insist(p, wait_for_sem, &s->sem));
        } else {
            OK(weft_sem_post(&s->sem));
            pause_a_bit(p);
        }
    }
}

static void check_posts(struct op *op) { WANT(weft_sem_try(&((struct posts *)op->data)->sem), -EAGAIN); }

/* --- conditions: even roles give tokens, odd roles take as many ------------------------------- */

struct tokens {
    struct weft_mutex mutex;
    struct weft_cond cond;
    unsigned there, given, taken; /* plain */
    unsigned each;
};

static bool make_tokens(struct program *p, struct op *op) {
    struct tokens *t = op->data;
    t->each = 1 + (unsigned)choose(p, 6);
    op->parties &= ~1u;
    return true;
}

static int wait_for_token(void *tokens, uint64_t deadline) {
    struct tokens *t = tokens;
    int err = 0;
    while (!t->there && !err)
        err = deadline == WEFT_FOREVER ? weft_cond_wait(&t->cond, &t->mutex)
                                       : weft_cond_wait_until(&t->cond, &t->mutex, deadline);
    return err;
}

static void take_token(struct party *p, struct tokens *t) {
    OK(insist(p, wait_for_mutex, &t->mutex));
    OK(insist(p, wait_for_token, t));
    t->there--;
    t->taken++;
    OK(weft_mutex_unlock(&t->mutex));
}

/* One signal for each token is enough, before the unlock or after it. */
static void give_token(struct party *p, struct tokens *t) {
    bool early = one_in(p, 2);
    OK(insist(p, wait_for_mutex, &t->mutex));
    t->there++;
    t->given++;
    if (early) OK(one_in(p, 3) ? weft_cond_broadcast(&t->cond) : weft_cond_signal(&t->cond));
    OK(weft_mutex_unlock(&t->mutex));
    if (!early) OK(weft_cond_signal(&t->cond));
}

static void run_tokens(struct party *p) {
    struct tokens *t = p->op->data;
    for (unsigned n = t->each; n; n--) {
        (p->role % 2 ? take_token : give_token)(p, t);
        pause_a_bit(p);
    }
}

static void check_tokens(struct op *op) {
    struct tokens *t = op->data;
    WANT(t->there, 0);
    WANT(t->given, t->each * (op->parties / 2));
    WANT(t->taken, t->given);
}

/* --- barriers --------------------------------------------------------------------------------- */

enum { PHASES = 6 };
struct phases {
    struct weft_barrier barrier;
    _Atomic unsigned arrived[PHASES], serial[PHASES];
    unsigned n;
};

static bool make_phases(struct program *p, struct op *op) {
    struct phases *b = op->data;
    b->n = 1 + (unsigned)choose(p, PHASES);
    OK(weft_barrier_init(&b->barrier, op->parties));
    return true;
}

static int wait_for_barrier(void *barrier, uint64_t deadline) {
    return deadline == WEFT_FOREVER ? weft_barrier_wait(barrier) : weft_barrier_wait_until(barrier, deadline);
}

static void run_phases(struct party *p) {
    struct phases *b = p->op->data;
    for (unsigned i = 0; i < b->n; i++) {
        atomic_fetch_add(&b->arrived[i], 1);
        int serial = insist(p, wait_for_barrier, &b->barrier);
        SO(serial == 0 || serial == WEFT_BARRIER_SERIAL);
        atomic_fetch_add(&b->serial[i], (unsigned)serial);
        WANT(atomic_load(&b->arrived[i]), p->op->parties);
        pause_a_bit(p);
    }
}

static void check_phases(struct op *op) {
    struct phases *b = op->data;
    for (unsigned i = 0; i < b->n; i++) WANT(atomic_load(&b->serial[i]), 1);
}

/* --- once: it fails some times before it is done ---------------------------------------------- */

enum { NOT_YET = -4000 };
struct onces {
    struct weft_once once;
    struct op *op;
    unsigned called, failures; /* plain: one caller at a time */
};
struct once_call {
    struct onces *onces;
    struct party *party;
};

static bool make_once(struct program *p, struct op *op) {
    ((struct onces *)op->data)->failures = (unsigned)choose(p, 4);
    return true;
}

static int do_once(void *context) {
    struct once_call *c = context;
    unsigned called = c->onces->called++;
    pause_a_bit(c->party);
    WANT(c->onces->called, called + 1);
    return called < c->onces->failures ? NOT_YET : 0;
}

static int wait_for_once(void *context, uint64_t deadline) {
    struct once_call *c = context;
    return deadline == WEFT_FOREVER ? weft_once_run(&c->onces->once, do_once, c)
                                    : weft_once_run_until(&c->onces->once, do_once, c, deadline);
}

static void run_once(struct party *p) {
    struct onces *o = p->op->data;
    struct once_call c = {o, p};
    int err;
    while ((err = insist(p, wait_for_once, &c))) WANT(err, NOT_YET);
    WANT(o->called, o->failures + 1);
}

/* --- latches and counters --------------------------------------------------------------------- */

struct countdown {
    struct weft_latch latch;
    uint64_t written[PARTIES];
};

static bool make_latch(struct program *p, struct op *op) {
    (void)p;
    OK(weft_latch_init(&((struct countdown *)op->data)->latch, op->parties));
    return true;
}

/* Every party counts down; some wait. */
static void run_latch(struct party *p) {
    struct countdown *c = p->op->data;
    c->written[p->role] = p->op->seed;
    pause_a_bit(p);
    OK(weft_latch_count_down(&c->latch, 1));
    if (one_in(p, 3)) return;
    OK(insist(p, wait_for_latch, &c->latch));
    for (unsigned i = 0; i < p->op->parties; i++) WANT(c->written[i], p->op->seed);
}

struct outstanding {
    struct weft_counter counter;
    _Atomic unsigned completed;
    unsigned n;
};

static bool make_counter(struct program *p, struct op *op) {
    struct outstanding *c = op->data;
    c->n = op->parties * (1 + (unsigned)choose(p, 5));
    OK(weft_counter_add(&c->counter, c->n));
    return true;
}

static void run_counter(struct party *p) {
    struct outstanding *c = p->op->data;
    for (unsigned n = c->n / p->op->parties; n; n--) {
        atomic_fetch_add(&c->completed, 1); /* stored first: a waiter that sees the counter at zero sees this, too */
        OK(weft_counter_complete(&c->counter));
        pause_a_bit(p);
    }
    OK(insist(p, wait_for_counter, &c->counter));
    WANT(atomic_load(&c->completed), c->n);
    WANT(weft_counter_value(&c->counter), 0);
}

static const struct kind kinds[] = {
    {"posts", 30, BY_THREADS, 2, 6, sizeof(struct posts), make_posts, run_posts, check_posts},
    {"tokens", 30, BY_THREADS, 2, 6, sizeof(struct tokens), make_tokens, run_tokens, check_tokens},
    {"barrier", 30, BY_THREADS, 2, 8, sizeof(struct phases), make_phases, run_phases, check_phases},
    {"once", 20, BY_THREADS, 1, 6, sizeof(struct onces), make_once, run_once, NULL},
    {"latch", 20, BY_THREADS, 1, 6, sizeof(struct countdown), make_latch, run_latch, NULL},
    {"counter", 20, BY_THREADS, 1, 6, sizeof(struct outstanding), make_counter, run_counter, NULL},
    {0},
};
const struct family family_sync = {kinds, NULL, NULL};
