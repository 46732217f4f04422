/* SPDX-License-Identifier: MIT */
/* Parts about events from the kernel: readiness of descriptors, and signals. */
#define _GNU_SOURCE
#include "../test.h"
#include "crowd.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The argument of each member of a crowd. */
struct role {
    uint64_t random;
    unsigned number;
};
static void cast(struct role *roles, unsigned n, uint64_t random) {
    for (unsigned i = 0; i < n; i++) roles[i] = (struct role){roll(&random), i};
}

/* Checks the result of a wait that returns a number or an error. True: the wait succeeded. */
static bool found(int result, bool timed, bool tried) { return got(result > 0 ? 0 : result, timed, tried); }

/* --- readiness --------------------------------------------------------------------------------------
 *
 * Posters write to a few event descriptors. Takers wait for them, with and without a deadline, and are cancelled at
 * random. Taken and remaining posts add up to all posts. If a post wakes no taker, this part stops. Meanwhile other
 * fibers open descriptors, wait for events that never come, and close them: no fiber gets a report about another file
 * with the same number.
 */
enum { EVENTS = 3, TAKERS = 6, POSTERS = 2, STRANGERS = 2, TAKING_THREADS = 2, AT_A_TIME = 20 };

static int event[EVENTS];
static _Atomic uint64_t posted, taken;
static _Atomic int taking; /* so many may still wait without a deadline */

static int new_event(void) {
    int fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
    SO(fd >= 0);
    return fd;
}

static bool wait_for(int fd, uint64_t how, uint64_t *random) {
    int events = how == 0   ? weft_ready_try(fd, POLLIN)
                 : how == 1 ? weft_ready_until(fd, POLLIN, soon(random))
                            : weft_ready(fd, POLLIN);
    if (!found(events, how == 1, how == 0)) return false;
    WANT(events, POLLIN);
    return true;
}

static void *take_some(void *seed) {
    uint64_t *random = seed;
    for (unsigned i = 0; i < AT_A_TIME; i++) {
        int fd = event[below(random, EVENTS)];
        uint64_t one;
        if (!wait_for(fd, below(random, 4), random)) continue;
        ssize_t n = read(fd, &one, sizeof one); /* another may have been faster */
        if (n > 0) atomic_fetch_add(&taken, 1);
        moved();
        pause_a_bit(random);
    }
    return NULL;
}

static void *take_until_over(void *random) {
    employ_one_after_another(random, NULL, take_some);
    atomic_fetch_sub(&taking, 1);
    return NULL;
}

/* Continues until the last taker has got what it waits for. */
static void *post_some(void *random) {
    uint64_t one = 1;
    while (!over() || atomic_load(&taking)) {
        atomic_fetch_add(&posted, 1);
        WANT(write(event[below(random, EVENTS)], &one, sizeof one), sizeof one);
        pause_a_bit(random);
        if (atomic_load(&posted) - atomic_load(&taken) > 1000) weft_yield();
    }
    return NULL;
}

static void *open_and_close(void *seed) {
    int fd = new_event();
    uint64_t one = 1;
    SO(!found(weft_ready_until(fd, POLLIN, soon(seed)), true, false));
    if (below(seed, 2)) { /* ready when it is closed */
        WANT(write(fd, &one, sizeof one), sizeof one);
        WANT(weft_ready_try(fd, POLLIN), POLLIN);
    }
    close(fd);
    return NULL;
}

static void *actor(void *arg) {
    struct role *role = arg;
    if (role->number < POSTERS) return post_some(&role->random);
    if (role->number >= POSTERS + STRANGERS) return take_until_over(&role->random);
    employ_one_after_another(&role->random, NULL, open_and_close);
    return NULL;
}

static void readiness_round(uint64_t random) {
    struct role each[POSTERS + STRANGERS + TAKERS + TAKING_THREADS];
    cast(each, POSTERS + STRANGERS + TAKERS + TAKING_THREADS, random);
    for (unsigned i = 0; i < EVENTS; i++) event[i] = new_event();
    atomic_store(&posted, 0);
    atomic_store(&taken, 0);
    atomic_store(&taking, TAKERS + TAKING_THREADS);
    crowd(POSTERS + STRANGERS + TAKERS, TAKING_THREADS, actor, each, sizeof *each);
    uint64_t one, left = 0;
    for (unsigned i = 0; i < EVENTS; i++) {
        while (read(event[i], &one, sizeof one) > 0) left++;
        close(event[i]);
    }
    WANT(atomic_load(&taken) + left, atomic_load(&posted));
}

/* --- signals ----------------------------------------------------------------------------------------
 *
 * Fibers and a thread send signals of a kind that the kernel does not merge. Several askers wait on one subscription,
 * with deadlines, and are cancelled at random. Together they get as many signals as were sent. Guests subscribe to the
 * same signal and leave again, some while a fiber waits on their subscription.
 */
enum { ASKERS = 4, SENDERS = 2, GUESTS = 2, UNDER_WAY = 64 };

/* ThreadSanitizer keeps one signal of a kind for each thread, until that thread next calls an intercepted function.
 * There, all threads but weft's own block the signal, and some signals are lost. */
enum { MERGED = TEST_TSAN };

static struct weft_signals subscription;
static _Atomic uint64_t sent, seen;

static bool ask(struct weft_signals *s, uint64_t how, uint64_t *random) {
    struct weft_signal what;
    int number = how == 0 ? weft_signals_next_try(s, &what) : weft_signals_next_until(s, &what, soon(random));
    if (!found(number, how != 0, how == 0)) return false;
    WANT(number, SIGRTMIN);
    WANT(what.code, SI_QUEUE);
    SO(what.count > 0);
    if (s == &subscription) atomic_fetch_add(&seen, what.count);
    moved();
    return true;
}

static void *ask_some(void *seed) {
    for (unsigned i = 0; i < AT_A_TIME; i++) ask(&subscription, below(seed, 4), seed);
    return NULL;
}

static void *send_some(void *random) {
    while (!over()) {
        union sigval value = {.sival_int = 1};
        /* Not more signals than are certainly kept while they are under way. */
        if ((MERGED || atomic_load(&sent) - atomic_load(&seen) < UNDER_WAY) && !sigqueue(getpid(), SIGRTMIN, value))
            atomic_fetch_add(&sent, 1);
        else
            weft_sleep_for(50000);
        pause_a_bit(random);
    }
    return NULL;
}

/* Waits until its subscription is ended. */
static void *wait_for_the_end(void *own) {
    int got;
    do got = weft_signals_next(own, NULL);
    while (got > 0);
    SO(got == -ESRCH || got == -EINVAL); /* while it waited, or before it asked */
    return NULL;
}

static void *visit(void *seed) {
    struct weft_signals own = WEFT_SIGNALS_INIT;
    OK(weft_signals_begin(&own, WEFT_SIGNAL(SIGRTMIN)));
    if (below(seed, 3)) {
        ask(&own, below(seed, 2), seed);
        OK(weft_signals_end(&own));
        return NULL;
    }
    struct weft_fiber other = spawn(NULL, wait_for_the_end, &own);
    pause_a_bit(seed);
    OK(weft_signals_end(&own));
    struct weft_shield shield; /* that one has our memory */
    OK(weft_shield_begin(&shield));
    join(other);
    OK(weft_shield_end(&shield));
    return NULL;
}

static void *party(void *arg) {
    struct role *role = arg;
    if (role->number < ASKERS)
        employ_one_after_another(&role->random, NULL, ask_some);
    else if (role->number < ASKERS + GUESTS)
        employ_one_after_another(&role->random, NULL, visit);
    else
        send_some(&role->random);
    return NULL;
}

static void block_in_all(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    if (MERGED) OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
}

/* What is still on its way. */
static void ask_for_the_rest(uint64_t *random) {
    if (MERGED)
        while (weft_signals_next_until(&subscription, NULL, weft_now() + 50 * WEFT_MILLISECOND) > 0) {
        }
    else
        while (atomic_load(&seen) < atomic_load(&sent)) ask(&subscription, 1, random);
    SO(atomic_load(&seen) <= atomic_load(&sent));
}

static void signals_round(uint64_t random) {
    struct role each[ASKERS + GUESTS + SENDERS + 1];
    cast(each, ASKERS + GUESTS + SENDERS + 1, random);
    block_in_all();
    OK(weft_start(&(struct weft_config){.workers = workers}));
    subscription = (struct weft_signals)WEFT_SIGNALS_INIT;
    OK(weft_signals_begin(&subscription, WEFT_SIGNAL(SIGRTMIN)));
    atomic_store(&sent, 0);
    atomic_store(&seen, 0);
    crowd(ASKERS + GUESTS + SENDERS, 1, party, each, sizeof *each);
    ask_for_the_rest(&random);
    if (!MERGED) WANT(weft_signals_next_until(&subscription, NULL, weft_now() + WEFT_MILLISECOND), -ETIMEDOUT);
    OK(weft_signals_end(&subscription));
    OK(weft_stop());
}

const struct part parts_of_the_kernel[] = {
    {"readiness", readiness_round, false, false}, {"signals", signals_round, true, false}, {NULL, NULL, false, false}};
