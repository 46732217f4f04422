/* SPDX-License-Identifier: MIT */
/*
 * A tree search while ranks are lost: lossy TREE FILE [finalize]. Writes "ready" to the file when all ranks work
 * together; dist.py kills ranks from then on. The number of nodes is right, whatever happens. It does not use standard
 * output, because the mpirun of MPICH may crash when ranks die, and then no output arrives.
 *
 * finalize: rank 1 dies in MPI_Finalize. Rank 0 writes "returned" when weft_dist_run has returned.
 */
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <weft/dist.h>

#include "../../examples/dist/uts_tree.h"

WEFT_REMOTE_2(uint64_t, visit, int, tree, struct uts_node, node) {
    int n = uts_children(&uts_trees[tree], &node);
    uint64_t sum = 1;
    for (int i = 0; i < n; i++) WEFT_SPAWN(visit, tree, uts_child(&node, i));
    for (int i = 0; i < n; i++) sum += WEFT_SYNC(visit);
    return sum;
}

static const char *path;

static void report(const char *line) {
    FILE *f = fopen(path, "a");
    if (!f) return;
    fputs(line, f);
    fclose(f);
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first. */
static int die(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    return raise(SIGKILL);
}

static void die_in_finalize(const void *arg, void *result) {
    int key;
    (void)arg, (void)result;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, die, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
}
WEFT_REMOTE_FUNCTION(dier, die_in_finalize);

static bool dies, is_first;

static int run(void *name) {
    const struct uts_tree *tree = uts_find(name);
    char line[200];
    is_first = true;
    report("ready\n");
    uint64_t begun = weft_now(), nodes = WEFT_RUN(visit, (int)(tree - uts_trees), uts_root(tree));
    snprintf(line, sizeof line, "%s nodes %llu living %u ms %.1f\n", nodes == tree->nodes ? "right" : "wrong",
             (unsigned long long)nodes, weft_dist_living(), (double)(weft_now() - begun) / 1e6);
    report(line);
    if (dies && weft_dist_on(1, &dier, NULL, 0, NULL, 0)) return 1;
    return nodes != tree->nodes;
}

int main(int argc, char **argv) {
    struct weft_config runtime = WEFT_CONFIG_INIT;
    runtime.stack_size = 1 << 20;
    struct weft_dist_config config = WEFT_DIST_CONFIG_INIT;
    config.runtime = &runtime;
    if (argc < 3 || !uts_find(argv[1])) return 2;
    signal(SIGPIPE, SIG_IGN);
    path = argv[2];
    dies = argc > 3 && !strcmp(argv[3], "finalize");
    int err = weft_dist_run(run, argv[1], &config);
    if (dies && is_first) report(err ? "failed\n" : "returned\n");
    return err ? 1 : 0;
}
