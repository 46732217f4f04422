/* SPDX-License-Identifier: MIT */
/* Channels, futures and select. Every item is received once, and the items of one sender in order. */
#include "random.h"

#include <stdlib.h>
#include <string.h>

/* --- channels: the first parties send, the others receive as many ----------------------------- */

enum { ITEMS = 24, EXTRA = 40 }; /* a sender's items; bytes of an item beyond its number */

struct item {
    uint32_t sender, number;
    char rest[EXTRA];
};

struct traffic {
    struct weft_chan *chan;
    size_t size;            /* of an item */
    unsigned senders, each; /* items a sender */
    bool closed;            /* receivers continue until the last sender closes the channel; otherwise each knows how
                             * many items it gets */
    bool heap;
    _Atomic unsigned sending, received, seen[PARTIES * ITEMS];
    struct weft_chan plain;
    char room[8 * sizeof(struct item)];
};

static bool make_traffic(struct program *p, struct op *op) {
    struct traffic *t = op->data;
    size_t capacity = choose(p, 3) ? choose(p, 9) : 0;
    t->size = sizeof(struct item) - choose(p, EXTRA + 1);
    t->senders = 1 + (unsigned)choose(p, op->parties - 1);
    t->sending = t->senders;
    t->each = 1 + (unsigned)choose(p, ITEMS);
    t->closed = choose(p, 2);
    t->heap = choose(p, 2);
    t->plain = (struct weft_chan)WEFT_CHAN_OVER(capacity ? t->room : NULL, t->size, capacity);
    t->chan = t->heap ? weft_chan_make(t->size, capacity) : &t->plain;
    SO(t->chan);
    return true;
}

struct transfer {
    struct weft_chan *chan;
    struct weft_chan *empty; /* for selects: nothing ever comes here */
    struct party *party;
    struct item item;
    bool selects;
};

/* Among others that cannot be done, or can. */
static int select_one(struct transfer *t, struct weft_case wanted, uint64_t deadline) {
    struct weft_case cases[4] = {wanted, WEFT_CASE_RECV(t->empty, NULL), WEFT_CASE_FUTURE(NULL, NULL),
                                 WEFT_CASE_TIME(deadline)};
    unsigned place = (unsigned)below(t->party, 4);
    cases[0] = cases[place];
    cases[place] = wanted;
    int done = deadline == AT_ONCE        ? weft_case_select_try(cases, 4)
               : deadline == WEFT_FOREVER ? weft_case_select(cases, 4)
                                          : weft_case_select_until(cases, 4, deadline);
    if (done < 0) return done;
    if (done == (int)place) return cases[done].result;
    WANT(cases[done].kind, WEFT_CASE_SLEEPS);
    SO(deadline != WEFT_FOREVER && weft_now() >= deadline);
    return -ETIMEDOUT;
}

static int wait_to_send(void *transfer, uint64_t deadline) {
    struct transfer *t = transfer;
    if (t->selects) return select_one(t, (struct weft_case)WEFT_CASE_SEND(t->chan, &t->item), deadline);
    return deadline == AT_ONCE        ? weft_chan_send_try(t->chan, &t->item)
           : deadline == WEFT_FOREVER ? weft_chan_send(t->chan, &t->item)
                                      : weft_chan_send_until(t->chan, &t->item, deadline);
}

static int wait_to_receive(void *transfer, uint64_t deadline) {
    struct transfer *t = transfer;
    if (t->selects) return select_one(t, (struct weft_case)WEFT_CASE_RECV(t->chan, &t->item), deadline);
    return deadline == AT_ONCE        ? weft_chan_recv_try(t->chan, &t->item)
           : deadline == WEFT_FOREVER ? weft_chan_recv(t->chan, &t->item)
                                      : weft_chan_recv_until(t->chan, &t->item, deadline);
}

static void fill(struct item *i, uint32_t sender, uint32_t number) {
    *i = (struct item){sender, number, {0}};
    memset(i->rest, (int)(sender * 31 + number), sizeof i->rest);
}

static void send_all(struct party *p, struct traffic *t, struct transfer *x) {
    for (uint32_t i = 0; i < t->each; i++) {
        fill(&x->item, p->role, i);
        x->selects = one_in(p, 3);
        OK(insist(p, wait_to_send, x));
        pause_a_bit(p);
    }
    if (t->closed && atomic_fetch_sub(&t->sending, 1) == 1) {
        OK(weft_chan_close(t->chan));
        WANT(weft_chan_close(t->chan), -EALREADY);
        WANT(weft_chan_send(t->chan, &x->item), -EPIPE);
    }
}

/* How many items a receiver gets, if it knows. The first receiver takes the remainder. */
static unsigned share_of(struct party *p, struct traffic *t) {
    unsigned all = t->senders * t->each, receivers = p->op->parties - t->senders;
    return all / receivers + (p->role == t->senders ? all % receivers : 0);
}

static void take(struct traffic *t, struct item *got, uint32_t *next) {
    struct item like;
    SO(got->sender < t->senders && got->number < t->each);
    fill(&like, got->sender, got->number);
    SO(!memcmp(got, &like, t->size));
    WANT(atomic_fetch_add(&t->seen[got->sender * ITEMS + got->number], 1), 0);
    SO(got->number >= next[got->sender]); /* in the order of sending */
    next[got->sender] = got->number + 1;
}

static void receive_all(struct party *p, struct traffic *t, struct transfer *x) {
    uint32_t next[PARTIES] = {0};
    for (unsigned left = t->closed ? UINT32_MAX : share_of(p, t); left; left--) {
        x->selects = one_in(p, 3);
        int err = insist(p, wait_to_receive, x);
        if (t->closed && err == -EPIPE) return;
        OK(err);
        take(t, &x->item, next);
        atomic_fetch_add(&t->received, 1);
        pause_a_bit(p);
    }
}

static void run_traffic(struct party *p) {
    struct traffic *t = p->op->data;
    struct weft_chan empty = WEFT_CHAN_INIT(0);
    struct transfer x = {.chan = t->chan, .empty = &empty, .party = p};
    (p->role < t->senders ? send_all : receive_all)(p, t, &x);
}

static void check_traffic(struct op *op) {
    struct traffic *t = op->data;
    WANT(atomic_load(&t->received), t->senders * t->each);
    WANT(weft_chan_len(t->chan), 0);
    if (t->heap) OK(weft_chan_free(t->chan));
}

/* --- futures: role 0 sets all of them, the others wait in different ways ---------------------- */

enum { FUTURES = 6, FAILED = -5000 };
struct futures {
    struct weft_future future[FUTURES];
    bool fails[FUTURES];
    unsigned n;
};

static bool make_futures(struct program *p, struct op *op) {
    struct futures *f = op->data;
    f->n = 1 + (unsigned)choose(p, FUTURES);
    for (unsigned i = 0; i < f->n; i++) f->fails[i] = choose(p, 4) == 0;
    return true;
}

struct awaited {
    struct weft_future *future[FUTURES];
    unsigned n;
    void *value;
};
static int wait_for_one(void *context, uint64_t deadline) {
    struct awaited *a = context;
    return deadline == AT_ONCE        ? weft_future_try(a->future[0], &a->value)
           : deadline == WEFT_FOREVER ? weft_future_wait(a->future[0], &a->value)
                                      : weft_future_wait_until(a->future[0], &a->value, deadline);
}
static int wait_for_all(void *context, uint64_t deadline) {
    struct awaited *a = context;
    return deadline == WEFT_FOREVER ? weft_future_all(a->future, a->n)
                                    : weft_future_all_until(a->future, a->n, deadline);
}
static int wait_for_any(void *context, uint64_t deadline) {
    struct awaited *a = context;
    return deadline == WEFT_FOREVER ? weft_future_any(a->future, a->n)
                                    : weft_future_any_until(a->future, a->n, deadline);
}
static int wait_by_select(void *context, uint64_t deadline) {
    struct awaited *a = context;
    struct weft_case cases[FUTURES];
    for (unsigned i = 0; i < a->n; i++) cases[i] = (struct weft_case)WEFT_CASE_FUTURE(a->future[i], NULL);
    return deadline == WEFT_FOREVER ? weft_case_select(cases, a->n) : weft_case_select_until(cases, a->n, deadline);
}

static void set_all(struct party *p, struct futures *f) {
    for (unsigned i = f->n; i--;) {
        pause_a_bit(p);
        OK(f->fails[i] ? weft_future_fail(&f->future[i], FAILED - (int)i)
                       : weft_future_set(&f->future[i], &f->fails[i]));
        WANT(weft_future_set(&f->future[i], NULL), -EALREADY);
    }
}

static void await_each(struct party *p, struct futures *f) {
    for (unsigned i = 0; i < f->n; i++) {
        struct awaited a = {.future = {&f->future[i]}, .n = 1};
        WANT(insist(p, wait_for_one, &a), f->fails[i] ? FAILED - (int)i : 0);
        if (!f->fails[i]) SO(a.value == &f->fails[i]);
    }
}

/* Completes the case that select has chosen. Reports the first case that failed. */
static void await_together(struct party *p, struct futures *f) {
    struct awaited a = {.n = f->n};
    int wanted = 0;
    for (unsigned i = f->n; i--;) {
        a.future[i] = &f->future[i];
        if (f->fails[i]) wanted = FAILED - (int)i;
    }
    int first = insist(p, one_in(p, 2) ? wait_for_any : wait_by_select, &a);
    SO(first >= 0 && first < (int)f->n);
    WANT(weft_future_try(&f->future[first], NULL), f->fails[first] ? FAILED - first : 0);
    WANT(insist(p, wait_for_all, &a), wanted);
}

static void run_futures(struct party *p) {
    struct futures *f = p->op->data;
    if (p->role == 0) set_all(p, f);
    (one_in(p, 2) ? await_each : await_together)(p, f);
}

static const struct kind kinds[] = {
    {"traffic", 80, BY_THREADS, 2, 8, sizeof(struct traffic), make_traffic, run_traffic, check_traffic},
    {"futures", 40, BY_THREADS, 1, 6, sizeof(struct futures), make_futures, run_futures, NULL},
    {0},
};
const struct family family_chan = {kinds, NULL, NULL};
