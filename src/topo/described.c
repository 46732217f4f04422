/* SPDX-License-Identifier: MIT */
/* A topology from a line of text, see topology.h. The CPUs are counted in the order of the tree: if a core has 8 CPUs,
 * CPU 20 of the tree belongs to core 2. */
#include "base/sys.h"
#include "topo/topology.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum level { PACKAGE, NUMA, L3, L2, L1, CORE, PU, GROUP, LEVELS };
static const char *const names[LEVELS] = {"package", "numa", "l3", "l2", "l1", "core", "pu", "group"};

struct tree {
    unsigned objects[LEVELS]; /* in the whole machine; 0: there is no such level */
    unsigned cpus;
    const char *indexes; /* the numbers of the CPUs, as text; NULL: in their order */
};

static bool read_name(const char **text, unsigned *level) {
    size_t length = strcspn(*text, ":");
    for (*level = 0; *level < LEVELS; ++*level)
        if (strlen(names[*level]) == length && !strncmp(*text, names[*level], length)) break;
    *text += length;
    return *level < LEVELS && *(*text)++ == ':';
}

static bool read_number(const char **text, unsigned long most, unsigned long *number) {
    if (!isdigit((unsigned char)**text)) return false;
    char *end;
    *number = strtoul(*text, &end, 10);
    *text = end;
    return *number <= most;
}

static bool read_levels(const char *text, struct tree *tree) {
    static const char begin[] = "(indexes=";
    unsigned level = GROUP;
    tree->cpus = 1;
    for (; *text; text += strspn(text, " ")) {
        unsigned long count;
        if (!read_name(&text, &level) || tree->objects[level] || tree->objects[PU]) return false;
        if (!read_number(&text, WEFT_TOPOLOGY_CPUS / tree->cpus, &count) || !count) return false;
        tree->cpus *= (unsigned)count;
        tree->objects[level] = tree->cpus;
        if (level == PU && !strncmp(text, begin, sizeof begin - 1)) {
            tree->indexes = text + sizeof begin - 1;
            text += strcspn(text, ")");
            if (*text++ != ')') return false;
        }
        if (*text && *text != ' ') return false;
    }
    return level == PU;
}

/* How many CPUs an object of the level has. If the line does not mention the level, the machine is one such object. */
static unsigned level_width(const struct tree *tree, enum level level) {
    return tree->objects[level] ? tree->cpus / tree->objects[level] : tree->cpus;
}

static unsigned core_width(const struct tree *tree) { return tree->objects[CORE] ? level_width(tree, CORE) : 1; }

static unsigned cache_width(const struct tree *tree) {
    if (tree->objects[L3]) return level_width(tree, L3);
    enum level last = tree->objects[L2] ? L2 : L1;
    bool shared = tree->objects[last] && level_width(tree, last) != core_width(tree);
    return level_width(tree, shared ? last : PACKAGE);
}

/* Reads the kernel's number of each CPU, in the order of the tree. Returns the highest number plus one; 0: a number is
 * missing or wrong. */
static unsigned read_indexes(const struct tree *tree, unsigned *numbers) {
    const char *text = tree->indexes;
    unsigned cpus = 0;
    for (unsigned i = 0; i < tree->cpus; i++) {
        unsigned long number = i;
        if (text &&
            (!read_number(&text, WEFT_TOPOLOGY_CPUS - 1, &number) || *text++ != (i + 1 < tree->cpus ? ',' : ')')))
            return 0;
        numbers[i] = (unsigned)number;
        if (number >= cpus) cpus = (unsigned)number + 1;
    }
    return cpus;
}

static void locate_all(struct weft__topology *t, const struct tree *tree, const unsigned *numbers, bool *known) {
    unsigned core = core_width(tree), cache = cache_width(tree), node = level_width(tree, NUMA);
    for (unsigned i = 0; i < tree->cpus; i++) {
        known[numbers[i]] = true;
        t->location[numbers[i]] =
            (struct weft__cpu_location){(uint16_t)(i / core), (uint16_t)(i / cache), (uint16_t)(i / node)};
    }
    t->cores = tree->cpus / core;
    t->caches = tree->cpus / cache;
    t->nodes = tree->cpus / node;
}

struct weft__topology *weft__topology_described(const char *description) {
    struct tree tree = {.indexes = NULL};
    if (!read_levels(description, &tree)) return NULL;
    struct weft__topology *t = NULL;
    unsigned *numbers = weft__alloc(tree.cpus * sizeof *numbers);
    unsigned cpus = numbers ? read_indexes(&tree, numbers) : 0;
    bool *known = cpus ? weft__alloc(cpus) : NULL;
    if (known) t = weft__alloc(sizeof *t + cpus * sizeof t->location[0]);
    if (t) {
        t->cpus = cpus;
        locate_all(t, &tree, numbers, known);
        weft__topology_fill(t, known);
    }
    weft__free(known);
    weft__free(numbers);
    return t;
}
