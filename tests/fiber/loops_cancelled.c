/* SPDX-License-Identifier: MIT */
/*
 * Loops and algorithms with a cancelled caller: nothing more begins, running pieces are cancelled, whichever fiber runs
 * them, and the call returns an error. It returns 0 only if everything has run.
 */
#define _GNU_SOURCE
#include "fiber.h"

#include <string.h>

#define LONG (3600 * WEFT_SECOND)

static int began; /* bodies, folds, nodes, items */
static void (*what)(void);

static int body(void) {
    ADD(&began, 1);
    what();
    return 0;
}

/* --- the ways ----------------------------------------------------------------------------------------------- */

/* Each body that waits may need a stack, and ThreadSanitizer knows no more than 8128 of them. */
enum { MANY = TEST_TSAN ? 4000 : 20000, NODES = 2000 };

static int of_loop(size_t begin, size_t end, void *arg) {
    (void)begin, (void)end, (void)arg;
    return body();
}
static int fold(size_t begin, size_t end, void *value, void *arg) {
    *(size_t *)value += end - begin;
    return of_loop(begin, end, arg);
}
static void add(void *left, const void *right, void *arg) {
    (void)arg;
    *(size_t *)left += *(const size_t *)right;
}
static void add_and_count(void *left, const void *right, void *arg) {
    add(left, right, arg);
    body();
}
static int of_graph(void *arg) {
    (void)arg;
    return body();
}
static int make_item(void **item, void *made) {
    *item = NULL;
    body();
    return ++*(int *)made == MANY ? WEFT_PIPELINE_END : 0;
}
static int pass_on(void **item, void *arg) { return (void)item, (void)arg, 0; }
static void of_branch(void *arg) {
    (void)arg;
    body();
}

static int loop_by(unsigned partition, unsigned spread, struct weft_affinity *affinity) {
    struct weft_for_options options = {.partition = partition, .grain = 1, .spread = spread, .affinity = affinity};
    options.budget = 1;
    return weft_for(0, MANY, of_loop, NULL, &options);
}
static int by_morsel(void) { return loop_by(WEFT_FOR_MORSEL, WEFT_SPREAD_NONE, NULL); }
static int by_lazy(void) { return loop_by(WEFT_FOR_LAZY, WEFT_SPREAD_NONE, NULL); }
static int by_static(void) { return loop_by(WEFT_FOR_STATIC, WEFT_SPREAD_NONE, NULL); }
static int by_grain(void) { return loop_by(WEFT_FOR_GRAIN, WEFT_SPREAD_NONE, NULL); }
static int by_even_mail(void) { return loop_by(WEFT_FOR_GRAIN, WEFT_SPREAD_EVEN, NULL); }
static int by_uneven_mail(void) { return loop_by(WEFT_FOR_STATIC, WEFT_SPREAD_UNEVEN, NULL); }
static int by_affinity(void) {
    struct weft_affinity affinity = WEFT_AFFINITY_INIT;
    return loop_by(WEFT_FOR_MORSEL, WEFT_SPREAD_NONE, &affinity);
}
static int by_reduction(void) {
    struct weft_for_options options = {.partition = WEFT_FOR_GRAIN, .grain = 1};
    size_t value = 0, zero = 0;
    struct weft_reduction how = {sizeof value, &zero, fold, add};
    int err = weft_reduce(0, MANY, &value, &how, NULL, &options);
    if (!err) CHECK_EQ(value, MANY);
    return err;
}
static int by_scan(void) {
    struct weft_for_options options = {.grain = 2};
    size_t value = 0, zero = 0;
    struct weft_prefix how = {{sizeof value, &zero, fold, add}, fold};
    int err = weft_scan(0, MANY, &value, &how, NULL, &options);
    if (!err) CHECK_EQ(value, MANY);
    return err;
}
static int by_array(void) {
    static size_t v[MANY];
    size_t zero = 0;
    return weft_scan_inclusive(v, v, MANY, sizeof *v, &zero, add_and_count, NULL);
}
static int by_invoke(void) {
    static struct weft_branch branches[MANY];
    for (int i = 0; i < MANY; i++) branches[i] = (struct weft_branch){of_branch, NULL};
    return weft_invoke(branches, MANY);
}
/* Every node but the first few comes after others; the graph can be run again, whatever the run returned. */
static int by_graph(void) {
    struct weft_graph graph = WEFT_GRAPH_INIT;
    for (int i = 0; i < NODES; i++) {
        CHECK_EQ(weft_graph_node(&graph, of_graph, NULL), i);
        if (i >= 10) CHECK_EQ(weft_graph_edge(&graph, i / 2, i), 0);
    }
    int err = weft_graph_run(&graph), again = weft_graph_run(&graph);
    if (err) CHECK_EQ(again, err);
    CHECK_EQ(weft_graph_clear(&graph), 0);
    return err;
}
static int by_pipeline(void) {
    int made = 0;
    struct weft_stage stages[] = {{WEFT_STAGE_IN_ORDER, make_item, &made},
                                  {WEFT_STAGE_PARALLEL, pass_on, NULL},
                                  {WEFT_STAGE_IN_ORDER, pass_on, NULL}};
    return weft_pipeline(stages, 3, 50);
}

static const struct way {
    const char *name;
    int (*run)(void);
} ways[] = {{"morsel", by_morsel},     {"lazy", by_lazy},           {"static", by_static},
            {"grain", by_grain},       {"even mail", by_even_mail}, {"uneven mail", by_uneven_mail},
            {"affinity", by_affinity}, {"reduction", by_reduction}, {"scan", by_scan},
            {"array", by_array},       {"invoke", by_invoke},       {"graph", by_graph},
            {"pipeline", by_pipeline}};
enum { WAYS = sizeof ways / sizeof *ways };

static struct weft_fiber caller;
static int result;
static void *run_way(void *way) {
    caller = weft_self();
    result = ((const struct way *)way)->run();
    return NULL;
}

/* Runs in a separate fiber, because a cancelled fiber cannot be used again. */
static int run_in_new_fiber(const struct way *way, void (*todo)(void)) {
    what = todo;
    STORE(&began, 0);
    join(spawn(run_way, (void *)(uintptr_t)way));
    return result;
}

/* --- cancelled before -------------------------------------------------------------------------------------------- */

static void nothing(void) {}
static void *run_cancelled(void *way) {
    CHECK_EQ(weft_cancel(weft_self()), 0);
    result = ((const struct way *)way)->run();
    CHECK_EQ(LOAD(&began), 0);
    CHECK_EQ(weft_for(7, 7, of_loop, NULL, NULL), 0); /* the range was empty, so everything has run */
    return NULL;
}
static void cancelled_before(void *unused) {
    (void)unused;
    what = nothing;
    for (unsigned i = 0; i < WAYS; i++) {
        STORE(&began, 0);
        join(spawn(run_cancelled, (void *)(uintptr_t)&ways[i]));
        CHECK_EQ(result, -ECANCELED);
    }
}
TEST(nothing_is_begun_when_cancelled_before) { each_size(cancelled_before); }

static void late_before(void *unused) {
    (void)unused;
    what = nothing;
    for (unsigned i = 0; i < WAYS; i++) {
        struct weft_scope scope;
        STORE(&began, 0);
        CHECK_EQ(weft_scope_begin(&scope, weft_now()), 0);
        CHECK_EQ(ways[i].run(), -ETIMEDOUT);
        CHECK_EQ(LOAD(&began), 0);
        CHECK_EQ(weft_scope_end(&scope), -ETIMEDOUT);
    }
}
TEST(nothing_is_begun_when_the_time_is_up) { each_size(late_before); }
TEST(nothing_begins_after_the_deadline_of_a_thread) {
    test_start(2);
    late_before(NULL);
    test_stop();
}

/* --- cancelled by a body ---------------------------------------------------------------------- */

enum { ENOUGH = 10 };
static int asks;         /* a body makes the request */
static int began_before; /* the cancellation was requested */
/* One body requests it. A second request may return while the first is still being passed to the calls. */
static void cancel_when_enough(void) {
    int none = 0;
    if (LOAD(&began) < ENOUGH || LOAD(&asks)) return;
    if (!__atomic_compare_exchange_n(&asks, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
    CHECK_EQ(weft_cancel(caller), 0);
    STORE(&began_before, LOAD(&began));
}
/* Each worker may have been about to begin one more. A scan of an array calls the operation many times in each block.
 * */
static void cancelled_in_the_middle(void *workers) {
    for (unsigned i = 0; i < WAYS; i++) {
        if (ways[i].run == by_array) continue;
        STORE(&asks, 0);
        CHECK_EQ(run_in_new_fiber(&ways[i], cancel_when_enough), -ECANCELED);
        int more = LOAD(&began) - LOAD(&began_before);
        if (more < 0 || more > *(int *)workers)
            test_fail(__FILE__, __LINE__, "%s: %d were begun after the request", ways[i].name, more);
    }
}
TEST(nothing_more_is_begun) {
    no_rescue();
    for (int workers = 1; workers <= 4; workers *= 2)
        test_in_fiber((unsigned)workers, cancelled_in_the_middle, &workers);
}

/* --- cancelled from outside ------------------------------------------------------------------- */

static int untold;
static void wait_long(void) {
    if (weft_sleep_for(LONG) != -ECANCELED || weft_cancelled() != WEFT_BY_REQUEST) ADD(&untold, 1);
}
static void *cancel_when_some_wait(void *unused) {
    await_yielding(&began, 1);
    for (int i = 0; i < 10; i++) weft_yield(); /* usually until several wait */
    CHECK_EQ(weft_cancel(caller), 0);
    return unused;
}
static void cancelled_from_outside(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < WAYS; i++) {
        STORE(&untold, 0);
        STORE(&began, 0);
        struct weft_fiber other = spawn(cancel_when_some_wait, NULL);
        int err = run_in_new_fiber(&ways[i], wait_long);
        CHECK(err == -ECANCELED || (err == 0 && LOAD(&began) >= NODES)); /* all may have begun before */
        CHECK_EQ(LOAD(&untold), 0);
        join(other);
    }
}
TEST_WITHIN(waits_of_bodies_end, 60) { each_size(cancelled_from_outside); }

/* --- shields ---------------------------------------------------------------------------------- */

static void expect_not_cancelled(void) {
    if (LOAD(&began) % 1000 == 0) CHECK_EQ(weft_sleep_for(1000), 0);
    CHECK_EQ(weft_cancelled(), 0);
}
static void *run_shielded(void *unused) {
    struct weft_shield shield;
    CHECK_EQ(weft_cancel(weft_self()), 0);
    CHECK_EQ(weft_shield_begin(&shield), 0);
    what = expect_not_cancelled;
    for (unsigned i = 0; i < WAYS; i++) CHECK_EQ(ways[i].run(), 0);
    CHECK_EQ(weft_shield_end(&shield), 0);
    return unused;
}
static void shielded(void *unused) {
    (void)unused;
    join(spawn(run_shielded, NULL));
}
TEST_WITHIN(a_shield_keeps_it_off, 60) { each_size(shielded); }

/* --- loops in loops --------------------------------------------------------------------------- */

enum { OUTER = 20, INNER = 200 };
static int wrong_result;
static int inner_loop(size_t begin, size_t end, void *arg) {
    (void)begin, (void)end, (void)arg;
    ADD(&began, 1);
    CHECK_EQ(weft_sleep_for(LONG), -ECANCELED);
    return 0;
}
static int outer_loop(size_t begin, size_t end, void *arg) {
    (void)begin, (void)end;
    struct weft_for_options options = {.partition = WEFT_FOR_GRAIN};
    int err = weft_for(0, INNER, inner_loop, arg, &options);
    if (err != -ECANCELED && (err || LOAD(&began) < INNER)) STORE(&wrong_result, 1);
    return 0;
}
static int by_nested(void) {
    struct weft_for_options options = {.partition = WEFT_FOR_GRAIN};
    return weft_for(0, OUTER, outer_loop, NULL, &options);
}
static void nested(void *unused) {
    (void)unused;
    STORE(&began, 0);
    struct weft_fiber other = spawn(cancel_when_some_wait, NULL);
    int err = run_in_new_fiber(&(struct way){"nested", by_nested}, nothing);
    CHECK(err == -ECANCELED || err == 0);
    CHECK(!LOAD(&wrong_result));
    join(other);
}
TEST(loops_in_loops) { each_size(nested); }

/* --- sorts: unordered, but complete ----------------------------------------------------------- */

static int compared, cancel_at;
static bool is_less(const void *a, const void *b) {
    int x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (ADD(&compared, 1) == cancel_at) CHECK_EQ(weft_cancel(caller), 0);
    return x < y;
}
static int compare(const void *a, const void *b, void *unused) {
    (void)unused;
    return is_less(a, b) ? -1 : is_less(b, a);
}
#define WEFT_SORT_NAME sort_ints
#define WEFT_SORT_TYPE int
#define WEFT_SORT_LESS(a, b, arg) is_less(a, b)
#include <weft/sort.h>

struct sorted {
    unsigned char *v;
    size_t n, size; /* size 0: by weft/sort.h */
};
static void *sort_it(void *p) {
    struct sorted *s = p;
    caller = weft_self();
    if (!cancel_at) CHECK_EQ(weft_cancel(caller), 0);
    result = s->size ? weft_sort(s->v, s->n, s->size, compare, NULL) : sort_ints((int *)(void *)s->v, s->n, NULL);
    return NULL;
}

static int by_key(const void *a, const void *b) {
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static void sort_cancelled(size_t size, int at, uint64_t *random) {
    size_t n = 20000, each = size ? size : sizeof(int);
    struct sorted s = {malloc(n * each), n, size};
    int *keys = malloc(n * sizeof *keys), key;
    for (size_t i = 0; i < n; i++) {
        key = keys[i] = (int)test_random(random);
        memset(s.v + i * each, key & 0xff, each);
        memcpy(s.v + i * each, &key, sizeof key);
    }
    STORE(&compared, 0);
    cancel_at = at;
    join(spawn(sort_it, &s));
    CHECK(result == 0 || result == -ECANCELED);
    if (!at) CHECK_EQ(result, -ECANCELED);
    if (at == 1) CHECK_EQ(result, -ECANCELED);
    qsort(keys, n, sizeof *keys, by_key);
    int *after = malloc(n * sizeof *after);
    for (size_t i = 0; i < n; i++) {
        memcpy(&after[i], s.v + i * each, sizeof *after);
        for (size_t k = sizeof(int); k < each; k++) CHECK_EQ(s.v[i * each + k], after[i] & 0xff);
    }
    if (result) qsort(after, n, sizeof *after, by_key);
    CHECK(!memcmp(after, keys, n * sizeof *keys));
    free(after);
    free(keys);
    free(s.v);
}
static void sorts(void *unused) {
    (void)unused;
    static const size_t sizes[] = {0, 4, 8, 16, 24};
    uint64_t random = 1;
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        sort_cancelled(sizes[s], 0, &random);
        sort_cancelled(sizes[s], 1, &random);
        for (size_t i = test_size(10); i > 0; i--)
            sort_cancelled(sizes[s], 1 + (int)test_below(&random, 300000), &random);
    }
}
TEST_WITHIN(a_cancelled_sort_keeps_all_elements, 60) { each_size(sorts); }
