/* SPDX-License-Identifier: MIT */
/* See cpus.h. */
#include "cpus.h"

#include <stdio.h>

/* Reads a list in the kernel's form: 0-3,8. Returns false if there is no such file. */
static bool read_list(const char *path, cpu_set_t *set) {
    FILE *f = fopen(path, "r");
    int from, to;
    char sign = ',';
    CPU_ZERO(set);
    if (!f) return false;
    while (sign == ',' && fscanf(f, "%d", &from) == 1) {
        to = from;
        if (fscanf(f, "%c", &sign) == 1 && sign == '-' && (fscanf(f, "%d", &to) != 1 || fscanf(f, "%c", &sign) != 1))
            sign = 0;
        for (; from <= to && from < CPU_SETSIZE; from++) CPU_SET(from, set);
    }
    fclose(f);
    return true;
}

bool cpus_choose(int node, bool smt, cpu_set_t *set) {
    char path[96];
    cpu_set_t some, all;
    if (sched_getaffinity(0, sizeof all, &all)) return false;
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
    if (node >= 0) {
        if (!read_list(path, &some)) return false;
        CPU_AND(&all, &all, &some);
    }
    *set = all;
    for (int cpu = 0; cpu < CPU_SETSIZE && !smt; cpu++) {
        if (!CPU_ISSET(cpu, set)) continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
        if (!read_list(path, &some)) continue;
        for (int other = cpu + 1; other < CPU_SETSIZE; other++)
            if (CPU_ISSET(other, &some)) CPU_CLR(other, set);
    }
    return CPU_COUNT(set) > 0;
}
