/* SPDX-License-Identifier: MIT */
/* The topology of this machine, and of described machines. */
#define _GNU_SOURCE
#include "../scratch.h"
#include "../test.h"

#include "base/sys.h"
#include "topo/topology.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct weft__topology *load(const char *description) {
    struct weft__topology *t = weft__topology_described(description);
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
        CHECK(t->location[i].core < cores);
        CHECK(t->location[i].cache < caches);
        CHECK(t->location[i].node < nodes);
    }
}

TEST(two_packages_of_many_caches) {
    struct weft__topology *t = load("package:2 numa:1 l3:8 core:8 pu:1");
    check_numbers(t, 128, 128, 16, 2);
    for (unsigned i = 0; i < 128; i++) {
        CHECK_EQ(t->location[i].core, i);
        CHECK_EQ(t->location[i].cache, i / 8);
        CHECK_EQ(t->location[i].node, i / 64);
    }
    CHECK_EQ(weft__topology_distance(t, 5, 5), WEFT_NEAR_CORE);
    CHECK_EQ(weft__topology_distance(t, 0, 7), WEFT_NEAR_CACHE);
    CHECK_EQ(weft__topology_distance(t, 0, 8), WEFT_NEAR_NODE);
    CHECK_EQ(weft__topology_distance(t, 63, 64), WEFT_FAR);
    weft__free(t);
}

TEST(threads_of_a_core) {
    struct weft__topology *t = load("package:1 l3:2 core:4 pu:2");
    check_numbers(t, 16, 8, 2, 1);
    CHECK_EQ(weft__topology_distance(t, 0, 1), WEFT_NEAR_CORE);
    CHECK_EQ(weft__topology_distance(t, 1, 2), WEFT_NEAR_CACHE);
    CHECK_EQ(weft__topology_distance(t, 7, 8), WEFT_NEAR_NODE);
    weft__free(t);
}

TEST(numbers_as_kernels_give_them) { /* the second threads come after all the first threads */
    struct weft__topology *t = load("package:1 l3:1 core:4 pu:2(indexes=0,4,1,5,2,6,3,7)");
    check_numbers(t, 8, 4, 1, 1);
    for (unsigned i = 0; i < 4; i++) CHECK_EQ(weft__topology_distance(t, i, i + 4), WEFT_NEAR_CORE);
    CHECK_EQ(weft__topology_distance(t, 0, 1), WEFT_NEAR_CACHE);
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
    CHECK_EQ(weft__topology_distance(t, 0, 3), WEFT_NEAR_CACHE);
    weft__free(t);
}

TEST(unknown_cpus_have_a_place) {
    struct weft__topology *t = load("package:2 numa:1 core:2 pu:1(indexes=0,1,6,7)");
    check_numbers(t, 8, 4, 2, 2);
    for (unsigned i = 2; i < 6; i++) CHECK_EQ(weft__topology_distance(t, 1, i), WEFT_NEAR_CORE);
    CHECK_EQ(weft__topology_distance(t, 8, 0), WEFT_NEAR_CORE);
    for (unsigned i = 0; i < 5000; i += 7) CHECK(weft__topology_distance(t, i, 3 * i) < WEFT_DISTANCES);
    CHECK(weft__topology_distance(t, UINT32_MAX, 0) < WEFT_DISTANCES);
    weft__free(t);
}

TEST(distance_has_no_direction) {
    struct weft__topology *t = load("package:2 numa:1 l3:2 core:2 pu:2");
    for (unsigned a = 0; a < t->cpus; a++)
        for (unsigned b = 0; b < t->cpus; b++)
            CHECK_EQ(weft__topology_distance(t, a, b), weft__topology_distance(t, b, a));
    weft__free(t);
}

TEST(nonsense_is_no_topology) {
    CHECK(!weft__topology_described("nonsense"));
    CHECK(!weft__topology_described("core:0"));
    CHECK(!weft__topology_described("package:-1 core:x"));
    CHECK(!weft__topology_described(""));
    CHECK(!weft__topology_described("core:4"));
    CHECK(!weft__topology_described("pu:2 core:2"));
    CHECK(!weft__topology_described("core:2 core:2 pu:1"));
    CHECK(!weft__topology_described("core:2 pu:2x"));
    CHECK(!weft__topology_described("core:70000 pu:70000"));
    CHECK(!weft__topology_described("pu:2(indexes=0)"));
    CHECK(!weft__topology_described("pu:2(indexes=0,1,2)"));
    CHECK(!weft__topology_described("pu:2(indexes=0,1"));
    CHECK(!weft__topology_described("pu:1(indexes=99999999)"));
}

/* --- what kernels write --------------------------------------------------------------------------- */

static char root[SCRATCH_SIZE];

/* Writes a file below the root, and the directories that it is in. */
__attribute__((format(printf, 1, 3))) static void kernel_writes(const char *format, const char *text, ...) {
    char path[SCRATCH_SIZE + 128], name[128];
    va_list list;
    va_start(list, text);
    vsnprintf(name, sizeof name, format, list);
    va_end(list);
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    CHECK(file);
    fprintf(file, "%s\n", text);
    fclose(file);
}

static void kernel_writes_cpu(unsigned cpu, const char *package, const char *core) {
    kernel_writes("cpu/cpu%u/topology/physical_package_id", package, cpu);
    kernel_writes("cpu/cpu%u/topology/thread_siblings_list", core, cpu);
}

static void kernel_writes_cache(unsigned cpu, unsigned index, const char *level, const char *type, const char *cpus) {
    kernel_writes("cpu/cpu%u/cache/index%u/level", level, cpu, index);
    kernel_writes("cpu/cpu%u/cache/index%u/type", type, cpu, index);
    kernel_writes("cpu/cpu%u/cache/index%u/shared_cpu_list", cpus, cpu, index);
}

static void new_root(void) { CHECK(mkdtemp(scratch_name(root))); }

static struct weft__topology *read_root(void) {
    struct weft__topology *t = weft__topology_machine(root);
    char command[SCRATCH_SIZE + 16];
    snprintf(command, sizeof command, "rm -rf %s", root);
    CHECK_EQ(system(command), 0);
    return t;
}

/* Even numbers on one package, odd numbers on the other; the second threads after all the first threads; CPU 5 is off.
 */
TEST(packages_in_turns_with_threads) {
    static const char *const cores[] = {"0,4", "1", "2,6", "3,7"};
    new_root();
    kernel_writes("cpu/online", "0-4,6-7");
    for (unsigned i = 0; i < 8; i++) {
        if (i == 5) continue;
        kernel_writes_cpu(i, i % 2 ? "1" : "0", cores[i % 4]);
        kernel_writes_cache(i, 0, "1", "Data", cores[i % 4]);
        kernel_writes_cache(i, 1, "1", "Instruction", cores[i % 4]);
        kernel_writes_cache(i, 2, "2", "Unified", cores[i % 4]);
        kernel_writes_cache(i, 3, "3", "Unified", i % 2 ? "1,3,7" : "0,2,4,6");
    }
    kernel_writes("node/online", "0-1");
    kernel_writes("node/node0/cpulist", "0,2,4,6");
    kernel_writes("node/node1/cpulist", "1,3,7");
    struct weft__topology *t = read_root();
    CHECK(t);
    check_numbers(t, 8, 4, 2, 2);
    CHECK_EQ(weft__topology_distance(t, 0, 4), WEFT_NEAR_CORE);
    CHECK_EQ(weft__topology_distance(t, 0, 2), WEFT_NEAR_CACHE);
    CHECK_EQ(weft__topology_distance(t, 0, 1), WEFT_FAR);
    CHECK_EQ(weft__topology_distance(t, 5, 4), WEFT_NEAR_CORE); /* it is off: as the CPU before it */
    CHECK_EQ(t->location[2].core, t->location[0].core + 1);     /* neighbours have neighbouring numbers */
    weft__free(t);
}

/* Without a third-level cache, a second-level cache counts if several cores share it. */
TEST(second_levels_of_files) {
    for (unsigned shared = 0; shared < 2; shared++) {
        new_root();
        kernel_writes("cpu/online", "0-3");
        for (unsigned i = 0; i < 4; i++) {
            static const char *const alone[] = {"0", "1", "2", "3"};
            kernel_writes_cpu(i, "-1", alone[i]);
            kernel_writes_cache(i, 0, "2", "Unified", shared ? i < 2 ? "0-1" : "2-3" : alone[i]);
        }
        struct weft__topology *t = read_root();
        CHECK(t);
        check_numbers(t, 4, 4, shared ? 2 : 1, 1);
        weft__free(t);
    }
}

TEST(files_may_be_missing_or_make_no_sense) {
    new_root();
    CHECK(!read_root());
    new_root();
    kernel_writes("cpu/online", "nonsense");
    CHECK(!read_root());
    new_root();
    kernel_writes("cpu/online", "0-99999999");
    CHECK(!read_root());
    new_root();
    kernel_writes("cpu/online", "0-2"); /* and nothing about any of them */
    struct weft__topology *t = read_root();
    CHECK(t);
    check_numbers(t, 3, 3, 1, 1);
    weft__free(t);
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
        CHECK(!weft__topology_described("pu:2") || weft__fault_countdown > 0);
    }
    weft__fault_countdown = 1;
    const struct weft__topology *t = weft__topology();
    check_numbers(t, 1024, 1024, 1, 1);
    CHECK_EQ(weft__topology_distance(t, 3, 3), WEFT_NEAR_CORE);
    CHECK_EQ(weft__topology_distance(t, 3, 1000), WEFT_NEAR_CACHE);
}
#endif
