/* SPDX-License-Identifier: MIT */
/* Runs a program: its ground, its root, and the steps of each actor. */
#include "random.h"

#include "mem/stack.h"
#include "sched/core/fiber.h"

#include <stdio.h>
#include <stdlib.h>

struct program *the_program;

/* The result of an actor, by which a join can tell that it is the right one. */
int actor_result(const struct actor *a) {
    return a->failure ? a->failure : (int)(the_program->seed % 1000 * 100 + a->number);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* A fiber runs in the cluster that it belongs to, and a pinned one on its worker. */
static void must_be_at_home(struct actor *a) {
    if (is_thread(a) || a->type == TASK) return;
    storage_must_be_mine(a);
    if (a->pushed) return;
    WANT(weft_cluster_self().id, a->where);
    if (a->pin) WANT(weft_worker(), a->pin - 1);
}

static void trace(struct party *p, const char *what) {
    if (settings.trace)
        fprintf(stderr, "%12llu  actor %u, op %u %s/%u: %s\n", (unsigned long long)weft_now() / 1000 % 1000000000,
                p->actor->number, p->op->number, p->op->kind->name, p->role, what);
}

static void step_run(struct actor *a, struct step *s) {
    struct party p = {the_program, s->op, a, s->role, s->op->seed + s->role * UINT64_C(0x9e3779b97f4a7c15), false};
    if (s->op->dropped) return;
    trace(&p, "begins");
    if (s->role == 1 && s->op->kind->flags & LATER) OK(insist(&p, wait_for_latch, &s->op->begun));
    s->op->kind->run(&p);
    if (s->role == 0 && s->op->kind->flags & LATER) OK(weft_latch_count_down(&s->op->begun, 1));
    trace(&p, "done");
    moved();
}

static void steps_run(struct actor *a) {
    WANT(atomic_fetch_add(&a->runs, 1), 0);
    if (!is_thread(a) && a->type != TASK) {
        atomic_store(&a->id, weft_self().id);
        storage_begin(a);
    }
    must_be_at_home(a);
    for (unsigned i = 0; i < a->n_steps; i++) {
        atomic_store(&a->at, i);
        step_run(a, &a->steps[i]);
        must_be_at_home(a);
    }
    atomic_store(&a->ended, 1);
}

void *actor_main(void *actor) {
    struct actor *a = actor;
    void *result = (void *)(intptr_t)actor_result(a);
    steps_run(a);
    if (a->exits_if_told) weft_fiber_exit_if_cancelled();
    if (a->exits) weft_fiber_exit(result);
    return result;
}

/* --- the ground --------------------------------------------------------------------------------------------------- */

static void *tell_cluster(void *id) {
    *(uint64_t *)id = weft_cluster_self().id;
    return NULL;
}

static void clusters_begin(struct program *p) {
    struct weft_fiber f;
    OK(weft_spawn(&f, NULL, tell_cluster, &p->cluster[0].id));
    OK(weft_join(f, NULL));
    p->actors[0].where = p->cluster[0].id;
    for (unsigned i = 1; i < p->n_clusters; i++) OK(weft_cluster_create(&p->cluster[i], &p->cluster_config[i]));
}

static void clusters_end(struct program *p) {
    if (p->stops_early) return;
    OK(weft_counter_wait(&p->strays, 0));
    if (p->by_run) OK(weft_cluster_move((struct weft_fiber){0}, p->cluster[0])); /* it may have moved */
    for (unsigned i = 1; i < p->n_clusters; i++) {
        OK(weft_cluster_drain(p->cluster[i])); /* fibers that ran forked calls may be about to end */
        OK(weft_cluster_destroy(p->cluster[i]));
    }
}

static int root_main(void *program) {
    struct program *p = program;
    struct weft_shield shield;
    clusters_begin(p);
    actor_main(&p->actors[0]);
    OK(weft_shield_begin(&shield)); /* it may have been cancelled */
    clusters_end(p);
    OK(weft_shield_end(&shield));
    return 4711;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void check_all(struct program *p) {
    for (unsigned i = 0; i < p->n_ops; i++)
        if (!p->ops[i].dropped && p->ops[i].kind->check) p->ops[i].kind->check(&p->ops[i]);
    for (unsigned i = 0; i < p->n_actors; i++) {
        struct actor *a = &p->actors[i];
        if (a->birth && a->birth->dropped) continue;
        WANT(atomic_load(&a->runs), 1);
        WANT(atomic_load(&a->ended), 1);
        WANT(a->n_cleanups, 0);
        storage_check(a);
    }
}

/* Fibers' records that are in use. Threads have some, too, and keep them. */
static unsigned live_fibers(void) {
    unsigned n = 0;
    for (uint32_t i = 0; i < load_acq(&weft__fibers.records); i++) {
        struct weft__slot *slot = weft__slab_at(&weft__fibers, i);
        struct weft__fiber *f = container_of(slot, struct weft__fiber, slot);
        n += weft__slot_in_use(slot) && load_rlx(&f->context.kind) == WEFT_KIND_FIBER;
    }
    return n;
}

void program_run(struct program *p) {
    size_t files = test_open_files();
    the_program = p;
    for (unsigned f = 0; families[f]; f++)
        if (families[f]->begin) families[f]->begin(p);
    if (p->by_run) {
        WANT(weft_run(root_main, p, &p->config), 4711);
    } else {
        OK(weft_start(&p->config));
        WANT(root_main(p), 4711);
        OK(weft_stop());
    }
    check_all(p);
    for (unsigned f = 0; families[f]; f++)
        if (families[f]->end) families[f]->end(p);
    WANT(weft_workers(), 0);
    WANT(weft__stack_count_in_use(), 0);
    WANT(live_fibers(), 0);
    WANT(test_open_files(), files);
}
