/* SPDX-License-Identifier: MIT */
/*
 * The explorer: explores all interleavings of a few threads that run real source, and all values that their loads may
 * return with weakly ordered memory. engine/engine.h explains how, README.md what is explored.
 *
 * A program includes this file and then the source under test, and defines the threads. It is compiled with
 * -fsanitize=thread, but linked with engine/ instead of that runtime. So the explorer also sees each access to memory
 * that is not atomic. Two such accesses without an order are a data race.
 */
#ifndef WEAK_H
#define WEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The sanitizer does not see these. */
void *weak_memcpy(void *to, const void *from, size_t n);
void *weak_memset(void *to, int byte, size_t n);
#ifndef WEAK_ENGINE
#define memcpy weak_memcpy
#define memset weak_memset
#endif

#define THREADS 4

enum step_kind {
    STEP_LOAD,
    STEP_STORE,
    STEP_SWAP, /* compare and swap */
    STEP_XCHG,
    STEP_ADD,
    STEP_OR,
    STEP_LOCK, /* waits until the word is 0, and makes it 1 */
    STEP_FENCE,
    STEP_FENCE_ON, /* the fence that another thread's heavy fence makes us pass */
    STEP_CHOICE,
    STEP_BLOCK,
    STEP_FUTEX_WAIT,
    STEP_FUTEX_WAKE,
    STEP_PAUSE, /* nothing: another thread may go on here */
};
enum { ORDER_RELAXED = 0, ORDER_ACQUIRE = 1, ORDER_RELEASE = 2, ORDER_BOTH = 3, ORDER_FULL = 4, ORDER_HEAVY = 8 };

/* The place of an operation in the source, by function name and text, because line numbers change. */
struct weak_site {
    const char *file, *function, *text;
    unsigned size, order;
};
/* `expected` is that of a compare and swap. Returns what was read, and whether a swap took place: by value, so that
 * nothing stays on the stack that would make states differ. */
struct weak_result {
    uint64_t read;
    bool done;
};
struct weak_result weak_step(enum step_kind kind, const volatile void *at, uint64_t value, uint64_t expected,
                             const struct weak_site *site);
#define WEAK_STEP(kind, at, size, order, value, expected, text) \
    ({ \
        static const struct weak_site weak_site = {__FILE__, __func__, text, size, order}; \
        weak_step(kind, at, value, expected, &weak_site); \
    })

/* --- what a program uses ------------------------------------------------------------------------------ */

/* What the threads share: part of the state. Zeroed before each exploration. */
void weak_share(void *memory, size_t bytes);

extern unsigned current;   /* the running thread; THREADS: none */
extern unsigned n_threads; /* of this exploration */
extern const char *wrong;  /* the error, or NULL */
extern uint64_t states, ends, cut;
extern bool
    weak_symmetric; /* there is no membarrier: light fences are full fences, and heavy fences only the caller's */

/* Records the error, unless an error was recorded before. */
void claim(bool holds, const char *what);

/* Blocks the calling thread until another one has let it go; that may have happened before. What was done before
 * weak_release is seen after weak_block. False: it was let go before. */
void weak_block(void);
bool weak_release(unsigned t);
bool weak_is_blocked(unsigned t);
bool weak_has_ended(unsigned t);
bool weak_goes_on(unsigned t); /* the thread has begun, and not ended */
/* Returns one of n numbers; the explorer tries each. */
uint32_t weak_choice(uint32_t n);
void weak_pause(void);
/* Begins thread t, which sees everything that the caller has done. */
void weak_start(unsigned t);
/* Thread t never continues. */
void weak_abandon(unsigned t);
/* Memory that may be anything from now on: no thread may use it. By number, 0 or 1. */
void weak_gone(unsigned which, const void *memory, size_t bytes);
/* The kernel's futex wait. Returns true if the deadline ended it. */
bool weak_futex_wait(const volatile void *word, uint32_t value, bool has_deadline);
void weak_futex_wake(const volatile void *word);
/* Makes a full fence of all threads, one after the other, like membarrier. */
void weak_fence_all(const struct weak_site *site);
#define WEAK_FENCE_ALL(text) \
    ({ \
        static const struct weak_site weak_site = {__FILE__, __func__, text, 0, ORDER_HEAVY}; \
        weak_fence_all(&weak_site); \
    })

/* --- what a program defines ---------------------------------------------------------------------------- */

void run_thread(unsigned t);
void weak_entering(unsigned t); /* t is about to go on: what belongs to a kernel thread is its own now */
bool weak_goes_too_far(void);   /* cut off here, and count */

struct weak_scene {
    const char *name;
    unsigned threads; /* the threads that begin at once; weak_start begins others */
    void (*set_up)(void);
    void (*check)(void); /* called when no thread can continue: checks the state */
    bool large;          /* only for whole runs */
};
/* Explores all runs of a scene. Returns false after printing the steps if a run goes wrong. A large scene may be left
 * out: returns true. */
bool weak_explore(const struct weak_scene *scene);
/* Prints nothing about scenes. */
void weak_quiet(void);

/*
 * What a program's main does; all_scenes explores them, and says whether all are well. Where the source has met a heavy
 * fence they are explored again with symmetric fences.
 *
 *   order     (or nothing) all scenes, with loads that read one of the newest three values
 *   brief     without the large scenes, and one of the newest two values
 *   in_order  all scenes, sequentially consistent
 *   mutants   each order of memory and each fence of the source that the small scenes meet, weakened, one after the
 *             other: is it noticed? One line each. What the exploration does itself is left alone
 */
int weak_main(int argc, char **argv, bool (*all_scenes)(void));

#endif
