/* SPDX-License-Identifier: MIT */
/* Bodies, operations, stages and nodes for cells_par.h. Each cell runs in a process of its own. */
#ifndef WEFT_TESTS_MISUSE_PAR_H
#define WEFT_TESTS_MISUSE_PAR_H

#include "misuse.h"

static int all_well(size_t begin, size_t end, void *unused) { return (void)unused, begin < end ? 0 : -1; }
static int fold_well(size_t begin, size_t end, void *value, void *unused) {
    return (void)value, all_well(begin, end, unused);
}
static void add_up(void *left, const void *right, void *unused) {
    (void)unused;
    *(int *)left += *(const int *)right;
}
static int by_bytes(const void *a, const void *b, void *unused) { return (void)unused, memcmp(a, b, 4); }
static int number, few[4];
static const struct weft_reduction adding = {sizeof number, &number, fold_well, add_up};
static const struct weft_prefix prefix = {{sizeof number, &number, fold_well, add_up}, fold_well};
static const struct weft_for_options no_options, garbage_options = {.partition = 0xdeadbeef, .spread = 0xcafe};
static const struct weft_branch branches[] = {{does_nothing, NULL}, {does_nothing, NULL}};

static int ends_at_once(void **item, void *unused) { return (void)item, (void)unused, WEFT_PIPELINE_END; }
static int passes(void **item, void *unused) { return (void)item, (void)unused, 0; }
static const struct weft_stage stages[] = {{WEFT_STAGE_SERIAL, ends_at_once, NULL},
                                           {WEFT_STAGE_IN_ORDER, passes, NULL}};

static struct weft_graph graph;
static struct weft_combinable values = WEFT_COMBINABLE_INIT(8, NULL);
static int node_well(void *unused) { return (void)unused, 0; }
static int node_adds(void *unused) { return (void)unused, weft_graph_node(&graph, node_well, NULL); }
static int node_links(void *unused) { return (void)unused, weft_graph_edge(&graph, 0, 1); }
static int node_runs(void *unused) { return (void)unused, weft_graph_run(&graph); }
static int node_clears(void *unused) { return (void)unused, weft_graph_clear(&graph); }
static int two_nodes(void) {
    return weft_graph_node(&graph, node_well, NULL) + weft_graph_node(&graph, node_well, NULL);
}

/* None of these returns. */
static int node_exits(void *unused) { return (void)unused, weft_fiber_exit(NULL), 0; }
static int body_exits(size_t begin, size_t end, void *unused) { return (void)begin, (void)end, node_exits(unused); }
static int fold_exits(size_t begin, size_t end, void *value, void *unused) {
    return (void)value, body_exits(begin, end, unused);
}
static void add_exits(void *left, const void *right, void *unused) { (void)left, (void)right, node_exits(unused); }
static int compare_exits(const void *a, const void *b, void *unused) { return (void)a, (void)b, node_exits(unused); }
static int stage_exits(void **item, void *unused) { return (void)item, node_exits(unused); }

/* The argument of a node that uses its own graph. */
static int run_on_itself(int (*node)(void *)) {
    two_nodes();
    weft_graph_node(&graph, node, NULL);
    return weft_graph_run(&graph);
}

#endif
