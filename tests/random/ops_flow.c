/* SPDX-License-Identifier: MIT */
/* Pipelines and graphs. */
#include "random.h"

/* --- pipelines: items are numbers; some go no further ----------------------------------------- */

enum { STAGES = 5, ITEMS = 60 };

struct pipeline;
struct stage {
    struct pipeline *pipeline;
    unsigned number, kind;
    _Atomic unsigned inside, passed;
    uintptr_t last; /* plain: IN_ORDER and SERIAL have one item at a time */
};
struct pipeline {
    struct party *party;
    struct stage stage[STAGES];
    unsigned n, items, made, tokens;
    unsigned leaves; /* one in this many items goes no further than the middle; 0: none */
    _Atomic unsigned under_way, left;
};

static int make_item(void **item, void *arg) {
    struct stage *s = arg;
    struct pipeline *l = s->pipeline;
    if (l->made == l->items) return WEFT_PIPELINE_END;
    SO(atomic_fetch_add(&l->under_way, 1) < l->tokens);
    *item = (void *)(uintptr_t)++l->made;
    if (l->n == 1) atomic_fetch_sub(&l->under_way, 1);
    return 0;
}

static int pass_item(void **item, void *arg) {
    struct stage *s = arg;
    struct pipeline *l = s->pipeline;
    uintptr_t number = (uintptr_t)*item;
    struct party own = party_for(l->party, number * STAGES + s->number);
    unsigned beside = atomic_fetch_add(&s->inside, 1);
    if (s->kind != WEFT_STAGE_PARALLEL) WANT(beside, 0);
    if (s->kind == WEFT_STAGE_IN_ORDER) {
        SO(number > s->last);
        s->last = number;
    }
    if (one_in(&own, 4)) pause_a_bit(&own);
    atomic_fetch_sub(&s->inside, 1);
    atomic_fetch_add(&s->passed, 1);
    bool leaves = s->number == l->n / 2 && l->leaves && number % l->leaves == 0;
    if (leaves) atomic_fetch_add(&l->left, 1);
    if (leaves || s->number == l->n - 1) atomic_fetch_sub(&l->under_way, 1);
    return leaves ? WEFT_PIPELINE_END : 0;
}

static void run_pipeline(struct party *p) {
    struct pipeline l = {.party = p, .n = 1 + (unsigned)below(p, STAGES), .items = (unsigned)below(p, ITEMS)};
    struct weft_stage stages[STAGES];
    l.leaves = one_in(p, 3) ? 1 + (unsigned)below(p, 5) : 0;
    l.tokens = 1 + (unsigned)below(p, 20);
    for (unsigned i = 0; i < l.n; i++) {
        l.stage[i].pipeline = &l;
        l.stage[i].number = i;
        l.stage[i].kind = (unsigned)below(p, 3);
        stages[i] = (struct weft_stage){l.stage[i].kind, i ? pass_item : make_item, &l.stage[i]};
    }
    bool all = done_or_told(p, weft_pipeline(stages, l.n, l.tokens));
    for (unsigned i = 1; i < l.n; i++) {
        unsigned came = l.made - (i > l.n / 2 ? l.left : 0);
        WANT(l.stage[i].inside, 0);
        SO(all ? l.stage[i].passed == came : l.stage[i].passed <= came);
    }
    if (!all) return;
    WANT(l.made, l.items);
    WANT(l.under_way, 0);
}

/* --- graphs: an edge goes from a lower number to a higher one --------------------------------- */

enum { NODES = 24 };
struct vertex {
    struct net *net;
    unsigned number;
    uint32_t before; /* a bit for each node that comes first */
    unsigned runs;
    bool done; /* plain: the edge orders it */
};
struct net {
    struct party *party;
    struct vertex vertex[NODES];
    unsigned round;
};

static int visit(void *arg) {
    struct vertex *v = arg;
    struct party own = party_for(v->net->party, v->number);
    for (unsigned i = 0; i < v->number; i++)
        if (v->before & 1u << i) WANT(v->net->vertex[i].runs, v->net->round + 1);
    pause_a_bit(&own);
    v->runs++;
    return 0;
}

static void run_graph(struct party *p) {
    struct net net = {.party = p};
    struct weft_graph graph = WEFT_GRAPH_INIT;
    unsigned n = 1 + (unsigned)below(p, NODES), rounds = 1 + (unsigned)below(p, 3);
    for (unsigned i = 0; i < n; i++) {
        net.vertex[i] = (struct vertex){.net = &net, .number = i};
        WANT(weft_graph_node(&graph, visit, &net.vertex[i]), i);
        for (unsigned j = 0; j < i; j++) {
            if (!one_in(p, 4)) continue;
            OK(weft_graph_edge(&graph, (int)j, (int)i));
            net.vertex[i].before |= 1u << j;
        }
    }
    bool all = true;
    for (net.round = 0; net.round < rounds && all; net.round += all) all = done_or_told(p, weft_graph_run(&graph));
    for (unsigned i = 0; i < n; i++) {
        unsigned runs = net.vertex[i].runs;
        SO(all ? runs == rounds : runs == net.round || runs == net.round + 1);
    }
    OK(weft_graph_clear(&graph));
}

static const struct kind kinds[] = {
    {"pipeline", 20, BY_THREADS, 1, 1, 0, NULL, run_pipeline, NULL},
    {"graph", 20, BY_THREADS, 1, 1, 0, NULL, run_graph, NULL},
    {0},
};
const struct family family_flow = {kinds, NULL, NULL};
