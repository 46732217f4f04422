/* SPDX-License-Identifier: MIT */
/*
 * Deadlines and cancellation of every call that waits. Whatever ends the wait, the object is as it was before, and it
 * still works afterwards.
 */
#include "fiber.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The objects to wait for. None of them is available. */
static struct objects {
    struct weft_sem sem;
    struct weft_mutex held, own;
    struct weft_counter counter;
    struct weft_cond cond;
    struct weft_chan chan;
    struct weft_future future;
    struct weft_rwlock rwlock;
    struct weft_barrier barrier;
    struct weft_once once;
    struct weft_latch latch;
    struct weft_signals signals;
    int pipe[2];
    struct weft_fiber target;
    int stage;
} o;

static int do_park(uint64_t d) { return weft_park_until(d); }
static int do_sleep(uint64_t d) { return weft_sleep_until(d); }
static int do_join(uint64_t d) { return weft_join_until(o.target, NULL, d); }
static int do_sem(uint64_t d) { return weft_sem_wait_until(&o.sem, d); }
static int do_mutex(uint64_t d) { return weft_mutex_lock_cancellable(&o.held, d); }
static int do_counter(uint64_t d) { return weft_counter_wait_until(&o.counter, 0, d); }
static int do_cond(uint64_t d) {
    CHECK_EQ(weft_mutex_lock(&o.own), 0);
    int err = weft_cond_wait_until(&o.cond, &o.own, d);
    CHECK_EQ(weft_mutex_unlock(&o.own), 0); /* held again, whatever happened */
    return err;
}
static int do_send(uint64_t d) { return weft_chan_send_until(&o.chan, NULL, d); }
static int do_recv(uint64_t d) { return weft_chan_recv_until(&o.chan, NULL, d); }
static int do_future(uint64_t d) { return weft_future_wait_until(&o.future, NULL, d); }
static int do_all(uint64_t d) { return weft_future_all_until((struct weft_future *[]){&o.future}, 1, d); }
static int do_any(uint64_t d) { return weft_future_any_until((struct weft_future *[]){&o.future}, 1, d); }
static int do_select(uint64_t d) {
    struct weft_case cases[] = {WEFT_CASE_RECV(&o.chan, NULL), WEFT_CASE_FUTURE(&o.future, NULL)};
    return weft_case_select_until(cases, 2, d);
}
static int do_select_outside(uint64_t d) {
    struct weft_case cases[] = {WEFT_CASE_SEND(&o.chan, NULL), WEFT_CASE_READY(o.pipe[0], POLLIN),
                                WEFT_CASE_TIME(weft_now() + 3600 * WEFT_SECOND)};
    return weft_case_select_until(cases, 3, d);
}
static int do_ready(uint64_t d) { return weft_ready_until(o.pipe[0], POLLIN, d); }
static int do_signals(uint64_t d) { return weft_signals_next_until(&o.signals, NULL, d); }
static int nothing_to_do(void *unused) { return unused != NULL; }
static int do_read(uint64_t d) { return weft_rwlock_read_cancellable(&o.rwlock, d); }
static int do_write(uint64_t d) { return weft_rwlock_write_cancellable(&o.rwlock, d); }
static int do_barrier(uint64_t d) { return weft_barrier_wait_until(&o.barrier, d); }
static int do_once(uint64_t d) { return weft_once_run_until(&o.once, nothing_to_do, NULL, d); }
static int do_latch(uint64_t d) { return weft_latch_wait_until(&o.latch, d); }
/* The same without a deadline. */
static int park_(uint64_t d) { return (void)d, weft_park(); }
static int sleep_(uint64_t d) { return (void)d, weft_sleep_for(WEFT_FOREVER); }
static int join_(uint64_t d) { return (void)d, weft_join(o.target, NULL); }
static int sem_(uint64_t d) { return (void)d, weft_sem_wait(&o.sem); }
static int counter_(uint64_t d) { return (void)d, weft_counter_wait(&o.counter, 0); }
static int cond_(uint64_t d) {
    (void)d;
    CHECK_EQ(weft_mutex_lock(&o.own), 0);
    int err = weft_cond_wait(&o.cond, &o.own);
    CHECK_EQ(weft_mutex_unlock(&o.own), 0);
    return err;
}
static int send_(uint64_t d) { return (void)d, weft_chan_send(&o.chan, NULL); }
static int recv_(uint64_t d) { return (void)d, weft_chan_recv(&o.chan, NULL); }
static int future_(uint64_t d) { return (void)d, weft_future_wait(&o.future, NULL); }
static int all_(uint64_t d) { return (void)d, weft_future_all((struct weft_future *[]){&o.future}, 1); }
static int any_(uint64_t d) { return (void)d, weft_future_any((struct weft_future *[]){&o.future}, 1); }
static int select_(uint64_t d) {
    struct weft_case cases[] = {WEFT_CASE_RECV(&o.chan, NULL), WEFT_CASE_TIME(WEFT_FOREVER)};
    return (void)d, weft_case_select(cases, 2);
}
static int ready_(uint64_t d) { return (void)d, weft_ready(o.pipe[0], POLLIN); }
static int signals_(uint64_t d) { return (void)d, weft_signals_next(&o.signals, NULL); }
static int barrier_(uint64_t d) { return (void)d, weft_barrier_wait(&o.barrier); }
static int once_(uint64_t d) { return (void)d, weft_once_run(&o.once, nothing_to_do, NULL); }
static int latch_(uint64_t d) { return (void)d, weft_latch_wait(&o.latch); }

static const struct wait {
    const char *name;
    int (*call)(uint64_t deadline);
    bool timed;
    int after_deadline;
} waits[] = {
    {"park_until", do_park, true, -ETIMEDOUT},
    {"sleep_until", do_sleep, true, 0},
    {"join_until", do_join, true, -ETIMEDOUT},
    {"sem_wait_until", do_sem, true, -ETIMEDOUT},
    {"mutex_lock_cancellable", do_mutex, true, -ETIMEDOUT},
    {"counter_wait_until", do_counter, true, -ETIMEDOUT},
    {"cond_wait_until", do_cond, true, -ETIMEDOUT},
    {"chan_send_until", do_send, true, -ETIMEDOUT},
    {"chan_recv_until", do_recv, true, -ETIMEDOUT},
    {"future_wait_until", do_future, true, -ETIMEDOUT},
    {"future_all_until", do_all, true, -ETIMEDOUT},
    {"future_any_until", do_any, true, -ETIMEDOUT},
    {"select_until", do_select, true, -ETIMEDOUT},
    {"select_until outside", do_select_outside, true, -ETIMEDOUT},
    {"ready_until", do_ready, true, -ETIMEDOUT},
    {"signals_next_until", do_signals, true, -ETIMEDOUT},
    {"rwlock_read_cancellable", do_read, true, -ETIMEDOUT},
    {"rwlock_write_cancellable", do_write, true, -ETIMEDOUT},
    {"barrier_wait_until", do_barrier, true, -ETIMEDOUT},
    {"once_until", do_once, true, -ETIMEDOUT},
    {"latch_wait_until", do_latch, true, -ETIMEDOUT},
    {"park", park_, false, 0},
    {"sleep", sleep_, false, 0},
    {"join", join_, false, 0},
    {"sem_wait", sem_, false, 0},
    {"counter_wait", counter_, false, 0},
    {"cond_wait", cond_, false, 0},
    {"chan_send", send_, false, 0},
    {"chan_recv", recv_, false, 0},
    {"future_wait", future_, false, 0},
    {"future_all", all_, false, 0},
    {"future_any", any_, false, 0},
    {"select", select_, false, 0},
    {"ready", ready_, false, 0},
    {"signals_next", signals_, false, 0},
    {"barrier_wait", barrier_, false, 0},
    {"once", once_, false, 0},
    {"latch_wait", latch_, false, 0},
};
#define WAITS (sizeof waits / sizeof *waits)
#define EXPECT(w, got, wanted) \
    do { \
        int got_ = (got); \
        if (got_ != (wanted)) test_fail(__FILE__, __LINE__, "%s: %d, not %d", (w)->name, got_, wanted); \
    } while (0)

static int park_inside(void *unused) {
    (void)unused;
    STORE(&o.stage, 1);
    return weft_park();
}
static void *holder(void *unused) {
    (void)unused;
    CHECK_EQ(weft_mutex_lock(&o.held), 0);
    CHECK_EQ(weft_rwlock_write(&o.rwlock), 0);
    CHECK_EQ(weft_once_run(&o.once, park_inside, NULL), 0);
    CHECK_EQ(weft_rwlock_unlock_write(&o.rwlock), 0);
    CHECK_EQ(weft_mutex_unlock(&o.held), 0);
    return &o;
}

static void prepare(void) {
    memset(&o, 0, sizeof o);
    CHECK_EQ(weft_counter_add(&o.counter, 1), 0);
    CHECK_EQ(weft_barrier_init(&o.barrier, 2), 0);
    CHECK_EQ(weft_latch_init(&o.latch, 1), 0);
    CHECK_EQ(weft_signals_begin(&o.signals, WEFT_SIGNAL(SIGUSR1)), 0);
    CHECK(!pipe(o.pipe));
    o.target = spawn(holder, NULL);
    await_yielding(&o.stage, 1);
}

/* The ended waits have taken nothing, no fiber is left in a chain, and every object still works. */
static void check_untouched(void) {
    CHECK_EQ(weft_sem_try(&o.sem), -EAGAIN);
    CHECK_EQ(weft_sem_post(&o.sem), 0); /* no fiber waits, so it stays */
    CHECK_EQ(weft_sem_try(&o.sem), 0);
    CHECK_EQ(weft_mutex_try(&o.held), -EBUSY);
    CHECK_EQ(weft_mutex_try(&o.own), 0);
    CHECK_EQ(weft_cond_signal(&o.cond), 0);
    CHECK_EQ(weft_cond_broadcast(&o.cond), 0);
    CHECK_EQ(weft_mutex_unlock(&o.own), 0);
    CHECK_EQ(weft_counter_value(&o.counter), 1);
    CHECK_EQ(weft_counter_complete(&o.counter), 0);
    CHECK_EQ(weft_counter_wait_until(&o.counter, 0, 0), 0);
    CHECK_EQ(weft_latch_try(&o.latch), -EAGAIN);
    CHECK_EQ(weft_rwlock_read_try(&o.rwlock), -EBUSY);
    CHECK_EQ(weft_unpark(o.target), 0);
    CHECK(join(o.target) == &o);
    CHECK_EQ(weft_rwlock_write_try(&o.rwlock), 0);
    CHECK_EQ(weft_rwlock_unlock_write(&o.rwlock), 0);
    CHECK_EQ(weft_once_run(&o.once, park_inside, NULL), 0); /* it was done */
    CHECK_EQ(o.barrier.queue.word, 0);                      /* no party has arrived */
    CHECK(!o.rwlock.word && !o.rwlock.readers && !o.rwlock.writers && !o.once.queue.first && !o.barrier.queue.first);
    CHECK_EQ(weft_mutex_try(&o.held), 0);
    CHECK_EQ(weft_mutex_unlock(&o.held), 0);
    CHECK(!o.sem.queue.first && !o.held.queue.first && !o.cond.queue.first && !o.counter.queue.first);
    CHECK(!o.chan.receivers && !o.chan.senders && !o.future.queue.first && !o.signals.first);
    CHECK_EQ(weft_signals_next_try(&o.signals, NULL), -EAGAIN);
    CHECK_EQ(weft_signals_end(&o.signals), 0);
    CHECK_EQ(write(o.pipe[1], "x", 1), 1);
    CHECK_EQ(weft_ready(o.pipe[0], POLLIN), POLLIN);
    close(o.pipe[0]);
    close(o.pipe[1]);
}

/* --- deadlines ------------------------------------------------------------------------------------------ */

static void deadlines_pass(void *unused) {
    (void)unused;
    bool fiber = weft_self().id != 0;
    for (const struct wait *w = waits; w < waits + WAITS; w++) {
        if (!w->timed) continue;
        int wanted = !fiber && w->call == do_park ? -EPERM : w->after_deadline;
        prepare();
        uint64_t now = weft_now();
        EXPECT(w, w->call(0), wanted);
        EXPECT(w, w->call(now), wanted);
        EXPECT(w, w->call(now + 2 * WEFT_MILLISECOND), wanted);
        CHECK(wanted == -EPERM || weft_now() >= now + 2 * WEFT_MILLISECOND);
        check_untouched();
    }
}
TEST(a_deadline_takes_nothing) { each_size(deadlines_pass); }
TEST(a_deadline_takes_nothing_from_a_thread) {
    test_start(2);
    deadlines_pass(NULL);
    test_stop();
}

/* --- cancellation ----------------------------------------------------------------------------------------- */

static int waiting;
static void *waits_to_be_cancelled(void *arg) {
    const struct wait *w = arg;
    ADD(&waiting, 1);
    EXPECT(w, w->call(WEFT_FOREVER), -ECANCELED);
    CHECK_EQ(weft_cancelled(), 1);
    EXPECT(w, w->call(WEFT_FOREVER), -ECANCELED); /* the request stays */
    EXPECT(w, w->call(weft_now() + WEFT_SECOND), -ECANCELED);
    return NULL;
}

static void cancelled_while_parked(void *unused) {
    (void)unused;
    for (const struct wait *w = waits; w < waits + WAITS; w++) {
        prepare();
        STORE(&waiting, 0);
        struct weft_fiber f = spawn(waits_to_be_cancelled, (void *)(uintptr_t)w);
        await_yielding(&waiting, 1);
        settle();
        CHECK_EQ(weft_cancel(f), 0);
        CHECK_EQ(weft_cancel(f), 0); /* a second request has no effect */
        join(f);
        check_untouched();
    }
}
TEST(cancelled_while_waiting) { each_size(cancelled_while_parked); }

static void cancelled_before(void *unused) {
    (void)unused;
    for (const struct wait *w = waits; w < waits + WAITS; w++) {
        prepare();
        STORE(&waiting, 0);
        struct weft_fiber f = spawn(waits_to_be_cancelled, (void *)(uintptr_t)w);
        CHECK_EQ(weft_cancel(f), 0); /* with one worker, before its first instruction */
        join(f);
        check_untouched();
    }
}
TEST(cancelled_before_the_wait) { each_size(cancelled_before); }

/* The same by a scope, for each reason. The reason decides the error with which the waits end. */
struct in_scope {
    const struct wait *wait;
    int wanted;
};
static int waits_in_scope(void *arg) {
    const struct in_scope *in = arg;
    ADD(&waiting, 1);
    EXPECT(in->wait, in->wait->call(WEFT_FOREVER), in->wanted);
    CHECK(weft_cancelled());
    EXPECT(in->wait, in->wait->call(weft_now() + 3600 * WEFT_SECOND), in->wanted);
    return 0;
}
static void wait_in_scope(const struct wait *w, int reason) {
    struct weft_scope scope;
    struct in_scope in = {w, reason == -ETIMEDOUT ? -ETIMEDOUT : -ECANCELED};
    prepare();
    STORE(&waiting, 0);
    uint64_t deadline = reason == -ETIMEDOUT ? weft_now() + 2 * WEFT_MILLISECOND : WEFT_FOREVER;
    CHECK_EQ(weft_scope_begin(&scope, deadline), 0);
    int err = weft_scope_spawn(&scope, NULL, waits_in_scope, &in);
    CHECK(!err || weft_now() >= deadline); /* the machine is so slow that the deadline has already passed */
    if (reason != -ETIMEDOUT) {
        await_yielding(&waiting, 1);
        for (int i = 0; i < 5; i++) weft_yield();
        CHECK_EQ(weft_scope_fail(&scope, reason), 0);
    }
    CHECK(weft_sleep_for(WEFT_FOREVER) == in.wanted);
    CHECK_EQ(weft_scope_end(&scope), reason);
    check_untouched();
}
static void by_a_scope(void *unused) {
    (void)unused;
    for (const struct wait *w = waits; w < waits + WAITS; w++) {
        wait_in_scope(w, -EIO);
        wait_in_scope(w, -ETIMEDOUT);
    }
}
TEST(cancelled_by_a_scope) { each_size(by_a_scope); }

/* Many waiters in one chain. Every second waiter is cancelled; the others are served in order. */
enum { CROWD = 40 };
static int order[CROWD], served;
static void *waits_in_a_crowd(void *arg) {
    int me = (int)(intptr_t)arg, err = weft_sem_wait(&o.sem);
    CHECK_EQ(err, me % 2 ? -ECANCELED : 0);
    if (!err) order[ADD(&served, 1)] = me;
    return NULL;
}
static void out_of_the_middle(void *unused) {
    (void)unused;
    struct weft_fiber f[CROWD];
    memset(&o, 0, sizeof o);
    STORE(&served, 0);
    for (intptr_t i = 0; i < CROWD; i++) {
        f[i] = spawn(waits_in_a_crowd, (void *)i);
        weft_yield();
    }
    settle();
    for (int i = 1; i < CROWD; i += 2) CHECK_EQ(weft_cancel(f[i]), 0);
    for (int i = 1; i < CROWD; i += 2) join(f[i]);
    for (int i = 0; i < CROWD; i += 2) CHECK_EQ(weft_sem_post(&o.sem), 0);
    for (int i = 0; i < CROWD; i += 2) join(f[i]);
    CHECK_EQ(weft_sem_try(&o.sem), -EAGAIN);
    if (weft_workers() == 1)
        for (int i = 0; i < CROWD / 2; i++) CHECK_EQ(order[i], 2 * i);
}
TEST(cancelled_out_of_a_chain) {
    no_rescue();
    each_size(out_of_the_middle);
}

/* --- what a cancelled fiber can still do -------------------------------------------------------------------- */

static void *goes_on(void *unused) {
    (void)unused;
    struct weft_sem sem = WEFT_SEM_INIT(1);
    struct weft_mutex mutex = WEFT_MUTEX_INIT;
    struct weft_counter counter = WEFT_COUNTER_INIT;
    while (!weft_cancelled()) weft_yield();
    /* A call that need not wait completes. */
    CHECK_EQ(weft_sem_wait(&sem), 0);
    CHECK_EQ(weft_mutex_lock(&mutex), 0);
    CHECK_EQ(weft_counter_wait(&counter, 0), 0);
    CHECK_EQ(weft_unpark(weft_self()), 0);
    CHECK_EQ(weft_park(), 0);
    /* So does a call that releases something. */
    CHECK_EQ(weft_sem_post(&sem), 0);
    CHECK_EQ(weft_mutex_unlock(&mutex), 0);
    CHECK_EQ(weft_chan_close(&o.chan), 0);
    weft_yield();
    return (void *)(intptr_t)weft_cancelled();
}
static void still_alive(void *unused) {
    (void)unused;
    memset(&o, 0, sizeof o);
    struct weft_fiber f = spawn(goes_on, NULL);
    weft_yield();
    CHECK_EQ(weft_cancelled(), 0);
    CHECK_EQ(weft_cancel(f), 0);
    CHECK_EQ((intptr_t)join(f), 1);
    CHECK_EQ(weft_cancelled(), 0);
}
TEST(a_cancelled_fiber_goes_on) { each_size(still_alive); }

/* Cancelled in a condition wait while another fiber holds the mutex: it returns only with the mutex. */
static void *cancelled_in_cond(void *unused) {
    (void)unused;
    CHECK_EQ(weft_mutex_lock(&o.own), 0);
    ADD(&waiting, 1);
    CHECK_EQ(weft_cond_wait(&o.cond, &o.own), -ECANCELED);
    CHECK_EQ(LOAD(&o.stage), 7);
    CHECK_EQ(weft_mutex_unlock(&o.own), 0);
    return NULL;
}
static void relock_completes(void *unused) {
    (void)unused;
    memset(&o, 0, sizeof o);
    STORE(&waiting, 0);
    struct weft_fiber f = spawn(cancelled_in_cond, NULL);
    await_yielding(&waiting, 1);
    CHECK_EQ(weft_mutex_lock(&o.own), 0);
    CHECK_EQ(weft_cancel(f), 0);
    settle(); /* it waits for the mutex now */
    STORE(&o.stage, 7);
    CHECK_EQ(weft_mutex_unlock(&o.own), 0);
    join(f);
}
TEST(the_relock_is_not_cancelled) { each_size(relock_completes); }

static void of_oneself(void *unused) {
    (void)unused;
    CHECK_EQ(weft_cancel(weft_self()), 0);
    CHECK_EQ(weft_cancelled(), 1);
    CHECK_EQ(weft_sleep_for(WEFT_SECOND), -ECANCELED);
    CHECK_EQ(weft_park(), -ECANCELED);
}
TEST(of_oneself) { each_size(of_oneself); }
