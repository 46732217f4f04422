/*
 * Explores the real source whole, memory that is not atomic included: all interleavings of a few threads,
 * each atomic operation a step. (explore.h models the orders of memory, but can only follow atomics.)
 *
 * How. Each thread runs on a stack of its own; before each atomic operation it goes back to the explorer. A
 * state is the shared memory, the stacks as far as they are in use, and where each thread goes on. From a
 * state each thread that can is tried in turn, after everything was put back as it was. States that were seen
 * before are not gone on from. A thread that finds a lock taken comes back to a state that was seen before, so
 * spinning ends by itself.
 *
 * Included once by a program that says what is shared (struct shared), what the threads do, and what must hold
 * when none can go on. Waits block (whole_block) until somebody has made the thread ready.
 */
#ifndef WEFT_WHOLE_H
#define WEFT_WHOLE_H

#include "sched/block.h"

#include "arch/switch.h"
#undef WEFT_SWITCHES /* the thunk that it returns through is not here */
#define WEFT_SWITCHES __attribute__((noinline))

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 3
#define STACK 8192
#define RED_ZONE 128 /* below the stack pointer, in use too */
#define DEPTH 4000
static unsigned most_waits = 3; /* of one thread: what would go on is cut off, and counted */
#ifdef __x86_64__
#define WHOLE_CALL 8 /* bytes that a call leaves on the stack */
#else
#define WHOLE_CALL 0
#endif

/* --- the state -------------------------------------------------------------------------------- */

struct thread {
    struct weft__context at; /* where it goes on */
    struct weft__fiber record;
    uint32_t choices, chosen; /* it has to choose one of so many */
    bool blocked, ready, ended;
};

static struct {
    struct thread thread[THREADS];
    struct shared shared;
} all;
static char stacks[THREADS][STACK] __attribute__((aligned(64)));
static struct weft__context explorer;
static unsigned current, n_threads;
static const char *wrong; /* what went wrong, or NULL */
static uint64_t states, ends, cut;

static void claim(bool holds, const char *what) {
    if (!holds && !wrong) wrong = what;
}

/* What the program says. */
static void run_thread(unsigned t);

/* --- what the source calls -------------------------------------------------------------------- */

static __attribute__((noinline)) void to_explorer(void) {
    weft__switch(&all.thread[current].at, &explorer, &all.thread[current]);
}

void whole_step(void) {
    if (current < n_threads) to_explorer(); /* not while the memory is set up */
}

uint32_t whole_choice(uint32_t n) {
    struct thread *t = &all.thread[current];
    t->choices = n;
    to_explorer();
    t->choices = 0;
    uint32_t chosen = t->chosen;
    t->chosen = 0;
    return chosen;
}

struct weft__worker *whole_worker(void) {
    static struct weft__worker some;
    return &some;
}

struct weft__fiber *whole_me(void) {
    return &all.thread[current].record;
}

struct weft__fiber *whole_record(uint32_t index) {
    return &all.thread[index].record;
}

void whole_ready(struct weft__fiber *f) {
    struct thread *t = container_of(f, struct thread, record);
    claim(!t->ready, "made ready twice");
    claim(!(atomic_load(&f->wait) & WEFT_WAIT_WAITING), "made ready without having been won");
    t->ready = true;
}

int whole_block(struct weft__fiber *me) {
    struct thread *t = container_of(me, struct thread, record);
    t->blocked = true;
    to_explorer();
    t->blocked = t->ready = false;
    uint64_t reason = atomic_load(&me->wait) & WEFT_WAIT_REASON;
    return reason == WEFT_WON_DONE ? 0 : reason == WEFT_WON_DEADLINE ? -ETIMEDOUT : -ECANCELED;
}

int weft__heed(struct weft__fiber *me) { return atomic_load(&me->wait) & WEFT_WAIT_CANCEL ? -ECANCELED : 0; }

void weft__make_all_ready(struct weft__list *won) {
    for (struct weft__link *l; (l = weft__list_take(won));) whole_ready(weft__fiber_of_link(l));
}

/* What weft_cancel does to thread t; see wait.c. */
static __attribute__((unused)) void cancel(unsigned t) {
    struct weft__fiber *f = &all.thread[t].record;
    uint64_t word = load_acq(&f->wait), next;
    bool ends_it;
    do {
        ends_it = (word & WEFT_WAIT_WAITING) && (word & WEFT_WAIT_BY_CANCEL);
        next = ends_it ? (word & (WEFT_WAIT_EPOCH | WEFT_WAIT_STICKY)) | WEFT_WON_CANCEL | WEFT_WAIT_CANCEL
                       : word | WEFT_WAIT_CANCEL;
    } while (!cas_ar(&f->wait, &word, next));
    if (ends_it) whole_ready(f);
}

/* --- putting back ----------------------------------------------------------------------------- */

struct snapshot {
    size_t used[THREADS];
    char bytes[sizeof all + THREADS * STACK];
};

static size_t in_use(unsigned t) {
    return all.thread[t].ended ? 0 : (size_t)(stacks[t] + STACK - ((char *)all.thread[t].at.sp - RED_ZONE));
}

static void keep(struct snapshot *s) {
    char *to = s->bytes;
    memcpy(to, &all, sizeof all);
    to += sizeof all;
    for (unsigned t = 0; t < n_threads; t++) {
        s->used[t] = in_use(t);
        memcpy(to, stacks[t] + STACK - s->used[t], s->used[t]);
        to += s->used[t];
    }
}

static void put_back(const struct snapshot *s) {
    const char *from = s->bytes;
    memcpy(&all, from, sizeof all);
    from += sizeof all;
    for (unsigned t = 0; t < n_threads; t++) {
        memcpy(stacks[t] + STACK - s->used[t], from, s->used[t]);
        from += s->used[t];
    }
}

static struct {
    uint64_t *slot;
    size_t size, used;
} seen;

static uint64_t mix(uint64_t h, const void *bytes, size_t n) {
    const char *p = bytes;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = (h ^ word) * UINT64_C(0x9fb21c651e98df25);
        h ^= h >> 29;
    }
    return h;
}

/* The red zone is left out: what a call has left there is of no use to anybody at a step. */
static bool is_new(void) {
    uint64_t h = mix(1, &all, sizeof all);
    for (unsigned t = 0; t < n_threads; t++)
        if (!all.thread[t].ended)
            h = mix(h, all.thread[t].at.sp, (size_t)(stacks[t] + STACK - (char *)all.thread[t].at.sp));
    if (seen.used * 2 >= seen.size) {
        size_t size = seen.size ? seen.size * 4 : 1 << 16;
        uint64_t *slot = calloc(size, sizeof *slot);
        if (!slot) abort();
        for (size_t i = 0; i < seen.size; i++)
            if (seen.slot[i]) {
                size_t k = seen.slot[i] % size;
                while (slot[k]) k = (k + 1) % size;
                slot[k] = seen.slot[i];
            }
        free(seen.slot);
        seen.slot = slot;
        seen.size = size;
    }
    h |= 1;
    size_t k = h % seen.size;
    while (seen.slot[k] && seen.slot[k] != h) k = (k + 1) % seen.size;
    if (seen.slot[k]) return false;
    seen.slot[k] = h;
    seen.used++;
    return true;
}

/* --- all of them ------------------------------------------------------------------------------ */

static __attribute__((noreturn, noinline)) void thread_main(void) {
    run_thread(current);
    all.thread[current].ended = true;
    weft__switch_away(&explorer, NULL);
}

/* Lets thread t go on until before its next step. */
static __attribute__((noinline)) void go_on(unsigned t) {
    current = t;
    weft__switch(&explorer, &all.thread[t].at, NULL);
    current = THREADS;
}

static bool goes_too_far(void) {
    for (unsigned t = 0; t < n_threads; t++)
        if (atomic_load(&all.thread[t].record.wait) >= (most_waits + 1) * WEFT_WAIT_ONE) return true;
    return false;
}

static bool can_go_on(unsigned t) {
    const struct thread *th = &all.thread[t];
    return !th->ended && (!th->blocked || th->ready);
}

/* Says whether the end that was reached is a good one. */
static void (*check_end)(void);

static void explore(unsigned depth) {
    bool stuck = true;
    if (depth >= DEPTH) {
        wrong = "too deep";
        return;
    }
    states++;
    if (goes_too_far()) {
        cut++;
        return;
    }
    struct snapshot *here = malloc(sizeof *here);
    if (!here) abort();
    keep(here);
    for (unsigned t = 0; t < n_threads && !wrong; t++) {
        if (!can_go_on(t)) continue;
        stuck = false;
        uint32_t choices = all.thread[t].choices ? all.thread[t].choices : 1;
        for (uint32_t c = 0; c < choices && !wrong; c++) {
            put_back(here);
            all.thread[t].chosen = c;
            go_on(t);
            if (!wrong && is_new()) explore(depth + 1);
        }
        if (!wrong) put_back(here);
    }
    if (stuck) {
        ends++;
        check_end();
    }
    free(here);
}

/* All interleavings of n threads from a state that set_up made; false: something went wrong. */
static bool explore_all(const char *name, unsigned n, void (*set_up)(void), void (*end)(void)) {
    memset(&all, 0, sizeof all);
    memset(stacks, 0, sizeof stacks);
    free(seen.slot);
    memset(&seen, 0, sizeof seen);
    states = ends = cut = 0;
    wrong = NULL;
    n_threads = n;
    check_end = end;
    current = THREADS;
    for (unsigned t = 0; t < n; t++) {
        struct thread *th = &all.thread[t];
        th->at.pc = (void *)(uintptr_t)thread_main;
        th->at.sp = stacks[t] + STACK - 64 - WHOLE_CALL;
        th->at.on_stack = 0;
        th->record.slot.life = t;
    }
    set_up();
    explore(0);
    if (wrong)
        printf("%s: %llu states: %s\n", name, (unsigned long long)states, wrong);
    else
        printf("%s: %llu states, %llu ends, %llu cut off, ok\n", name, (unsigned long long)states,
               (unsigned long long)ends, (unsigned long long)cut);
    return !wrong;
}

#endif
