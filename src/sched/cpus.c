/*
 * How many workers by default: the processors that the affinity mask allows, or fewer when the
 * control group's CPU quota allows only so much. Version 2 (cpu.max) and version 1
 * (cpu.cfs_quota_us) are read, at the process's own group and every group above it.
 */
#define _GNU_SOURCE
#include "sched/cpus.h"

#include "sched/sched.h"

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

static unsigned read_v2(const char *dir) {
    char path[PATH_MAX + 16];
    long long quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", dir);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    int n = fscanf(f, "%lld %lld", &quota, &period); /* "max 100000" reads nothing: no limit */
    fclose(f);
    return n == 2 ? quota_of(quota, period) : 0;
}

static long long read_number(const char *dir, const char *name) {
    char path[PATH_MAX + 32];
    long long n = -1;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "re");
    if (!f) return -1;
    if (fscanf(f, "%lld", &n) != 1) n = -1;
    fclose(f);
    return n;
}

static unsigned read_v1(const char *dir) {
    return quota_of(read_number(dir, "cpu.cfs_quota_us"), read_number(dir, "cpu.cfs_period_us"));
}

static unsigned smaller(unsigned a, unsigned b) { return !a || (b && b < a) ? b : a; }

/* The smallest quota from the group up to the root of the hierarchy. */
static unsigned quota_up(const char *mount, const char *group, unsigned (*read)(const char *)) {
    char dir[PATH_MAX];
    unsigned least = 0;
    size_t root = (size_t)snprintf(dir, sizeof dir, "%s", mount);
    snprintf(dir + root, sizeof dir - root, "%s", strcmp(group, "/") ? group : "");
    for (;;) {
        least = smaller(least, read(dir));
        char *slash = strrchr(dir, '/');
        if (!slash || (size_t)(slash - dir) < root) return least;
        *slash = 0;
    }
}

/* Is "cpu" one of the names in "cpu,cpuacct"? */
static bool has_cpu(const char *list) {
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, "cpu", 3) && (p[3] == ',' || !p[3])) return true;
    return false;
}

unsigned weft__cpu_quota(const char *root) {
    char path[PATH_MAX], line[PATH_MAX];
    unsigned least = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    while (fgets(line, sizeof line, f)) { /* hierarchy:controllers:group */
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *controllers++ = 0;
        *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        char mount[PATH_MAX];
        if (!*controllers) {
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
            least = smaller(least, quota_up(mount, group, read_v2));
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/unified", root);
            least = smaller(least, quota_up(mount, group, read_v2));
        } else if (has_cpu(controllers)) {
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%s", root, controllers);
            least = smaller(least, quota_up(mount, group, read_v1));
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root);
            least = smaller(least, quota_up(mount, group, read_v1));
        }
    }
    fclose(f);
    return least;
}

/* The caller's; but a worker may be bound, so there the main thread's. The mask may be larger than cpu_set_t: grow
 * until the kernel is content. */
static unsigned affinity(void) {
    pid_t whose = weft__self() ? getpid() : 0;
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set) break;
        int n = sched_getaffinity(whose, CPU_ALLOC_SIZE(cpus), set) ? 0 : CPU_COUNT_S(CPU_ALLOC_SIZE(cpus), set);
        CPU_FREE(set);
        if (n > 0) return (unsigned)n;
    }
    return 1;
}

unsigned weft__default_workers(void) {
    unsigned n = smaller(affinity(), weft__cpu_quota(""));
    return n < WEFT_WORKERS_MAX ? n : WEFT_WORKERS_MAX;
}
