/* SPDX-License-Identifier: MIT */
/*
 * How the explorer (weak.h) works.
 *
 * Each thread runs on its own stack. Before each step, for instance an atomic operation, it returns to the explorer.
 * A state is the shared memory, the used parts of the stacks, and the memory model's records. In each state the
 * explorer tries each thread that can run, with each outcome of its step, and restores the state after each try. It
 * does not continue from a state that it has met before, so loops that wait end by themselves.
 *
 * The memory model is that of C11 without consume, and without loads that are done after later stores of their
 * thread (no processor does that where the store depends on the load; see README.md):
 *
 *   - Each atomic word, a place, has a list of messages in modification order. A message is a stored value and a view.
 *     A store may be inserted anywhere after the messages that its thread knows, so stores of two threads may be seen
 *     in orders that no interleaving has. No message may be inserted between a message and the swap that read it.
 *   - A thread has a view: for each place the oldest message that it may still read. A load reads any message from
 *     there on; a compare-and-swap that fails, the newest.
 *   - A release store carries the thread's view, and an acquire load adopts it. A swap passes on the view of the
 *     message that it replaces. A relaxed store carries the view of the thread's last full fence. The thread of a
 *     relaxed load adopts the view at its next full fence.
 *   - Full fences are ordered: each knows everything that earlier fences knew. Sequentially consistent operations are
 *     ordered at each place, and with the fences.
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
#define WEAK_ENGINE
#include "weak.h"

#include "arch/switch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACES 64
#define MESSAGES 12 /* of one place, at a time */
#define WORDS 160   /* that are not atomic, and shared */
#define SHARES 32
#define STACK 16384
#define RED_ZONE 128 /* below the stack pointer, in use too */
#define DEPTH 6000
#define SITES 200

/* --- the state ------------------------------------------------------------------------------------------ */

#define WRITTEN 1
#define READ_BY(t) (2u << (t))
#define ALL_READS ((1u << (THREADS + 1)) - 2)

struct view {
    uint8_t at[PLACES];
    uint8_t word[WORDS]; /* WRITTEN, READ_BY: it includes the last one */
};

struct message {
    uint64_t value;
    bool is_swapped; /* the next message is a swap that read this one */
    struct view view;
};

struct place {
    uint8_t count;
    struct message message[MESSAGES];
};

enum { ABSENT, READY, BLOCKED, ENDED };

struct step {
    enum step_kind kind;
    unsigned place, order;
    const volatile void *at;
    uint64_t value, expected; /* expected: which thread to fence; whether a wait has a deadline */
    const struct weak_site *site;
    struct weak_result result;
};

struct thread {
    struct weft__context at;
    uint8_t state, is_released;
    int8_t sleeps_on; /* place of a futex, or -1 */
    struct step step;
    struct view now, pending, released; /* it knows; would know after a fence; knew at the last one */
    struct view wake;                   /* what the thread that released it knew */
};

static struct {
    struct thread thread[THREADS];
    struct place place[PLACES];
    struct view fenced; /* what the full fences so far knew */
    struct view strong; /* at[]: the last sequentially consistent change */
    struct {
        const volatile char *from;
        size_t bytes;
    } gone[2];
} all;
static char stacks[THREADS][STACK] __attribute__((aligned(64)));

static struct {
    char *memory;
    size_t bytes;
} shares[SHARES];
static unsigned n_shares;

static struct weft__context explorer;
unsigned current = THREADS, n_threads;
const char *wrong;
uint64_t states, ends, cut;
bool weak_symmetric;
static const struct weak_scene *scene;
static struct {
    bool in_order, small, quiet;
    unsigned stale; /* how many values before the newest a load may read */
} mode = {.stale = 2};

static void fail(const char *what) {
    if (!wrong) wrong = what;
}
void claim(bool holds, const char *what) {
    if (!holds) fail(what);
}

void weak_share(void *memory, size_t bytes) {
    if (n_shares == SHARES) abort();
    shares[n_shares].memory = memory;
    shares[n_shares++].bytes = bytes;
}

/* --- places and words: which are shared ---------------------------------------------------------------- */

struct used {
    const volatile void *at;
    uint8_t read_by, written_by;
    bool is_shared;
    uint8_t number; /* of the shared places of its kind */
    uint8_t size;
};
#define USED (1u << 14)
enum { PLAIN, ATOMIC };
static struct used used[2][USED];
static struct used *place_of[PLACES], *word_of[WORDS];
static unsigned n_places, n_words;
static bool anew; /* one more is shared: begin anew */

static struct used *find_used(const volatile void *at, unsigned kind) {
    unsigned i = (unsigned)(((uintptr_t)at * UINT64_C(0x9e3779b97f4a7c15)) >> 50) % USED;
    while (used[kind][i].at && used[kind][i].at != at) i = (i + 1) % USED;
    return &used[kind][i];
}

static void share_it(struct used *u, unsigned kind);
static void use(struct used *u, const volatile void *at, unsigned kind, bool writes) {
    u->at = at;
    u->read_by |= (uint8_t)(1u << current);
    if (writes) u->written_by |= (uint8_t)(1u << current);
    if (u->written_by && (u->read_by & (u->read_by - 1))) share_it(u, kind);
}

static void share_it(struct used *u, unsigned kind) {
    if (u->is_shared) return;
    u->is_shared = true;
    anew = true;
    if (n_places == PLACES || n_words == WORDS) abort();
    if (kind == ATOMIC) {
        place_of[n_places] = u;
        u->number = (uint8_t)n_places++;
    } else {
        word_of[n_words] = u;
        u->number = (uint8_t)n_words++;
    }
}

void weak_gone(unsigned which, const void *memory, size_t bytes) {
    all.gone[which].from = memory;
    all.gone[which].bytes = bytes;
}

static void check_gone(const volatile void *at) {
    for (unsigned i = 0; i < 2; i++)
        if ((size_t)((const volatile char *)at - all.gone[i].from) < all.gone[i].bytes)
            fail("memory that is gone is used");
}

static uint64_t get(const volatile void *at, unsigned size) {
    uint64_t value = 0;
    memcpy(&value, (const void *)at, size);
    return value;
}
static void put(const volatile void *at, unsigned size, uint64_t value) { memcpy((void *)at, &value, size); }

/* --- views ---------------------------------------------------------------------------------------------- */

static void join(struct view *v, const struct view *with) {
    for (unsigned i = 0; i < n_places; i++)
        if (with->at[i] > v->at[i]) v->at[i] = with->at[i];
    for (unsigned i = 0; i < n_words; i++) v->word[i] |= with->word[i];
}

static void each_view(void (*fn)(struct view *, unsigned, unsigned), unsigned a, unsigned b) {
    for (unsigned t = 0; t < THREADS; t++) {
        fn(&all.thread[t].now, a, b);
        fn(&all.thread[t].pending, a, b);
        fn(&all.thread[t].released, a, b);
        fn(&all.thread[t].wake, a, b);
    }
    for (unsigned p = 0; p < n_places; p++)
        for (unsigned i = 0; i < all.place[p].count; i++) fn(&all.place[p].message[i].view, a, b);
    fn(&all.fenced, a, b);
    fn(&all.strong, a, b);
}

static void view_shift(struct view *v, unsigned place, unsigned at) {
    if (v->at[place] >= at) v->at[place]++;
}
static void view_drop(struct view *v, unsigned place, unsigned n) {
    v->at[place] = (uint8_t)(v->at[place] > n ? v->at[place] - n : 0);
}
static void view_forget(struct view *v, unsigned word, unsigned mask) { v->word[word] &= (uint8_t)~mask; }
static void view_written(struct view *v, unsigned word, unsigned unused) {
    (void)unused;
    v->word[word] = ALL_READS; /* reads before it need not be known any more, the write does */
}

/* Messages that no thread can read any more are left out of the state, and those that are older than the bound. */
static void forget_old(void) {
    for (unsigned p = 0; p < n_places; p++) {
        struct place *pl = &all.place[p];
        unsigned least = pl->count - 1u;
        for (unsigned t = 0; t < THREADS; t++)
            if ((all.thread[t].state == READY || all.thread[t].state == BLOCKED) && all.thread[t].now.at[p] < least)
                least = all.thread[t].now.at[p];
        if (mode.in_order) least = pl->count - 1u;
        if (pl->count > mode.stale + 1 && least < pl->count - mode.stale - 1) least = pl->count - mode.stale - 1;
        if (!least) continue;
        memmove(pl->message, pl->message + least, (pl->count - least) * sizeof *pl->message);
        pl->count = (uint8_t)(pl->count - least);
        memset(pl->message + pl->count, 0, least * sizeof *pl->message);
        each_view(view_drop, p, least);
    }
}

/* --- steps ------------------------------------------------------------------------------------------------ */

static void fence(struct thread *t) {
    join(&t->now, &t->pending);
    join(&t->now, &all.fenced);
    for (unsigned i = 0; i < n_places; i++)
        if (all.strong.at[i] > t->now.at[i]) t->now.at[i] = all.strong.at[i];
    all.fenced = t->pending = t->released = t->now;
}

static void strengthen(struct thread *t, unsigned place) {
    if (all.strong.at[place] > t->now.at[place]) t->now.at[place] = all.strong.at[place];
    if (all.fenced.at[place] > t->now.at[place]) t->now.at[place] = all.fenced.at[place];
}

static uint64_t read_message(struct thread *t, const struct step *s, unsigned which) {
    struct message *m = &all.place[s->place].message[which];
    t->now.at[s->place] = (uint8_t)which;
    if (t->pending.at[s->place] < which) t->pending.at[s->place] = (uint8_t)which;
    join(s->order & ORDER_ACQUIRE ? &t->now : &t->pending, &m->view);
    join(&t->pending, &t->now);
    return m->value;
}

/* A new message at this position; before: what the swapped one carried. */
static void write_message(struct thread *t, const struct step *s, unsigned at, uint64_t value,
                          const struct view *before) {
    struct place *p = &all.place[s->place];
    struct view carried = {{0}, {0}};
    if (p->count == MESSAGES) {
        fail("too many messages of one place");
        return;
    }
    if (before) carried = *before;
    memmove(&p->message[at + 1], &p->message[at], (p->count - at) * sizeof *p->message);
    p->count++;
    each_view(view_shift, s->place, at);
    if (before && carried.at[s->place] >= at) carried.at[s->place]++;
    t->now.at[s->place] = (uint8_t)at;
    if (t->pending.at[s->place] < at) t->pending.at[s->place] = (uint8_t)at;
    join(&carried, s->order & ORDER_RELEASE ? &t->now : &t->released);
    carried.at[s->place] = (uint8_t)at;
    p->message[at] = (struct message){.value = value, .view = carried};
    if (s->order & ORDER_FULL) all.strong.at[s->place] = (uint8_t)at;
    if (at + 1u == p->count) put(place_of[s->place]->at, place_of[s->place]->size, value);
}

static bool choose_load(struct thread *t, struct step *s, unsigned c) {
    if (s->order & ORDER_FULL) strengthen(t, s->place);
    unsigned which = t->now.at[s->place] + c, last = all.place[s->place].count - 1u;
    if (mode.in_order) which = c ? last + 1 : last;
    if (which > last) return false;
    s->result.read = read_message(t, s, which);
    return true;
}

static bool choose_store(struct thread *t, struct step *s, unsigned c) {
    struct place *p = &all.place[s->place];
    unsigned first = t->now.at[s->place] + 1u, at;
    if (mode.in_order) first = p->count;
    for (at = first; at <= p->count; at++) {
        if (at < p->count && p->message[at - 1].is_swapped) continue;
        if (!c--) break;
    }
    if (at > p->count) return false;
    write_message(t, s, at, s->value, NULL);
    return true;
}

static bool changes(const struct step *s, uint64_t seen) { return s->kind != STEP_SWAP || seen == s->expected; }

static uint64_t changed(enum step_kind kind, uint64_t before, uint64_t value) {
    return kind == STEP_ADD ? before + value : kind == STEP_OR ? before | value : value;
}

static bool choose_change(struct thread *t, struct step *s, unsigned c) {
    struct place *p = &all.place[s->place];
    if (s->order & ORDER_FULL) strengthen(t, s->place);
    unsigned which = mode.in_order ? p->count - 1u : t->now.at[s->place], last = p->count - 1u;
    /* It takes place on any message that it may read and that no other swap has read; a swap that fails reads the
     * newest.
     */
    for (; which <= last; which++) {
        const struct message *m = &p->message[which];
        if (m->is_swapped || (s->kind == STEP_LOCK && m->value)) continue;
        if (!changes(s, m->value) && which != last) continue;
        if (!c--) break;
    }
    if (which > last) return false;
    struct view before = p->message[which].view;
    uint64_t read = read_message(t, s, which);
    s->result = (struct weak_result){read, changes(s, read)};
    if (!s->result.done) return true;
    unsigned bits = 8u * place_of[s->place]->size;
    uint64_t value = changed(s->kind, read, s->value);
    if (bits < 64) value &= (UINT64_C(1) << bits) - 1;
    p->message[which].is_swapped = true;
    write_message(t, s, which + 1, value, &before);
    return true;
}

static bool choose_fence(struct thread *t, struct step *s, unsigned c) {
    if (c) return false;
    if (s->kind == STEP_FENCE_ON) {
        fence(&all.thread[s->expected]); /* also if it has ended: what it stored is seen */
    } else if (s->order & (ORDER_FULL | ORDER_HEAVY))
        fence(t);
    else if (s->order & ORDER_ACQUIRE)
        join(&t->now, &t->pending);
    else
        t->released = t->now;
    return true;
}

/* The kernel compares, and sleeps, in one step; both calls are full fences. */
static bool choose_futex(struct thread *t, struct step *s, unsigned c) {
    fence(t);
    struct place *p = &all.place[s->place];
    if (s->kind == STEP_FUTEX_WAIT) {
        if (c > 1) return false;
        if (c == 1 && !s->expected) return false; /* no deadline, which could have passed */
        t->now.at[s->place] = (uint8_t)(p->count - 1u);
        bool same = (uint32_t)p->message[p->count - 1u].value == (uint32_t)s->value;
        s->result.read = c;
        if (c) return true;
        if (!same) return true;
        t->state = BLOCKED;
        t->sleeps_on = (int8_t)s->place;
        return true;
    }
    if (c) return false;
    for (unsigned i = 0; i < THREADS; i++)
        if (all.thread[i].state == BLOCKED && all.thread[i].sleeps_on == (int)s->place) {
            all.thread[i].state = READY;
            all.thread[i].sleeps_on = -1;
            all.thread[i].step.kind = STEP_PAUSE;
        }
    return true;
}

/* Outcome c of what the thread does next; false: there is no such outcome. */
static bool choose(struct thread *t, unsigned c) {
    struct step *s = &t->step;
    switch (s->kind) {
    case STEP_LOAD: return choose_load(t, s, c);
    case STEP_STORE: return choose_store(t, s, c);
    case STEP_SWAP:
    case STEP_XCHG:
    case STEP_ADD:
    case STEP_OR:
    case STEP_LOCK: return choose_change(t, s, c);
    case STEP_FENCE:
    case STEP_FENCE_ON: return choose_fence(t, s, c);
    case STEP_CHOICE: return (s->result.read = c) < s->value;
    case STEP_FUTEX_WAIT:
    case STEP_FUTEX_WAKE: return choose_futex(t, s, c);
    case STEP_BLOCK:
        if (c) return false;
        join(&t->now, &t->wake);
        t->is_released = false;
        return true;
    case STEP_PAUSE: return !c;
    }
    return false;
}

static bool can_go_on(const struct thread *t) {
    if (t->state != READY) return false;
    if (t->step.kind == STEP_BLOCK) return t->is_released;
    if (t->step.kind == STEP_LOCK) {
        const struct place *p = &all.place[t->step.place];
        return !p->message[p->count - 1u].value;
    }
    return true;
}

/* --- what the source calls -------------------------------------------------------------------------------- */

static const struct weak_site *sites[SITES];
static struct weak_site weakened;
static unsigned n_sites;

static bool same_site(const struct weak_site *a, const struct weak_site *b) {
    return a->text && b->text && !strcmp(a->text, b->text) && !strcmp(a->function, b->function);
}

/* What the explorations and their stand-ins do, but for the heavy fence, is not weakened. */
static bool is_source(const struct weak_site *site) {
    return site->order == ORDER_HEAVY || (site->file[0] && !strstr(site->file, "/model/weak/"));
}

static unsigned order_at(const struct weak_site *site) {
    if (!site->order || !is_source(site)) return site->order;
    unsigned i = 0;
    while (i < n_sites && !same_site(sites[i], site)) i++;
    if (i == n_sites) {
        if (n_sites == SITES) abort();
        sites[n_sites++] = site;
    }
    return same_site(&weakened, site) ? weakened.order : site->order;
}

static __attribute__((noinline)) void to_explorer(void) { weft__switch(&all.thread[current].at, &explorer, NULL); }

static bool has_place(enum step_kind kind) {
    return kind <= STEP_LOCK || kind == STEP_FUTEX_WAIT || kind == STEP_FUTEX_WAKE;
}

/* Of a word that only this thread uses, or while the memory is set up or looked at: at once. */
static struct weak_result do_at_once(enum step_kind kind, const volatile void *at, uint64_t value, uint64_t expected,
                                     unsigned size) {
    if (kind > STEP_LOCK) return (struct weak_result){0, false};
    uint64_t seen = get(at, size);
    if (kind == STEP_LOCK && seen) fail("locked twice by one thread");
    if (kind == STEP_LOAD || (kind == STEP_SWAP && seen != expected)) return (struct weak_result){seen, false};
    put(at, size, changed(kind, seen, value));
    return (struct weak_result){seen, true};
}

/*
 * Runs on the thread's stack, so it keeps nothing there: what it left behind would make states differ that are the
 * same. The explorer does the rest.
 */
struct weak_result weak_step(enum step_kind kind, const volatile void *at, uint64_t value, uint64_t expected,
                             const struct weak_site *site) {
    if (current == THREADS) return do_at_once(kind, at, value, expected, site->size);
    struct step *s = &all.thread[current].step;
    s->kind = kind;
    s->at = at;
    s->value = value;
    s->expected = expected;
    s->site = site;
    to_explorer();
    return all.thread[current].step.result;
}

/* What the thread wants to do next needs no step: it is done. */
static unsigned done_at_once;
static bool is_done_at_once(struct step *s) {
    s->order = order_at(s->site);
    s->result = (struct weak_result){0, false};
    s->place = 0;
    if (!has_place(s->kind)) return s->kind == STEP_FENCE && !s->order;
    bool writes = s->kind != STEP_LOAD && s->kind != STEP_FUTEX_WAIT && s->kind != STEP_FUTEX_WAKE;
    struct used *u = find_used(s->at, ATOMIC);
    check_gone(s->at);
    if (s->kind <= STEP_LOCK && s->site->size > u->size) u->size = (uint8_t)s->site->size;
    use(u, s->at, ATOMIC, writes);
    /* Whatever is waited for is another thread's, too, even if that has not come there yet. */
    if (s->kind > STEP_LOCK || ++done_at_once > 5000) share_it(u, ATOMIC);
    s->place = u->number;
    if (anew || u->is_shared) return false;
    s->result = do_at_once(s->kind, s->at, s->value, s->expected, s->site->size);
    return true;
}

void weak_fence_all(const struct weak_site *site) {
    if (current == THREADS || !order_at(site)) return;
    weak_step(STEP_FENCE, NULL, 0, 0, site);
    static const struct weak_site on_others = {"", "", "heavy fence", 0, ORDER_RELAXED};
    for (unsigned t = 0; order_at(site) == ORDER_HEAVY && t < THREADS; t++)
        if (t != current && all.thread[t].state != ABSENT) weak_step(STEP_FENCE_ON, NULL, 0, t, &on_others);
    weak_step(STEP_FENCE, NULL, 0, 0, site);
}

#define RELAXED_STEP(kind, at, size, value, expected, text) \
    WEAK_STEP(kind, at, size, ORDER_RELAXED, value, expected, text)
uint32_t weak_choice(uint32_t n) { return (uint32_t)RELAXED_STEP(STEP_CHOICE, NULL, 0, n, 0, "").read; }
void weak_pause(void) { RELAXED_STEP(STEP_PAUSE, NULL, 0, 0, 0, ""); }
void weak_block(void) { RELAXED_STEP(STEP_BLOCK, NULL, 0, 0, 0, ""); }
bool weak_release(unsigned t) {
    bool was = all.thread[t].is_released;
    all.thread[t].is_released = true;
    if (current < THREADS) join(&all.thread[t].wake, &all.thread[current].now);
    return !was;
}
bool weak_is_blocked(unsigned t) { return all.thread[t].state == READY && all.thread[t].step.kind == STEP_BLOCK; }
bool weak_has_ended(unsigned t) { return all.thread[t].state == ENDED; }
bool weak_goes_on(unsigned t) { return all.thread[t].state == READY || all.thread[t].state == BLOCKED; }
/* A step, so that it may go on before that. */
void weak_abandon(unsigned t) {
    weak_pause();
    all.thread[t].state = ENDED;
}
bool weak_futex_wait(const volatile void *word, uint32_t value, bool has_deadline) {
    return RELAXED_STEP(STEP_FUTEX_WAIT, word, 4, value, has_deadline, "").read;
}
void weak_futex_wake(const volatile void *word) { RELAXED_STEP(STEP_FUTEX_WAKE, word, 4, 0, 0, ""); }

static __attribute__((noreturn, noinline, used)) void thread_main(void) {
    run_thread(current);
    all.thread[current].state = ENDED;
    weft__switch_away(&explorer, NULL);
}

/* Where a thread begins. The explorer's registers would be saved on its stack, as if they were part of the state. */
void weak_thread_entry(void);
#if defined(__x86_64__)
__asm__(".text\nweak_thread_entry:\n\txorl %ebx, %ebx\n\txorl %ebp, %ebp\n\txorl %r12d, %r12d\n\txorl %r13d, %r13d\n\t"
        "xorl %r14d, %r14d\n\txorl %r15d, %r15d\n\tcall thread_main\n\tud2\n");
#else
__asm__(".text\nweak_thread_entry:\n\tmov x19, xzr\n\tmov x20, xzr\n\tmov x21, xzr\n\tmov x22, xzr\n\tmov x23, xzr\n\t"
        "mov x24, xzr\n\tmov x25, xzr\n\tmov x26, xzr\n\tmov x27, xzr\n\tmov x28, xzr\n\tbl thread_main\n\tbrk #1\n");
#endif

void weak_start(unsigned t) {
    static const struct weak_site begins = {"", "", "begins", 0, ORDER_RELAXED};
    struct thread *th = &all.thread[t];
    memset(th, 0, sizeof *th);
    memset(stacks[t], 0, STACK);
    th->at.pc = (void *)(uintptr_t)weak_thread_entry;
    th->at.sp = stacks[t] + STACK - 64;
    th->state = READY;
    th->sleeps_on = -1;
    th->step = (struct step){.kind = STEP_PAUSE, .site = &begins};
    if (current < THREADS)
        th->now = all.thread[current].now;
    else
        memset(th->now.word, 0xff, sizeof th->now.word);
    th->pending = th->released = th->now;
    if (t >= n_threads) n_threads = t + 1;
}

/* --- memory that is not atomic ------------------------------------------------------------------------------ */

/* Atomic words that the thread has written without an atomic operation, since its last step: it alone may have them. */
static uint64_t initialised;

static void note_initialised(struct thread *t) {
    for (; initialised; initialised &= initialised - 1) {
        struct step s = {.place = (unsigned)__builtin_ctzll(initialised), .order = ORDER_RELAXED};
        struct place *p = &all.place[s.place];
        uint64_t value = get(place_of[s.place]->at, place_of[s.place]->size);
        if (t->now.at[s.place] + 1u != p->count && !mode.in_order)
            fail("a data race: an atomic word is written as if it were not");
        write_message(t, &s, p->count, value, NULL);
    }
}

static void race(const volatile void *at, const char *how) {
    static char text[100];
    if (wrong) return;
    snprintf(text, sizeof text, "a data race: thread %u uses what another thread has %s, at %p", current, how,
             (void *)(uintptr_t)at);
    wrong = text;
}

static void plain(const volatile void *at, bool writes) {
    if (current == THREADS || anew) return;
    check_gone(at);
    struct used *u = find_used(at, ATOMIC);
    if (u->at) {
        if (u->is_shared && writes) initialised |= UINT64_C(1) << u->number;
        return;
    }
    u = find_used(at, PLAIN);
    use(u, at, PLAIN, writes);
    if (anew || !u->is_shared || mode.in_order) return;
    unsigned w = u->number;
    struct view *now = &all.thread[current].now;
    if (!(now->word[w] & WRITTEN)) race(at, "written");
    if (writes) {
        uint8_t others = ALL_READS & (uint8_t)~READ_BY(current);
        if ((now->word[w] & others) != others) race(at, "read");
        each_view(view_written, w, 0);
        now->word[w] |= WRITTEN;
        all.thread[current].pending.word[w] |= WRITTEN;
    } else {
        each_view(view_forget, w, READ_BY(current));
        now->word[w] |= (uint8_t)READ_BY(current);
        all.thread[current].pending.word[w] |= (uint8_t)READ_BY(current);
    }
}

static void plain_range(const volatile void *at, size_t n, bool writes) {
    for (size_t i = 0; i < n; i += 8) plain((const volatile char *)at + i, writes);
}

void *weak_memcpy(void *to, const void *from, size_t n) {
    plain_range(from, n, false);
    plain_range(to, n, true);
    return memcpy(to, from, n);
}
void *weak_memset(void *to, int byte, size_t n) {
    plain_range(to, n, true);
    return memset(to, byte, n);
}

#define TSAN_PLAIN(n) \
    void __tsan_read##n(void *p) { plain_range(p, n, false); } \
    void __tsan_write##n(void *p) { plain_range(p, n, true); } \
    void __tsan_unaligned_read##n(void *p) { plain_range(p, n, false); } \
    void __tsan_unaligned_write##n(void *p) { plain_range(p, n, true); }
TSAN_PLAIN(1) TSAN_PLAIN(2) TSAN_PLAIN(4) TSAN_PLAIN(8) TSAN_PLAIN(16) void __tsan_read_range(void *p, size_t n) {
    plain_range(p, n, false);
}
void __tsan_write_range(void *p, size_t n) { plain_range(p, n, true); }
void __tsan_func_entry(void *p) { (void)p; }
void __tsan_func_exit(void) {}
void __tsan_init(void) {}

/* Atomics that the source writes without base/atomic.h: by their order. */
static unsigned order_of(int order) {
    static const uint8_t of[] = {ORDER_RELAXED, ORDER_ACQUIRE, ORDER_ACQUIRE,
                                 ORDER_RELEASE, ORDER_BOTH,    ORDER_FULL | ORDER_BOTH};
    return of[order];
}
static struct weak_result direct(enum step_kind kind, const volatile void *at, unsigned size, unsigned order,
                                 uint64_t value, uint64_t expected) {
    static struct weak_site of[9][8]; /* by size and order */
    struct weak_site *site = &of[size][order];
    *site = (struct weak_site){"", "", "an atomic operation of the language", size, order};
    return weak_step(kind, at, value, expected, site);
}
#define TSAN_ATOMIC(bits, type) \
    type __tsan_atomic##bits##_load(const volatile type *p, int o) { \
        return (type)direct(STEP_LOAD, p, sizeof *p, order_of(o) & ~(unsigned)ORDER_RELEASE, 0, 0).read; \
    } \
    void __tsan_atomic##bits##_store(volatile type *p, type v, int o) { \
        direct(STEP_STORE, p, sizeof *p, order_of(o) & ~(unsigned)ORDER_ACQUIRE, v, 0); \
    } \
    type __tsan_atomic##bits##_exchange(volatile type *p, type v, int o) { \
        return (type)direct(STEP_XCHG, p, sizeof *p, order_of(o), v, 0).read; \
    } \
    type __tsan_atomic##bits##_fetch_add(volatile type *p, type v, int o) { \
        return (type)direct(STEP_ADD, p, sizeof *p, order_of(o), v, 0).read; \
    } \
    type __tsan_atomic##bits##_fetch_sub(volatile type *p, type v, int o) { \
        return (type)direct(STEP_ADD, p, sizeof *p, order_of(o), (type)-v, 0).read; \
    } \
    type __tsan_atomic##bits##_fetch_or(volatile type *p, type v, int o) { \
        return (type)direct(STEP_OR, p, sizeof *p, order_of(o), v, 0).read; \
    } \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *e, type v, int o, int fo) { \
        struct weak_result r = direct(STEP_SWAP, p, sizeof *p, order_of(o), v, *e); \
        (void)fo; \
        if (!r.done) *e = (type)r.read; \
        return r.done; \
    } \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *e, type v, int o, int fo) { \
        return __tsan_atomic##bits##_compare_exchange_strong(p, e, v, o, fo); \
    }
TSAN_ATOMIC(8, uint8_t)
TSAN_ATOMIC(16, uint16_t) TSAN_ATOMIC(32, uint32_t) TSAN_ATOMIC(64, uint64_t) void __tsan_atomic_thread_fence(int o) {
    direct(STEP_FENCE, NULL, 0, order_of(o) & ORDER_FULL, 0, 0);
}
void __tsan_atomic_signal_fence(int o) { (void)o; }

/* --- putting back ------------------------------------------------------------------------------------------- */

static size_t in_use(unsigned t) {
    if (all.thread[t].state == ENDED || all.thread[t].state == ABSENT) return 0;
    return (size_t)(stacks[t] + STACK - ((char *)all.thread[t].at.sp - RED_ZONE));
}

/* Where the parts of a state lie, one after the other. */
static size_t each_part(void (*fn)(void *part, size_t bytes, char **at), char **at) {
    size_t bytes = 0;
#define PART(p, n) \
    do { \
        size_t n_ = (n); \
        if (fn) fn(p, n_, at); \
        bytes += n_; \
    } while (0)
    PART(all.thread, sizeof all.thread);
    PART(&all.fenced, sizeof all.fenced + sizeof all.strong);
    PART(all.gone, sizeof all.gone);
    for (unsigned p = 0; p < n_places; p++) {
        PART(&all.place[p].count, 1);
        PART(all.place[p].message, all.place[p].count * sizeof(struct message));
    }
    for (unsigned s = 0; s < n_shares; s++) PART(shares[s].memory, shares[s].bytes);
    for (unsigned t = 0; t < THREADS; t++) PART(stacks[t] + STACK - in_use(t), in_use(t));
#undef PART
    return bytes;
}
static void keep_part(void *part, size_t bytes, char **at) {
    memcpy(*at, part, bytes);
    *at += bytes;
}
static void restore_part(void *part, size_t bytes, char **at) {
    memcpy(part, *at, bytes);
    *at += bytes;
}

static char *keep(void) {
    char *copy = malloc(each_part(NULL, NULL)), *at = copy;
    if (!copy) abort();
    each_part(keep_part, &at);
    return copy;
}
/* Thread records come first: they say how much of the stacks follows. */
static void put_back(char *copy) {
    char *at = copy;
    each_part(restore_part, &at);
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
    for (; n; n--, p++) h = (h ^ (unsigned char)*p) * UINT64_C(0x9fb21c651e98df25), h ^= h >> 29;
    return h;
}

static uint64_t mix_view(uint64_t h, const struct view *v) {
    if (mode.in_order) return h;
    h = mix(h, v->at, (n_places + 7) & ~7u);
    return mix(h, v->word, (n_words + 7) & ~7u);
}

static uint64_t fingerprint(void) {
    uint64_t h = 1;
    for (unsigned t = 0; t < THREADS; t++) {
        const struct thread *th = &all.thread[t];
        uint64_t about[] = {th->state,      th->is_released, (uint64_t)th->sleeps_on, th->step.kind,
                            th->step.place, th->step.value,  th->step.expected,       th->step.order};
        h = mix(h, about, th->state == ENDED || th->state == ABSENT ? 8 : sizeof about);
        if (th->state == ENDED || th->state == ABSENT) continue;
        h = mix_view(mix_view(mix_view(mix_view(h, &th->now), &th->pending), &th->released), &th->wake);
        /* The red zone is left out: what a call has left there is of no use at a step. */
        h = mix(h, th->at.sp, (size_t)(stacks[t] + STACK - (char *)th->at.sp));
    }
    for (unsigned p = 0; p < n_places; p++) {
        h = mix(h, &all.place[p].count, 1);
        for (unsigned i = 0; i < all.place[p].count; i++) {
            const struct message *m = &all.place[p].message[i];
            h = mix_view(mix(h + m->is_swapped, &m->value, 8), &m->view);
        }
    }
    h = mix_view(mix_view(h, &all.fenced), &all.strong);
    h = mix(h, all.gone, sizeof all.gone);
    for (unsigned s = 0; s < n_shares; s++) h = mix(h, shares[s].memory, shares[s].bytes);
    return h | 1;
}

/* Two states with one number of 64 bits would be taken for one: with millions of states, once in a million tries. */
static bool is_new(void) {
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
    uint64_t h = fingerprint();
    size_t k = h % seen.size;
    while (seen.slot[k] && seen.slot[k] != h) k = (k + 1) % seen.size;
    if (seen.slot[k]) return false;
    seen.slot[k] = h;
    seen.used++;
    return true;
}

/* --- all runs ------------------------------------------------------------------------------------------------- */

static struct step path[DEPTH];
static uint8_t path_thread[DEPTH];
static bool is_shown;

static const char *name_of(unsigned place) {
    static char text[32];
    snprintf(text, sizeof text, "%p", (void *)(uintptr_t)place_of[place]->at);
    return text;
}

static void show(unsigned depth) {
    is_shown = true;
    for (unsigned d = 0; d < depth; d++) {
        const struct step *s = &path[d];
        printf("    thread %u  %s: %s", path_thread[d], s->site->function, s->site->text);
        if (has_place(s->kind)) printf("  [%s]", name_of(s->place));
        if (s->kind == STEP_STORE || s->kind == STEP_XCHG || s->kind == STEP_SWAP || s->kind == STEP_ADD)
            printf("  value %#llx", (unsigned long long)s->value);
        if (s->kind == STEP_SWAP) printf(s->result.done ? "  done" : "  not done");
        if (s->kind != STEP_STORE && s->kind != STEP_FENCE) printf("  read %#llx", (unsigned long long)s->result.read);
        if (s->kind == STEP_FENCE_ON) printf("  on thread %u", (unsigned)s->expected);
        puts("");
    }
    printf("    %s\n", wrong);
}

/* What earlier calls have left below the frames that are in use is no part of the state. */
static void clean_below(char *sp, unsigned t) {
    size_t free = (size_t)(sp - RED_ZONE - stacks[t]);
    size_t most = free < 768 ? free : 768;
    memset(sp - RED_ZONE - most, 0, most);
}

/* Lets thread t go on until before its next step. */
static __attribute__((noinline)) void go_on(unsigned t) {
    struct thread *th = &all.thread[t];
    weak_entering(t);
    current = t;
    done_at_once = 0;
    do {
        clean_below(th->at.sp, t);
        weft__switch(&explorer, &th->at, NULL);
    } while (th->state == READY && !anew && is_done_at_once(&th->step));
    if (!anew) note_initialised(th);
    initialised = 0;
    current = THREADS;
}

static void explore(unsigned depth) {
    bool is_end = true;
    if (depth >= DEPTH) {
        fail("too deep");
        return;
    }
    states++;
    if (weak_goes_too_far()) {
        cut++;
        return;
    }
    char *here = keep();
    for (unsigned t = 0; t < THREADS && !wrong && !anew; t++) {
        if (!can_go_on(&all.thread[t])) continue;
        is_end = false;
        for (unsigned c = 0; !wrong && !anew; c++) {
            put_back(here);
            if (!choose(&all.thread[t], c)) break;
            path[depth] = all.thread[t].step;
            path_thread[depth] = (uint8_t)t;
            if (all.thread[t].state == READY) go_on(t);
            if (anew) break;
            forget_old();
            if (wrong && !is_shown && !mode.quiet) show(depth + 1);
            if (!wrong && is_new()) explore(depth + 1);
        }
        if (!wrong && !anew) put_back(here);
    }
    if (is_end && !wrong && !anew) {
        ends++;
        scene->check();
        if (wrong && !mode.quiet) show(depth);
    }
    free(here);
}

static void begin(void) {
    memset(&all, 0, sizeof all);
    for (unsigned s = 0; s < n_shares; s++) memset(shares[s].memory, 0, shares[s].bytes);
    free(seen.slot);
    memset(&seen, 0, sizeof seen);
    states = ends = cut = 0;
    wrong = NULL;
    anew = is_shown = false;
    current = THREADS;
    n_threads = 0;
    scene->set_up();
    for (unsigned t = 0; t < scene->threads; t++) weak_start(t);
    for (unsigned p = 0; p < n_places; p++) {
        all.place[p].count = 1;
        all.place[p].message[0].value = get(place_of[p]->at, place_of[p]->size);
        memset(all.place[p].message[0].view.word, 0xff, WORDS);
    }
    memset(all.fenced.word, 0xff, WORDS);
}

void weak_quiet(void) { mode.quiet = true; }

bool weak_explore(const struct weak_scene *s) {
    states = ends = cut = 0;
    if (s->large && mode.small) return true;
    scene = s;
    memset(used, 0, sizeof used);
    n_places = n_words = 0;
    do {
        begin();
        explore(0);
    } while (anew);
    if (!mode.quiet) {
        printf("%s%s: %llu states, %llu ends", s->name, weak_symmetric ? ", symmetric fences" : "",
               (unsigned long long)states, (unsigned long long)ends);
        if (cut) printf(", %llu cut off", (unsigned long long)cut);
        printf(wrong ? ", WRONG: %s\n" : ", ok\n", wrong);
    }
    return !wrong;
}

static bool meets_heavy_fence(void) {
    for (unsigned i = 0; i < n_sites; i++)
        if (!strcmp(sites[i]->text, "weft__fence_heavy()")) return true;
    return false;
}
static bool (*scenes_once)(void);
static bool explore_scenes(void) {
    bool well = scenes_once();
    if (!well || !meets_heavy_fence()) return well;
    weak_symmetric = true;
    well = scenes_once();
    weak_symmetric = false;
    return well;
}

static const char *order_name(unsigned order) {
    static const char *const names[] = {"relaxed", "acquire", "release", "both"};
    return order & ORDER_HEAVY ? "heavy" : order == ORDER_FULL ? "full" : names[order & 3];
}

/*
 * Everything becomes relaxed; sequentially consistent operations keep acquire and release, and a heavy fence is tried
 * as a full one, too. A swap that is both acquire and release is not tried with one of them: there is one macro for all
 * swaps, which is stronger than some need.
 */
static void weaken(const struct weak_site *site, unsigned order, bool (*all_well)(void)) {
    int status = 0;
    weakened = *site;
    weakened.order = order;
    pid_t child = fork(); /* the source may crash */
    if (!child) _exit(all_well() ? 0 : 1);
    if (child < 0 || waitpid(child, &status, 0) != child) abort();
    printf("mutant %s: %s -> %s: %s\n", site->function, site->text, order_name(order), status ? "found" : "NOT found");
    weakened.text = NULL;
}
static void weaken_all(bool (*all_well)(void)) {
    unsigned n = n_sites;
    for (unsigned i = 0; i < n; i++) {
        const struct weak_site *s = sites[i];
        if (s->order == ORDER_HEAVY) weaken(s, ORDER_FULL, all_well);
        weaken(s, s->order & ORDER_FULL ? s->order & ORDER_BOTH : ORDER_RELAXED, all_well);
    }
}

int weak_main(int argc, char **argv, bool (*all_scenes)(void)) {
    const char *how = argc > 1 ? argv[1] : "order";
    bool mutants = !strcmp(how, "mutants");
    setvbuf(stdout, NULL, _IOLBF, 0);
    mode.in_order = !strcmp(how, "in_order");
    mode.small = mutants || !strcmp(how, "brief");
    mode.stale = mutants || !mode.small ? 2 : 1;
    mode.quiet = mutants;
    scenes_once = all_scenes;
    bool well = explore_scenes();
    if (well && mutants) weaken_all(explore_scenes);
    return !well;
}
