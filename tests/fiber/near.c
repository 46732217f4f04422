/* SPDX-License-Identifier: MIT */
/*
 * Workers and CPUs: fibers that name a memory node, workers that are bound to CPUs, clusters a node.
 *
 * This machine may have only one node. So most tests describe one (WEFT_TOPOLOGY) in which the lower
 * half of the CPU numbers is one node and the upper half another. The affinity mask of its carrier shows where a fiber
 * runs. Stealing is off, so that the promises about first workers and pins hold however busy the machine is.
 */
#define _GNU_SOURCE
#include "fiber.h"
#include "weft/io.h"

#include "topo/topology.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- the machine -------------------------------------------------------------------------------------- */

static cpu_set_t usable;
static unsigned cpus;

static void look_at_the_machine(void) {
    CHECK(!sched_getaffinity(0, sizeof usable, &usable));
    cpus = (unsigned)CPU_COUNT(&usable);
}
static unsigned nth_cpu(unsigned n) {
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &usable) && n-- == 0) return cpu;
    test_fail(__FILE__, __LINE__, "no such CPU");
}

static unsigned nodes_of(void) { return weft__topology()->nodes; }
static unsigned node_of(unsigned cpu) { return weft__topology_locate(weft__topology(), cpu)->node; }

/* Describes a machine with this many nodes of this many CPUs each. */
static void describe(unsigned nodes, unsigned each) {
    char text[64];
    snprintf(text, sizeof text, "package:%u numa:1 core:%u pu:1", nodes, each);
    setenv("WEFT_TOPOLOGY", text, 1);
    CHECK_EQ(nodes_of(), nodes);
}
static void two_nodes(void) {
    look_at_the_machine();
    if (cpus < 2) test_skip("one CPU");
    unsigned last = nth_cpu(cpus - 1);
    describe(2, (last + 2) / 2);
    if (node_of(nth_cpu(0)) == node_of(last)) test_skip("these CPUs do not make two halves");
}

static void start(unsigned workers, unsigned bind) {
    struct weft_config config = {.workers = workers, .bind = bind, .no_stealing = 1};
    CHECK_EQ(weft_start(&config), 0);
}

static cpu_set_t mask_here(void) {
    cpu_set_t set;
    CHECK(!sched_getaffinity(0, sizeof set, &set));
    return set;
}
static unsigned first_of(const cpu_set_t *set) {
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, set)) return cpu;
    test_fail(__FILE__, __LINE__, "an empty mask");
}

/* Test builds that move every fiber do so from the first moment on. */
#ifdef WEFT_MIGRATE
#define NEEDS_ITS_PLACE() test_skip("fibers are forced to move")
#else
#define NEEDS_ITS_PLACE() ((void)0)
#endif

/* --- bound workers -------------------------------------------------------------------------------------- */

static void *stays_on_one(void *cpu) {
    for (int i = 0; i < 20; i++) {
        cpu_set_t set = mask_here();
        CHECK_EQ(CPU_COUNT(&set), 1);
        CHECK_EQ(first_of(&set), (uintptr_t)cpu);
        CHECK_EQ(sched_getcpu(), (uintptr_t)cpu);
        if (i % 2)
            weft_yield();
        else
            CHECK_EQ(weft_sleep_for(100 * WEFT_MICROSECOND), 0);
    }
    return NULL;
}
static void check_bound(unsigned workers) {
    struct weft_fiber f[16];
    for (unsigned i = 0; i < workers; i++) {
        struct weft_attr attr = {.pinned = i + 1};
        f[i] = spawn_with(&attr, stays_on_one, (void *)(uintptr_t)nth_cpu(i % cpus));
    }
    for (unsigned i = 0; i < workers; i++) join(f[i]);
}
TEST(bound_workers_stay_on_their_cpus) {
    look_at_the_machine();
    for (unsigned workers = 1; workers <= 8; workers *= 2) {
        start(workers, 1);
        check_bound(workers);
        test_stop();
        cpu_set_t mine = mask_here();
        CHECK(CPU_EQUAL(&mine, &usable)); /* the program's own threads keep their masks */
    }
}
TEST(bound_by_the_environment) {
    look_at_the_machine();
    setenv("WEFT_BIND", "1", 1);
    start(3, 0);
    check_bound(3);
    test_stop();
}
TEST(workers_that_come_later_are_bound) {
    look_at_the_machine();
    start(1, 1);
    CHECK_EQ(weft_cluster_resize((struct weft_cluster){0}, 4), 0);
    check_bound(4);
    test_stop();
}
/* Threads that a fiber on a bound worker makes may run anywhere. */
static void *has_all_cpus(void *unused) {
    cpu_set_t mine = mask_here();
    CHECK(CPU_EQUAL(&mine, &usable));
    return unused;
}
static void *makes_others(void *unused) {
    struct weft_cluster c;
    cpu_set_t mine = mask_here();
    CHECK_EQ(CPU_COUNT(&mine), 1);
    CHECK_EQ(weft_cluster_create(&c, &(struct weft_config){.bind = 0}), 0);
    CHECK_EQ(weft_cluster_workers(c), weft_workers());
    join(spawn_with(&(struct weft_attr){.cluster = c}, has_all_cpus, NULL));
    CHECK_EQ(weft_cluster_resize(c, 0), 0);
    CHECK_EQ(weft_cluster_workers(c), weft_workers());
    CHECK_EQ(weft_cluster_destroy(c), 0);
    CHECK_EQ(weft_blocking(has_all_cpus, NULL, NULL), 0);
    return unused;
}
TEST(what_a_bound_fiber_makes_is_not_bound) {
    look_at_the_machine();
    unsetenv("WEFT_BIND");
    start(0, 1);
    join(spawn_with(&(struct weft_attr){.pinned = 1}, makes_others, NULL));
    test_stop();
}

/* Workers use only the CPUs that the process may use. */
TEST(bound_within_the_mask_of_the_process) {
    look_at_the_machine();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(nth_cpu(cpus - 1), &one);
    CHECK(!sched_setaffinity(0, sizeof one, &one));
    look_at_the_machine();
    CHECK_EQ(cpus, 1);
    start(3, 1);
    check_bound(3);
    test_stop();
}

static void *is_free(void *unused) {
    (void)unused;
    cpu_set_t set = mask_here();
    CHECK(CPU_EQUAL(&set, &usable));
    return NULL;
}
TEST(workers_are_not_bound_by_default) {
    look_at_the_machine();
    start(4, 0);
    for (unsigned i = 0; i < 4; i++) join(spawn_with(&(struct weft_attr){.pinned = i + 1}, is_free, NULL));
    test_stop();
}

/* --- fibers that name a node ---------------------------------------------------------------------------- */

static int begun;
static void *begins_on(void *node) {
    cpu_set_t set = mask_here();
    CHECK_EQ(CPU_COUNT(&set), 1);
    CHECK_EQ(node_of(first_of(&set)), (uintptr_t)node);
    ADD(&begun, 1);
    weft_yield();
    return NULL;
}
static void *idles(void *unused) {
    (void)unused;
    for (int i = 0; i < 5; i++) CHECK_EQ(weft_sleep_for(2 * WEFT_MILLISECOND), 0);
    return NULL;
}
/* A worker checks only now and then on which CPU it runs, and a new worker has not done so yet. */
static void let_them_look(unsigned workers) {
    struct weft_fiber f[16];
    for (unsigned i = 0; i < workers; i++) f[i] = spawn_with(&(struct weft_attr){.pinned = i + 1}, idles, NULL);
    for (unsigned i = 0; i < workers; i++) join(f[i]);
}
static void *names_nodes(void *priority) {
    enum { N = 40 };
    struct weft_fiber f[N];
    for (uintptr_t i = 0; i < N; i++) {
        struct weft_attr attr = {.node = 1 + i % 2, .priority = priority ? (unsigned)i % 3 : 0};
        f[i] = spawn_with(&attr, begins_on, (void *)(i % 2));
    }
    for (int i = 0; i < N; i++) join(f[i]);
    return NULL;
}
TEST(a_fiber_begins_on_the_node_that_it_names) {
    NEEDS_ITS_PLACE();
    two_nodes();
    unsigned sizes[] = {cpus, 8};
    for (int i = 0; i < 2; i++) {
        unsigned workers = sizes[i] > 16 ? 16 : sizes[i];
        STORE(&begun, 0);
        start(workers < cpus ? cpus : workers, 1);
        let_them_look(workers);
        names_nodes(NULL); /* from a thread */
        names_nodes(&begun);
        for (unsigned w = 0; w < workers; w++) { /* from fibers on either node */
            join(spawn_with(&(struct weft_attr){.pinned = w + 1}, names_nodes, NULL));
            join(spawn_with(&(struct weft_attr){.pinned = w + 1}, names_nodes, &begun));
        }
        CHECK_EQ(LOAD(&begun), 40 * (2 + 2 * (int)workers));
        test_stop();
    }
}

/* A pin takes precedence. */
static void *is_on_cpu(void *cpu) {
    cpu_set_t set = mask_here();
    CHECK_EQ(CPU_COUNT(&set), 1);
    CHECK_EQ(first_of(&set), (uintptr_t)cpu);
    return NULL;
}
static void *pins_elsewhere(void *unused) {
    (void)unused;
    for (unsigned worker = 0; worker < cpus && worker < 16; worker++)
        for (unsigned node = 1; node <= 2; node++) {
            struct weft_attr attr = {.pinned = worker + 1, .node = node};
            join(spawn_with(&attr, is_on_cpu, (void *)(uintptr_t)nth_cpu(worker)));
        }
    return NULL;
}
TEST(a_pin_is_stronger_than_a_node) {
    two_nodes();
    start(cpus, 1);
    let_them_look(cpus < 16 ? cpus : 16);
    pins_elsewhere(NULL);
    join(spawn_with(&(struct weft_attr){.pinned = 1}, pins_elsewhere, NULL));
    join(spawn_with(&(struct weft_attr){.pinned = cpus < 16 ? cpus : 16}, pins_elsewhere, NULL));
    test_stop();
}

static void *nothing(void *unused) { return unused; }
static void *names_too_many(void *unused) {
    struct weft_fiber f;
    unsigned wrong[] = {nodes_of() + 1, nodes_of() + 2, UINT32_MAX};
    for (int i = 0; i < 3; i++) {
        struct weft_attr attr = {.node = wrong[i]};
        CHECK_EQ(weft_spawn(&f, &attr, nothing, NULL), -EINVAL);
    }
    for (unsigned node = 1; node <= nodes_of(); node++)
        join(spawn_with(&(struct weft_attr){.node = node}, nothing, NULL));
    return unused;
}
TEST(a_node_that_is_not_there) {
    test_start(2);
    names_too_many(NULL);
    join(spawn(names_too_many, NULL));
    test_stop();
}
/* It begins anywhere. */
TEST(a_node_without_a_worker) {
    two_nodes();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(nth_cpu(0), &one);
    CHECK(!sched_setaffinity(0, sizeof one, &one));
    start(2, 1);
    names_too_many(NULL);
    join(spawn(names_too_many, NULL));
    test_stop();
}

/* With everything that may move fibers: each fiber runs exactly once, whichever node it named. */
static int counts[200];
static void *counts_one(void *count) {
    ADD((int *)count, 1);
    weft_yield();
    return count;
}
static void *spawns_many(void *seed) {
    uint64_t random = (uintptr_t)seed;
    struct weft_fiber f[200];
    for (int i = 0; i < 200; i++) {
        struct weft_attr attr = {.node = (unsigned)test_below(&random, 3),
                                 .priority = (unsigned)test_below(&random, 3)};
        f[i] = spawn_with(&attr, counts_one, &counts[i]);
        if (i % 16 == 0) weft_yield();
    }
    for (int i = 0; i < 200; i++) CHECK(join(f[i]) == &counts[i]);
    return NULL;
}
TEST_WITHIN(many_fibers_on_eight_workers, 60) {
    two_nodes();
    for (unsigned bind = 0; bind < 2; bind++) {
        struct weft_config config = {.workers = 8, .bind = bind};
        CHECK_EQ(weft_start(&config), 0);
        for (size_t round = 1; round <= test_size(20); round++) {
            struct weft_fiber f[4];
            for (int i = 0; i < 200; i++) counts[i] = 0;
            for (uintptr_t i = 0; i < 4; i++) f[i] = spawn(spawns_many, (void *)(round * 4 + i));
            spawns_many((void *)round);
            for (int i = 0; i < 4; i++) join(f[i]);
            for (int i = 0; i < 200; i++) CHECK_EQ(counts[i], 5);
        }
        test_stop();
    }
}

/* A spare may use every CPU. When it becomes a regular worker, it gets a CPU of its own. */
static int spare_runs, let_go;
static void *keeps_its_worker(void *unused) {
    while (!LOAD(&let_go)) {
    }
    return unused;
}
static void *runs_on_the_spare(void *unused) {
    cpu_set_t set = mask_here();
    CHECK(weft_worker() >= 1);
    CHECK_EQ(CPU_COUNT(&set), cpus);
    STORE(&spare_runs, 1);
    return unused;
}
static void *sees_it_bound(void *unused) {
    cpu_set_t set;
    while (set = mask_here(), CPU_COUNT(&set) > 1) weft_yield();
    CHECK_EQ(first_of(&set), nth_cpu(1));
    STORE(&let_go, 1);
    return unused;
}
TEST(a_spare_that_becomes_a_regular_worker_is_bound) {
    struct weft_config config = {.workers = 1, .bind = 1};
    NEEDS_ITS_PLACE();
    look_at_the_machine();
    if (cpus < 2) test_skip("one CPU");
    CHECK_EQ(weft_start(&config), 0);
    struct weft_fiber hog = spawn(keeps_its_worker, NULL), other = spawn(runs_on_the_spare, NULL);
    while (!LOAD(&spare_runs)) sched_yield();
    join(other);
    CHECK_EQ(weft_cluster_resize((struct weft_cluster){0}, 2), 0);
    join(spawn_with(&(struct weft_attr){.pinned = 2}, sees_it_bound, NULL));
    join(hog);
    test_stop();
}

/* --- a cluster a node ------------------------------------------------------------------------------------- */

/* The CPUs of the node of the fiber's cluster that the process may use. */
struct where {
    unsigned node, begun;
};
static void check_mask(unsigned node) {
    cpu_set_t set = mask_here();
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        CHECK_EQ(CPU_ISSET(cpu, &set) != 0, CPU_ISSET(cpu, &usable) && node_of(cpu) == node);
}
static void *runs_there(void *arg) {
    struct where *where = arg;
    ADD(&where->begun, 1);
    for (int i = 0; i < 5; i++) {
        check_mask(where->node);
        if (i % 2)
            weft_yield();
        else
            CHECK_EQ(weft_sleep_for(100 * WEFT_MICROSECOND), 0);
    }
    return NULL;
}
/* Keeps its worker until the other fiber has run. That fiber runs on a spare, which belongs to the same node. */
static void *waits_for_others(void *arg) {
    struct where *where = arg;
    struct weft_attr attr = {.cluster = weft_cluster_self()};
    unsigned before = LOAD(&where->begun);
    struct weft_fiber f[8];
    for (int i = 0; i < 8; i++) f[i] = spawn_with(&attr, runs_there, arg);
    while (LOAD(&where->begun) < before + 8) {
    }
    for (int i = 0; i < 8; i++) join(f[i]);
    return NULL;
}
static unsigned usable_on(unsigned node) {
    unsigned n = 0;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) n += CPU_ISSET(cpu, &usable) && node_of(cpu) == node;
    return n;
}
static unsigned usable_nodes(void) {
    unsigned n = 0;
    for (unsigned node = 0; node < nodes_of(); node++) n += usable_on(node) > 0;
    return n;
}

static struct weft_cluster clusters[16];
static void *uses_clusters(void *n) {
    struct weft_fiber f[20];
    unsigned made = *(unsigned *)n, node = 0;
    for (unsigned c = 0; c < made; c++, node++) {
        while (!usable_on(node)) node++;
        struct where where = {node, 0};
        struct weft_attr attr = {.cluster = clusters[c]};
        CHECK_EQ(weft_cluster_workers(clusters[c]), usable_on(node));
        for (int i = 0; i < 20; i++) f[i] = spawn_with(&attr, runs_there, &where);
        for (int i = 0; i < 20; i++) join(f[i]);
        join(spawn_with(&attr, waits_for_others, &where));
    }
    return NULL;
}
static void *makes_clusters(void *config) {
    unsigned n = usable_nodes();
    CHECK(n <= 16);
    CHECK_EQ(weft_cluster_per_node(clusters, 16, config), n);
    uses_clusters(&n);
    join(spawn(uses_clusters, &n));
    for (unsigned i = 0; i < n; i++) CHECK_EQ(weft_cluster_destroy(clusters[i]), 0);
    CHECK_EQ(weft_cluster_per_node(clusters, 1, config), 1); /* no more than asked for */
    n = 1;
    uses_clusters(&n);
    CHECK_EQ(weft_cluster_destroy(clusters[0]), 0);
    return NULL;
}
static void make_clusters(void) {
    struct weft_config config = {.unpark = WEFT_UNPARK_LAST, .stack_size = 65536};
    test_start(2);
    makes_clusters(NULL);
    makes_clusters(&config);
    join(spawn(makes_clusters, NULL));
    struct weft_fiber f = spawn(is_free, NULL); /* the first fiber goes anywhere */
    join(f);
    test_stop();
}
TEST_WITHIN(a_cluster_a_node_of_this_machine, 60) {
    look_at_the_machine();
    make_clusters();
}
TEST_WITHIN(a_cluster_a_node_of_two, 60) {
    two_nodes();
    make_clusters();
}
TEST_WITHIN(nodes_on_which_the_process_may_not_run_are_left_out, 60) {
    look_at_the_machine();
    describe(4, nth_cpu(cpus - 1) / 2 + 1);
    make_clusters();
}
TEST_WITHIN(nodes_outside_the_mask_are_left_out, 60) {
    two_nodes();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(nth_cpu(cpus - 1), &one);
    CHECK(!sched_setaffinity(0, sizeof one, &one));
    look_at_the_machine();
    CHECK_EQ(usable_nodes(), 1);
    make_clusters();
}

static void *bound_there(void *cpu) { return is_on_cpu(cpu); }
TEST(a_cluster_a_node_with_bound_workers) {
    struct weft_config config = {.bind = 1, .no_stealing = 1};
    two_nodes();
    test_start(1);
    CHECK_EQ(weft_cluster_per_node(clusters, 16, &config), 2);
    for (unsigned node = 0, n = 0; node < 2; node++)
        for (unsigned worker = 0; worker < usable_on(node); worker++, n++) {
            struct weft_attr attr = {.cluster = clusters[node], .pinned = worker + 1};
            join(spawn_with(&attr, bound_there, (void *)(uintptr_t)nth_cpu(n)));
        }
    test_stop();
}

TEST(errors_of_a_cluster_a_node) {
    struct weft_config bad = {.stack_size = (64 << 20) + 1};
    CHECK_EQ(weft_cluster_per_node(clusters, 1, NULL), -ESRCH);
    test_start(1);
    CHECK_EQ(weft_cluster_per_node(NULL, 1, NULL), -EINVAL);
    CHECK_EQ(weft_cluster_per_node(clusters, 0, NULL), -EINVAL);
    CHECK_EQ(weft_cluster_per_node(clusters, 1, &bad), -EINVAL);
    test_stop();
    CHECK_EQ(weft_cluster_per_node(clusters, 1, NULL), -ESRCH);
}

/* If there is no room for all clusters, none is left. */
TEST_WITHIN(all_or_none, 60) {
    struct weft_config small = {.workers = 1};
    struct weft_cluster others[64];
    unsigned n = 0;
    two_nodes();
    test_start(1);
    while (!weft_cluster_create(&others[n], &small)) n++;
    CHECK_EQ(weft_cluster_per_node(clusters, 2, NULL), -ENOMEM);
    CHECK_EQ(weft_cluster_destroy(others[--n]), 0);
    CHECK_EQ(weft_cluster_per_node(clusters, 2, NULL), -ENOMEM); /* room for one */
    CHECK_EQ(weft_cluster_create(&others[n], &small), 0);        /* still exists */
    n++;
    for (int i = 0; i < 2; i++) CHECK_EQ(weft_cluster_destroy(others[--n]), 0);
    CHECK_EQ(weft_cluster_per_node(clusters, 2, NULL), 2);
    test_stop();
}

TEST(a_description_that_cannot_be_read_is_ignored) {
    setenv("WEFT_TOPOLOGY", "no such thing", 1);
    look_at_the_machine();
    make_clusters();
}
