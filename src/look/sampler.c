/* SPDX-License-Identifier: MIT */
/*
 * weft_profile_begin and _end: a process profiles itself.
 *
 * Each carrier has a timer of its CPU time, which sends SIGPROF to that carrier. The handler only copies the registers
 * and the innermost part of the stack into a slot. A thread empties the slots, unwinds the copies (unwind.c), arms
 * timers for new carriers, and looks at the fibers that wait (track.c).
 *
 *   the handler                                    the thread
 *   1. slot FREE -> TAKEN; if none is free, the    1. slot FULL: unwinds the copy
 *      sample is lost                              2. -> FREE
 *   2. copies, -> FULL
 *
 * The end of a profile deletes the timers. Then it ignores SIGPROF for a moment, which drops signals that are still
 * under way: the default action would end the process. Then it restores the program's own handler.
 */
#define _GNU_SOURCE
#include "weft/profile.h"

#include "arch/interrupted.h"
#include "base/handler.h"
#include "base/message.h"
#include "look/profile.h"
#include "look/sampler.h"
#include "sched/core/cluster.h"
#include "sched/core/layers.h"
#include "sched/core/self.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define WEFT_SAMPLE_HZ 99
#define WEFT_SAMPLE_BYTES 8192 /* of a stack */
#define WEFT_SLOTS 256
#define WEFT_CARRIERS 2048 /* in one profile */
#define WEFT_DRAIN_EVERY (20 * WEFT_MILLISECOND)
#define WEFT_WAITS_EVERY (50 * WEFT_MILLISECOND)
#define WEFT_WAITS_SHARE 10 /* the pause after a look is at least this many times as long as the look */

/* A timer. A signal of an earlier profile may come late, and find the timer of another carrier here. */
static struct carrier {
    _Atomic(struct weft__worker *) worker;
    _Atomic uintptr_t low, top; /* of the thread's own stack */
    int tid;
    timer_t timer;
} carriers[WEFT_CARRIERS];

enum { FREE, TAKEN, FULL };
struct slot {
    _Atomic uint32_t state;
    uint32_t periods; /* of CPU time that the sample stands for */
    struct weft__registers at;
    uint64_t where; /* of the fiber: where it was spawned */
    size_t size;
    uint64_t words[WEFT_SAMPLE_BYTES / 8];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held by a begin or an end */
static bool is_on;
static struct sigaction before;
static struct sampler {
    struct weft__profile profile;
    struct weft__memory memory;
    struct weft__look look;
    struct weft__names names;
    struct slot *slots;
    unsigned armed; /* so many carriers have a timer */
    uint64_t period, next_waits;
    pthread_t thread;
    int fd, result;
    enum weft_profile_format format;
} sampler;
static _Atomic uint32_t next_slot, lost;
static _Atomic uint32_t quits;
static _Atomic(struct slot *) slots; /* NULL: no profile */

/* --- the handler ---------------------------------------------------------------------------------------- */

static struct weft__registers registers_of(const void *context) {
    const mcontext_t *m = &((const ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    return (struct weft__registers){(uint64_t)m->gregs[REG_RIP], (uint64_t)m->gregs[REG_RSP],
                                    (uint64_t)m->gregs[REG_RBP], (uint64_t)m->gregs[REG_RCX]};
#else
    return (struct weft__registers){m->pc, m->sp, m->regs[29], m->regs[30]};
#endif
}

/* The end of the stack that contains the stack pointer: the stack of the fiber or of the carrier; 0: neither. */
static WEFT_MAY_RACE uintptr_t end_of_stack(struct carrier *c, struct weft__worker *w, uintptr_t sp, uint64_t *where) {
    const struct weft__fiber *f = load_rlx(&w->current);
    const struct weft__stack *s = f ? *(struct weft__stack *const volatile *)&f->stack : NULL;
    if (s && sp >= (uintptr_t)s->low && sp < (uintptr_t)weft__stack_top(s)) {
        *where = (uintptr_t)f->where;
        return (uintptr_t)weft__stack_top(s);
    }
    uintptr_t top = load_rlx(&c->top);
    return sp >= load_rlx(&c->low) && sp < top ? top : 0;
}

/* Copies word by word, without checks by sanitizers, which would complain about the bytes between variables. */
static __attribute__((noinline, no_sanitize("address"))) WEFT_MAY_RACE void sampler_copy(uint64_t *to, uintptr_t from,
                                                                                         size_t words) {
    const volatile uint64_t *word = (const volatile uint64_t *)from;
    for (size_t i = 0; i < words; i++) to[i] = word[i];
}

static void take_sample(struct carrier *c, const void *context, uint32_t periods) {
    struct slot *all = load_acq(&slots);           /* pairs with sampler_prepare */
    struct weft__worker *w = load_acq(&c->worker); /* pairs with sampler_arm */
    if (!all || !w || weft__self() != w) return;
    struct slot *s = &all[add_rlx(&next_slot, 1) % WEFT_SLOTS];
    uint32_t state = FREE;
    if (!cas_ar(&s->state, &state, TAKEN)) {
        add_rlx(&lost, 1);
        return;
    }
    s->at = registers_of(context);
    s->where = 0;
    s->periods = periods;
    uintptr_t from = (uintptr_t)s->at.sp & ~(uintptr_t)7, end = end_of_stack(c, w, from, &s->where);
    s->size = end > from ? end - from : 0;
    if (s->size > sizeof s->words) s->size = sizeof s->words;
    sampler_copy(s->words, from, s->size / 8);
    store_rel(&s->state, FULL); /* pairs with sampler_drain */
}

static void on_sample_signal(int sig, siginfo_t *info, void *context) {
    int saved = errno;
    struct carrier *c = info->si_value.sival_ptr;
    if (info->si_code == SI_TIMER && c >= carriers && c < carriers + WEFT_CARRIERS)
        take_sample(c, context, 1 + (uint32_t)(info->si_overrun > 0 ? info->si_overrun : 0));
    else
        weft__handler_pass_on(&before, sig, info, context);
    errno = saved;
}

/* --- the thread ------------------------------------------------------------------------------------------- */

static bool has_timer(const struct weft__worker *w) {
    for (unsigned i = 0; i < sampler.armed; i++)
        if (load_rlx(&carriers[i].worker) == w && carriers[i].tid == load_rlx(&w->carrier.tid)) return true;
    return false;
}

/* Creates the timer of a worker. If that fails, the worker is not sampled. */
static void sampler_arm(struct weft__worker *w) {
    pthread_attr_t attr;
    clockid_t clock;
    void *low = NULL;
    size_t size = 0;
    if (!load_rlx(&w->carrier.tid) || has_timer(w) || sampler.armed == WEFT_CARRIERS) return;
    struct carrier *c = &carriers[sampler.armed];
    c->tid = load_rlx(&w->carrier.tid);
    if (!pthread_getattr_np(w->carrier.thread, &attr)) {
        pthread_attr_getstack(&attr, &low, &size);
        pthread_attr_destroy(&attr);
    }
    store_rlx(&c->low, (uintptr_t)low);
    store_rlx(&c->top, (uintptr_t)low + size);
    store_rel(&c->worker, w); /* pairs with take_sample */
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF, .sigev_value.sival_ptr = c};
    event.sigev_notify_thread_id = c->tid;
    if (pthread_getcpuclockid(w->carrier.thread, &clock) || timer_create(clock, &event, &c->timer)) return;
    struct timespec period = {(time_t)(sampler.period / WEFT_SECOND), (long)(sampler.period % WEFT_SECOND)};
    timer_settime(c->timer, 0, &(struct itimerspec){period, period}, NULL);
    sampler.armed++;
}

/* While we hold the lock, no carrier ends. */
static bool arm_all(struct weft__cluster *c, void *unused) {
    (void)unused;
    if (pthread_mutex_trylock(&c->resizing)) return true; /* the next time */
    for (unsigned i = 0; !load_rlx(&c->stopping) && i < load_rlx(&c->count); i++)
        if (c->workers[i]) sampler_arm(c->workers[i]);
    pthread_mutex_unlock(&c->resizing);
    return true;
}

static void sampler_drain(void) {
    struct weft__seen *f = weft__alloc(sizeof *f);
    for (unsigned i = 0; f && i < WEFT_SLOTS; i++) {
        struct slot *s = &sampler.slots[i];
        if (load_acq(&s->state) != FULL) continue; /* pairs with take_sample */
        struct weft__window window = {s->at.sp & ~UINT64_C(7), s->size, (const char *)s->words};
        f->state = WEFT_SEEN_RUNNING;
        f->where = s->where;
        /* The walk ends at the end of the copy, because the stack beyond it may have changed. */
        f->depth = weft__unwind(sampler.look.unwinder, s->at, &window, s->at.sp, window.begin + s->size, f->frame);
        weft__profile_sample(&sampler.profile, f, s->periods * sampler.period);
        store_rel(&s->state, FREE); /* pairs with take_sample */
    }
    weft__free(f);
}

static void look_at_waits(uint64_t now) {
    if (now < sampler.next_waits) return;
    if (!weft__look_workers(&sampler.look)) weft__track_look(&sampler.profile.wait, &sampler.look, now);
    uint64_t end = weft__clock(), rest = WEFT_WAITS_SHARE * (end - now);
    sampler.next_waits = end + (rest > WEFT_WAITS_EVERY ? rest : WEFT_WAITS_EVERY);
}

static void sampler_disarm(void) {
    for (unsigned i = 0; i < sampler.armed; i++) timer_delete(carriers[i].timer);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, now;
    if (sigaction(SIGPROF, NULL, &now) || !(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != on_sample_signal) return;
    sigaction(SIGPROF, &ignore, NULL);
    sigaction(SIGPROF, &before, NULL);
}

static void *sampler_main(void *unused) {
    (void)unused;
    while (!load_acq(&quits)) { /* pairs with sampler_end */
        uint64_t now = weft__clock();
        weft__each_cluster(arm_all, NULL);
        sampler_drain();
        look_at_waits(now);
        weft__futex_wait(&quits, 0, weft__clock() + WEFT_DRAIN_EVERY);
    }
    sampler_disarm();
    sampler_drain();
    sampler.next_waits = 0; /* a last look, so that even a short profile has two */
    look_at_waits(weft__clock());
    sampler.profile.ended = weft__clock();
    sampler.profile.lost += load_rlx(&lost);
    sampler.result = sampler.fd < 0 ? 0
                     : sampler.format == WEFT_PROFILE_FOLDED
                         ? weft__profile_folded(&sampler.profile, &sampler.names, sampler.fd)
                         : weft__profile_pprof(&sampler.profile, &sampler.names, sampler.fd);
    return NULL;
}

/* --- begin and end ------------------------------------------------------------------------------------------ */

static void sampler_release(void) {
    store_rlx(&slots, NULL);
    weft__profile_free(&sampler.profile);
    weft__names_free(&sampler.names);
    weft__look_end(&sampler.look);
}

/* A handler may still use the slots when its profile has ended. So they are kept, and the next profile uses them. */
static bool sampler_make_room(void) {
    if (!sampler.slots) sampler.slots = weft__alloc(WEFT_SLOTS * sizeof *sampler.slots);
    if (!sampler.slots) return false;
    for (unsigned i = 0; i < WEFT_SLOTS; i++) {
        uint32_t state = FULL;
        cas_ar(&sampler.slots[i].state, &state, FREE); /* the last profile may have left it full */
    }
    return true;
}

static int sampler_prepare(void) {
    struct timespec real;
    sampler.memory = weft__memory_of(getpid());
    sampler.look = (struct weft__look){.stacks = true};
    sampler.profile = (struct weft__profile){.lost = 0};
    sampler.armed = 0;
    sampler.next_waits = 0;
    int err = sampler_make_room() ? weft__look_begin(&sampler.look, &sampler.memory) : -ENOMEM;
    if (err) return err;
    sampler.names = weft__names_own(&sampler.look.modules);
    clock_gettime(CLOCK_REALTIME, &real);
    sampler.profile.began_at = (uint64_t)real.tv_sec * WEFT_SECOND + (uint64_t)real.tv_nsec;
    sampler.profile.began = weft__clock();
    sampler.profile.period = sampler.period;
    store_rlx(&quits, 0);
    store_rlx(&lost, 0);
    store_rel(&slots, sampler.slots); /* pairs with take_sample */
    return 0;
}

/* Runs in a separate thread, because fibers have small stacks. */
static void *prepare_main(void *unused) {
    (void)unused;
    sampler.result = sampler_prepare();
    return NULL;
}

static int sampler_begin(unsigned hz) {
    struct sigaction action = {.sa_sigaction = on_sample_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    if (is_on) return -EBUSY;
    sampler.period = WEFT_SECOND / hz;
    int err = weft__thread_create_masked(&sampler.thread, prepare_main, NULL);
    if (err) return err;
    pthread_join(sampler.thread, NULL);
    err = sampler.result;
    if (!err && (sigaction(SIGPROF, NULL, &before) || sigaction(SIGPROF, &action, NULL))) err = -errno;
    if (!err && (err = weft__thread_create_masked(&sampler.thread, sampler_main, NULL))) sampler_disarm();
    if (err)
        sampler_release();
    else
        is_on = true;
    return err;
}

static int sampler_end(int fd, enum weft_profile_format format) {
    if (!is_on) return -ESRCH;
    sampler.fd = fd;
    sampler.format = format;
    store_rel(&quits, 1); /* pairs with sampler_main */
    weft__futex_wake(&quits, 1);
    pthread_join(sampler.thread, NULL);
    is_on = false;
    sampler_release();
    return sampler.result;
}

WEFT_PUBLIC int weft_profile_begin(unsigned hz) {
    if (hz > 1000) return -EINVAL;
    if (!load_acq(&weft__cluster.running)) return -ESRCH; /* pairs with the start */
    pthread_mutex_lock(&lock);
    int err = sampler_begin(hz ? hz : WEFT_SAMPLE_HZ);
    pthread_mutex_unlock(&lock);
    return err;
}

WEFT_PUBLIC int weft_profile_end(int fd, enum weft_profile_format format) {
    if ((unsigned)format > WEFT_PROFILE_FOLDED) return -EINVAL;
    if (fd != -1 && fcntl(fd, F_GETFD) < 0) return -EBADF;
    pthread_mutex_lock(&lock);
    int err = sampler_end(fd, format);
    pthread_mutex_unlock(&lock);
    return err;
}

/* --- WEFT_PROFILE --------------------------------------------------------------------------------------------- */

static const char *wanted; /* the file; NULL: none */

static bool ends_with(const char *name, const char *end) {
    size_t n = strlen(name), m = strlen(end);
    return n > m && !strcmp(name + n - m, end);
}

void weft__profile_watch(void) {
    const char *name = getenv("WEFT_PROFILE");
    if (!name || !*name) return;
    if (ends_with(name, ".html")) {
        weft__say("WEFT_PROFILE=%s: no profile: use FILE.folded, and weft profile FILE.folded -o FILE.html", name);
        return;
    }
    pthread_mutex_lock(&lock);
    int err = sampler_begin(WEFT_SAMPLE_HZ);
    wanted = err ? NULL : name;
    pthread_mutex_unlock(&lock);
    if (err) weft__say("WEFT_PROFILE=%s: no profile: error %d", name, -err);
}

/* A profile that the program has not ended ends with the runtime; it is written if WEFT_PROFILE asked for it. */
static void sampler_stopped(void) {
    pthread_mutex_lock(&lock);
    if (is_on) {
        int fd = wanted ? open(wanted, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1, err = fd < 0 ? errno : 0;
        bool folded = wanted && ends_with(wanted, ".folded");
        int result = sampler_end(fd, folded ? WEFT_PROFILE_FOLDED : WEFT_PROFILE_PPROF);
        if (fd >= 0 && close(fd) && !result) result = -errno;
        if (wanted && (err || result)) weft__say("WEFT_PROFILE=%s: not written: error %d", wanted, err ? err : -result);
    }
    wanted = NULL;
    pthread_mutex_unlock(&lock);
}

/* In a forked child: the thread and the timers do not exist there. */
static void sampler_after_fork(void) {
    pthread_mutex_init(&lock, NULL);
    is_on = false;
    wanted = NULL;
    store_rlx(&slots, NULL);
}
static struct weft__layer layer = {.stopped = sampler_stopped, .forked = sampler_after_fork};
__attribute__((constructor)) static void register_sampler(void) { weft__layer_add(&layer); }
