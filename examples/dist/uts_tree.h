/* SPDX-License-Identifier: MIT */
/*
 * The trees of the Unbalanced Tree Search benchmark (Olivier et al., LCPC 2006), written from its description: the
 * state of a child is SHA-1 of the state of its parent and the number of the child; 31 bits of it decide how many
 * children it has itself.
 */
#ifndef UTS_TREE_H
#define UTS_TREE_H

#include "sha1.h"

#include <math.h>

struct uts_node {
    uint8_t state[20];
    int32_t height;
};

enum uts_kind { UTS_BINOMIAL, UTS_GEOMETRIC };

/* A tree, with its published number of nodes. */
struct uts_tree {
    const char *name;
    enum uts_kind kind;
    int seed;
    double branching; /* geometric: the mean number of children; binomial: of the root */
    int height;       /* geometric: nodes at this height are leaves */
    int children;     /* binomial: of an inner node */
    double inner;     /* binomial: the probability of an inner node */
    uint64_t nodes;
};

static const struct uts_tree uts_trees[] = {
    {"T1", UTS_GEOMETRIC, 19, 4, 10, 0, 0, UINT64_C(4130071)},
    {"T1L", UTS_GEOMETRIC, 29, 4, 13, 0, 0, UINT64_C(102181082)},
    {"T3", UTS_BINOMIAL, 42, 2000, 0, 8, 0.124875, UINT64_C(4112897)},
    {"T3L", UTS_BINOMIAL, 7, 2000, 0, 5, 0.200014, UINT64_C(111345631)},
};

static inline const struct uts_tree *uts_find(const char *name) {
    for (size_t i = 0; i < sizeof uts_trees / sizeof uts_trees[0]; i++)
        if (!strcmp(uts_trees[i].name, name)) return &uts_trees[i];
    return NULL;
}

static inline struct uts_node uts_root(const struct uts_tree *tree) {
    struct uts_node root = {{0}, 0};
    uint8_t seed[20] = {0};
    sha1_store(seed + 16, (uint32_t)tree->seed);
    sha1_short(seed, sizeof seed, root.state);
    return root;
}

static inline struct uts_node uts_child(const struct uts_node *parent, int i) {
    struct uts_node child = {{0}, parent->height + 1};
    uint8_t bytes[24];
    memcpy(bytes, parent->state, 20);
    sha1_store(bytes + 20, (uint32_t)i);
    sha1_short(bytes, sizeof bytes, child.state);
    return child;
}

static inline int uts_children(const struct uts_tree *tree, const struct uts_node *node) {
    double chance = (double)(sha1_load(node->state + 16) & 0x7fffffff) / 2147483648.0;
    if (tree->kind == UTS_BINOMIAL) {
        if (!node->height) return (int)tree->branching;
        return chance < tree->inner ? tree->children : 0;
    }
    double mean = node->height < tree->height ? tree->branching : 0;
    if (mean <= 0) return 0;
    int n = (int)floor(log(1 - chance) / log(1 - 1 / (1 + mean)));
    return n > 100 ? 100 : n;
}

#endif
