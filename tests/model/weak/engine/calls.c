/* SPDX-License-Identifier: MIT */
/* What the source calls: each operation returns to the explorer, which does it. */
#include "engine.h"

const struct weak_site *weak_sites[SITES];
struct weak_site weakened;
unsigned n_sites;

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
    while (i < n_sites && !same_site(weak_sites[i], site)) i++;
    if (i == n_sites) {
        if (n_sites == SITES) abort();
        weak_sites[n_sites++] = site;
    }
    return same_site(&weakened, site) ? weakened.order : site->order;
}

static __attribute__((noinline)) void to_explorer(void) {
    weft__switch(&engine.thread[current].at, &weak_explorer, NULL);
}

/* Of a word that only this thread uses, or while the memory is set up or looked at: at once. */
static struct weak_result do_at_once(enum step_kind kind, const volatile void *at, uint64_t value, uint64_t expected,
                                     unsigned size) {
    if (kind > STEP_LOCK) return (struct weak_result){0, false};
    uint64_t seen = engine_get(at, size);
    if (kind == STEP_LOCK && seen) engine_fail("locked twice by one thread");
    if (kind == STEP_LOAD || (kind == STEP_SWAP && seen != expected)) return (struct weak_result){seen, false};
    engine_put(at, size, engine_changed(kind, seen, value));
    return (struct weak_result){seen, true};
}

/*
 * Runs on the thread's stack, so it keeps nothing there: what it left behind would make states differ that are the
 * same. The explorer does the rest.
 */
struct weak_result weak_step(enum step_kind kind, const volatile void *at, uint64_t value, uint64_t expected,
                             const struct weak_site *site) {
    if (current == THREADS) return do_at_once(kind, at, value, expected, site->size);
    struct step *s = &engine.thread[current].step;
    s->kind = kind;
    s->at = at;
    s->value = value;
    s->expected = expected;
    s->site = site;
    to_explorer();
    return engine.thread[current].step.result;
}

/* What the thread wants to do next needs no step: it is done. */
unsigned done_at_once;
bool engine_is_done_at_once(struct step *s) {
    s->order = order_at(s->site);
    s->result = (struct weak_result){0, false};
    s->atom = 0;
    if (!engine_has_atom(s->kind)) return s->kind == STEP_FENCE && !s->order;
    bool writes = s->kind != STEP_LOAD && s->kind != STEP_FUTEX_WAIT && s->kind != STEP_FUTEX_WAKE;
    struct used *u = engine_used_find(s->at, ATOMIC);
    engine_check_gone(s->at);
    if (s->kind <= STEP_LOCK && s->site->size > u->size) u->size = (uint8_t)s->site->size;
    engine_used_note(u, s->at, ATOMIC, writes);
    /* Whatever is waited for is another thread's, too, even if that has not come there yet. */
    if (s->kind > STEP_LOCK || ++done_at_once > 5000) engine_used_share(u, ATOMIC);
    s->atom = u->number;
    if (anew || u->is_shared) return false;
    s->result = do_at_once(s->kind, s->at, s->value, s->expected, s->site->size);
    return true;
}

void weak_fence_all(const struct weak_site *site) {
    if (current == THREADS || !order_at(site)) return;
    weak_step(STEP_FENCE, NULL, 0, 0, site);
    static const struct weak_site on_others = {"", "", "heavy fence", 0, ORDER_RELAXED};
    for (unsigned t = 0; order_at(site) == ORDER_HEAVY && t < THREADS; t++)
        if (t != current && engine.thread[t].state != ABSENT) weak_step(STEP_FENCE_ON, NULL, 0, t, &on_others);
    weak_step(STEP_FENCE, NULL, 0, 0, site);
}

#define RELAXED_STEP(kind, at, size, value, expected, text) \
    WEAK_STEP(kind, at, size, ORDER_RELAXED, value, expected, text)
uint32_t weak_choice(uint32_t n) { return (uint32_t)RELAXED_STEP(STEP_CHOICE, NULL, 0, n, 0, "").read; }
void weak_pause(void) { RELAXED_STEP(STEP_PAUSE, NULL, 0, 0, 0, ""); }
void weak_block(void) { RELAXED_STEP(STEP_BLOCK, NULL, 0, 0, 0, ""); }
bool weak_release(unsigned t) {
    bool was = engine.thread[t].is_released;
    engine.thread[t].is_released = true;
    if (current < THREADS) engine_view_join(&engine.thread[t].wake, &engine.thread[current].now);
    return !was;
}
bool weak_is_blocked(unsigned t) { return engine.thread[t].state == READY && engine.thread[t].step.kind == STEP_BLOCK; }
bool weak_has_ended(unsigned t) { return engine.thread[t].state == ENDED; }
bool weak_goes_on(unsigned t) { return engine.thread[t].state == READY || engine.thread[t].state == BLOCKED; }
/* A step, so that it may go on before that. */
void weak_abandon(unsigned t) {
    weak_pause();
    engine.thread[t].state = ENDED;
}
bool weak_futex_wait(const volatile void *word, uint32_t value, bool has_deadline) {
    return RELAXED_STEP(STEP_FUTEX_WAIT, word, 4, value, has_deadline, "").read;
}
void weak_futex_wake(const volatile void *word) { RELAXED_STEP(STEP_FUTEX_WAKE, word, 4, 0, 0, ""); }

static __attribute__((noreturn, noinline, used)) void thread_main(void) {
    run_thread(current);
    engine.thread[current].state = ENDED;
    weft__switch_away(&weak_explorer, NULL);
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
    struct thread *th = &engine.thread[t];
    memset(th, 0, sizeof *th);
    memset(weak_stacks[t], 0, STACK);
    th->at.pc = (void *)(uintptr_t)weak_thread_entry;
    th->at.sp = weak_stacks[t] + STACK - 64;
    th->state = READY;
    th->sleeps_on = -1;
    th->step = (struct step){.kind = STEP_PAUSE, .site = &begins};
    if (current < THREADS)
        th->now = engine.thread[current].now;
    else
        memset(th->now.word, 0xff, sizeof th->now.word);
    th->pending = th->released = th->now;
    if (t >= n_threads) n_threads = t + 1;
}
