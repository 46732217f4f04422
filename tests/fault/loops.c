/* SPDX-License-Identifier: MIT */
/*
 * Loops and algorithms, with the Nth call for memory failing, for N = 1, 2, ... until a run has fewer. A call that
 * fails returns an error, has changed nothing, and can be repeated. A call that can do without memory succeeds. Nothing
 * is lost.
 */
#include "nth.h"

#include <stdatomic.h>
#include <string.h>

enum { N = 3000 };

static _Atomic unsigned seen[N];
static int visit(size_t begin, size_t end, void *unused) {
    (void)unused;
    for (size_t i = begin; i < end; i++) atomic_fetch_add(&seen[i], 1);
    return 0;
}

struct large {
    uint64_t sum, more[200];
};
static int fold(size_t begin, size_t end, void *value, void *unused) {
    (void)unused;
    for (size_t i = begin; i < end; i++) ((struct large *)value)->sum += i;
    return 0;
}
static void add(void *left, const void *right, void *unused) {
    (void)unused;
    ((struct large *)left)->sum += ((const struct large *)right)->sum;
}

static void loops(void) {
    static const struct weft_for_options kinds[] = {{.partition = WEFT_FOR_GRAIN, .grain = 100},
                                                    {.spread = WEFT_SPREAD_EVEN},
                                                    {.spread = WEFT_SPREAD_UNEVEN, .partition = WEFT_FOR_STATIC}};
    for (unsigned k = 0; k < 3; k++) {
        memset(seen, 0, sizeof seen);
        while (try_again(weft_for(0, N, visit, NULL, &kinds[k]))) MUST(!seen[0]);
        for (int i = 0; i < N; i++) MUST(seen[i] == 1);
        struct large none = {0}, sum;
        struct weft_prefix how = {{sizeof none, &none, fold, add}, fold};
        do sum = none;
        while (try_again(weft_reduce(0, N, &sum, &how.reduction, NULL, &kinds[k])));
        MUST(sum.sum == (uint64_t)N * (N - 1) / 2);
        do sum = none;
        while (try_again(weft_scan(0, N, &sum, &how, NULL, NULL)));
        MUST(sum.sum == (uint64_t)N * (N - 1) / 2);
    }
}

static int compare(const void *a, const void *b, void *unused) {
    (void)unused;
    return memcmp(a, b, 2);
}
static void sorts(void) {
    static unsigned char v[2 * N];
    for (unsigned size = 4; size <= 5; size++) {
        for (unsigned i = 0; i < 2 * N; i++) v[i] = (unsigned char)(i * i * 31 >> 4);
        while (try_again(weft_sort(v, 2 * N / size, size, compare, NULL))) {
        }
        for (unsigned i = size; i + size <= 2 * N; i += size) MUST(compare(v + i - size, v + i, NULL) <= 0);
    }
}

static int left;
static _Atomic int arrived;
static int make(void **item, void *unused) {
    *item = unused;
    return left-- > 0 ? 0 : WEFT_PIPELINE_END;
}
static int arrive(void **item, void *unused) {
    (void)item, (void)unused;
    weft_yield();
    atomic_fetch_add(&arrived, 1);
    return 0;
}
static void pipelines(void) {
    struct weft_stage stages[] = {{0, make, NULL}, {WEFT_STAGE_PARALLEL, arrive, NULL}};
    do {
        left = 200;
        atomic_store(&arrived, 0);
    } while (try_again(weft_pipeline(stages, 2, 16)));
    MUST(atomic_load(&arrived) == 200);
}

static int node(void *unused) {
    (void)unused;
    atomic_fetch_add(&arrived, 1);
    return 0;
}
static void graphs(void) {
    struct weft_graph graph = WEFT_GRAPH_INIT;
    int n = 0;
    while (n < 100) {
        int number = weft_graph_node(&graph, node, NULL);
        if (number < 0 && try_again(number)) continue;
        MUST(number == n++);
        while (number > 9 && try_again(weft_graph_edge(&graph, number / 2, number))) {
        }
    }
    atomic_store(&arrived, 0);
    while (try_again(weft_graph_run(&graph))) MUST(!atomic_load(&arrived));
    MUST(atomic_load(&arrived) == 100);
    MUST(!weft_graph_clear(&graph));
}

static void combinables(void) {
    struct weft_combinable c = WEFT_COMBINABLE_INIT(100, NULL);
    void *a, *b;
    while (!(a = weft_combinable_take(&c))) {
    }
    while (!(b = weft_combinable_take(&c))) {
    }
    MUST(a != b);
    MUST(!weft_combinable_put(&c, a) && !weft_combinable_put(&c, b) && !weft_combinable_clear(&c));
}

static void all(void) {
    loops();
    sorts();
    pipelines();
    graphs();
    combinables();
}

static void *in_a_fiber(void *unused) {
    all();
    return unused;
}

static int scenario(long nth) {
    struct weft_config config = {.workers = 3};
    struct weft_fiber fiber;
    alarm(30);
    MUST(!weft_start(&config));
    store_rlx(&weft__fault_countdown, nth);
    while (try_again(weft_spawn(&fiber, NULL, in_a_fiber, NULL))) {
    }
    while (try_again(weft_join(fiber, NULL))) {
    }
    all();
    int outcome = fault_outcome();
    MUST(!weft_stop());
    return outcome;
}

int main(void) {
    int passed = 0, failed = 0;
    each_fault(scenario, &passed, &failed);
    printf("fault/loops: %d passed, %d failed\n", passed, failed);
    return failed > 0;
}
