/* SPDX-License-Identifier: MIT */
/*
 * Crowds: many fibers of one scope wait for one object, some are served, and the scope is cancelled meanwhile. Each
 * unit or item that was given is taken by one fiber, or is still there.
 */
#include "random.h"

enum { MOST = 120 };

struct crowd {
    struct party *party;
    const struct object *object;
    struct weft_scope scope;
    struct weft_sem sem;
    struct weft_mutex mutex;
    struct weft_cond cond;
    struct weft_rwlock rwlock;
    struct weft_chan chan;
    char room[MOST];
    unsigned tokens; /* plain, under the mutex */
    unsigned given;  /* by the fiber that began the scope */
    _Atomic unsigned served, ended;
    _Atomic uint64_t turn;
};

/* The objects for which a crowd can wait. Each function returns 0, or the error of the call. */
struct object {
    int (*take)(struct crowd *);       /* waits for one */
    void (*give)(struct crowd *);      /* gives one */
    bool (*take_rest)(struct crowd *); /* a live fiber; false: there is none */
};

static int take_sem(struct crowd *c) { return weft_sem_wait(&c->sem); }
static void give_sem(struct crowd *c) { OK(weft_sem_post(&c->sem)); }
static bool rest_sem(struct crowd *c) { return !weft_sem_try(&c->sem); }

static int take_chan(struct crowd *c) {
    char byte = 0;
    int err = weft_chan_recv(&c->chan, &byte);
    if (!err) WANT(byte, 77);
    return err;
}
static void give_chan(struct crowd *c) { OK(weft_chan_send_try(&c->chan, &(char){77})); }
static bool rest_chan(struct crowd *c) { return !weft_chan_recv_try(&c->chan, NULL); }

static int take_cond(struct crowd *c) {
    int err = weft_mutex_lock(&c->mutex);
    if (err) return err;
    while (!c->tokens && !err) err = weft_cond_wait(&c->cond, &c->mutex);
    bool got = c->tokens && !err;
    c->tokens -= got;
    OK(weft_mutex_unlock(&c->mutex));
    return err;
}
static void give_cond(struct crowd *c) {
    OK(insist(c->party, wait_for_mutex, &c->mutex));
    c->tokens++;
    OK(weft_mutex_unlock(&c->mutex));
    OK(weft_cond_signal(&c->cond));
}
static bool rest_cond(struct crowd *c) { return c->tokens && c->tokens--; }

/* Readers and writers by turns; tokens are taken by writers only, and readers see that none writes. */
static int take_rwlock(struct crowd *c) {
    bool writes = atomic_fetch_add(&c->turn, 1) % 2;
    int err = writes ? weft_rwlock_write(&c->rwlock) : weft_rwlock_read(&c->rwlock);
    if (err) return err;
    unsigned seen = c->tokens;
    weft_yield();
    WANT(c->tokens, seen);
    if (writes && seen) c->tokens--;
    OK(writes ? weft_rwlock_unlock_write(&c->rwlock) : weft_rwlock_unlock_read(&c->rwlock));
    return writes && seen ? 0 : -ENODATA;
}
static int wait_to_write(void *lock, uint64_t deadline) {
    return deadline == WEFT_FOREVER ? weft_rwlock_write(lock) : weft_rwlock_write_cancellable(lock, deadline);
}
static void give_rwlock(struct crowd *c) {
    OK(insist(c->party, wait_to_write, &c->rwlock));
    c->tokens++;
    OK(weft_rwlock_unlock_write(&c->rwlock));
}

static const struct object objects[] = {
    {take_sem, give_sem, rest_sem},
    {take_chan, give_chan, rest_chan},
    {take_cond, give_cond, rest_cond},
    {take_rwlock, give_rwlock, rest_cond},
};

static int one_of_crowd(void *crowd) {
    struct crowd *c = crowd;
    int err = c->object->take(c);
    SO(!err || err == -ENODATA || ((err == -ECANCELED || err == -ETIMEDOUT) && weft_cancelled()));
    atomic_fetch_add(&c->served, !err);
    atomic_fetch_add(&c->ended, 1);
    return 0;
}

static void run_crowd(struct party *p) {
    struct crowd *c = p->op->data;
    unsigned n = 1 + (unsigned)below(p, test_size(MOST)), made = 0, rest = 0;
    c->party = p;
    c->object = &objects[below(p, sizeof objects / sizeof *objects)];
    c->chan = (struct weft_chan)WEFT_CHAN_OVER(c->room, 1, MOST);
    OK(weft_scope_begin(&c->scope, one_in(p, 4) ? weft_now() + below(p, WEFT_MILLISECOND) : WEFT_FOREVER));
    p->told = true;
    for (unsigned i = 0; i < n; i++) {
        struct weft_attr attr = {.priority = (unsigned)below(p, 3)};
        int err = weft_scope_spawn(&c->scope, &attr, one_of_crowd, c);
        SO(!err || err == -ECANCELED);
        made += !err;
        if (one_in(p, 2) && c->given < n) c->object->give(c), c->given++;
        if (one_in(p, 16)) pause_a_bit(p);
    }
    int err = weft_scope_cancel(&c->scope);
    SO(!err || err == -EALREADY);
    err = weft_scope_end(&c->scope);
    SO(err == -ECANCELED || err == -ETIMEDOUT);
    WANT(atomic_load(&c->ended), made);
    while (c->object->take_rest(c)) rest++;
    WANT(atomic_load(&c->served) + rest, c->given);
}

/* --- sleepers of all lengths, told at some moment --------------------------------------------- */

struct sleeper {
    struct party *party;
    uint64_t until;
    _Atomic unsigned slept;
};
static int sleep_late(void *sleeper) {
    struct sleeper *s = sleeper;
    struct party own = party_for(s->party, weft_self().id);
    uint64_t until = weft_now() + (one_in(&own, 2) ? below(&own, 300 * WEFT_MICROSECOND) : below(&own, WEFT_SECOND));
    int err = weft_sleep_until(until);
    if (!err)
        SO(weft_now() >= until);
    else
        SO((err == -ECANCELED || err == -ETIMEDOUT) && weft_cancelled());
    atomic_fetch_add(&s->slept, 1);
    return 0;
}

static void run_sleepers(struct party *p) {
    struct sleeper s = {.party = p};
    struct weft_scope scope;
    unsigned made = 0;
    OK(weft_scope_begin(&scope, weft_now() + below(p, 2 * WEFT_MILLISECOND)));
    for (uint64_t n = 1 + below(p, test_size(MOST)); n; n--) {
        int err = weft_scope_spawn(&scope, NULL, sleep_late, &s);
        SO(!err || err == -ECANCELED);
        made += !err;
    }
    weft_scope_end(&scope);
    WANT(atomic_load(&s.slept), made);
}

/* --- background fibers: served while the runtime lives, cancelled when nothing else is left ---- */

struct background {
    struct weft_sem asked, answered, never;
    unsigned made;
    _Atomic unsigned ended;
};

static void *serve(void *background) {
    struct background *b = background;
    while (!weft_sem_wait(&b->asked)) OK(weft_sem_post(&b->answered));
    WANT(weft_cancelled() != 0, 1);
    WANT(weft_sem_wait(&b->never), -ECANCELED);
    atomic_fetch_add(&b->ended, 1);
    return NULL;
}

/* In the first cluster, because other clusters may be drained, and a drain waits for all fibers. */
static void run_background(struct party *p) {
    struct background *b = p->op->data;
    struct weft_attr attr = {.name = "background", .background = 1, .cluster = p->program->cluster[0]};
    attr.own_tls = one_in(p, 4) && storage_is_possible();
    b->made = 1 + (unsigned)below(p, 3);
    for (unsigned i = 0; i < b->made; i++) OK(weft_spawn(NULL, &attr, serve, b));
    for (uint64_t n = below(p, 5); n; n--) {
        OK(weft_sem_post(&b->asked));
        OK(insist(p, wait_for_sem, &b->answered));
    }
}

static void check_background(struct op *op) {
    struct background *b = op->data;
    WANT(atomic_load(&b->ended), b->made);
}

static const struct kind kinds[] = {
    {"background", 15, BY_THREADS, 1, 1, sizeof(struct background), NULL, run_background, check_background},
    {"crowd", 30, BY_THREADS, 1, 1, sizeof(struct crowd), NULL, run_crowd, NULL},
    {"sleepers", 15, BY_THREADS, 1, 1, 0, NULL, run_sleepers, NULL},
    {0},
};
const struct family family_crowds = {kinds, NULL, NULL};
