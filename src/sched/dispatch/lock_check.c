/* SPDX-License-Identifier: MIT */
/*
 * A check build only (-Dlocks=true, the static library): reports a fiber that parks, yields or ends while it holds
 * a lock of the C library.
 *
 * Such a lock belongs to the kernel thread. The fiber may continue on another thread, which then unlocks a lock that it
 * does not own. And another fiber that runs here meanwhile and wants the lock blocks the worker, while the holder waits
 * for this worker. So this file replaces the functions that lock and unlock mutexes, read-write locks and spin locks.
 * It records for each kernel thread which fiber holds which lock, and where in the program the lock was taken. Threads
 * that run no fiber are not checked.
 *
 * Condition variables need no care: while a thread waits for a condition it runs nothing else, and after the wait it
 * holds the mutex again. weft's own mutexes are recorded like any others: weft holds none when it switches.
 */
#define _GNU_SOURCE
#include "sched/dispatch/lock_check.h"
#include "sched/core/self.h"

#include "base/message.h"

#include <dlfcn.h>
#include <string.h>

#define WEFT_LOCKS_MOST 64   /* locks of a thread that are recorded */
#define WEFT_PLACES_MOST 256 /* addresses in the program that are remembered, so that each is reported only once */

struct held {
    const void *lock;
    const char *kind;
    uint64_t fiber;
    void *where; /* the return address of the call that took it */
};
static __thread struct {
    struct held held[WEFT_LOCKS_MOST];
    unsigned count;
} mine __attribute__((tls_model("initial-exec")));

/* --- what is held ----------------------------------------------------------------------------------- */

static int note_lock(const char *kind, const volatile void *lock, int err, void *where) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *f = w ? load_rlx(&w->current) : NULL;
    if (f && (!err || err == EOWNERDEAD) && mine.count < WEFT_LOCKS_MOST)
        mine.held[mine.count++] = (struct held){(const void *)(uintptr_t)lock, kind, weft__handle(f).id, where};
    return err;
}

static void forget_lock(unsigned i) {
    mine.count--;
    memmove(&mine.held[i], &mine.held[i + 1], (mine.count - i) * sizeof mine.held[0]);
}

/* Removes the newest record of this lock: a recursive mutex has a record for each time it was locked. */
static int note_unlock(const volatile void *lock, int err) {
    for (unsigned i = err ? 0 : mine.count; i-- > 0;)
        if (mine.held[i].lock == (const void *)(uintptr_t)lock) {
            forget_lock(i);
            break;
        }
    return err;
}

/* --- reports ---------------------------------------------------------------------------------------- */

/* Is this the first report for this address in the program? */
static bool is_unreported(void *where) {
    static _Atomic(void *) places[WEFT_PLACES_MOST];
    for (unsigned i = 0; i < WEFT_PLACES_MOST; i++) {
        void *there = NULL;
        if (cas_ar(&places[i], &there, where)) return true;
        if (there == where) return false;
    }
    return false;
}

static const char *last_part(const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

static void lock_report(struct weft__fiber *self, const char *does, const struct held *h) {
    struct weft__text text;
    Dl_info at = {0};
    uint64_t where = (uint64_t)(uintptr_t)h->where;
    if (!dladdr(h->where, &at)) at = (Dl_info){0};
    weft__say("%s %s while it holds the %s %x, taken before %x: %s+%x%s%s", weft__describe(self, &text), does, h->kind,
              (uint64_t)(uintptr_t)h->lock, where, last_part(at.dli_fname), where - (uint64_t)(uintptr_t)at.dli_fbase,
              at.dli_sname ? " in " : "", at.dli_sname ? at.dli_sname : "");
}

/* Reports each recorded lock and removes its record, because another thread may unlock it. */
WEFT_COLD void weft__locks_check(struct weft__fiber *self, const char *does) {
    for (unsigned i = mine.count; i-- > 0;) {
        struct held h = mine.held[i];
        if (h.fiber != weft__handle(self).id) continue;
        forget_lock(i);
        if (is_unreported(h.where)) lock_report(self, does, &h);
    }
}

/* --- replacements of functions of the C library --------------------------------------------------------- */

static void *real_function(_Atomic(void *) *known, const char *name) {
    void *fn = load_rlx(known);
    if (fn) return fn;
    if (!(fn = dlsym(RTLD_NEXT, name))) weft__die("there is no %s", name);
    store_rlx(known, fn);
    return fn;
}

#define REAL(name, ...) \
    ({ \
        static _Atomic(void *) known; \
        ((__typeof__(&name))real_function(&known, #name))(__VA_ARGS__); \
    })
#define TAKES(kind, name, type) \
    WEFT_PUBLIC int name(type *lock) { return note_lock(kind, lock, REAL(name, lock), __builtin_return_address(0)); }
#define TAKES_UNTIL(kind, name, type) \
    WEFT_PUBLIC int name(type *lock, const struct timespec *until) { \
        return note_lock(kind, lock, REAL(name, lock, until), __builtin_return_address(0)); \
    }
#define TAKES_UNTIL_BY(kind, name, type) \
    WEFT_PUBLIC int name(type *lock, clockid_t clock, const struct timespec *until) { \
        return note_lock(kind, lock, REAL(name, lock, clock, until), __builtin_return_address(0)); \
    }
#define GIVES(name, type) \
    WEFT_PUBLIC int name(type *lock) { return note_unlock(lock, REAL(name, lock)); }

TAKES("mutex", pthread_mutex_lock, pthread_mutex_t)
TAKES("mutex", pthread_mutex_trylock, pthread_mutex_t)
TAKES_UNTIL("mutex", pthread_mutex_timedlock, pthread_mutex_t)
TAKES_UNTIL_BY("mutex", pthread_mutex_clocklock, pthread_mutex_t)
GIVES(pthread_mutex_unlock, pthread_mutex_t)

TAKES("read lock", pthread_rwlock_rdlock, pthread_rwlock_t)
TAKES("read lock", pthread_rwlock_tryrdlock, pthread_rwlock_t)
TAKES_UNTIL("read lock", pthread_rwlock_timedrdlock, pthread_rwlock_t)
TAKES_UNTIL_BY("read lock", pthread_rwlock_clockrdlock, pthread_rwlock_t)
TAKES("write lock", pthread_rwlock_wrlock, pthread_rwlock_t)
TAKES("write lock", pthread_rwlock_trywrlock, pthread_rwlock_t)
TAKES_UNTIL("write lock", pthread_rwlock_timedwrlock, pthread_rwlock_t)
TAKES_UNTIL_BY("write lock", pthread_rwlock_clockwrlock, pthread_rwlock_t)
GIVES(pthread_rwlock_unlock, pthread_rwlock_t)

TAKES("spin lock", pthread_spin_lock, pthread_spinlock_t)
TAKES("spin lock", pthread_spin_trylock, pthread_spinlock_t)
GIVES(pthread_spin_unlock, pthread_spinlock_t)
