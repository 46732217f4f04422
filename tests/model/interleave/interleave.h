/*
 * The other explorer: all interleavings of a few threads that run real source, chains behind locks included.
 *
 * Each thread has a stack, in one piece of memory with all that they share. Before every atomic
 * operation it comes by here, and any other may go on. A state is a copy of that memory and of the
 * registers, so going back is copying, and a state that was seen before, whatever the way to it, is not
 * gone on from. Memory is sequentially consistent here: it is the order of steps that is explored, and
 * the other explorer (../explore) that looks at orders of memory.
 *
 * Included once by a program that says what the threads do (run_thread), what they share (struct shared),
 * and what must hold at the end (check).
 */
#ifndef WEFT_INTERLEAVE_H
#define WEFT_INTERLEAVE_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define THREADS 4
#define STACK 8192
#define DEPTH 1000 /* steps from the beginning to the end, at most */

enum { READY, BLOCKED, DONE, ABSENT };

static struct arena {
    struct shared shared;
    struct actor {
        ucontext_t context;
        int state;
        bool optional;           /* need not have ended at the end */
        bool released;           /* made ready before it blocked */
        _Atomic uint32_t *until; /* goes on when this is zero */
    } actor[THREADS];
    char stack[THREADS][STACK] __attribute__((aligned(64)));
} arena;
#define shared (arena.shared)

static ucontext_t explorer;
static unsigned now_running;
static bool wrong;
static uint64_t states, ends;

static void run_thread(unsigned t);
static void entering(unsigned t); /* it is about to go on */
static void set_up(void);
static void check(void);

static void leave(void) { swapcontext(&arena.actor[now_running].context, &explorer); }

static bool exploring;
void interleave_point(void) {
    if (exploring) leave();
}

void interleave_until_zero(_Atomic uint32_t *word) {
    interleave_point();
    while (*word) {
        arena.actor[now_running].until = word;
        leave();
    }
    arena.actor[now_running].until = NULL;
}

void interleave_block(void) {
    struct actor *a = &arena.actor[now_running];
    if (!a->released) {
        a->state = BLOCKED;
        leave();
    }
    a->released = false;
}

/* Lets go of one that blocks, or is about to. */
static void release(unsigned t) {
    struct actor *a = &arena.actor[t];
    if (a->state == BLOCKED)
        a->state = READY;
    else
        a->released = true;
}

static void thread_main(void) {
    run_thread(now_running);
    arena.actor[now_running].state = DONE;
    leave();
}

static void start_thread(unsigned t, bool optional) {
    struct actor *a = &arena.actor[t];
    getcontext(&a->context);
    a->context.uc_stack.ss_sp = arena.stack[t];
    a->context.uc_stack.ss_size = STACK;
    a->context.uc_link = NULL;
    makecontext(&a->context, thread_main, 0);
    a->state = READY;
    a->optional = optional;
}

/* --- states that were seen ---------------------------------------------------------------------- */

static uint64_t *seen;
static uint64_t seen_size, seen_count;

static uint64_t mix(uint64_t h, const void *p, size_t n) {
    const uint64_t *w = p;
    for (size_t i = 0; i < n / 8; i++) h = (h ^ w[i]) * UINT64_C(0x9e3779b97f4a7c15), h ^= h >> 29;
    return h;
}

static uint64_t fingerprint(void) {
    uint64_t h = mix(14695981039346656037u, &shared, sizeof shared);
    for (unsigned t = 0; t < THREADS; t++) {
        struct actor *a = &arena.actor[t];
        uint64_t about[4] = {(uint64_t)a->state, a->released, (uintptr_t)a->until, a->optional};
        h = mix(h, about, sizeof about);
        if (a->state == DONE || a->state == ABSENT) continue;
#if defined(__x86_64__)
        const greg_t *g = a->context.uc_mcontext.gregs;
        uint64_t regs[] = {(uint64_t)g[REG_RBX], (uint64_t)g[REG_RBP], (uint64_t)g[REG_R12], (uint64_t)g[REG_R13],
                           (uint64_t)g[REG_R14], (uint64_t)g[REG_R15], (uint64_t)g[REG_RIP], (uint64_t)g[REG_RSP]};
        uintptr_t sp = (uintptr_t)g[REG_RSP];
#else
        uint64_t regs[32];
        memcpy(regs, a->context.uc_mcontext.regs, sizeof(uint64_t) * 31);
        regs[31] = a->context.uc_mcontext.pc;
        uintptr_t sp = (uintptr_t)a->context.uc_mcontext.sp;
#endif
        h = mix(h, regs, sizeof regs);
        sp &= ~(uintptr_t)7;
        h = mix(h, (void *)sp, (uintptr_t)(arena.stack[t] + STACK) - sp);
    }
    return h ? h : 1;
}

static bool is_new(void) {
    if (seen_count * 2 >= seen_size) {
        uint64_t *old = seen, before = seen_size;
        seen_size = before ? before * 2 : 1 << 16;
        seen = calloc(seen_size, sizeof *seen);
        for (uint64_t i = 0; i < before; i++) {
            if (!old[i]) continue;
            uint64_t at = old[i] & (seen_size - 1);
            while (seen[at]) at = (at + 1) & (seen_size - 1);
            seen[at] = old[i];
        }
        free(old);
    }
    uint64_t h = fingerprint(), at = h & (seen_size - 1);
    while (seen[at] && seen[at] != h) at = (at + 1) & (seen_size - 1);
    if (seen[at]) return false;
    seen[at] = h;
    seen_count++;
    return true;
}

/* --- the search ------------------------------------------------------------------------------------ */

static bool can_go(const struct actor *a) { return a->state == READY && (!a->until || !*a->until); }

static void explore(unsigned depth) {
    if (wrong || !is_new()) return;
    states++;
    bool over = true, any = false;
    for (unsigned t = 0; t < THREADS; t++) {
        struct actor *a = &arena.actor[t];
        over &= a->state == DONE || a->state == ABSENT || a->optional;
        any |= can_go(a);
    }
    if (over) {
        ends++;
        exploring = false;
        check();
        exploring = true;
    }
    if (!any && !over) {
        printf("stuck:");
        for (unsigned t = 0; t < THREADS; t++) printf(" %d%s", arena.actor[t].state, arena.actor[t].until ? "L" : "");
        puts("");
        wrong = true;
    }
    if (!any || wrong) return;
    static struct arena *copies[DEPTH];
    if (depth >= DEPTH) abort();
    if (!copies[depth]) copies[depth] = malloc(sizeof arena);
    struct arena *copy = copies[depth];
    memcpy(copy, &arena, sizeof arena);
    for (unsigned t = 0; t < THREADS && !wrong; t++) {
        if (!can_go(&copy->actor[t])) continue;
        memcpy(&arena, copy, sizeof arena);
        now_running = t;
        entering(t);
        swapcontext(&explorer, &arena.actor[t].context);
        explore(depth + 1);
    }
}

static bool explore_all(void) {
    memset(&arena, 0, sizeof arena);
    for (unsigned t = 0; t < THREADS; t++) arena.actor[t].state = ABSENT;
    memset(seen, 0, seen_size * sizeof *seen);
    states = ends = seen_count = 0;
    wrong = exploring = false;
    set_up();
    exploring = true;
    explore(0);
    exploring = false;
    return !wrong && ends;
}

#endif
