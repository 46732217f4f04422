/* SPDX-License-Identifier: MIT */
/*
 * A simulation: the policy of libweft-mpi (src/dist/policy.c, the same code) with up to 8,192 ranks, on a UTS tree.
 *
 *     sim [--quick] [--ranks N] [--tree T1L] [--node-ns N] [--latency-ns N]
 *
 * Virtual time, one thread, seeded. Each rank visits nodes depth first; a node takes node-ns. A message arrives
 * latency-ns after it was sent, and a rank that computes looks at its messages at its next fork, so after each node. A
 * steal takes the older half of the victim's nodes, at most as many as the thief asks for, and costs the victim
 * give-ns. Returning results costs the computing ranks no time, and is not simulated.
 *
 * Efficiency is the time that one rank would take, divided by ranks and time. Beside it stands what others have
 * published for UTS, as far as a figure is known. Their trees, machines and times of a node differ.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/dist/uts_tree.h"
#include "dist/policy.h"

#define QUANTUM 64 /* nodes that a rank visits in one step if there is no message; their times are still exact */

enum kind { STEP, STEAL, LIFELINE, NONE, NODES };
struct event {
    uint64_t at;
    unsigned to, from;
    enum kind kind;
    unsigned n;
    struct uts_node *nodes;
};

struct rank {
    struct uts_node *nodes; /* the oldest first */
    unsigned first, count, room;
    struct weft__policy policy;
    bool stepping, asking;
    uint64_t got; /* when the last calls arrived */
    struct waiter {
        unsigned rank, most;
    } * waiting;
    unsigned waiting_count;
};

static struct event *heap;
static unsigned heap_count, heap_room;
static struct rank *ranks;
static unsigned rank_count = 1024;
static uint64_t node_ns = 400, latency_ns = 3000, give_ns = 1500, now, visited, messages, steals;
static const struct uts_tree *tree;

static bool before(const struct event *a, const struct event *b) { return a->at < b->at; }

static void push(struct event e) {
    if (heap_count == heap_room) heap = realloc(heap, (heap_room = heap_room ? 2 * heap_room : 1024) * sizeof *heap);
    if (!heap) abort();
    unsigned i = heap_count++;
    for (; i && before(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = e;
}

static struct event pop(void) {
    struct event top = heap[0], last = heap[--heap_count];
    unsigned i = 0;
    for (unsigned c; (c = 2 * i + 1) < heap_count; i = c) {
        if (c + 1 < heap_count && before(&heap[c + 1], &heap[c])) c++;
        if (!before(&heap[c], &last)) break;
        heap[i] = heap[c];
    }
    heap[i] = last;
    return top;
}

static void send(unsigned to, unsigned from, enum kind kind, uint64_t at, unsigned n, struct uts_node *nodes) {
    messages++;
    push((struct event){at + latency_ns, to, from, kind, n, nodes});
}

static void add(struct rank *r, const struct uts_node *node) {
    if (r->first + r->count == r->room) {
        if (r->first > r->room / 2)
            memmove(r->nodes, r->nodes + r->first, r->count * sizeof *r->nodes);
        else {
            struct uts_node *nodes = malloc((r->room = r->room ? 2 * r->room : 64) * sizeof *nodes);
            if (!nodes) abort();
            if (r->count) memcpy(nodes, r->nodes + r->first, r->count * sizeof *nodes);
            free(r->nodes);
            r->nodes = nodes;
        }
        r->first = 0;
    }
    r->nodes[r->first + r->count++] = *node;
}

/* The older half, as weft__task_steal gives it. Returns how many. */
static unsigned give(unsigned from, unsigned to, unsigned most, uint64_t at) {
    struct rank *r = &ranks[from];
    unsigned n = r->count > 1 ? (r->count + 1) / 2 : 0;
    if (n > most) n = most;
    if (!n) return 0;
    struct uts_node *nodes = malloc(n * sizeof *nodes);
    if (!nodes) abort();
    memcpy(nodes, r->nodes + r->first, n * sizeof *nodes);
    r->first += n;
    r->count -= n;
    steals++;
    send(to, from, NODES, at + give_ns, n, nodes);
    return n;
}

/* Asks the next rank, or tells the lifelines. */
static void ask(unsigned i, uint64_t at) {
    struct rank *r = &ranks[i];
    unsigned victim = weft__policy_victim(&r->policy, NULL), lines[WEFT_POLICY_LIFELINES];
    if (victim != UINT32_MAX) {
        r->asking = true;
        send(victim, i, STEAL, at, r->policy.wants, NULL);
        return;
    }
    r->asking = false;
    unsigned n = weft__policy_lifelines(&r->policy, NULL, lines);
    for (unsigned k = 0; k < n; k++) send(lines[k], i, LIFELINE, at, r->policy.wants, NULL);
}

static void visit(struct rank *r) {
    struct uts_node node = r->nodes[r->first + --r->count];
    int n = uts_children(tree, &node);
    visited++;
    for (int i = 0; i < n; i++) {
        struct uts_node child = uts_child(&node, i);
        add(r, &child);
    }
}

/* Visits nodes up to the next event of the whole machine, and feeds a rank that waits. */
static void step(unsigned i) {
    struct rank *r = &ranks[i];
    uint64_t at = now;
    for (unsigned n = 0; r->count && (n == 0 || (n < QUANTUM && heap_count && at < heap[0].at)); n++) {
        visit(r);
        at += node_ns;
        const struct waiter *w = r->waiting_count ? &r->waiting[r->waiting_count - 1] : NULL;
        if (!w || !give(i, w->rank, w->most, at)) continue;
        r->waiting_count--;
        at += give_ns;
    }
    r->stepping = r->count > 0;
    if (r->stepping) {
        push((struct event){at, i, i, STEP, 0, NULL});
        return;
    }
    r->policy.tries = 0;
    weft__policy_ran(&r->policy, at - r->got);
    ask(i, at + r->policy.pause_ns);
}

static void wait_for(struct rank *r, unsigned from, unsigned most) {
    for (unsigned k = 0; k < r->waiting_count; k++)
        if (r->waiting[k].rank == from) return;
    struct waiter *waiting = realloc(r->waiting, (r->waiting_count + 1) * sizeof *waiting);
    if (!waiting) abort();
    waiting[r->waiting_count++] = (struct waiter){from, most};
    r->waiting = waiting;
}

static void handle(const struct event *e) {
    struct rank *r = &ranks[e->to];
    switch (e->kind) {
    case STEP: step(e->to); break;
    case STEAL:
        if (!give(e->to, e->from, e->n, e->at)) send(e->from, e->to, NONE, e->at, 0, NULL);
        break;
    case LIFELINE:
        if (!give(e->to, e->from, e->n, e->at)) wait_for(r, e->from, e->n);
        break;
    case NONE:
        if (r->asking && !r->stepping) ask(e->to, e->at);
        break;
    case NODES:
        for (unsigned i = 0; i < e->n; i++) add(r, &e->nodes[i]);
        free(e->nodes);
        r->asking = false;
        r->got = e->at;
        if (!r->stepping) push((struct event){e->at, e->to, e->to, STEP, 0, NULL});
        r->stepping = true;
        break;
    }
}

/* Efficiencies of UTS on real machines. */
static const struct {
    unsigned ranks;
    double efficiency;
} published[] = {{1024, 0.80}};
static const char published_source[] =
    "published: S. Olivier, J. Prins: Scalable Dynamic Load Balancing Using UPC, ICPP 2008 (its abstract: 80 % with\n"
    "1,024 processors, measured). For more processors no figure is known to us, only words: \"nearly linear "
    "speedup\",\n"
    "up to 16,384 cores (W. Zhang et al.: GLB: Lifeline-based Global Load Balancing Library in X10, 2014).\n"
    "Trees and machines differ from those simulated here.\n";

static const char *published_for(unsigned n) {
    static char text[32];
    snprintf(text, sizeof text, "-");
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++)
        if (published[i].ranks == n) snprintf(text, sizeof text, "%.2f", published[i].efficiency);
    return text;
}

/* Returns the efficiency. */
static double simulate(unsigned n) {
    struct uts_node root = uts_root(tree);
    rank_count = n;
    ranks = calloc(n, sizeof *ranks);
    if (!ranks) abort();
    now = visited = messages = steals = 0;
    uint64_t last = 0;
    for (unsigned i = 0; i < n; i++) weft__policy_begin(&ranks[i].policy, i, n, 1);
    add(&ranks[0], &root);
    ranks[0].stepping = true;
    push((struct event){0, 0, 0, STEP, 0, NULL});
    for (unsigned i = 1; i < n; i++) ask(i, 0);
    while (heap_count) {
        struct event e = pop();
        now = e.at;
        if (e.kind == STEP) last = e.at;
        handle(&e);
    }
    for (unsigned i = 0; i < n; i++) free(ranks[i].nodes), free(ranks[i].waiting);
    free(ranks);
    double efficiency = (double)visited * (double)node_ns / ((double)last * n);
    printf("%6u ranks  %10llu nodes  %9.3f ms  efficiency %.3f  published %4s  %8llu steals  %9llu messages\n", n,
           (unsigned long long)visited, (double)last / 1e6, efficiency, published_for(n), (unsigned long long)steals,
           (unsigned long long)messages);
    fflush(stdout);
    return visited == tree->nodes ? efficiency : 0;
}

int main(int argc, char **argv) {
    const char *name = "T1L";
    unsigned only = 0;
    bool quick = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick"))
            quick = true;
        else if (i + 1 < argc && !strcmp(argv[i], "--ranks"))
            only = (unsigned)atoi(argv[++i]);
        else if (i + 1 < argc && !strcmp(argv[i], "--tree"))
            name = argv[++i];
        else if (i + 1 < argc && !strcmp(argv[i], "--node-ns"))
            node_ns = (uint64_t)atoll(argv[++i]);
        else if (i + 1 < argc && !strcmp(argv[i], "--latency-ns"))
            latency_ns = (uint64_t)atoll(argv[++i]);
        else
            return fprintf(stderr, "sim: what is %s?\n", argv[i]), 2;
    }
    if (quick) name = "T1";
    if (!(tree = uts_find(name))) return fprintf(stderr, "sim: there is no tree %s\n", name), 2;
    printf("%s, %llu ns a node, %llu ns a message, %llu ns to give calls away\n", name, (unsigned long long)node_ns,
           (unsigned long long)latency_ns, (unsigned long long)give_ns);
    unsigned bad = 0, done = 0;
    static const unsigned counts[] = {1, 16, 128, 1024, 8192};
    for (unsigned i = 0; i < 5; i++) {
        if ((only && counts[i] != only) || (quick && counts[i] > 128)) continue;
        double efficiency = simulate(counts[i]);
        bad += efficiency < (quick ? 0.5 : counts[i] <= 1024 ? 0.9 : 0.0) || efficiency == 0;
        done++;
    }
    free(heap);
    fputs(published_source, stdout);
    printf("%u passed, %u failed\n", done - bad, bad);
    return bad != 0;
}
