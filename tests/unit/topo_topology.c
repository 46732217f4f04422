/* The topology: this machine's, and made-up ones. */
#define _GNU_SOURCE
#include "../test.h"

#include "base/sys.h"
#include "topo/topology.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static struct weft__topology *load(const char *description) {
    struct weft__topology *t = weft__topology_load(description);
    if (!t && !weft__topology_load(NULL)) test_skip("built without hwloc");
    CHECK(t);
    return t;
}

static void check_numbers(const struct weft__topology *t, unsigned cpus, unsigned cores, unsigned caches,
                          unsigned nodes) {
    CHECK_EQ(t->cpus, cpus);
    CHECK_EQ(t->cores, cores);
    CHECK_EQ(t->caches, caches);
    CHECK_EQ(t->nodes, nodes);
    for (unsigned i = 0; i < cpus; i++) {
        CHECK(t->place[i].core < cores);
        CHECK(t->place[i].cache < caches);
        CHECK(t->place[i].node < nodes);
    }
}

TEST(two_packages_of_many_caches) {
    struct weft__topology *t = load("package:2 numa:1 l3:8 core:8 pu:1");
    check_numbers(t, 128, 128, 16, 2);
    for (unsigned i = 0; i < 128; i++) {
        CHECK_EQ(t->place[i].core, i);
        CHECK_EQ(t->place[i].cache, i / 8);
        CHECK_EQ(t->place[i].node, i / 64);
    }
    CHECK_EQ(weft__distance(t, 5, 5), WEFT_NEAR_CORE);
    CHECK_EQ(weft__distance(t, 0, 7), WEFT_NEAR_CACHE);
    CHECK_EQ(weft__distance(t, 0, 8), WEFT_NEAR_NODE);
    CHECK_EQ(weft__distance(t, 63, 64), WEFT_FAR);
    weft__free(t);
}

TEST(threads_of_a_core) {
    struct weft__topology *t = load("package:1 l3:2 core:4 pu:2");
    check_numbers(t, 16, 8, 2, 1);
    CHECK_EQ(weft__distance(t, 0, 1), WEFT_NEAR_CORE);
    CHECK_EQ(weft__distance(t, 1, 2), WEFT_NEAR_CACHE);
    CHECK_EQ(weft__distance(t, 7, 8), WEFT_NEAR_NODE);
    weft__free(t);
}

TEST(numbers_as_kernels_give_them) { /* the second threads come after all the first ones */
    struct weft__topology *t = load("package:1 l3:1 core:4 pu:2(indexes=0,4,1,5,2,6,3,7)");
    check_numbers(t, 8, 4, 1, 1);
    for (unsigned i = 0; i < 4; i++) CHECK_EQ(weft__distance(t, i, i + 4), WEFT_NEAR_CORE);
    CHECK_EQ(weft__distance(t, 0, 1), WEFT_NEAR_CACHE);
    weft__free(t);
}

TEST(without_a_third_level) {
    struct weft__topology *shared = load("package:2 l2:2 core:4 pu:1"); /* the second is shared */
    check_numbers(shared, 16, 16, 4, 1);
    struct weft__topology *alone = load("package:2 core:4 l2:1 l1:1 pu:2"); /* it is not: the package */
    check_numbers(alone, 16, 8, 2, 1);
    struct weft__topology *above = load("package:2 l2:1 core:1 pu:2"); /* nor is this, whatever the tree says */
    check_numbers(above, 4, 2, 2, 1);
    struct weft__topology *none = load("core:4 pu:1"); /* nothing at all: the machine */
    check_numbers(none, 4, 4, 1, 1);
    struct weft__topology *bare = load("pu:3");
    check_numbers(bare, 3, 3, 1, 1);
    weft__free(shared);
    weft__free(alone);
    weft__free(above);
    weft__free(none);
    weft__free(bare);
}

TEST(a_cache_may_span_nodes) {
    struct weft__topology *t = load("package:1 l3:1 numa:2 core:2 pu:1");
    check_numbers(t, 4, 4, 1, 2);
    CHECK_EQ(weft__distance(t, 0, 3), WEFT_NEAR_CACHE);
    weft__free(t);
}

TEST(unknown_cpus_have_a_place) {
    struct weft__topology *t = load("package:2 numa:1 core:2 pu:1(indexes=0,1,6,7)");
    check_numbers(t, 8, 4, 2, 2);
    for (unsigned i = 2; i < 6; i++) CHECK_EQ(weft__distance(t, 1, i), WEFT_NEAR_CORE);
    CHECK_EQ(weft__distance(t, 8, 0), WEFT_NEAR_CORE);
    for (unsigned i = 0; i < 5000; i += 7) CHECK(weft__distance(t, i, 3 * i) < WEFT_DISTANCES);
    CHECK(weft__distance(t, UINT32_MAX, 0) < WEFT_DISTANCES);
    weft__free(t);
}

TEST(distance_has_no_direction) {
    struct weft__topology *t = load("package:2 numa:1 l3:2 core:2 pu:2");
    for (unsigned a = 0; a < t->cpus; a++)
        for (unsigned b = 0; b < t->cpus; b++) CHECK_EQ(weft__distance(t, a, b), weft__distance(t, b, a));
    weft__free(t);
}

TEST(nonsense_is_no_topology) {
    CHECK(!weft__topology_load("nonsense"));
    CHECK(!weft__topology_load("core:0"));
    CHECK(!weft__topology_load("package:-1 core:x"));
}

/* --- this machine -------------------------------------------------------------------------------- */

TEST(this_machine_is_read_once) {
    cpu_set_t before, after;
    CHECK(!sched_getaffinity(0, sizeof before, &before));
    const struct weft__topology *t = weft__topology();
    CHECK(t);
    CHECK(t == weft__topology());
    CHECK(!sched_getaffinity(0, sizeof after, &after));
    CHECK(CPU_EQUAL(&before, &after));
    CHECK(t->cpus >= (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    check_numbers(t, t->cpus, t->cores, t->caches, t->nodes);
    CHECK(t->nodes >= 1 && t->caches >= 1 && t->cores >= t->caches);
    CHECK(sched_getcpu() < (int)t->cpus);
}

static void with_variable(void *arg) {
    setenv("WEFT_TOPOLOGY", arg, 1);
    exit((int)weft__topology()->caches);
}

TEST(the_environment_may_describe_another) {
    static struct test_child child;
    weft__free(load("pu:1"));
    test_child(&child, with_variable, "package:2 numa:1 l3:3 core:2 pu:2");
    CHECK(test_child_exited(&child, 6));
}

TEST(a_variable_that_makes_no_sense_is_said_and_ignored) {
    static struct test_child child;
    test_child(&child, with_variable, "nonsense");
    CHECK(test_child_exited(&child, (int)weft__topology()->caches));
    CHECK_EQ(test_lines_with(child.said, "WEFT_TOPOLOGY=nonsense is ignored"), 1);
}

#ifdef WEFT_FAULTS
TEST(without_memory_it_is_flat) {
    for (long nth = 1; nth <= 3; nth++) {
        weft__fault_countdown = nth;
        CHECK(!weft__topology_load("pu:2") || weft__fault_countdown > 0);
    }
    weft__fault_countdown = 1;
    const struct weft__topology *t = weft__topology();
    check_numbers(t, 1024, 1024, 1, 1);
    CHECK_EQ(weft__distance(t, 3, 3), WEFT_NEAR_CORE);
    CHECK_EQ(weft__distance(t, 3, 1000), WEFT_NEAR_CACHE);
}
#endif
