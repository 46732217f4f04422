/* SPDX-License-Identifier: MIT */
/* Parts about loops and algorithms: every index, item and node is processed once, or at most once if the fiber is
 * cancelled meanwhile. */
#include "crowd.h"

#include <stdlib.h>
#include <string.h>

enum { LOOPERS = 6, MOST = 4000 };

/* --- loops ---------------------------------------------------------------------------------------
 *
 * Loops of all kinds and sizes run at the same time, nested, in fibers and threads. Some bodies wait, and some end the
 * loop. The part checks each index, and the sum of each reduction.
 */

struct looper {
    uint64_t random;
    struct weft_affinity affinity;
    unsigned char seen[MOST];
    size_t end_at; /* MOST: to the end */
};

/* Did the call run to the end? If not, the caller was cancelled, and nothing else went wrong. */
static bool is_whole(int result) {
    if (result) WANT(result, -ECANCELED);
    if (result) WANT(weft_cancelled(), WEFT_BY_REQUEST);
    return !result;
}

static struct weft_for_options any_options(struct looper *l) {
    uint64_t *random = &l->random;
    return (struct weft_for_options){
        .partition = (unsigned)below(random, 4),
        .spread = (unsigned)below(random, 3),
        .grain = below(random, 3) ? below(random, 300) : 0,
        .element = below(random, 2) ? 0 : 1 + below(random, 100),
        .budget = below(random, 2) ? 0 : 1 + below(random, 100000),
        .affinity = below(random, 3) ? NULL : &l->affinity,
    };
}

static int inner(size_t begin, size_t end, void *sum) {
    atomic_fetch_add((_Atomic size_t *)sum, end - begin);
    return 0;
}

static int visit(size_t begin, size_t end, void *p) {
    struct looper *l = p;
    uint64_t random = begin * 2654435761u + 1;
    for (size_t i = begin; i < end; i++) WANT(__atomic_fetch_add(&l->seen[i], 1, __ATOMIC_RELAXED), 0);
    switch (below(&random, 24)) {
    case 0: weft_yield(); break;
    case 1: weft_sleep_for(below(&random, 20000)); break;
    case 2: {
        _Atomic size_t sum = 0;
        if (is_whole(weft_for(0, 100, inner, &sum, NULL))) WANT(sum, 100);
    }
    }
    return begin <= l->end_at && l->end_at < end ? 77 : 0;
}

static int fold(size_t begin, size_t end, void *value, void *unused) {
    (void)unused;
    for (size_t i = begin; i < end; i++) *(uint64_t *)value += i;
    return 0;
}
static void add(void *left, const void *right, void *unused) {
    (void)unused;
    *(uint64_t *)left += *(const uint64_t *)right;
}
static int scan(size_t begin, size_t end, void *value, void *unused) {
    for (size_t i = begin; i < end; i++) {
        fold(i, i + 1, value, unused);
        WANT(*(uint64_t *)value, i * (i + 1) / 2);
    }
    return 0;
}

static void *loops(void *p) {
    struct looper *l = p;
    size_t n = below(&l->random, MOST);
    struct weft_for_options options = any_options(l);
    bool ends = n && below(&l->random, 3) == 0;
    l->end_at = ends ? below(&l->random, n) : MOST;
    memset(l->seen, 0, sizeof l->seen);
    int result = weft_for(0, n, visit, l, &options);
    bool whole = ends && result == 77 ? false : is_whole(result);
    if (ends) WANT(whole, false);
    for (size_t i = 0; i < n && whole; i++) WANT(l->seen[i], 1);
    uint64_t zero = 0, sum = 0;
    struct weft_prefix how = {{sizeof sum, &zero, fold, add}, scan};
    options = any_options(l);
    if (is_whole(weft_reduce(0, n, &sum, &how.reduction, NULL, &options))) WANT(sum, n ? n * (n - 1) / 2 : 0);
    sum = 0;
    if (is_whole(weft_scan(0, n, &sum, &how, NULL, &options))) WANT(sum, n ? n * (n - 1) / 2 : 0);
    moved();
    return NULL;
}

/* --- sorts ---------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b, void *unused) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    (void)unused;
    if (x % 512 == 0) weft_yield();
    return (x > y) - (x < y);
}

static void *sorts(void *p) {
    struct looper *l = p;
    static const size_t sizes[] = {4, 8, 12, 16};
    size_t n = below(&l->random, 20000 / shrink), size = sizes[below(&l->random, 4)], sum = 0, after = 0;
    unsigned char *v = malloc(n * size + 1);
    for (size_t i = 0; i < n; i++) {
        uint32_t key = (uint32_t)below(&l->random, 1 + below(&l->random, 100000));
        memset(v + i * size, 0, size);
        memcpy(v + i * size, &key, sizeof key);
        sum += key;
    }
    bool whole = is_whole(weft_sort(v, n, size, compare, NULL));
    uint32_t last = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t key;
        memcpy(&key, v + i * size, sizeof key);
        if (whole && key < last) broken(__FILE__, __LINE__, "order", key, last);
        last = key;
        after += key;
    }
    WANT(after, sum);
    free(v);
    moved();
    return NULL;
}

/* --- flows: pipelines and graphs ------------------------------------------------------------------- */

struct flow {
    uint64_t random;
    size_t made, n, tokens, next;
    _Atomic size_t under_way, arrived;
};

static int make(void **item, void *p) {
    struct flow *f = p;
    if (f->made == f->n) return WEFT_PIPELINE_END;
    if (atomic_fetch_add(&f->under_way, 1) >= f->tokens) broken(__FILE__, __LINE__, "under way", 1, 0);
    *item = (void *)++f->made;
    return 0;
}
static int work(void **item, void *p) {
    uint64_t random = (uintptr_t)*item * 31 + (uintptr_t)p;
    if (below(&random, 8) == 0) weft_yield();
    if (below(&random, 32) == 0) weft_sleep_for(below(&random, 20000));
    return 0;
}
static int in_order(void **item, void *p) {
    struct flow *f = p;
    WANT((uintptr_t)*item, ++f->next);
    return work(item, p);
}
static int arrive(void **item, void *p) {
    struct flow *f = p;
    (void)item;
    atomic_fetch_sub(&f->under_way, 1);
    atomic_fetch_add(&f->arrived, 1);
    return 0;
}

static void flow_through(struct looper *l) {
    struct flow f = {.random = roll(&l->random)};
    f.n = below(&f.random, 500 / shrink + 1);
    f.tokens = 1 + below(&f.random, 20);
    struct weft_stage stages[] = {{0, make, &f},
                                  {(unsigned)below(&f.random, 2) * 2, work, &f},
                                  {WEFT_STAGE_IN_ORDER, in_order, &f},
                                  {(unsigned)below(&f.random, 3), work, &f},
                                  {WEFT_STAGE_PARALLEL, arrive, &f}};
    bool whole = is_whole(weft_pipeline(stages, 5, f.tokens));
    WANT(f.arrived, whole ? f.n : f.made); /* what was begun has come to its end */
}

struct node {
    _Atomic unsigned *ran;
    unsigned number, before;
};
static int run_node(void *p) {
    struct node *n = p;
    void *item = (void *)(uintptr_t)n->number;
    if (n->number && n->ran[n->before] <= n->ran[n->number])
        broken(__FILE__, __LINE__, "order", n->ran[n->before], n->ran[n->number]);
    work(&item, NULL);
    atomic_fetch_add(&n->ran[n->number], 1);
    return 0;
}
static void run_graph(struct looper *l) {
    enum { NODES = 200 };
    struct weft_graph graph = WEFT_GRAPH_INIT;
    _Atomic unsigned ran[NODES] = {0};
    struct node nodes[NODES];
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i] = (struct node){ran, i, i ? (unsigned)below(&l->random, i) : 0};
        WANT(weft_graph_node(&graph, run_node, &nodes[i]), i);
        if (i) OK(weft_graph_edge(&graph, (int)nodes[i].before, (int)i));
    }
    bool whole = true;
    for (unsigned round = 1; round <= 3; round++) {
        whole &= is_whole(weft_graph_run(&graph));
        for (unsigned i = 0; i < NODES && whole; i++) WANT(ran[i], round);
    }
    OK(weft_graph_clear(&graph));
}

static void *flows(void *p) {
    struct looper *l = p;
    flow_through(l);
    run_graph(l);
    moved();
    return NULL;
}

/* --- all at once ----------------------------------------------------------------------------------- */

/* The parts may run at the same time, so each has its own. */
static struct looper of_loops[LOOPERS], of_sorts[LOOPERS], of_flows[LOOPERS];

static void run_loopers(uint64_t random, void *(*fn)(void *), struct looper *loopers) {
    struct weft_fiber f[LOOPERS];
    for (unsigned i = 0; i < LOOPERS; i++) {
        loopers[i].random = roll(&random);
        OK(weft_spawn(&f[i], NULL, fn, &loopers[i]));
    }
    if (below(&random, 2)) OK(weft_cancel(f[below(&random, LOOPERS)]));
    for (unsigned i = 0; i < LOOPERS; i++) OK(weft_join(f[i], NULL));
    loopers[0].random = roll(&random);
    fn(&loopers[0]); /* and once from this thread */
}

static void round_of_loops(uint64_t random) { run_loopers(random, loops, of_loops); }
static void round_of_sorts(uint64_t random) { run_loopers(random, sorts, of_sorts); }
static void round_of_flows(uint64_t random) { run_loopers(random, flows, of_flows); }

const struct part parts_of_loops[] = {
    {"loops", round_of_loops, false, false},
    {"sorts", round_of_sorts, false, false},
    {"flows", round_of_flows, false, false},
    {NULL, NULL, false, false},
};
