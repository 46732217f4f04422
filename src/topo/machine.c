/* SPDX-License-Identifier: MIT */
/*
 * The topology of the machine, from the files of the kernel. Below SYSFS/:
 *
 *   cpu/online                                 the numbers of the CPUs: "0-3,8-11"
 *   cpu/cpuN/topology/thread_siblings_list     the CPUs of its core
 *   cpu/cpuN/topology/physical_package_id
 *   cpu/cpuN/cache/indexM/{level,type,shared_cpu_list}
 *   node/online, node/nodeN/cpulist            the CPUs of each memory node
 *
 * The first CPU of a core or cache stands for that core or cache. If a file is missing, the simplest case is assumed: a
 * core for each CPU, no cache, one package, one node.
 */
#include "base/sys.h"
#include "topo/topology.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MOST 4096              /* bytes of a file that are read: the kernel writes one page at most */
#define CACHES_MOST 16              /* caches of a CPU that are read */
#define CACHE_OF_PACKAGE (1u << 30) /* added to the number of a package that stands for a cache */

struct cpu {
    unsigned number, package, node, cache, core;
};

struct reader {
    const char *sysfs;
    unsigned count; /* CPUs that are there */
    struct cpu *cpus;
    char text[TEXT_MOST], other[TEXT_MOST];
};

/* The text of a file, without the end of its line. False: it cannot be read, or is empty. */
__attribute__((format(printf, 3, 4))) static bool read_topology_text(const struct reader *r, char *text,
                                                                     const char *format, ...) {
    char path[256];
    int used = snprintf(path, sizeof path, "%s/", r->sysfs);
    if (used < 0 || (size_t)used >= sizeof path) return false;
    va_list list;
    va_start(list, format);
    int more = vsnprintf(path + used, sizeof path - (size_t)used, format, list);
    va_end(list);
    if (more < 0 || (size_t)more >= sizeof path - (size_t)used) return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, TEXT_MOST - 1);
    close(fd);
    if (n <= 0) return false;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return text[0] != '\0';
}

/* Reads the next range of a list such as "0-3,8-11". False: the list ends here, or is no such list. */
static bool next_range(const char **list, unsigned *first, unsigned *last) {
    char *end;
    if (**list < '0' || **list > '9') return false;
    unsigned long low = strtoul(*list, &end, 10), high = low;
    if (*end == '-') high = strtoul(end + 1, &end, 10);
    if (*end == ',') end++;
    *list = end;
    *first = (unsigned)low;
    *last = (unsigned)high;
    return low <= high && high < WEFT_TOPOLOGY_CPUS;
}

static unsigned cpu_count_of(const char *list) {
    unsigned n = 0, first, last;
    while (next_range(&list, &first, &last)) n += last - first + 1;
    return n;
}

static int by_number(const void *a, const void *b) {
    const struct cpu *p = a, *q = b;
    return (p->number > q->number) - (p->number < q->number);
}

/* Sorts CPUs of a node, cache and core next to each other. */
static int by_location(const void *a, const void *b) {
    const struct cpu *p = a, *q = b;
    if (p->package != q->package) return p->package < q->package ? -1 : 1;
    if (p->cache != q->cache) return p->cache < q->cache ? -1 : 1;
    if (p->node != q->node) return p->node < q->node ? -1 : 1;
    if (p->core != q->core) return p->core < q->core ? -1 : 1;
    return by_number(a, b);
}

/* The last-level cache: the data cache with the highest level. If that cache has a level below three and belongs to one
 * core alone, the package stands for the cache. */
static void read_cache(struct reader *r, struct cpu *cpu, const char *core) {
    unsigned long highest = 0;
    cpu->cache = CACHE_OF_PACKAGE + cpu->package;
    for (unsigned i = 0; i < CACHES_MOST; i++) {
        if (!read_topology_text(r, r->other, "cpu/cpu%u/cache/index%u/type", cpu->number, i)) break;
        if (!strcmp(r->other, "Instruction")) continue;
        if (!read_topology_text(r, r->other, "cpu/cpu%u/cache/index%u/level", cpu->number, i)) continue;
        unsigned long level = strtoul(r->other, NULL, 10);
        if (level <= highest) continue;
        if (!read_topology_text(r, r->other, "cpu/cpu%u/cache/index%u/shared_cpu_list", cpu->number, i)) continue;
        highest = level;
        bool alone = level < 3 && !strcmp(r->other, core);
        cpu->cache = alone ? CACHE_OF_PACKAGE + cpu->package : (unsigned)strtoul(r->other, NULL, 10);
    }
}

static void read_cpu(struct reader *r, struct cpu *cpu) {
    bool found = read_topology_text(r, r->text, "cpu/cpu%u/topology/physical_package_id", cpu->number);
    long package = found ? strtol(r->text, NULL, 10) : 0;
    cpu->package = package > 0 && package < WEFT_TOPOLOGY_CPUS ? (unsigned)package : 0; /* -1: unknown */
    if (!read_topology_text(r, r->text, "cpu/cpu%u/topology/thread_siblings_list", cpu->number))
        snprintf(r->text, sizeof r->text, "%u", cpu->number);
    cpu->core = (unsigned)strtoul(r->text, NULL, 10);
    read_cache(r, cpu, r->text);
}

static void read_nodes(struct reader *r) {
    unsigned first, last, low, high;
    if (!read_topology_text(r, r->text, "node/online")) return;
    for (const char *nodes = r->text; next_range(&nodes, &first, &last);)
        for (unsigned node = first; node <= last; node++) {
            if (!read_topology_text(r, r->other, "node/node%u/cpulist", node)) continue;
            for (const char *list = r->other; next_range(&list, &low, &high);)
                for (unsigned i = 0; i < r->count; i++)
                    if (r->cpus[i].number >= low && r->cpus[i].number <= high) r->cpus[i].node = node;
        }
}

/* Reads all CPUs that are online, in the order of their numbers. */
static bool read_cpus(struct reader *r) {
    unsigned first, last, n = 0;
    if (!read_topology_text(r, r->text, "cpu/online")) return false;
    r->count = cpu_count_of(r->text);
    if (!r->count || r->count > WEFT_TOPOLOGY_CPUS) return false;
    r->cpus = weft__alloc(r->count * sizeof *r->cpus);
    if (!r->cpus) return false;
    for (const char *list = r->text; next_range(&list, &first, &last);)
        for (unsigned i = first; i <= last; i++) r->cpus[n++].number = i;
    for (unsigned i = 0; i < r->count; i++) read_cpu(r, &r->cpus[i]);
    read_nodes(r);
    return true;
}

/* Gives each different value a dense number. `seen` holds the values so far. The search begins with the latest value,
 * because neighbouring CPUs mostly have the same. */
struct numbers {
    unsigned count, *seen;
};

static uint16_t file_number_of(struct numbers *n, unsigned value) {
    for (unsigned i = n->count; i-- > 0;)
        if (n->seen[i] == value) return (uint16_t)i;
    n->seen[n->count] = value;
    return (uint16_t)n->count++;
}

static struct weft__topology *number_all(struct reader *r) {
    unsigned cpus = r->cpus[r->count - 1].number + 1;
    struct weft__topology *t = weft__alloc(sizeof *t + cpus * sizeof t->location[0]);
    unsigned *seen = weft__alloc(3 * (size_t)r->count * sizeof *seen);
    bool *known = weft__alloc(cpus);
    if (t && seen && known) {
        struct numbers core = {0, seen}, cache = {0, seen + r->count}, node = {0, seen + 2 * (size_t)r->count};
        qsort(r->cpus, r->count, sizeof *r->cpus, by_location);
        for (unsigned i = 0; i < r->count; i++) {
            const struct cpu *cpu = &r->cpus[i];
            known[cpu->number] = true;
            t->location[cpu->number] = (struct weft__cpu_location){
                file_number_of(&core, cpu->core), file_number_of(&cache, cpu->cache), file_number_of(&node, cpu->node)};
        }
        t->cpus = cpus;
        t->cores = core.count;
        t->caches = cache.count;
        t->nodes = node.count;
        weft__topology_fill(t, known);
    } else {
        weft__free(t);
        t = NULL;
    }
    weft__free(seen);
    weft__free(known);
    return t;
}

struct weft__topology *weft__topology_machine(const char *sysfs) {
    struct weft__topology *t = NULL;
    struct reader *r = weft__alloc(sizeof *r);
    if (!r) return NULL;
    r->sysfs = sysfs;
    if (read_cpus(r)) t = number_all(r);
    weft__free(r->cpus);
    weft__free(r);
    return t;
}
