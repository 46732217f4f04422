/* SPDX-License-Identifier: MIT */
/* CPU time and memory of processes, and the limit of descriptors. See load.h. */
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static uint64_t cpu_of(pid_t pid) {
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t)) return 0;
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t memory_of(pid_t pid) {
    char line[128];
    uint64_t kib = 0;
    snprintf(line, sizeof line, "/proc/%d/status", pid);
    FILE *f = fopen(line, "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "VmRSS:", 6) || !strncmp(line, "VmPTE:", 6)) kib += strtoull(line + 6, NULL, 10);
    if (f) fclose(f);
    return kib * 1024;
}

/* Adds up the values of a process and its children. */
static uint64_t sum(pid_t pid, uint64_t (*of)(pid_t)) {
    char path[64];
    int child;
    uint64_t all = of(pid);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    FILE *children = pid ? fopen(path, "r") : NULL;
    while (children && fscanf(children, "%d", &child) == 1) all += of(child);
    if (children) fclose(children);
    return all;
}

uint64_t load_cpu(pid_t pid) { return sum(pid, cpu_of); }
uint64_t load_memory(pid_t pid) { return sum(pid, memory_of); }

void load_raise_descriptors(uint64_t wanted) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted) return;
    struct rlimit more = {wanted, wanted > limit.rlim_max ? wanted : limit.rlim_max};
    if (!setrlimit(RLIMIT_NOFILE, &more)) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}
