/* SPDX-License-Identifier: MIT */
/*
 * Graphs. Nodes and edges are arrays that grow; the edges of a node form a list.
 *
 * A run counts the incoming edges of each node in `pending`. The fiber that finishes a node decrements its successors.
 * Of those that reach zero it runs one itself, and spawns fibers for the others (fiber_group.h). The nodes without
 * incoming edges, the roots, are at the start of an array that the check for cycles builds. A fiber with several roots
 * spawns another fiber for half of them, until it has one.
 */
#include "par/fiber_group.h"
#include "sched/tasks/tasks.h"

#include <limits.h>
#include <string.h>

#define NONE UINT32_MAX

struct node {
    int (*fn)(void *);
    void *arg;
    struct graph *graph;
    uint32_t first;  /* first outgoing edge */
    uint32_t before; /* number of incoming edges */
    _Atomic uint32_t pending;
    uint32_t until; /* a fiber runs the nodes from this node up to that index of the order; 0: this node alone */
    uint32_t at;    /* of a root: its index in the order; else: the next node of a backlog */
};

struct edge {
    uint32_t to, next;
};

struct graph {
    struct node *nodes;
    struct edge *edges;
    uint32_t *order; /* each node after its predecessors; NULL: not checked since the last change */
    uint32_t node_count, node_room, edge_count, edge_room;
    uint32_t roots; /* number of roots, at the start of the order */
    _Atomic bool running;
    struct weft__fiber_group crew;
    _Atomic int result;
};

static struct graph *graph_of(const struct weft_graph *graph) { return graph->opaque; }

/* --- building ----------------------------------------------------------------------------------- */

static int graph_grow(void **array, uint32_t *room, uint32_t count, size_t size) {
    if (count < *room) return 0;
    if (*room >= INT_MAX / 2) return -ENOMEM;
    uint32_t more = *room ? 2 * *room : 16;
    void *larger = weft__alloc(more * size);
    if (!larger) return -ENOMEM;
    if (count) memcpy(larger, *array, count * size);
    weft__free(*array);
    *array = larger;
    *room = more;
    return 0;
}

/* Prepares a change: the graph must not run, and the order becomes invalid. */
static int graph_begin_change(struct graph *g) {
    if (load_acq(&g->running)) return -EBUSY; /* pairs with the end of a run */
    weft__free(g->order);
    g->order = NULL;
    return 0;
}

WEFT_PUBLIC int weft_graph_node(struct weft_graph *graph, int (*fn)(void *), void *arg) {
    if (!graph || !fn) return -EINVAL;
    if (!graph->opaque) graph->opaque = weft__alloc(sizeof(struct graph));
    struct graph *g = graph->opaque;
    if (!g) return -ENOMEM;
    int err = graph_begin_change(g);
    if (!err) err = graph_grow((void **)&g->nodes, &g->node_room, g->node_count, sizeof *g->nodes);
    if (err) return err;
    g->nodes[g->node_count] = (struct node){.fn = fn, .arg = arg, .graph = g, .first = NONE};
    return (int)g->node_count++;
}

WEFT_PUBLIC int weft_graph_edge(struct weft_graph *graph, int before, int after) {
    struct graph *g = graph ? graph_of(graph) : NULL;
    if (!g || before < 0 || after < 0 || before == after) return -EINVAL;
    if ((uint32_t)before >= g->node_count || (uint32_t)after >= g->node_count) return -EINVAL;
    int err = graph_begin_change(g);
    if (!err) err = graph_grow((void **)&g->edges, &g->edge_room, g->edge_count, sizeof *g->edges);
    if (err) return err;
    struct node *from = &g->nodes[before];
    g->edges[g->edge_count] = (struct edge){(uint32_t)after, from->first};
    from->first = g->edge_count++;
    g->nodes[after].before++;
    return 0;
}

WEFT_PUBLIC int weft_graph_clear(struct weft_graph *graph) {
    if (!graph) return -EINVAL;
    struct graph *g = graph_of(graph);
    if (!g) return 0;
    int err = graph_begin_change(g);
    if (err) return err;
    weft__free(g->nodes);
    weft__free(g->edges);
    weft__free(g);
    graph->opaque = NULL;
    return 0;
}

/* --- checking ----------------------------------------------------------------------------------- */

static void count_edges(struct graph *g) {
    for (uint32_t i = 0; i < g->node_count; i++) store_rlx(&g->nodes[i].pending, g->nodes[i].before);
}

static void append_node(struct graph *g, uint32_t *n, uint32_t node) {
    g->nodes[node].at = *n;
    g->order[(*n)++] = node;
}

/* Computes an order in which each node comes after its predecessors. -ELOOP: there is a cycle. */
static int graph_check(struct graph *g) {
    if (g->order) return 0;
    uint32_t n = 0;
    g->order = weft__alloc((g->node_count + 1) * sizeof *g->order);
    if (!g->order) return -ENOMEM;
    count_edges(g);
    for (uint32_t i = 0; i < g->node_count; i++)
        if (!g->nodes[i].before) append_node(g, &n, i);
    g->roots = n;
    for (uint32_t done = 0; done < n; done++)
        for (uint32_t e = g->nodes[g->order[done]].first; e != NONE; e = g->edges[e].next)
            if (add_rlx(&g->nodes[g->edges[e].to].pending, UINT32_MAX) == 1) append_node(g, &n, g->edges[e].to);
    if (n == g->node_count) return 0;
    weft__free(g->order);
    g->order = NULL;
    return -ELOOP;
}

/* --- running ------------------------------------------------------------------------------------ */

static void *run_sent(void *node);

/* Nodes that the caller must run itself, because no fiber was available: a list through `at`. */
struct backlog {
    struct node *first;
};

static void graph_send(struct backlog *backlog, struct node *n) {
    n->until = 0;
    if (likely(!weft__fiber_group_spawn(&n->graph->crew, run_sent, n))) return;
    n->at = backlog->first ? (uint32_t)(backlog->first - n->graph->nodes) : NONE;
    backlog->first = n;
}

static struct node *graph_take(struct backlog *backlog) {
    struct node *n = backlog->first;
    if (n) backlog->first = n->at == NONE ? NULL : &n->graph->nodes[n->at];
    return n;
}

/* Runs the node, then a node that it makes ready, and so on. Spawns fibers for the others. */
static void run_chain(struct node *n, struct backlog *backlog) {
    struct graph *g = n->graph;
    while (n && !weft__par_is_over(&g->result)) {
        WEFT_BARRIER(barrier, "weft_graph_run");
        int result = n->fn(n->arg);
        barrier = NULL;
        weft__par_set_result(&g->result, result);
        struct node *next = NULL;
        for (uint32_t e = n->first; e != NONE; e = g->edges[e].next) {
            struct node *to = &g->nodes[g->edges[e].to];
            if (add_ar(&to->pending, UINT32_MAX) != 1) continue; /* pairs with the other decrements of this node */
            if (next) graph_send(backlog, next);
            next = to;
        }
        n = next;
        weft__par_yield();
    }
}

/* Runs the roots [at, until) of the order. */
static void run_roots(struct graph *g, uint32_t at, uint32_t until, struct backlog *backlog) {
    while (until - at > 1) {
        uint32_t mid = at + (until - at) / 2;
        struct node *half = &g->nodes[g->order[mid]];
        half->until = until;
        if (weft__fiber_group_spawn(&g->crew, run_sent, half)) break;
        until = mid;
    }
    for (; at < until; at++) run_chain(&g->nodes[g->order[at]], backlog);
}

static void run_from(void *node) {
    struct node *n = node;
    struct backlog backlog = {NULL};
    if (n->until)
        run_roots(n->graph, n->at, n->until, &backlog);
    else
        run_chain(n, &backlog);
    while ((n = graph_take(&backlog))) run_chain(n, &backlog);
}

static void *run_sent(void *node) {
    struct node *n = node;
    weft__fiber_group_run(&n->graph->crew, run_from, n);
    return NULL;
}

static int graph_run(void *graph) {
    struct graph *g = graph;
    int err = graph_check(g);
    if (err || !g->node_count) return err;
    count_edges(g);
    weft__fiber_group_begin(&g->crew, "weft_graph_run");
    store_rlx(&g->result, 0);
    struct node *first = &g->nodes[g->order[0]];
    first->until = g->roots;
    run_from(first);
    weft__fiber_group_end(&g->crew);
    return load_rlx(&g->result); /* the end of the group has ordered it */
}

WEFT_PUBLIC int weft_graph_run(struct weft_graph *graph) {
    if (!graph) return -EINVAL;
    struct graph *g = graph_of(graph);
    bool no = false;
    if (!g) return 0;
    if (!cas_ar(&g->running, &no, true)) return -EBUSY; /* pairs with the store below */
    int err = weft__par_enter(graph_run, g, "weft_graph_run");
    store_rel(&g->running, false); /* pairs with the swap above, and with change */
    return err;
}
