/* SPDX-License-Identifier: MIT */
/* The default number of workers: quotas of control groups, both versions, in made-up trees. */
#define _GNU_SOURCE
#include "../scratch.h"
#include "../test.h"

#include "sched/elastic/cpu_quota.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[SCRATCH_SIZE];

/* An empty tree under the directory for temporary files. */
static void new_tree(void) { CHECK(mkdtemp(scratch_name(root))); }

static void remove_tree(void) {
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    CHECK(!system(command));
}

static void file(const char *path, const char *text) {
    char full[2 * PATH_MAX];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(full, 0755);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    CHECK(f);
    fputs(text, f);
    fclose(f);
}

static unsigned quota(void) { return weft__cpu_quota(root); }

/* A tree of at most four files, and the expected number. */
struct tree {
    const char *what;
    struct {
        const char *path, *text;
    } file[5];
    unsigned quota;
};

#define CGROUP "/proc/self/cgroup"
#define V2 "/sys/fs/cgroup"
#define V1 "/sys/fs/cgroup/cpu,cpuacct"

static const struct tree trees[] = {
    {"no control groups at all", {{NULL, NULL}}, 0},
    {"an empty list", {{CGROUP, ""}}, 0},
    {"lines that mean nothing", {{CGROUP, "hello\n\n::\n:\n7\n"}}, 0},
    {"v2, root, no file", {{CGROUP, "0::/\n"}}, 0},
    {"v2, no limit", {{CGROUP, "0::/\n"}, {V2 "/cpu.max", "max 100000\n"}}, 0},
    {"v2, two", {{CGROUP, "0::/\n"}, {V2 "/cpu.max", "200000 100000\n"}}, 2},
    {"v2, one and a half is rounded up", {{CGROUP, "0::/\n"}, {V2 "/cpu.max", "150000 100000\n"}}, 2},
    {"v2, half is one", {{CGROUP, "0::/\n"}, {V2 "/cpu.max", "50000 100000\n"}}, 1},
    {"v2, own group", {{CGROUP, "0::/a/b\n"}, {V2 "/a/b/cpu.max", "300000 100000\n"}}, 3},
    {"v2, the group above is smaller",
     {{CGROUP, "0::/a/b\n"}, {V2 "/a/b/cpu.max", "500000 100000\n"}, {V2 "/a/cpu.max", "300000 100000\n"}},
     3},
    {"v2, the root is smallest",
     {{CGROUP, "0::/a/b\n"}, {V2 "/a/b/cpu.max", "500000 100000\n"}, {V2 "/cpu.max", "100000 100000\n"}},
     1},
    {"v2, own smaller than above",
     {{CGROUP, "0::/a/b\n"}, {V2 "/a/b/cpu.max", "200000 100000\n"}, {V2 "/a/cpu.max", "900000 100000\n"}},
     2},
    {"v2, a limit above none",
     {{CGROUP, "0::/a\n"}, {V2 "/a/cpu.max", "max 100000\n"}, {V2 "/cpu.max", "400000 100000\n"}},
     4},
    {"v2, the group is not visible from here", {{CGROUP, "0::/outside/x\n"}, {V2 "/cpu.max", "200000 100000\n"}}, 2},
    {"v2, no newline at the end", {{CGROUP, "0::/a"}, {V2 "/a/cpu.max", "200000 100000"}}, 2},
    {"v2, nonsense", {{CGROUP, "0::/\n"}, {V2 "/cpu.max", "lots\n"}}, 0},
    {"v2, period zero", {{CGROUP, "0::/\n"}, {V2 "/cpu.max", "100000 0\n"}}, 0},
    {"v2, negative", {{CGROUP, "0::/\n"}, {V2 "/cpu.max", "-1 100000\n"}}, 0},
    {"v2, as large as numbers get", {{CGROUP, "0::/\n"}, {V2 "/cpu.max", "9223372036854775807 100000\n"}}, UINT_MAX},
    {"v1, no limit",
     {{CGROUP, "4:cpu,cpuacct:/\n"}, {V1 "/cpu.cfs_quota_us", "-1\n"}, {V1 "/cpu.cfs_period_us", "100000\n"}},
     0},
    {"v1, two and a half",
     {{CGROUP, "4:cpu,cpuacct:/\n"}, {V1 "/cpu.cfs_quota_us", "250000\n"}, {V1 "/cpu.cfs_period_us", "100000\n"}},
     3},
    {"v1, group",
     {{CGROUP, "9:memory:/x\n4:cpu,cpuacct:/g\n"},
      {V1 "/g/cpu.cfs_quota_us", "400000\n"},
      {V1 "/g/cpu.cfs_period_us", "200000\n"}},
     2},
    {"v1, the group above is smaller",
     {{CGROUP, "4:cpu,cpuacct:/g/h\n"},
      {V1 "/g/h/cpu.cfs_quota_us", "400000\n"},
      {V1 "/g/h/cpu.cfs_period_us", "100000\n"},
      {V1 "/g/cpu.cfs_quota_us", "100000\n"},
      {V1 "/g/cpu.cfs_period_us", "100000\n"}},
     1},
    {"v1, mounted as cpu alone",
     {{CGROUP, "4:cpu:/\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
     2},
    {"v1, the names the other way round, mounted as cpu",
     {{CGROUP, "4:cpuacct,cpu:/\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "700000\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
     7},
    {"v1, cpuset is another controller",
     {{CGROUP, "4:cpuset:/\n3:cpuacct:/\n"},
      {"/sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "100000\n"},
      {"/sys/fs/cgroup/cpuset/cpu.cfs_period_us", "100000\n"},
      {"/sys/fs/cgroup/cpuacct/cpu.cfs_quota_us", "100000\n"}},
     0},
    {"v1, quota without period", {{CGROUP, "4:cpu,cpuacct:/\n"}, {V1 "/cpu.cfs_quota_us", "200000\n"}}, 0},
    {"both, v2 at unified",
     {{CGROUP, "4:cpu,cpuacct:/\n0::/u\n"},
      {V1 "/cpu.cfs_quota_us", "500000\n"},
      {V1 "/cpu.cfs_period_us", "100000\n"},
      {V2 "/unified/u/cpu.max", "300000 100000\n"}},
     3},
};

TEST(quotas) {
    for (unsigned i = 0; i < sizeof trees / sizeof *trees; i++) {
        new_tree();
        for (unsigned k = 0; k < 5 && trees[i].file[k].path; k++) file(trees[i].file[k].path, trees[i].file[k].text);
        unsigned got = quota();
        remove_tree();
        if (got != trees[i].quota) test_fail(__FILE__, __LINE__, "%s: %u, not %u", trees[i].what, got, trees[i].quota);
    }
}

TEST(a_long_group_is_no_trouble) {
    static char text[8192];
    new_tree();
    memset(text, 'g', sizeof text - 1);
    memcpy(text, "0::/", 4);
    file(CGROUP, text);
    file(V2 "/cpu.max", "200000 100000\n");
    unsigned got = quota();
    remove_tree();
    CHECK(got == 0 || got == 2);
}

TEST(the_affinity_mask_counts) {
    cpu_set_t all, one;
    CHECK(!sched_getaffinity(0, sizeof all, &all));
    CHECK(weft__default_workers() >= 1);
    CHECK(weft__default_workers() <= (unsigned)CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    CHECK(!sched_setaffinity(0, sizeof one, &one));
    CHECK_EQ(weft__default_workers(), 1);
}
