/* SPDX-License-Identifier: MIT */
/*
 * The life of a thread: create, begin, exit, join, detach.
 *
 *   the thread that ends                          its joiner                    pthread_detach
 *   1. runs destructors, on its own block         1. waits for `over`           1. JOINABLE -> DETACHED; or,
 *   2. leaves its block and its stack             2. ENDED -> COLLECTED            if it has ended:
 *   3. if DETACHED: frees the block; otherwise    3. takes the result,          2. ENDED -> COLLECTED, frees
 *      JOINABLE -> ENDED, sets `over` and            frees the block               the block
 *      wakes joiners
 */
#define _GNU_SOURCE
#include "arch/thread_pointer.h"
#include "sched/dispatch/own_tls.h"
#include "threads/caught.h"
#include "threads/stack.h"
#include "threads/threads.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

REAL(pthread_create);
REAL(pthread_join);
REAL(pthread_detach);
extern void __wrap_pthread_exit(void *result) __attribute__((noreturn));
REAL(pthread_tryjoin_np);
REAL(pthread_timedjoin_np);
REAL(pthread_clockjoin_np);

__thread struct weft__thread weft__thread;
static _Atomic unsigned live = 1;

/* --- records ------------------------------------------------------------------------------------------ */

static struct weft__thread *thread_in(char *block) {
    return (struct weft__thread *)(void *)(block + ((char *)&weft__thread - (char *)weft__thread_pointer()));
}

struct weft__thread *weft__thread_of(pthread_t thread) {
    static struct weft__thread none; /* its state is NONE */
    const struct weft__libc *c = weft__libc_read(NULL);
    return c ? thread_in((char *)thread - c->descriptor) : &none; /* a pthread_t is the descriptor */
}

pthread_t weft__thread_id(const struct weft__thread *t) { return (pthread_t)weft__block_descriptor(t->block); }

static void thread_put(struct weft__thread *t) {
    if (!t->is_first) weft__block_put(t->block); /* glibc owns the block of the first thread */
}

/* --- end ---------------------------------------------------------------------------------------------- */

void weft__thread_finish(struct weft__thread *t) {
    t->inside = 0;
    weft__thread_end();
    if (add_ar(&live, -1u) == 1) exit(0);
}

void weft__thread_announce(struct weft__thread *t) {
    uint32_t state = WEFT_THREAD_JOINABLE;
    if (!cas_ar(&t->state, &state, WEFT_THREAD_ENDED)) { /* pairs with join and detach */
        store_rlx(&t->state, WEFT_THREAD_GONE);
        thread_put(t);
        return;
    }
    store_rel(&t->over, 1); /* pairs with join */
    weft__lot_wake(&t->over, INT_MAX);
}

void weft__threads_live_after_fork(void) { store_rlx(&live, 1); }

/* --- begin -------------------------------------------------------------------------------------------- */

/* Runs the program's function, until it returns or leaves by pthread_exit. */
static void thread_run(void *arg) {
    struct weft__thread *t = (struct weft__thread *)arg;
    __pthread_unwind_buf_t buffer;
    memset(&buffer, 0, sizeof buffer);
    if (!weft__caught(&buffer)) {
        weft__caught_begin(&buffer);
        t->inside = 0;
        if (load_rlx(&t->pending) & ~load_rlx(&t->mask)) weft__thread_leave_pending();
        void *result = t->fn(t->arg);
        t->inside = 1;
        weft__caught_end(&buffer);
        t->result = result;
    }
    weft__thread_finish(t);
    t->inside = 1;
}

struct begin {
    struct weft__thread *thread;
    struct weft__float_env floats;
};

static void *kernel_thread_main(void *arg) {
    struct begin b = *(struct begin *)arg;
    struct weft__thread *t = b.thread;
    free(arg);
    t->fiber = weft_self();
    t->owner_name = (uintptr_t)weft__lock_owner(t->fiber.id);
    weft__signals_add(t);
    weft__own_tls_enter(t->block);
    weft__float_env_load(&b.floats);
    if (t->stack)
        weft__stack_call(thread_run, t, (char *)t->stack + t->stack_size);
    else
        thread_run(t);
    if (!load_rlx(&weft__threads_on)) exit(0);  /* a forked child */
    if (t->is_first) weft__threads_end_first(); /* a forked child that has made threads itself */
    weft__signals_remove(t);
    weft__own_tls_leave();
    weft__thread_announce(t);
    return NULL;
}

/* --- create -------------------------------------------------------------------------------------------- */

enum { STACK_DEFAULT = 1 << 20, STACK_LEAST = 16 << 10, STACK_BESIDE = 64 << 10 };

static size_t default_stack(void) {
    static size_t size;
    if (!size) {
        const char *text = getenv("WEFT_STACK_SIZE");
        size_t n = text ? strtoul(text, NULL, 0) : 0;
        size = n ? n : STACK_DEFAULT;
    }
    return size;
}

/* Is this glibc's default size? Few threads need that much address space, so weft uses its own default then. */
static bool is_usual(size_t size) {
    pthread_attr_t attr;
    size_t usual = 0;
    if (!pthread_getattr_default_np(&attr)) {
        pthread_attr_getstacksize(&attr, &usual);
        pthread_attr_destroy(&attr);
    }
    return size == usual;
}

static void read_attributes(struct weft__thread *t, const pthread_attr_t *attr) {
    struct sched_param param;
    void *stack;
    size_t size;
    int how;
    pthread_attr_getguardsize(attr, &t->guard_size);
    pthread_attr_getdetachstate(attr, &how);
    store_rlx(&t->state, how == PTHREAD_CREATE_DETACHED ? WEFT_THREAD_DETACHED : WEFT_THREAD_JOINABLE);
    pthread_attr_getstacksize(attr, &size);
    if (!is_usual(size)) t->stack_size = size;
    /* If the program has set no stack, glibc returns the address -size. */
    if (!pthread_attr_getstack(attr, &stack, &size) && stack && (uintptr_t)stack + size != 0) {
        t->stack = stack;
        t->stack_size = size;
    }
    pthread_attr_getinheritsched(attr, &how);
    if (how == PTHREAD_EXPLICIT_SCHED) {
        pthread_attr_getschedpolicy(attr, &t->policy);
        pthread_attr_getschedparam(attr, &param);
        t->priority = param.sched_priority;
    }
}

static int thread_create(pthread_t *out, const pthread_attr_t *attr, void *(*fn)(void *), void *arg) {
    struct weft__thread *me = weft__thread_self();
    struct begin *b = (struct begin *)malloc(sizeof *b);
    char *block = b ? (char *)weft__block_get() : NULL;
    if (!block) {
        free(b);
        return EAGAIN;
    }
    struct weft__thread *t = thread_in(block);
    *t = (struct weft__thread){.block = block, .fn = fn, .arg = arg, .inside = 1, .result = PTHREAD_CANCELED};
    t->state = WEFT_THREAD_JOINABLE;
    t->stack_size = default_stack();
    t->guard_size = 4096;
    t->alternate.ss_flags = SS_DISABLE;
    if (me) {
        store_rlx(&t->mask, load_rlx(&me->mask));
        t->policy = me->policy;
        t->priority = me->priority;
    }
    if (attr) read_attributes(t, attr);
    b->thread = t;
    weft__float_env_save(&b->floats);
    struct weft_attr a = {.detached = 1, .stack_size = t->stack ? STACK_BESIDE : t->stack_size};
    if (a.stack_size < STACK_LEAST) a.stack_size = STACK_LEAST;
    add_ar(&live, 1);
    *out = weft__thread_id(t);
    int err = weft_spawn_at(NULL, &a, kernel_thread_main, b, "pthread_create");
    if (!err) return 0;
    add_ar(&live, -1u);
    free(b);
    weft__block_put(block);
    return err == -EINVAL ? EINVAL : EAGAIN;
}

WEFT_INTERPOSED int pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*fn)(void *), void *arg) {
    if (!load_rlx(&weft__threads_on) && !weft__threads_begin_fibers()) return real(pthread_create)(out, attr, fn, arg);
    weft__thread_enter();
    int err = thread_create(out, attr, fn, arg);
    weft__thread_leave();
    return err;
}

/* --- exit, join, detach -------------------------------------------------------------------------------- */

WEFT_INTERPOSED void pthread_exit(void *result) {
    struct weft__thread *t = weft__thread_self();
    if (t) t->result = result;
    real(pthread_exit)(result);
}

static bool is_detached(uint32_t state) { return state == WEFT_THREAD_DETACHED || state == WEFT_THREAD_GONE; }

static int thread_join(struct weft__thread *t, void **result, uint64_t deadline) {
    uint32_t state = load_acq(&t->state);
    if (t == weft__thread_self()) return EDEADLK;
    if (state == WEFT_THREAD_COLLECTED) return ESRCH;
    if (is_detached(state)) return EINVAL;
    while (!load_acq(&t->over)) { /* pairs with weft__thread_announce */
        int err = weft__lot_wait(&t->over, 0, deadline, WEFT_LOT_CANCEL,
                                 weft__lot_owned(WEFT_WAITS_JOIN, NULL, &t->owner_name));
        if (err == ECANCELED) weft__cancel_point();
        if (err == ETIMEDOUT) return err;
    }
    state = WEFT_THREAD_ENDED;
    if (!cas_ar(&t->state, &state, WEFT_THREAD_COLLECTED)) return is_detached(state) ? EINVAL : ESRCH;
    if (result) *result = t->result;
    thread_put(t);
    return 0;
}

WEFT_INTERPOSED int pthread_join(pthread_t thread, void **result) {
    struct weft__thread *t = weft__thread_of(thread);
    if (t->state == WEFT_THREAD_NONE) return real(pthread_join)(thread, result);
    weft__cancel_point();
    return thread_join(t, result, WEFT_FOREVER);
}
WEFT_INTERPOSED int pthread_tryjoin_np(pthread_t thread, void **result) {
    struct weft__thread *t = weft__thread_of(thread);
    if (t->state == WEFT_THREAD_NONE) return real(pthread_tryjoin_np)(thread, result);
    return t->state < WEFT_THREAD_COLLECTED && !load_acq(&t->over) ? EBUSY : thread_join(t, result, WEFT_FOREVER);
}
WEFT_INTERPOSED int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock, const struct timespec *at) {
    struct weft__thread *t = weft__thread_of(thread);
    if (t->state == WEFT_THREAD_NONE) return real(pthread_clockjoin_np)(thread, result, clock, at);
    if (at && weft__time_is_bad(at)) return EINVAL;
    weft__cancel_point();
    return thread_join(t, result, at ? weft__time_deadline(at, clock) : WEFT_FOREVER);
}
WEFT_INTERPOSED int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *at) {
    return pthread_clockjoin_np(thread, result, CLOCK_REALTIME, at);
}

WEFT_INTERPOSED int pthread_detach(pthread_t thread) {
    struct weft__thread *t = weft__thread_of(thread);
    uint32_t state = WEFT_THREAD_JOINABLE;
    if (t->state == WEFT_THREAD_NONE) return real(pthread_detach)(thread);
    if (cas_ar(&t->state, &state, WEFT_THREAD_DETACHED)) return 0; /* pairs with weft__thread_announce */
    if (is_detached(state)) return EINVAL;
    if (state != WEFT_THREAD_ENDED || !cas_ar(&t->state, &state, WEFT_THREAD_COLLECTED)) return ESRCH;
    unsigned turn = 0; /* the thread that ends may not have woken its joiners yet */
    while (!load_acq(&t->over)) weft__backoff(&turn);
    thread_put(t);
    return 0;
}
