/* SPDX-License-Identifier: MIT */
/* Scopes, shields, clean-up handlers, cancellation. */
#include "actors.h"

/* --- scopes ----------------------------------------------------------------------------------- */

struct scope {
    struct weft_scope scope;
    bool timed;
    _Atomic bool failed; /* a child of it returns an error */
};

static bool make_scope(struct program *p, struct op *op) {
    struct scope *s = op->data;
    struct actor *a = op->actor[0];
    op->told = s->timed = choose(p, 4) == 0;
    tells(p, &a->told, &op->told);
    tells(p, &op->told, &a->told);
    return true;
}

static void run_scope(struct party *p) {
    struct scope *s = p->op->data;
    if (p->role == 0) {
        OK(weft_scope_begin(&s->scope, s->timed ? weft_now() + below(p, 2 * WEFT_MILLISECOND) : WEFT_FOREVER));
        return;
    }
    int err = weft_scope_end(&s->scope);
    SO(err <= 0);
    SO(!err || p->op->told);
    SO(err || !atomic_load(&s->failed));
    WANT(weft_scope_end(&s->scope), -EINVAL);
}

/* --- children --------------------------------------------------------------------------------- */

/* A scope into which the actor may spawn: the actor has begun it, or is its child. */
static struct op *scope_for(struct program *p, struct actor *a) {
    struct op *found = a->inside;
    unsigned n = found != NULL;
    for (unsigned i = 0; i < a->depth; i++)
        if (a->open[i]->kind->run == run_scope && choose(p, ++n) == 0) found = a->open[i];
    return found;
}

static bool make_child(struct program *p, struct op *op) {
    struct op *scope = scope_for(p, op->actor[0]);
    struct actor *a = scope ? actor_new(p, CHILD, op) : NULL;
    if (!a) return false;
    choose_attributes(p, a);
    op->needs = a->inside = scope;
    if (choose(p, 8) == 0) {
        a->failure = -2000 - (int)choose(p, 100);
        scope->told = true;
    }
    tells(p, &scope->told, &a->told);
    return true;
}

static int child_main(void *actor) {
    struct actor *a = actor;
    struct scope *s = a->inside->data;
    if (a->failure) atomic_store(&s->failed, true);
    return (int)(intptr_t)actor_main(a);
}

static int spawn_child(struct party *p, struct weft_attr *attr) {
    struct scope *s = p->op->needs->data;
    int err = weft_scope_spawn(&s->scope, attr, child_main, p->op->child);
    if (unpinned(p, err, attr)) err = weft_scope_spawn(&s->scope, attr, child_main, p->op->child);
    return err;
}

/* Has the scope perhaps ended? It refused this actor as a child. */
static bool strayed(struct party *p) { return p->actor->stray && p->actor->inside == p->op->needs; }

/* A cancelled scope refuses children: then the child is a separate fiber. */
static void run_child(struct party *p) {
    struct weft_attr attr = attributes(p, NULL);
    if (!strayed(p)) {
        int err = spawn_child(p, &attr);
        if (!err) return;
        WANT(err, -ECANCELED);
        SO(p->op->needs->told);
    }
    p->op->child->stray = true;
    attr.counter = &p->program->strays;
    OK(weft_counter_add(attr.counter, 1));
    int err = weft_spawn(NULL, &attr, actor_main, p->op->child);
    if (unpinned(p, err, &attr)) err = weft_spawn(NULL, &attr, actor_main, p->op->child);
    OK(err);
}

/* --- shields ---------------------------------------------------------------------------------- */

static void run_shield(struct party *p) {
    struct weft_shield *s = p->op->data;
    if (p->role == 0) {
        OK(weft_shield_begin(s));
        WANT(weft_cancelled(), 0);
    } else {
        OK(weft_shield_end(s));
    }
}

/* --- clean-up --------------------------------------------------------------------------------- */

struct cleanup {
    struct weft_cleanup cleanup;
    struct op *op;
    unsigned ran;
    bool taken_back;
};

/* The handlers run in a shield, the last pushed first. */
static void handler(void *cleanup) {
    struct cleanup *c = cleanup;
    struct actor *a = c->op->actor[0];
    SO(a->n_cleanups && a->cleanups[a->n_cleanups - 1] == c->op);
    WANT(weft_cancelled(), 0);
    OK(weft_sleep_for(c->op->seed % 8 ? 0 : c->op->seed % 20000));
    a->n_cleanups--;
    c->ran++;
}

static void run_cleanup(struct party *p) {
    struct cleanup *c = p->op->data;
    struct actor *a = p->actor;
    if (p->role == 0) {
        c->op = p->op;
        a->cleanups[a->n_cleanups++] = p->op;
        OK(weft_cleanup_push(&c->cleanup, handler, c));
        return;
    }
    c->taken_back = one_in(p, 2);
    if (c->taken_back) a->n_cleanups--;
    OK(weft_cleanup_pop(&c->cleanup, !c->taken_back));
}

static void check_cleanup(struct op *op) {
    struct cleanup *c = op->data;
    WANT(c->ran, !c->taken_back);
}

/* --- cancellation ----------------------------------------------------------------------------- */

struct cancel {
    struct actor *target;
};

static bool has_fiber(const struct actor *a) { return a->live && !is_thread(a) && a->type != TASK; }

static bool make_cancel(struct program *p, struct op *op) {
    struct cancel *c = op->data;
    c->target = &p->actors[choose(p, p->n_actors)];
    op->needs = c->target->birth;
    if (!has_fiber(c->target)) return false;
    c->target->told = true;
    return true;
}

/* It may not have begun, or have ended: then there is nothing to cancel. */
static void run_cancel(struct party *p) {
    struct actor *target = ((struct cancel *)p->op->data)->target;
    struct weft_fiber fiber = {atomic_load(&target->id)};
    if (!fiber.id) return;
    int err = weft_cancel(fiber);
    SO(!err || (err == -ESRCH && atomic_load(&target->ended)));
}

static bool make_scope_cancel(struct program *p, struct op *op) {
    op->needs = scope_for(p, op->actor[0]);
    return op->needs && (op->needs->told = true);
}

static void run_scope_cancel(struct party *p) {
    struct scope *s = p->op->needs->data;
    if (strayed(p)) return;
    int err = one_in(p, 2) ? weft_scope_cancel(&s->scope) : weft_scope_fail(&s->scope, -3000);
    SO(!err || err == -EALREADY);
}

/* A deadline after the end of the scope, or a deadline that is removed. */
static void run_scope_deadline(struct party *p) {
    struct scope *s = p->op->needs->data;
    if (strayed(p)) return;
    uint64_t deadline = one_in(p, 3) ? WEFT_FOREVER : weft_now() + below(p, 2 * WEFT_MILLISECOND);
    int err = weft_scope_set_deadline(&s->scope, one_in(p, 8) ? 0 : deadline);
    SO(!err || err == -EALREADY);
}

static const struct kind kinds[] = {
    {"scope", 80, BY_THREADS | NESTED | MAY_STAY, 1, 1, sizeof(struct scope), make_scope, run_scope, NULL},
    {"child", 150, BY_THREADS, 1, 1, 0, make_child, run_child, NULL},
    {"shield", 20, BY_THREADS | NESTED, 1, 1, sizeof(struct weft_shield), NULL, run_shield, NULL},
    {"cleanup", 40, BY_LASTING | NESTED | MAY_STAY, 1, 1, sizeof(struct cleanup), NULL, run_cleanup, check_cleanup},
    {"cancel", 40, BY_THREADS, 1, 1, sizeof(struct cancel), make_cancel, run_cancel, NULL},
    {"scope_deadline", 30, BY_THREADS, 1, 1, 0, make_scope_cancel, run_scope_deadline, NULL},
    {"scope_cancel", 20, BY_THREADS, 1, 1, 0, make_scope_cancel, run_scope_cancel, NULL},
    {0},
};
const struct family family_scopes = {kinds, NULL, NULL};
