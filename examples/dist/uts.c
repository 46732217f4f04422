/* SPDX-License-Identifier: MIT */
/*
 * Unbalanced tree search: the shape of the tree is known only when its nodes are visited.
 *
 *     mpirun -n 4 uts T1       4,130,071 nodes; T1L, T3 and T3L are others
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/dist.h>

#include "uts_tree.h"

WEFT_REMOTE_2(uint64_t, visit, int, tree, struct uts_node, node) {
    int n = uts_children(&uts_trees[tree], &node);
    uint64_t sum = 1;
    for (int i = 0; i < n; i++) WEFT_SPAWN(visit, tree, uts_child(&node, i));
    for (int i = 0; i < n; i++) sum += WEFT_SYNC(visit);
    return sum;
}

static int run(void *name) {
    const struct uts_tree *tree = uts_find(name);
    uint64_t begun = weft_now(), nodes = WEFT_RUN(visit, (int)(tree - uts_trees), uts_root(tree));
    double seconds = (double)(weft_now() - begun) / 1e9;
    printf("%s: %llu nodes, %u ranks of %u workers, %u left, %.3f s, %.2f million nodes a second\n", tree->name,
           (unsigned long long)nodes, weft_dist_ranks(), weft_workers(), weft_dist_living(), seconds,
           (double)nodes / seconds / 1e6);
    if (nodes == tree->nodes) return 0;
    fprintf(stderr, "%s has %llu nodes\n", tree->name, (unsigned long long)tree->nodes);
    return 1;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "T1";
    if (!uts_find(name)) {
        fprintf(stderr, "uts: there is no tree %s: T1, T1L, T3, T3L\n", name);
        return 2;
    }
    struct weft_config runtime = WEFT_CONFIG_INIT;
    runtime.stack_size = 1 << 20; /* T3 is deep */
    struct weft_dist_config config = WEFT_DIST_CONFIG_INIT;
    config.runtime = &runtime;
    return weft_dist_run(run, (void *)name, &config) ? 1 : 0;
}
