/* SPDX-License-Identifier: MIT */
/* Parts about fork and join: every call runs once, and has run when its join returns. */
#include "crowd.h"

#include <stdlib.h>

enum { FORKERS = 12 };

static void park_now_and_then(uint64_t *random) {
    switch (below(random, 48)) {
    case 0: weft_yield(); break;
    case 1: weft_sleep_for(below(random, 20000)); break; /* may be cancelled */
    default: break;
    }
}

/* --- trees ---------------------------------------------------------------------------------------
 *
 * Random trees of calls, deep or wide, joined in any order, by fibers that park in between and are
 * cancelled meanwhile. Each call counts itself and the calls below it.
 */

struct branch {
    struct weft_task task;
    uint64_t random;
    unsigned size; /* calls in this branch, itself included */
    _Atomic unsigned begun;
    unsigned ran; /* calls that ran in it: plain, by the join */
};

static void grow(void *p) {
    struct branch *b = p, below_it[8];
    uint64_t random = b->random;
    unsigned left = b->size - 1, n = 0;
    WANT(atomic_fetch_add(&b->begun, 1), 0);
    b->ran = 1;
    while (left && n < 8) {
        unsigned size = n == 7 ? left : 1 + (unsigned)below(&random, left);
        below_it[n] = (struct branch){.random = roll(&random), .size = size};
        OK(weft_task_fork(&below_it[n].task, grow, &below_it[n]));
        left -= size;
        n++;
        park_now_and_then(&random);
    }
    unsigned first = (unsigned)below(&random, n + 1), way = (unsigned)below(&random, 4);
    for (unsigned k = 0; k < n; k++) {
        struct branch *at = &below_it[way ? n - 1 - k : (first + k) % n]; /* mostly the youngest first */
        OK(weft_task_join(&at->task));
        WANT(at->ran, at->size);
        b->ran += at->ran;
        park_now_and_then(&random);
    }
    moved();
}

static void *plant(void *arg) {
    struct branch root = {.random = *(uint64_t *)arg};
    root.size = 1 + (unsigned)below(&root.random, 3000 / shrink);
    grow(&root);
    WANT(root.ran, root.size);
    return NULL;
}

/* Spawns one fiber after another, and cancels some of them at any moment. */
static void *plant_many(void *arg) {
    uint64_t *random = arg;
    while (!over()) {
        uint64_t seed = roll(random);
        struct weft_fiber f = spawn(NULL, plant, &seed);
        if (below(random, 3) == 0) {
            pause_a_bit(random);
            OK(weft_cancel(f));
        }
        join(f);
    }
    return NULL;
}

static void each_forks(uint64_t random, void *(*fn)(void *)) {
    uint64_t each[FORKERS];
    for (unsigned i = 0; i < FORKERS; i++) each[i] = roll(&random);
    crowd(FORKERS, 0, fn, each, sizeof *each);
}
static void trees_round(uint64_t random) { each_forks(random, plant_many); }

/* --- flats ---------------------------------------------------------------------------------------
 *
 * Many calls outstanding at once, each with a count of its own; joined from either end, or anyhow.
 */

static void count(void *p) { ++*(unsigned *)p; }

static void flat(uint64_t *random, struct weft_task *task, unsigned *ran, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        ran[i] = 0;
        OK(weft_task_fork(&task[i], count, &ran[i]));
        if (below(random, 4096) == 0) weft_yield();
    }
    unsigned order = (unsigned)below(random, 4), step = 2 * (unsigned)below(random, n) + 1; /* n: a power of two */
    for (unsigned k = 0; k < n; k++) {
        unsigned i = order == 0 ? k : order == 1 ? (k * step) % n : n - 1 - k;
        OK(weft_task_join(&task[i]));
        WANT(ran[i], 1);
    }
    moved();
}

static void *flat_many(void *arg) {
    uint64_t *random = arg;
    unsigned most = 1u << 15;
    struct weft_task *task = malloc(most * sizeof *task);
    unsigned *ran = malloc(most * sizeof *ran);
    while (!over()) flat(random, task, ran, most >> below(random, 15));
    free(task);
    free(ran);
    return NULL;
}
static void flats_round(uint64_t random) { each_forks(random, flat_many); }

/* --- typed ---------------------------------------------------------------------------------------
 *
 * Typed trees with generic trees in between, and parks. The result is known.
 */

static void leaf(void *p) { *(unsigned *)p = 1; }

WEFT_TASK_2(uint64_t, leaves, unsigned, depth, uint64_t, random) {
    if (depth == 0) {
        if (below(&random, 64)) return 1;
        struct weft_task task;
        unsigned one = 0;
        OK(weft_task_fork(&task, leaf, &one));
        park_now_and_then(&random);
        OK(weft_task_join(&task));
        return one;
    }
    WEFT_SPAWN(leaves, depth - 1, roll(&random));
    park_now_and_then(&random);
    WEFT_SPAWN(leaves, depth - 1, roll(&random));
    uint64_t sum = WEFT_CALL(leaves, depth - 1, roll(&random));
    sum += WEFT_SYNC(leaves);
    park_now_and_then(&random);
    return sum + WEFT_SYNC(leaves);
}

static void *typed_many(void *arg) {
    static const uint64_t wanted[] = {1, 3, 9, 27, 81, 243, 729, 2187};
    uint64_t *random = arg;
    while (!over()) {
        unsigned depth = (unsigned)below(random, 8);
        WANT(WEFT_RUN(leaves, depth, roll(random)), wanted[depth]);
        moved();
    }
    return NULL;
}
static void typed_round(uint64_t random) { each_forks(random, typed_many); }

/* --- churning deques -------------------------------------------------------------------------------
 *
 * Fibers that fork a little and end, so that deques change hands while thieves look at them.
 */

static void *fork_two(void *arg) {
    struct weft_task a, b;
    unsigned ran[2] = {0, 0};
    OK(weft_task_fork(&a, count, &ran[0]));
    OK(weft_task_fork(&b, count, &ran[1]));
    if (arg) weft_yield();
    OK(weft_task_join(&b));
    OK(weft_task_join(&a));
    WANT(ran[0] + ran[1], 2);
    return NULL;
}
static void *hand_on(void *arg) {
    uint64_t *random = arg;
    while (!over()) {
        struct weft_fiber f[16];
        for (unsigned i = 0; i < 16; i++) f[i] = spawn(NULL, fork_two, below(random, 2) ? random : NULL);
        for (unsigned i = 0; i < 16; i++) join(f[i]);
        moved();
    }
    return NULL;
}
static void handed_round(uint64_t random) { each_forks(random, hand_on); }

/* --- continued ------------------------------------------------------------------------------------
 *
 * The same in a cluster where the parents are stolen.
 */

static void continued_round(uint64_t random) {
    void *(*const kinds[])(void *) = {plant_many, flat_many, typed_many, hand_on};
    struct weft_config config = {.workers = workers, .continuations = 1};
    struct weft_cluster cluster;
    struct weft_fiber f[FORKERS];
    uint64_t each[FORKERS];
    OK(weft_cluster_create(&cluster, &config));
    for (unsigned i = 0; i < FORKERS; i++) {
        each[i] = roll(&random);
        f[i] = spawn(&(struct weft_attr){.cluster = cluster}, kinds[i % 4], &each[i]);
    }
    for (unsigned i = 0; i < FORKERS; i++) join(f[i]);
    int err;
    while ((err = weft_cluster_destroy(cluster)) == -EBUSY) weft_sleep_for(WEFT_MILLISECOND); /* children that end */
    OK(err);
}

const struct part parts_of_tasks[] = {
    {"continued", continued_round, false, false}, {"trees", trees_round, false, false},
    {"flats", flats_round, false, false},         {"typed", typed_round, false, false},
    {"deques", handed_round, false, false},       {NULL, NULL, false, false}};
