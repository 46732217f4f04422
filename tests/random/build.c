/* SPDX-License-Identifier: MIT */
/* Builds a program from its seed, see random.h, and leaves operations out of it. */
#include "random.h"

#include <stdlib.h>
#include <string.h>

/* --- actors and their steps ------------------------------------------------------------------- */

struct actor *actor_new(struct program *p, enum actor_type type, struct op *birth) {
    if (p->n_actors == ACTORS) return NULL;
    struct actor *a = &p->actors[p->n_actors];
    *a = (struct actor){.number = p->n_actors++, .type = type, .birth = birth, .live = true};
    if (birth) birth->child = a;
    return a;
}

static void step_add(struct actor *a, struct op *op, unsigned role) {
    if (a->n_steps == a->room) {
        a->room = a->room ? 2 * a->room : 8;
        a->steps = realloc(a->steps, a->room * sizeof *a->steps);
        SO(a->steps);
    }
    a->steps[a->n_steps++] = (struct step){op, role};
}

void tells(struct program *p, const bool *from, bool *to) {
    SO(p->n_tells < sizeof p->tells / sizeof *p->tells);
    p->tells[p->n_tells].from = from;
    p->tells[p->n_tells++].to = to;
}

static void spread_the_word(struct program *p) {
    for (bool more = true; more;) {
        more = false;
        for (unsigned i = 0; i < p->n_tells; i++)
            if (*p->tells[i].from && !*p->tells[i].to) *p->tells[i].to = more = true;
    }
}

/* --- parties ---------------------------------------------------------------------------------- */

static bool fits(const struct kind *k, const struct actor *a) {
    if (!a->live || a->busy) return false;
    if (is_thread(a) && !(k->flags & BY_THREADS)) return false;
    if (a->type == TASK && k->flags & BY_LASTING) return false;
    return !(k->flags & NESTED) || a->depth < DEPTH;
}

/* Chooses actors at random, each at most once. False: there are too few. */
static bool find_parties(struct program *p, struct op *op) {
    struct actor *fit[ACTORS];
    unsigned n = 0;
    for (unsigned i = 0; i < p->n_actors; i++)
        if (fits(op->kind, &p->actors[i])) fit[n++] = &p->actors[i];
    if (n < op->kind->least) return false;
    unsigned most = n < op->kind->most ? n : op->kind->most;
    op->parties = op->kind->least + (unsigned)choose(p, most - op->kind->least + 1);
    for (unsigned i = 0; i < op->parties; i++) {
        unsigned j = i + (unsigned)choose(p, n - i);
        op->actor[i] = fit[j];
        fit[j] = fit[i];
    }
    return true;
}

/* --- operations that are open: brackets, and actors that are to be awaited -------------------- */

static void actor_end(struct program *p, struct actor *a);

static void end_inside(struct program *p, struct op *scope) {
    for (unsigned i = 0; i < p->n_actors; i++)
        if (p->actors[i].live && p->actors[i].inside == scope) actor_end(p, &p->actors[i]);
}

/* Any existing actor may wait for the end of another. The root always exists, or a task of its own while it is busy. */
static struct actor *any_actor(struct program *p) {
    for (;;) {
        struct actor *a = &p->actors[choose(p, p->n_actors)];
        if (a->live && !a->busy) return a;
    }
}

/* Its second role: the operation must be open, and of a bracket the innermost one. */
static void close_op(struct program *p, struct op *op) {
    struct actor *by = op->actor[0];
    if (op->child) actor_end(p, op->child);
    if (op->kind->flags & NESTED) {
        end_inside(p, op);
        SO(by->open[by->depth - 1] == op);
        by->depth--;
        if (op->child && op->child->type == TASK) by->busy = false;
    } else {
        by = any_actor(p);
    }
    op->actor[1] = by;
    op->parties = 2;
    step_add(by, op, 1);
}

/* May the end of the fiber close what it has open? */
static bool may_leave(const struct actor *a) {
    if (a->type != FIBER && a->type != CHILD) return false;
    for (unsigned i = 0; i < a->depth; i++)
        if (!(a->open[i]->kind->flags & MAY_STAY)) return false;
    return true;
}

static void actor_end(struct program *p, struct actor *a) {
    if (!a->live) return;
    bool leaves = choose(p, 3) == 0;
    while (a->depth && !(leaves && may_leave(a))) close_op(p, a->open[a->depth - 1]);
    for (unsigned i = a->depth; i--;) {
        end_inside(p, a->open[i]);
        a->open[i]->stays = a->open[i]->told = true; /* a scope is cancelled by the end of its fiber */
    }
    a->exits = a->depth || (may_leave(a) && choose(p, 4) == 0);
    a->exits_if_told = a->type == FIBER && choose(p, 8) == 0;
    a->live = false;
}

static bool is_open(const struct op *op) { return op->kind->flags & LATER && op->parties == 1 && !op->stays; }

/* A random descriptor that may be closed now; NULL: there is none, or chance decided against it. */
static struct op *any_open(struct program *p) {
    struct op *found = NULL;
    unsigned seen = 0;
    for (unsigned i = 0; i < p->n_ops; i++)
        if (is_open(&p->ops[i]) && choose(p, ++seen) == 0) found = &p->ops[i];
    for (unsigned i = 0; i < p->n_actors; i++) {
        struct actor *a = &p->actors[i];
        if (a->live && a->depth && choose(p, ++seen) == 0) found = a->open[a->depth - 1];
    }
    return found;
}

/* --- the list --------------------------------------------------------------------------------- */

/* Half of the programs know only half of the kinds: so that these meet more often. All know the first, fibers. */
static bool known(struct program *p, unsigned number) {
    uint64_t random = p->seed * 64 + number;
    return !p->narrow || !number || test_below(&random, 2);
}

static const struct kind *any_kind(struct program *p) {
    uint64_t sum = 0;
    unsigned number = 0;
    const struct kind *found = NULL;
    for (unsigned f = 0; families[f]; f++)
        for (const struct kind *k = families[f]->kinds; k->name; k++) {
            if (!known(p, number++) || !kind_enabled(k)) continue;
            sum += k->weight;
            if (choose(p, sum) < k->weight) found = k;
        }
    return found;
}

static void add_op(struct program *p) {
    struct op *op = &p->ops[p->n_ops];
    *op = (struct op){.kind = any_kind(p), .number = p->n_ops, .begun = WEFT_LATCH_INIT(1)};
    if (!op->kind || !find_parties(p, op)) return;
    op->seed = test_random(&p->random);
    op->data = calloc(1, op->kind->size + 1);
    SO(op->data);
    if (op->kind->make && !op->kind->make(p, op)) {
        free(op->data);
        return;
    }
    p->n_ops++;
    for (unsigned i = 0; i < op->parties; i++) step_add(op->actor[i], op, i);
    if (op->kind->flags & NESTED) {
        struct actor *a = op->actor[0];
        a->open[a->depth++] = op;
        a->busy = op->child && op->child->type == TASK && !p->free_tasks;
    }
}

/* The stop waits for the end of detached fibers, too: some are left to it. */
static void leave_some(struct program *p) {
    for (unsigned i = 0; i < p->n_ops; i++) {
        struct op *op = &p->ops[i];
        if (!is_open(op) || !(op->kind->flags & MAY_STAY)) continue;
        actor_end(p, op->child);
        op->stays = true;
    }
}

static void close_everything(struct program *p) {
    if (p->stops_early) leave_some(p);
    for (struct op *op; (op = any_open(p));) close_op(p, op);
    for (unsigned i = 0; i < p->n_actors; i++) p->actors[i].live = false;
}

/* --- what it runs on -------------------------------------------------------------------------- */

static unsigned any_workers(struct program *p) {
    static const unsigned some[] = {1, 1, 2, 2, 2, 3, 8, 8, 32};
    unsigned n = some[choose(p, sizeof some / sizeof *some)];
    return settings.workers ? settings.workers : n;
}

/* What concerns forks is the same in all clusters: see free_tasks. */
static struct weft_config any_config(struct program *p) {
    struct weft_config c = {.workers = any_workers(p)};
    c.no_helping = choose(p, 4) == 0;
    c.no_rescue = choose(p, 4) == 0;
    c.unpark = choose(p, 4) == 0 ? WEFT_UNPARK_LAST : WEFT_UNPARK_LOCAL;
    c.bind = choose(p, 8) == 0;
    c.no_guards = choose(p, 8) == 0;
    c.own_tls = choose(p, 8) == 0 && storage_is_possible();
    c.deque = choose(p, 2) ? WEFT_DEQUE_SPLIT : (unsigned)choose(p, WEFT_DEQUES);
    return c;
}

static void choose_ground(struct program *p) {
    bool stealing = choose(p, 8) != 0, continuations = choose(p, 5) == 0;
    p->config = any_config(p);
    p->n_clusters = 1 + (choose(p, 2) ? (unsigned)choose(p, CLUSTERS) : 0);
    p->cluster_config[0] = p->config;
    for (unsigned i = 1; i < p->n_clusters; i++) {
        p->cluster_config[i] = any_config(p);
        if (p->cluster_config[i].workers > 8) p->cluster_config[i].workers = 4;
    }
    for (unsigned i = 0; i < p->n_clusters; i++) {
        p->cluster_config[i].no_stealing = !stealing;
        p->cluster_config[i].continuations = continuations;
    }
    p->config = p->cluster_config[0];
    p->free_tasks = stealing && !continuations;
    p->rescues = stealing;
    for (unsigned i = 0; i < p->n_clusters; i++)
        p->rescues &= !p->cluster_config[i].no_rescue && !p->cluster_config[i].no_helping;
    p->by_run = choose(p, 3) == 0;
    p->stops_early = choose(p, 4) == 0;
    p->narrow = choose(p, 2);
}

void program_build(struct program *p, uint64_t seed) {
    memset(p, 0, sizeof *p);
    p->seed = seed;
    p->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    choose_ground(p);
    actor_new(p, p->by_run ? ROOT_FIBER : ROOT_THREAD, NULL);
    unsigned size = 3 + (unsigned)choose(p, choose(p, 3) ? 60 : 300);
    static const unsigned closings[] = {3, 5, 5, 20};
    unsigned closing = closings[choose(p, 4)]; /* one in so many closes something */
    for (unsigned i = 0; i < size && p->n_ops < OPERATIONS; i++) {
        struct op *op = choose(p, closing) == 0 ? any_open(p) : NULL;
        if (op)
            close_op(p, op);
        else
            add_op(p);
    }
    close_everything(p);
    spread_the_word(p);
}

void program_free(struct program *p) {
    for (unsigned i = 0; i < p->n_ops; i++) free(p->ops[i].data);
    for (unsigned i = 0; i < p->n_actors; i++) free(p->actors[i].steps);
}

/* --- leaving out ------------------------------------------------------------------------------ */

/* Is the number in a list such as "1,4-7,9"? */
static bool listed(const char *list, unsigned number) {
    while (*list) {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (*end == '-') last = strtoul(end + 1, &end, 10);
        if (number >= first && number <= last) return true;
        if (*end != ',') return false;
        list = end + 1;
    }
    return false;
}

/* Is one of its actors not made, or what it needs not there? */
static bool lacks_something(const struct op *op) {
    if (op->needs && op->needs->dropped) return true;
    for (unsigned i = 0; i < op->parties; i++)
        if (op->actor[i]->birth && op->actor[i]->birth->dropped) return true;
    return false;
}

void program_drop(struct program *p, const char *keep) {
    for (unsigned i = 0; i < p->n_ops; i++) p->ops[i].dropped = !listed(keep, i);
    for (bool more = true; more;) {
        more = false;
        for (unsigned i = 0; i < p->n_ops; i++) {
            struct op *op = &p->ops[i];
            if (!op->dropped && lacks_something(op)) op->dropped = more = true;
        }
    }
}
