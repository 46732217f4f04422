/* SPDX-License-Identifier: MIT */
/* Pipelines, graphs and values for each worker. */
#include "fiber.h"

#include <stdlib.h>
#include <string.h>

/* --- pipelines --------------------------------------------------------------------------------------- */

struct item {
    int number, stages;
};
static struct item items[4000];
static int made, most, under_way, most_under_way, next_in_order, in_serial, arrived, fails_at, drops;
static unsigned char came[4000];

static int make(void **item, void *inside) {
    CHECK_EQ(ADD((int *)inside, 1), 0); /* one at a time */
    int n = made, now = ADD(&under_way, 1) + 1, most_so_far = LOAD(&most_under_way);
    while (now > most_so_far && !__atomic_compare_exchange_n(&most_under_way, &most_so_far, now, false,
                                                             __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
    if (n % 16 == 0) weft_yield();
    ADD((int *)inside, -1);
    if (n == most) {
        ADD(&under_way, -1);
        return WEFT_PIPELINE_END;
    }
    made++;
    items[n] = (struct item){n, 1};
    *item = &items[n];
    return 0;
}
static int in_parallel(void **item, void *unused) {
    (void)unused;
    struct item *i = *item;
    if (i->number % 7 == 0) weft_yield();
    if (i->number % 31 == 0) CHECK_EQ(weft_sleep_for(20 * WEFT_MICROSECOND), 0);
    if (i->number == fails_at) {
        ADD(&under_way, -1);
        return -EIO;
    }
    if (drops && i->number % 3 == 0) {
        ADD(&under_way, -1);
        return WEFT_PIPELINE_END;
    }
    i->stages++;
    return 0;
}
static int in_order(void **item, void *unused) {
    (void)unused;
    struct item *i = *item;
    CHECK(i->number >= next_in_order);
    if (!drops && fails_at < 0) CHECK_EQ(i->number, next_in_order);
    next_in_order = i->number + 1;
    if (i->number % 11 == 0) weft_yield();
    i->stages++;
    return 0;
}
static int serially(void **item, void *inside) {
    struct item *i = *item;
    CHECK_EQ(ADD(&in_serial, 1), 0);
    if (i->number % 13 == 0) weft_yield();
    i->stages++;
    ADD(&in_serial, -1);
    (void)inside;
    return 0;
}
static int arrive(void **item, void *unused) {
    (void)unused;
    struct item *i = *item;
    CHECK_EQ(i->stages, 4);
    CHECK_EQ(came[i->number]++, 0);
    ADD(&arrived, 1);
    ADD(&under_way, -1);
    return 0;
}

static int run_pipeline(int n, size_t tokens) {
    static int inside;
    struct weft_stage stages[] = {{0, make, &inside},
                                  {WEFT_STAGE_PARALLEL, in_parallel, NULL},
                                  {WEFT_STAGE_IN_ORDER, in_order, NULL},
                                  {WEFT_STAGE_SERIAL, serially, NULL},
                                  {WEFT_STAGE_PARALLEL, arrive, NULL}};
    made = under_way = most_under_way = next_in_order = arrived = 0;
    most = n;
    memset(came, 0, sizeof came);
    return weft_pipeline(stages, 5, tokens);
}

static void pipelines(void *unused) {
    (void)unused;
    static const size_t tokens[] = {1, 2, 3, 8, 100, 0};
    fails_at = -1;
    drops = 0;
    for (unsigned t = 0; t < sizeof tokens / sizeof *tokens; t++)
        for (int n = 0; n <= 1000; n = n * 4 + 1) {
            CHECK_EQ(run_pipeline(n, tokens[t]), 0);
            CHECK_EQ(arrived, n);
            CHECK_EQ(under_way, 0);
            /* The call that finds no further item counts, too. */
            if (tokens[t]) CHECK(most_under_way <= (int)tokens[t]);
        }
}
TEST_WITHIN(order_and_bound_of_a_pipeline, 60) { each_size(pipelines); }
TEST_WITHIN(a_pipeline_oversubscribed, 60) { test_in_fiber(16, pipelines, NULL); }

static void failing(void *unused) {
    (void)unused;
    fails_at = 50;
    drops = 0;
    for (size_t tokens = 1; tokens <= 64; tokens *= 4) {
        CHECK_EQ(run_pipeline(1000, tokens), -EIO);
        CHECK_EQ(arrived, made - 1); /* all items but one went through to the end */
        CHECK_EQ(under_way, 0);
        CHECK(made <= 51 + (int)tokens);
    }
    fails_at = -1;
    drops = 1;
    for (size_t tokens = 1; tokens <= 64; tokens *= 4) {
        CHECK_EQ(run_pipeline(1000, tokens), 0);
        CHECK_EQ(arrived, 666);
        for (int i = 0; i < 1000; i++) CHECK_EQ(came[i], i % 3 != 0);
    }
}
TEST_WITHIN(items_that_fail_or_go_no_further, 60) { each_size(failing); }

/* As many items wait in a stage at once as there are tokens, whatever the number of workers. */
static struct weft_sem gate;
static int waiting_there;
static int wait_for_all(void **item, void *tokens) {
    (void)item;
    if (ADD(&waiting_there, 1) + 1 == *(int *)tokens)
        for (int i = 0; i < *(int *)tokens; i++) weft_sem_post(&gate);
    return weft_sem_wait(&gate);
}
static int make_some(void **item, void *left) {
    *item = left;
    return (*(int *)left)-- > 0 ? 0 : WEFT_PIPELINE_END;
}
static void all_at_once(void *unused) {
    (void)unused;
    int tokens = 20, left = 20;
    waiting_there = 0;
    struct weft_stage stages[] = {{0, make_some, &left}, {WEFT_STAGE_PARALLEL, wait_for_all, &tokens}};
    CHECK_EQ(weft_pipeline(stages, 2, 20), 0);
    CHECK_EQ(waiting_there, 20);
}
TEST(stages_that_wait_for_each_other) { each_size(all_at_once); }

TEST(a_pipeline_from_a_thread) {
    test_start(2);
    pipelines(NULL);
    test_stop();
}

/* --- graphs -------------------------------------------------------------------------------------------- */

enum { NODES = 2000 };
static struct weft_graph graph;
static int ran[NODES], ends_at;
static int befores[NODES][4], before_count[NODES];
static int visit(void *number) {
    int n = (int)(intptr_t)number;
    for (int i = 0; i < before_count[n]; i++) CHECK_EQ(LOAD(&ran[befores[n][i]]), LOAD(&ran[n]) + 1);
    if (n % 17 == 0) weft_yield();
    if (n % 191 == 0) CHECK_EQ(weft_sleep_for(10 * WEFT_MICROSECOND), 0);
    if (n == ends_at) return -EIO;
    ADD(&ran[n], 1);
    return 0;
}
static void build(uint64_t *random, int n, int edges) {
    memset(before_count, 0, sizeof before_count);
    for (int i = 0; i < n; i++) CHECK_EQ(weft_graph_node(&graph, visit, (void *)(intptr_t)i), i);
    for (int i = 1; i < n; i++)
        for (int k = 0; k < edges && k < 4; k++) {
            int before = (int)test_below(random, (uint64_t)i);
            if (test_below(random, 4) == 0) continue;
            CHECK_EQ(weft_graph_edge(&graph, before, i), 0);
            befores[i][before_count[i]++] = before;
        }
}
static void graphs(void *unused) {
    (void)unused;
    uint64_t random = 3;
    ends_at = -1;
    CHECK_EQ(weft_graph_run(&graph), 0); /* empty */
    for (int edges = 0; edges <= 4; edges++)
        for (int n = 1; n <= NODES; n = n * 4 + 3) {
            build(&random, n, edges);
            memset(ran, 0, sizeof ran);
            for (int round = 1; round <= 4; round++) {
                CHECK_EQ(weft_graph_run(&graph), 0);
                for (int i = 0; i < n; i++) CHECK_EQ(ran[i], round);
            }
            ends_at = n / 2;
            CHECK_EQ(weft_graph_run(&graph), -EIO);
            CHECK_EQ(ran[ends_at], 4);
            ends_at = -1;
            memset(ran, 0, sizeof ran);
            CHECK_EQ(weft_graph_run(&graph), 0); /* and again, whole */
            for (int i = 0; i < n; i++) CHECK_EQ(ran[i], 1);
            CHECK_EQ(weft_graph_clear(&graph), 0);
        }
}
TEST_WITHIN(graphs_run_in_order_again_and_again, 60) { each_size(graphs); }
TEST_WITHIN(graphs_oversubscribed, 60) { test_in_fiber(16, graphs, NULL); }
TEST(graphs_from_a_thread) {
    test_start(2);
    graphs(NULL);
    test_stop();
}

static void chains(void *unused) { /* long, deep and wide */
    (void)unused;
    ends_at = -1;
    memset(before_count, 0, sizeof before_count);
    memset(ran, 0, sizeof ran);
    for (int i = 0; i < NODES; i++) {
        CHECK_EQ(weft_graph_node(&graph, visit, (void *)(intptr_t)i), i);
        if (i) CHECK_EQ(weft_graph_edge(&graph, i % 2 ? i - 1 : i / 2, i), 0);
    }
    CHECK_EQ(weft_graph_run(&graph), 0);
    for (int i = 0; i < NODES; i++) CHECK_EQ(ran[i], 1);
    CHECK_EQ(weft_graph_clear(&graph), 0);
}
TEST(graphs_that_are_chains) { each_size(chains); }

static int busy_with(void *of) {
    return weft_graph_node(of, visit, NULL) == -EBUSY && weft_graph_run(of) == -EBUSY &&
                   weft_graph_clear(of) == -EBUSY && weft_graph_edge(of, 0, 1) == -EBUSY
               ? 0
               : -EPROTO;
}
static void circles(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) CHECK_EQ(weft_graph_node(&graph, busy_with, &graph), i);
    CHECK_EQ(weft_graph_edge(&graph, 0, 1), 0);
    CHECK_EQ(weft_graph_edge(&graph, 0, 1), 0); /* twice */
    CHECK_EQ(weft_graph_run(&graph), 0);
    CHECK_EQ(weft_graph_edge(&graph, 1, 2), 0);
    CHECK_EQ(weft_graph_edge(&graph, 2, 1), 0);
    CHECK_EQ(weft_graph_run(&graph), -ELOOP);
    CHECK_EQ(weft_graph_run(&graph), -ELOOP);
    CHECK_EQ(weft_graph_edge(&graph, 0, 0), -EINVAL);
    CHECK_EQ(weft_graph_edge(&graph, 0, 3), -EINVAL);
    CHECK_EQ(weft_graph_clear(&graph), 0);
    CHECK_EQ(weft_graph_edge(&graph, 0, 1), -EINVAL);
}
TEST(graphs_with_circles) { each_size(circles); }

/* --- values for each worker ------------------------------------------------------------------------------ */

static struct weft_combinable counts = WEFT_COMBINABLE_INIT(sizeof(uint64_t) * 3, NULL);
static int count(size_t begin, size_t end, void *unused) {
    (void)unused;
    uint64_t *mine = weft_combinable_take(&counts);
    CHECK(mine);
    CHECK((uintptr_t)mine % 16 == 0);
    CHECK_EQ(mine[1]++, 0); /* no other fiber has it */
    for (size_t i = begin; i < end; i++) {
        mine[0] += i;
        if (i % 100 == 0) weft_yield();
    }
    mine[2] += mine[1]--;
    CHECK_EQ(weft_combinable_put(&counts, mine), 0);
    return 0;
}
static int values;
static void add(void *left, const void *right, void *unused) {
    (void)unused;
    values++;
    *(uint64_t *)left += *(const uint64_t *)right;
}
static void combines(void *unused) {
    (void)unused;
    uint64_t sum = 0, n = 20000;
    values = 0;
    CHECK_EQ(weft_combinable_each(&counts, &sum, add, NULL), 0);
    CHECK_EQ(values, 0);
    CHECK_EQ(weft_for(0, n, count, NULL, &(struct weft_for_options){.partition = WEFT_FOR_GRAIN, .grain = 64}), 0);
    CHECK_EQ(weft_combinable_each(&counts, &sum, add, NULL), 0);
    CHECK_EQ(sum, n * (n - 1) / 2);
    CHECK(values >= 1);
    void *taken = weft_combinable_take(&counts);
    CHECK_EQ(weft_combinable_each(&counts, &sum, add, NULL), -EBUSY);
    CHECK_EQ(weft_combinable_clear(&counts), -EBUSY);
    CHECK_EQ(weft_combinable_put(&counts, taken), 0);
    CHECK_EQ(weft_combinable_clear(&counts), 0);
    CHECK_EQ(weft_combinable_clear(&counts), 0);
}
TEST(values_for_each_worker) { each_size(combines); }
TEST(values_from_threads) {
    static const char identity[100] = "identity";
    struct weft_combinable c = WEFT_COMBINABLE_INIT(sizeof identity, identity);
    char *a = weft_combinable_take(&c), *b = weft_combinable_take(&c);
    CHECK(a && b && a != b);
    CHECK(!memcmp(a, "identity", 9));
    CHECK_EQ(weft_combinable_put(&c, a), 0);
    CHECK_EQ(weft_combinable_put(&c, b), 0);
    char *again = weft_combinable_take(&c);
    CHECK(again == a || again == b); /* no more than were used at the same time */
    CHECK_EQ(weft_combinable_put(&c, again), 0);
    CHECK_EQ(weft_combinable_clear(&c), 0);
}
