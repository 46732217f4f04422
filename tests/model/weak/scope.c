/* SPDX-License-Identifier: MIT */
/*
 * Explores the real scopes (src/sched/wait/cancel.c, scope.c, cancel_root.c, with wait.c and sched/wait/counter.c) in
 * small cases: they begin and end, wait, fail, are cancelled from outside and run out of time, and thieves take calls
 * of a cancelled forker.
 */
#define WEFT_SCOPE_STEPS 1 /* so that the lock is released in the middle */

#include "weak.h"

#include "queue/deque.h"
#include "sched/dispatch/forking.h"
#include "sched/wait/block.h"
#include "sched/wait/cancel.h"
#include "sched/wait/cancel_log.h"

#include <stdio.h>
#include <stdlib.h>

#define GHOST __attribute__((noinline, no_sanitize("thread")))

static struct {
    struct weft__fiber fiber[4];
    struct weft_scope s, t;
    _Atomic uint32_t expired; /* the timer has fired or was cancelled */
    uint32_t ended;           /* bits of the threads that have ended */
    int result[4];            /* the result of each thread */
    int second[4];
    _Atomic uint32_t begun; /* child TWO has begun; 2: it also reports the end of ONE */
    uint64_t owed;          /* how many ends must be reported */
    struct weft__deque deque;
    struct weft__stack stack;  /* the stack of the forking fiber */
    struct weft_counter taken; /* calls that other threads run */
} shared;
static struct weft__worker worker[4]; /* each fiber runs on its own worker */

#include "sched/wait/cancel.c"
#include "sched/wait/cancel_root.c"
#include "weft.h"
#undef errno /* each thread has its own */
#define errno (*(int[]){0})
#include "sched/life/scope_spawn.c"
#include "sched/wait/counter.c"
#include "sched/wait/scope.c"
#include "sched/wait/wait.c"
#include "sched/wait/wait_queue.c"

enum { BODY, ONE, TWO, OTHER }; /* OTHER: the clock, or a thread that cancels */

/* --- what is underneath ---------------------------------------------------------------------------- */

__thread struct weft__worker *weft__tls;
struct weft__slab weft__fibers = {.record_size = sizeof(struct weft__fiber)};

#if defined(__x86_64__)
/* The thunk through which functions that switch return (arch/entry_x86_64.S). Nothing is switched here. */
__asm__(".globl __x86_return_thunk\n__x86_return_thunk: ret");
#endif

void weak_entering(unsigned t) { weft__tls = &worker[t]; }
bool weak_goes_too_far(void) { return false; }

struct weft__fiber *weft__me_if_any(void) {
    return load_rlx(&weft__self()->current);
}
void weft__cancel_log_add(struct weft__fiber *f, int why) { (void)f, (void)why; }
uint64_t weft__clock(void) { return 1; }

void scope_make_ready(struct weft__fiber *f) { claim(weak_release((unsigned)(f - shared.fiber)), "made ready twice"); }
int scope_block(struct weft__fiber *me) {
    weak_block();
    uint64_t reason = load_acq(&me->wait) & WEFT_WAIT_REASON;
    if (reason == WEFT_WON_DONE) return 0;
    return reason == WEFT_WON_DEADLINE ? -ETIMEDOUT : weft__cancel_result(me);
}
void weft__make_all_ready(struct weft__list *won) {
    for (struct weft__link *l; (l = weft__list_take(won));) scope_make_ready(weft__fiber_of_link(l));
}

static struct weft_fiber handle(unsigned t) { return (struct weft_fiber){WEFT_LIFE_ONE | t}; }

static void make_fiber(unsigned t) {
    struct weft__fiber *f = &shared.fiber[t];
    store_rlx(&f->slot.life, WEFT_LIFE_ONE | t);
    store_rlx(&f->context.kind, WEFT_KIND_FIBER);
}

static bool other_follows(unsigned t);

/* The argument names the thread. */
int weft__spawn_child(struct weft__scope *s, const struct weft_attr *attr, int (*fn)(void *), void *arg,
                      const char *where) {
    unsigned t = (unsigned)(uintptr_t)arg;
    (void)attr, (void)where;
    make_fiber(t);
    store_rlx(&shared.fiber[t].wait, WEFT_WAIT_LOOK);
    shared.fiber[t].frames = (uintptr_t)&s->outstanding;
    shared.fiber[t].child = fn;
    weak_start(t);
    if (other_follows(t)) weak_start(OTHER);
    return 0;
}
/* There is no fiber for the rest of the chain, so the caller does all of it. */
int weft__spawn(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg,
                const char *where, size_t size) {
    return (void)fiber, (void)attr, (void)fn, (void)arg, (void)where, (void)size, -ENOMEM;
}
int weft__spawn_counted_child(struct weft__scope *s, const struct weft_attr *attr, int (*fn)(void *), void *arg,
                              const char *where) {
    return weft__spawn_child(s, attr, fn, arg, where);
}
void weft_yield(void) {}
struct weft__forking weft__forking; /* nothing is forked */
void weft__frames_unwind(struct weft__fiber *me, void *result, const void *returned) {
    (void)me, (void)result, (void)returned;
    claim(false, "a frame is left open");
}

/* A timer that may fire at any moment until it is cancelled. */
static void run_clock(void);
int weft_timer_arm(struct weft_timer *timer, uint64_t deadline, void (*fn)(void *), void *arg) {
    (void)deadline;
    ((struct weft__timer *)(void *)timer)->due = (struct weft__due){fn, arg, 0};
    store_rlx(&shared.expired, 0);
    weak_start(OTHER);
    return 0;
}
bool weft__timer_take_dropped(struct weft__timer *timer) {
    (void)timer;
    return false; /* no runtime stops here */
}
/* Acts as under the wheel's lock: the caller sees what was done before the timer fired. */
int weft_timer_cancel(struct weft_timer *timer) {
    (void)timer;
    if (!add_ar(&shared.expired, 1)) {
        weak_abandon(OTHER);
        return 0;
    }
    return -EALREADY;
}
static void run_clock(void) {
    struct weft__due due = ((struct weft__timer *)(void *)&((struct weft__scope *)(void *)&shared.s)->timer)->due;
    if (!add_ar(&shared.expired, 1)) due.fn(due.arg);
}

/* --- what the threads do ------------------------------------------------------------------------------ */

static int wait_here(void) {
    uint64_t ticket;
    struct weft__fiber *me = load_rlx(&weft__self()->current);
    int err = weft__wait_begin(me, WEFT_WAIT_BY_CANCEL, &ticket);
    return err ? err : weft__wait_block(me, ticket, WEFT_FOREVER);
}

/* The scope belongs to the caller again, which may reuse its memory. */
static int end_scope(struct weft_scope *s) {
    int result = weft_scope_end(s);
    weak_gone(s == &shared.t, s, sizeof *s);
    return result;
}

static GHOST void note_end(unsigned t) { shared.ended |= 1u << t; }
static GHOST bool have_ended(uint32_t all) { return (shared.ended & all) == all; }

/* --- calls that are taken: by ONE and TWO, or by TWO from a child ------------------------------------ */

static bool thieves_wait(void);

/* As sched/tasks/tasks.c does it: takes a call, runs it, and reports its end. */
static void run_thief(unsigned t) {
    struct weft__fiber *me = &shared.fiber[t];
    struct weft__region member;
    weft__scope_inherit(&member, me, weft__root_of(&shared.deque, shared.deque.around));
    if (thieves_wait()) shared.result[t] = wait_here();
    weft__scope_disinherit(&member, me);
    note_end(t);
    weft_counter_complete(&shared.taken);
}
static void fork_call(unsigned thief) {
    weft_counter_add(&shared.taken, 1);
    make_fiber(thief);
    weak_start(thief);
}
static void begin_forking(unsigned t) {
    shared.deque.owner = &shared.fiber[t];
    shared.fiber[t].stack = &shared.stack;
}
/* As task/fork_join.c does it, for the oldest call. */
static void join_calls(void) {
    weft__counter_wait_always(&shared.taken, 0);
    if (load_rlx(&shared.deque.rooted)) weft__root_close(&shared.deque);
    weak_gone(1, &shared.deque.root, sizeof shared.deque.root);
}

static int child_forks(void *t) {
    shared.deque.around = (struct weft__scope *)(void *)&shared.s;
    begin_forking((unsigned)(uintptr_t)t);
    fork_call(TWO);
    join_calls();
    return 0;
}

static int child_returns(void *t) { return shared.result[(uintptr_t)t] = 0; }
static int child_fails(void *t) { return shared.result[(uintptr_t)t] = -EIO; }
static int child_waits(void *t) {
    shared.result[(uintptr_t)t] = wait_here();
    return 0;
}
static int child_cancels(void *t) { return shared.result[(uintptr_t)t] = weft_scope_cancel(&shared.s); }
/* Waits in a nested scope, and after it. */
static int child_nests(void *t) {
    weft_scope_begin(&shared.t, WEFT_FOREVER);
    wait_here();
    shared.result[(uintptr_t)t] = end_scope(&shared.t);
    shared.second[(uintptr_t)t] = wait_here();
    return 0;
}
static int child_shields(void *t) {
    struct weft_shield shield;
    weft_shield_begin(&shield);
    claim(!weft_cancelled(), "told in a shield");
    weft_shield_end(&shield);
    shared.result[(uintptr_t)t] = wait_here();
    return 0;
}

static void spawn_child(int (*fn)(void *), unsigned t) {
    if (!weft_scope_spawn(&shared.s, NULL, fn, (void *)(uintptr_t)t)) return;
    shared.result[t] = wait_here(); /* refused: the scope is cancelled, and the body does the work instead */
    note_end(t);
}

enum { OF_CHILD = 4 };
static const struct scene {
    const char *name;
    int (*one)(void *), (*two)(void *);
    uint64_t deadline;
    void (*body)(void); /* the body between the spawns and the end */
    void (*other)(void);
    bool (*good)(void);
    unsigned after; /* the other thread begins after the spawn of that child; 0: at once */
    bool large;
    unsigned thieves; /* the number of threads that take calls of BODY, which begins no scope; OF_CHILD: one thread
                         takes ONE's call */
    bool heir; /* if child TWO has not begun when ONE ends, it reports both ends, as if it ran next on that worker */
} * scene;
static bool other_follows(unsigned t) { return scene->after == t; }
static bool body_forks(void) { return scene->thieves && scene->thieves != OF_CHILD; }
static bool is_thief(unsigned t) { return body_forks() ? t == ONE || t == TWO : scene->thieves && t == TWO; }
static bool thieves_wait(void) { return scene->good != NULL; }

static void body_cancels(void) { weft_scope_cancel(&shared.s); }
static void body_waits(void) { shared.second[BODY] = wait_here(); }
static void body_nests(void) {
    weft_scope_begin(&shared.t, WEFT_FOREVER);
    shared.second[BODY] = end_scope(&shared.t);
}
static void body_shields(void) {
    struct weft_shield shield;
    weft_shield_begin(&shield);
    join_calls();
    claim(!weft_cancelled(), "told in a shield");
    weft_shield_end(&shield);
}
static void cancel_body(void) { shared.result[OTHER] = weft_cancel(handle(BODY)); }
static void cancel_one(void) { shared.result[OTHER] = weft_cancel(handle(ONE)); }

static GHOST bool is_made(unsigned t) { return shared.fiber[t].frames; }

/* As end() in fiber.c does it. */
static void run_child(unsigned t) {
    struct weft__fiber *f = &shared.fiber[t];
    if (t == TWO && xchg_ar(&shared.begun, 1) == 2) weft__self()->owed = shared.owed;
    weft__child_main((void *)(uintptr_t)t);
    note_end(t);
    if (scene->heir && t == ONE && is_made(TWO)) {
        uint32_t no = 0;
        shared.owed = f->owes + 1;
        if (cas_ar(&shared.begun, &no, 2)) return;
    }
    weft__counter_lower((struct weft_counter *)f->frames, f->owes + 1);
}

static void run_forker(void) {
    begin_forking(BODY);
    for (unsigned i = 0; i < scene->thieves; i++) fork_call(ONE + i);
    if (scene->body)
        scene->body();
    else
        join_calls();
}

void run_thread(unsigned t) {
    if (is_thief(t)) {
        run_thief(t);
        return;
    }
    if (t == BODY && body_forks()) {
        run_forker();
        return;
    }
    if (t == ONE || t == TWO) {
        run_child(t);
        return;
    }
    if (t == OTHER) {
        if (scene->other)
            scene->other();
        else
            run_clock();
        return;
    }
    weft_scope_begin(&shared.s, scene->deadline);
    if (scene->one) spawn_child(scene->one, ONE);
    if (scene->two) spawn_child(scene->two, TWO);
    if (scene->body) scene->body();
    shared.result[BODY] = end_scope(&shared.s);
    uint32_t all = (scene->one ? 1u << ONE : 0) | (scene->two ? 1u << TWO : 0);
    claim(have_ended(all), "ended before its children");
}

/* --- what must hold -------------------------------------------------------------------------------------- */

static bool both_told(int err, int result) {
    return shared.result[BODY] == result && (!scene->two || shared.result[TWO] == err);
}
static bool failed_first(void) { return both_told(-ECANCELED, -EIO); }
static bool cancelled(void) { return both_told(-ECANCELED, -ECANCELED); }
static bool late(void) { return both_told(-ETIMEDOUT, -ETIMEDOUT); }
static bool perhaps_late(void) { return !shared.result[BODY] || shared.result[BODY] == -ETIMEDOUT; }
static bool sticks_inside(void) {
    return shared.result[BODY] == -ECANCELED && shared.result[ONE] == -ECANCELED && shared.second[ONE] == -ECANCELED;
}
/* The thread itself was cancelled, and so was everything that it had begun. The cancellation stays. */
static bool asked(void) {
    return both_told(-ECANCELED, -ECANCELED) && (load_rlx(&shared.fiber[BODY].wait) & WEFT_WAIT_CANCEL);
}
/* The thread was cancelled before it began, in the middle, or after the end. */
static bool asked_some_time(void) {
    return (!shared.result[BODY] || shared.result[BODY] == -ECANCELED) &&
           (load_rlx(&shared.fiber[BODY].wait) & WEFT_WAIT_CANCEL);
}
static bool nest_told(void) {
    return shared.result[BODY] == -EIO && shared.result[ONE] == -ECANCELED && shared.second[ONE] == -ECANCELED;
}
static bool calls_told(void) {
    bool told = true;
    for (unsigned i = 0; i < scene->thieves; i++) told &= shared.result[ONE + i] == -ECANCELED;
    return told && (load_rlx(&shared.fiber[BODY].wait) & WEFT_WAIT_CANCEL);
}
static bool call_told(void) { return shared.result[BODY] == -ECANCELED && shared.result[TWO] == -ECANCELED; }
static bool one_asked(void) { return shared.result[ONE] == -ECANCELED && !shared.result[BODY]; }

static const struct scene scenes[] = {
    {"a failure, and one that waits", child_fails, child_waits, WEFT_FOREVER, NULL, NULL, failed_first},
    {"a failure, and the body waits", child_fails, NULL, WEFT_FOREVER, body_waits, NULL, failed_first},
    {"the last child cancels", child_cancels, NULL, WEFT_FOREVER, NULL, NULL, cancelled},
    {"cancelled by the body, two that wait", child_waits, child_waits, WEFT_FOREVER, body_cancels, NULL, cancelled, 0,
     true},
    {"a deadline at any moment", child_returns, NULL, 100, NULL, NULL, perhaps_late},
    {"a deadline at any moment, nested", NULL, NULL, 100, body_nests, NULL, perhaps_late},
    {"a deadline, one that waits", NULL, child_waits, 100, NULL, NULL, late},
    {"a deadline, the body waits", NULL, NULL, 100, body_waits, NULL, late},
    {"an inner scope, the outer one cancelled", child_nests, NULL, WEFT_FOREVER, body_cancels, NULL, sticks_inside},
    {"a shield, the outer scope cancelled", NULL, child_shields, WEFT_FOREVER, body_cancels, NULL, cancelled},
    {"the body asked, two that wait", child_waits, child_waits, WEFT_FOREVER, NULL, cancel_body, asked, 0, true},
    {"the body asked, nested", NULL, NULL, WEFT_FOREVER, body_nests, cancel_body, asked_some_time},
    {"a child asked", child_waits, NULL, WEFT_FOREVER, NULL, cancel_one, one_asked, ONE},
    {"a child asked, another fails", child_nests, child_fails, WEFT_FOREVER, NULL, cancel_one, nest_told, ONE, true},
    {"a failure, told by one that waits", child_fails, child_waits, WEFT_FOREVER, NULL, NULL, failed_first,
     .heir = true},
    {"two ends told at once, a deadline at any moment", child_returns, child_returns, 100, NULL, NULL, perhaps_late,
     .large = true, .heir = true},
    {"a call is taken, its forker asked", NULL, NULL, 0, NULL, cancel_body, calls_told, .thieves = 1},
    {"two calls are taken, their forker asked", NULL, NULL, 0, NULL, cancel_body, calls_told, .large = true,
     .thieves = 2},
    {"a call is taken, its forker asked in a shield", NULL, NULL, 0, body_shields, cancel_body, calls_told,
     .thieves = 1},
    {"a call is taken and ends, its forker asked", NULL, NULL, 0, NULL, cancel_body, NULL, .thieves = 1},
    {"two calls are taken and end, their forker asked", NULL, NULL, 0, NULL, cancel_body, NULL, .large = true,
     .thieves = 2},
    {"a call of a child is taken, the scope cancelled", child_forks, NULL, WEFT_FOREVER, body_cancels, NULL, call_told,
     .thieves = OF_CHILD},
};
#define SCENES (sizeof scenes / sizeof *scenes)

static void check(void) {
    for (unsigned t = 0; t < THREADS; t++) claim(!weak_goes_on(t), "waits for ever");
    claim(!scene->good || scene->good(), "another outcome");
    for (unsigned t = 0; t < 4; t++)
        claim(!(shared.fiber[t].frames & WEFT_FRAMES_TAG) && !load_rlx(&shared.fiber[t].context.open), "left open");
    claim(!load_rlx(&shared.deque.rooted), "a root is left open");
    claim(shared.fiber[BODY].frames == 0, "the body has something open");
}

static void set_up(void) {
    for (unsigned t = 0; t < 4; t++) store_rlx(&worker[t].current, &shared.fiber[t]);
    store_rlx(&weft__fibers.records, 4);
    store_rlx(&weft__fibers.chunk[0], (char *)shared.fiber);
    make_fiber(BODY);
    weak_start(BODY);
    if (scene->other && !scene->after) weak_start(OTHER);
}

static bool all_scenes(void) {
    for (scene = scenes; scene < scenes + SCENES; scene++) {
        char name[100];
        snprintf(name, sizeof name, "scope, %s", scene->name);
        if (!weak_explore(&(struct weak_scene){name, 0, set_up, check, scene->large})) return false;
    }
    return true;
}

int main(int argc, char **argv) {
    weak_share(&shared, sizeof shared);
    for (unsigned t = 0; t < 4; t++) weak_share(&worker[t].owed, sizeof worker[t].owed);
    return weak_main(argc, argv, all_scenes);
}
