/* SPDX-License-Identifier: MIT */
/*
 * Shared by the explorations of deques: an owner that pushes (+) and pops (-), and thieves that steal (s). At the end
 * of each run every item was handed out exactly once or is still in the deque, and each thief got its items in order.
 * The program defines the deque before it includes this file:
 *
 *   deque_init(index), deque_push(item), deque_pop(), deque_steal(), deque_length(state), deque_owner_anew()
 *
 * and the `scenes`, which say what the threads do. The first SMALL scenes are used for the mutants.
 */
#ifndef WEFT_EXPLORE_DEQUES_H
#define WEFT_EXPLORE_DEQUES_H

#include "explore.h"

#define OWNER 0
#define ITEMS 8

#define ARENA 17 /* words: rings of two, four and eight slots */
#define STALE 99 /* the initial value of all words, as in memory that was used before */

static _Atomic uint64_t arena[ARENA]; /* allocated from the front, and never freed */

void *weft__alloc(size_t bytes) {
    uint64_t at = 0;
    if (replay.setting_up)
        replay.state->allocated = (uint8_t)(bytes / 8);
    else
        at = explore_step(STEP_ALLOC, NULL, ORDER_RELAXED, bytes, NULL, EXPLORE_HERE(""));
    if (at + bytes / 8 > ARENA) abort();
    return &arena[at];
}
void weft__free(void *memory) { (void)memory; }

static bool in_arena(const volatile void *at) {
    const volatile _Atomic uint64_t *p = at;
    return p >= arena && p < arena + ARENA;
}

static struct scene {
    const char *thread[THREADS];
    uint64_t first; /* index */
} scene;

static void deque_init(uint64_t first);
static void deque_owner_anew(void); /* resets the owner's private data */
static int deque_push(void *item);
static void *deque_pop(void);
static void *deque_steal(void);
static uint64_t deque_length(const struct state *s);

static struct result {
    uint64_t item[ITEMS * 2];
    unsigned n, refused;
} results[THREADS];

static void run_thread(unsigned t) {
    struct result *r = &results[t];
    uint64_t pushed = 0;
    r->n = r->refused = 0;
    if (t == OWNER) deque_owner_anew();
    for (const char *c = scene.thread[t]; *c; c++) {
        void *item = NULL;
        if (*c == '+')
            r->refused += deque_push((void *)(uintptr_t)++pushed) != 0;
        else
            item = *c == '-' ? deque_pop() : deque_steal();
        if (item) r->item[r->n++] = (uint64_t)(uintptr_t)item;
    }
}

static void check(const struct state *s) {
    bool taken[ITEMS + 1] = {false};
    uint64_t pushed = 0, got = 0;
    for (const char *c = scene.thread[OWNER]; *c; c++) pushed += *c == '+';
    for (unsigned t = 0; t < THREADS; t++) {
        bring_back(s, t);
        uint64_t last = 0;
        for (unsigned i = 0; i < results[t].n; i++, got++) {
            uint64_t item = results[t].item[i];
            if (item & TOKEN) item = s->thread[t].done_late[(item & ~TOKEN) - 1];
            wrong |= item == 0 || item > pushed || taken[item <= ITEMS ? item : 0] || (t != OWNER && item <= last);
            if (item <= ITEMS) taken[item] = true;
            last = item;
        }
    }
    wrong |= deque_length(s) != pushed - got - results[OWNER].refused;
}

static void set_up(void) {
    for (unsigned i = 0; i < ARENA; i++) store_rlx(&arena[i], STALE);
    deque_init(scene.first);
}

/* Explores all scenes and prints them; then the first `small` scenes with every memory order weakened. */
static const struct scene *all_scenes;
static unsigned few_scenes;

static bool run_scenes(const char *name, unsigned count) {
    bool good = true;
    for (unsigned i = 0; i < count && good; i++) {
        scene = all_scenes[i];
        good = explore_all();
        if (name)
            printf("%s %-8s %s %s: %llu states, %llu ends, %s\n", name, scene.thread[0], scene.thread[1],
                   scene.thread[2], (unsigned long long)states, (unsigned long long)runs, good ? "ok" : "WRONG");
    }
    return good;
}

static bool small_are_well(void) { return run_scenes(NULL, few_scenes); }

static int explore_scenes(const char *name, const struct scene *scenes, unsigned count, unsigned small) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    all_scenes = scenes;
    few_scenes = small;
    if (!run_scenes(name, count)) return 1;
    weaken_all(small_are_well);
    return 0;
}

#endif
