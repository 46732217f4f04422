/* SPDX-License-Identifier: MIT */
/*
 * How many workers by default: the processors that the affinity mask allows, or fewer if the CPU quota of the control
 * group is smaller. Version 2 (cpu.max) and version 1 (cpu.cfs_quota_us) are read, at the process's own group and every
 * group above it.
 */
#define _GNU_SOURCE
#include "sched/elastic/cpu_quota.h"
#include "sched/core/self.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Workers that a quota allows, rounded up; 0: no limit. */
static unsigned quota_of(long long quota, long long period) {
    if (quota <= 0 || period <= 0) return 0;
    long long n = quota / period + (quota % period != 0);
    return n > UINT_MAX ? UINT_MAX : (unsigned)n;
}

/*
 * Room for names and what is read. On the heap, because a fiber with the smallest stack may ask for the
 * default number of workers.
 */
struct reading {
    char groups[16 * 1024]; /* what /proc/self/cgroup says */
    char dir[PATH_MAX];
    char path[PATH_MAX + 32];
};

/* Reads the beginning of a file into a string. False: the file cannot be read. */
static bool read_quota_text(const char *path, char *text, size_t size) {
    size_t used = 0;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    while (used < size - 1 && (n = read(fd, text + used, size - 1 - used)) > 0) used += (size_t)n;
    close(fd);
    text[used] = 0;
    return true;
}

/* Reads the numbers at the start of a small file of a group; returns how many. "max 100000" has none: no limit. */
static int read_numbers(struct reading *r, const char *name, long long *numbers, int most) {
    char text[64], *p = text, *end;
    int n = 0;
    snprintf(r->path, sizeof r->path, "%s/%s", r->dir, name);
    if (!read_quota_text(r->path, text, sizeof text)) return 0;
    for (; n < most; n++, p = end) {
        numbers[n] = strtoll(p, &end, 10);
        if (end == p) break;
    }
    return n;
}

static unsigned read_v2(struct reading *r) {
    long long n[2];
    return read_numbers(r, "cpu.max", n, 2) == 2 ? quota_of(n[0], n[1]) : 0;
}

static unsigned read_v1(struct reading *r) {
    long long quota, period;
    if (!read_numbers(r, "cpu.cfs_quota_us", &quota, 1) || !read_numbers(r, "cpu.cfs_period_us", &period, 1)) return 0;
    return quota_of(quota, period);
}

static unsigned smaller_quota(unsigned a, unsigned b) { return !a || (b && b < a) ? b : a; }

/* The smallest quota from the group up to the root of the hierarchy, which is mounted at root/mount. */
static unsigned quota_up(struct reading *r, const char *root, const char *mount, const char *group,
                         unsigned (*read)(struct reading *)) {
    unsigned least = 0;
    size_t top = (size_t)snprintf(r->dir, sizeof r->dir, "%s/sys/fs/cgroup%s", root, mount);
    if (top >= sizeof r->dir) return 0;
    snprintf(r->dir + top, sizeof r->dir - top, "%s", strcmp(group, "/") ? group : "");
    for (;;) {
        least = smaller_quota(least, read(r));
        char *slash = strrchr(r->dir, '/');
        if (!slash || (size_t)(slash - r->dir) < top) return least;
        *slash = 0;
    }
}

/* Is "cpu" one of the names in "cpu,cpuacct"? */
static bool has_cpu(const char *list) {
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, "cpu", 3) && (p[3] == ',' || !p[3])) return true;
    return false;
}

/* One line of /proc/self/cgroup: hierarchy:controllers:group. */
static unsigned quota_of_line(struct reading *r, const char *root, char *line) {
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return 0;
    *controllers = '/';
    *group++ = 0;
    if (!controllers[1]) {
        unsigned least = quota_up(r, root, "", group, read_v2);
        return smaller_quota(least, quota_up(r, root, "/unified", group, read_v2));
    }
    if (!has_cpu(controllers + 1)) return 0;
    unsigned least = quota_up(r, root, controllers, group, read_v1);
    return smaller_quota(least, quota_up(r, root, "/cpu", group, read_v1));
}

unsigned weft__cpu_quota(const char *root) {
    struct reading *r = weft__alloc(sizeof *r);
    unsigned least = 0;
    if (!r) return 0;
    snprintf(r->path, sizeof r->path, "%s/proc/self/cgroup", root);
    if (read_quota_text(r->path, r->groups, sizeof r->groups)) {
        char *rest = r->groups;
        for (char *line; (line = strsep(&rest, "\n"));) least = smaller_quota(least, quota_of_line(r, root, line));
    }
    weft__free(r);
    return least;
}

/* The processors in the affinity mask of the calling thread. A worker may be bound to a CPU, so there it is the mask of
 * the main thread. The mask may be larger than cpu_set_t, so the set grows until the kernel accepts its size. */
static unsigned affinity_count(void) {
    pid_t thread = weft__self() ? getpid() : 0;
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set) break;
        int n = sched_getaffinity(thread, CPU_ALLOC_SIZE(cpus), set) ? 0 : CPU_COUNT_S(CPU_ALLOC_SIZE(cpus), set);
        CPU_FREE(set);
        if (n > 0) return (unsigned)n;
    }
    return 1;
}

unsigned weft__default_workers(void) {
    unsigned n = smaller_quota(affinity_count(), weft__cpu_quota(""));
    return n < WEFT_WORKERS_MAX ? n : WEFT_WORKERS_MAX;
}
