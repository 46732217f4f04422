/* SPDX-License-Identifier: MIT */
/*
 * How the explorer (weak.h) works. This header is what its files share.
 *
 * Each thread runs on its own stack. Before each step, for instance an atomic operation, it returns to the explorer.
 * A state is the shared memory, the used parts of the stacks, and the memory model's records. In each state the
 * explorer tries each thread that can run, with each outcome of its step, and restores the state after each try. It
 * does not continue from a state that it has met before, so loops that wait end by themselves.
 *
 * The memory model is that of C11 without consume, and without loads that are done after later stores of their
 * thread (no processor does that where the store depends on the load; see README.md):
 *
 *   - Each atomic word, an *atom*, has a list of messages in modification order. A message is a stored value and a
 *     view. A store may be inserted anywhere after the messages that its thread knows, so stores of two threads may be
 *     seen in orders that no interleaving has. No message may be inserted between a message and the swap that read it.
 *   - A thread has a view: for each atom the oldest message that it may still read. A load reads any message from
 *     there on; a compare-and-swap that fails, the newest.
 *   - A release store carries the thread's view, and an acquire load adopts it. A swap passes on the view of the
 *     message that it replaces. A relaxed store carries the view of the thread's last full fence. The thread of a
 *     relaxed load adopts the view at its next full fence.
 *   - Full fences are ordered: each knows everything that earlier fences knew. Sequentially consistent operations are
 *     ordered at each atom, and with the fences.
 *   - A heavy fence (membarrier) is a full fence of the caller, then one of each other thread wherever that is, one
 *     after the other, and one of the caller again.
 *   - Memory that is not atomic has one value. A view records which last writes, and which later reads of each thread,
 *     it includes. An access is a data race if the view of its thread lacks a conflicting access.
 *
 * Most words are private to a thread. A word counts as shared when two threads have used it and one of them writes. The
 * explorer finds that out on the way, and then begins the exploration again. Private words need no steps.
 *
 * If all runs are right, each order in the source can be weakened, one after the other. Some run should then go wrong.
 */
#ifndef WEAK_ENGINE_H
#define WEAK_ENGINE_H

#define WEAK_ENGINE
#include "../weak.h"

#include "arch/switch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATOMS 64
#define MESSAGES 12 /* of one atom, at a time */
#define WORDS 160   /* that are not atomic, and shared */
#define SHARES 32
#define STACK 16384
#define RED_ZONE 128 /* below the stack pointer, in use too */
#define DEPTH 6000

/* --- the state ------------------------------------------------------------------------------------------ */

#define WRITTEN 1
#define READ_BY(t) (2u << (t))
#define ALL_READS ((1u << (THREADS + 1)) - 2)

struct view {
    uint8_t at[ATOMS];
    uint8_t word[WORDS]; /* WRITTEN, READ_BY: it includes the last one */
};

struct message {
    uint64_t value;
    bool is_swapped; /* the next message is a swap that read this one */
    struct view view;
};

struct atom {
    uint8_t count;
    struct message message[MESSAGES];
};

enum { ABSENT, READY, BLOCKED, ENDED };

struct step {
    enum step_kind kind;
    unsigned atom, order;
    const volatile void *at;
    uint64_t value, expected; /* expected: which thread to fence; whether a wait has a deadline */
    const struct weak_site *site;
    struct weak_result result;
};

struct thread {
    struct weft__context at;
    uint8_t state, is_released;
    int8_t sleeps_on; /* the atom of a futex, or -1 */
    struct step step;
    struct view now, pending, released; /* it knows; would know after a fence; knew at the last one */
    struct view wake;                   /* what the thread that released it knew */
};

struct weak_engine {
    struct thread thread[THREADS];
    struct atom atom[ATOMS];
    struct view fenced; /* what the full fences so far knew */
    struct view strong; /* at[]: the last sequentially consistent change */
    struct {
        const volatile char *from;
        size_t bytes;
    } gone[2];
};
extern struct weak_engine engine;
extern char weak_stacks[THREADS][STACK] __attribute__((aligned(64)));

struct weak_shared {
    char *memory;
    size_t bytes;
};
extern struct weak_shared weak_shares[SHARES];
extern unsigned n_shares;

extern struct weft__context weak_explorer;
extern struct weak_mode {
    bool in_order, small, quiet;
    unsigned stale; /* how many values before the newest a load may read */
} mode;

/* Records the error, unless an error was recorded before. */
void engine_fail(const char *what);

/* --- words.c: which words are shared ------------------------------------------------------------------------- */

struct used {
    const volatile void *at;
    uint8_t read_by, written_by;
    bool is_shared;
    uint8_t number; /* of the shared atoms of its kind */
    uint8_t size;
};
enum { PLAIN, ATOMIC };
extern struct used *atom_of[ATOMS], *word_of[WORDS];
extern unsigned n_atoms, n_words;
extern bool anew; /* one more word is shared: the exploration begins again */

struct used *engine_used_find(const volatile void *at, unsigned kind);
/* Notes that the running thread uses the word. */
void engine_used_note(struct used *u, const volatile void *at, unsigned kind, bool writes);
void engine_used_share(struct used *u, unsigned kind);
void engine_used_reset(void);
/* Fails if the address is in memory that is gone. */
void engine_check_gone(const volatile void *at);

static inline uint64_t engine_get(const volatile void *at, unsigned size) {
    uint64_t value = 0;
    memcpy(&value, (const void *)at, size);
    return value;
}
static inline void engine_put(const volatile void *at, unsigned size, uint64_t value) {
    memcpy((void *)at, &value, size);
}

/* --- views.c: what threads know --------------------------------------------------------------------------------- */

void engine_view_join(struct view *v, const struct view *with);
/* Calls fn with every view of the state. */
void engine_each_view(void (*fn)(struct view *, unsigned, unsigned), unsigned a, unsigned b);
/* For engine_each_view. shift: a message was inserted. drop: the oldest n messages were removed. forget: these reads
 * are no longer the last. written: a word was written. */
void engine_view_shift(struct view *v, unsigned atom, unsigned at);
void engine_view_drop(struct view *v, unsigned atom, unsigned n);
void engine_view_forget(struct view *v, unsigned word, unsigned mask);
void engine_view_written(struct view *v, unsigned word, unsigned unused);
/* Leaves messages out of the state that no thread can read any more, and those that are older than the limit. */
void engine_forget_old(void);

/* --- steps.c: the memory model ----------------------------------------------------------------------------------- */

/* Inserts a message at this position. before: the view of the message that a swap replaces, or NULL. */
void engine_message_write(struct thread *t, const struct step *s, unsigned at, uint64_t value,
                          const struct view *before);
/* The value that a change of this kind stores. */
uint64_t engine_changed(enum step_kind kind, uint64_t before, uint64_t value);
/* Does outcome c of the thread's next step. False: there is no such outcome. */
bool engine_choose(struct thread *t, unsigned c);
bool engine_can_go_on(const struct thread *t);

/* --- calls.c: what the source calls ------------------------------------------------------------------------------ */

#define SITES 200
extern const struct weak_site *weak_sites[SITES]; /* all sites of the source that were met */
extern struct weak_site weakened;                 /* the site whose order is weakened now, and its order */
extern unsigned n_sites;
extern unsigned done_at_once; /* steps of words that are not shared, since the thread goes on */

static inline bool engine_has_atom(enum step_kind kind) {
    return kind <= STEP_LOCK || kind == STEP_FUTEX_WAIT || kind == STEP_FUTEX_WAKE;
}
/* Does what the thread wants to do next, if it needs no step. */
bool engine_is_done_at_once(struct step *s);

/* --- plain.c: memory that is not atomic --------------------------------------------------------------------------- */

/* Called after a thread went on: makes messages of the atomic words that it has initialised by plain stores. */
void engine_note_initialised(struct thread *t);
void engine_forget_initialised(void);

/* --- states.c: keeping, restoring and comparing states ------------------------------------------------------------ */

char *engine_keep(void);
void engine_put_back(char *copy);
/* Was the present state not met before? */
bool engine_is_new(void);
void engine_forget_states(void);

#endif
