/* SPDX-License-Identifier: MIT */
/*
 * Pipelines. An item in progress is a token. Tokens that can continue are in the list `ready`. The fibers of the group
 * take them from there, and move each as far as possible. One lock protects all decisions, once for each stage and
 * item; stages are called without it.
 *
 *   A stage that takes one token at a time is `busy` while a token is inside. Further tokens wait there, in the order
 *   of arrival, or by their numbers if order counts. A token that leaves makes the next token ready.
 *
 *   An item that failed continues as a ghost, without calling stages, because stages that keep the order wait for its
 *   number.
 *
 * The numbers of tokens that wait at an ordered stage differ by less than the number of tokens, because all tokens
 * after the oldest are still in progress. So an array of that size, indexed by number, holds them.
 */
#include "par/fiber_group.h"
#include "sched/tasks/tasks.h"

#define WEFT_TOKENS 4 /* for each worker */

struct token {
    struct token *next;
    void *item;
    size_t stage;
    uint64_t number;
    bool ghost;
};

struct tokens {
    struct token *first, **last;
};

/* The state of a stage. */
struct gate {
    bool busy;
    uint64_t due;         /* in order: the next number */
    struct token **slots; /* waiting tokens by number */
    struct tokens queue;  /* waiting tokens by arrival */
};

struct pipeline {
    const struct weft_stage *stages;
    size_t n, count; /* number of stages, number of tokens */
    struct weft__fiber_group crew;
    struct weft__lock lock;
    struct token *tokens, *unused;
    struct token **slots;
    struct gate *gates;
    struct tokens ready;
    size_t readies, starting; /* number of ready tokens; number of spawned fibers that have not started */
    bool over;                /* no new item is started */
    _Atomic int result;
};

static void pipeline_put(struct tokens *list, struct token *t) {
    t->next = NULL;
    *list->last = t;
    list->last = &t->next;
}

static struct token *pipeline_take(struct tokens *list) {
    struct token *t = list->first;
    if (!t) return NULL;
    list->first = t->next;
    if (!list->first) list->last = &list->first;
    return t;
}

/* The first stage is ordered, too: it assigns the numbers. */
static unsigned stage_kind_of(const struct pipeline *p, size_t stage) {
    return stage ? p->stages[stage].kind : WEFT_STAGE_IN_ORDER;
}

static void make_ready(struct pipeline *p, struct token *t) {
    pipeline_put(&p->ready, t);
    p->readies++;
}

/* May the token enter its stage? If not, it waits there. Locked. */
static bool pipeline_enter(struct pipeline *p, struct token *t) {
    struct gate *g = &p->gates[t->stage];
    unsigned kind = stage_kind_of(p, t->stage);
    if (kind == WEFT_STAGE_PARALLEL) return true;
    if (!g->busy && (kind == WEFT_STAGE_SERIAL || g->due == t->number)) return g->busy = true;
    if (kind == WEFT_STAGE_SERIAL)
        pipeline_put(&g->queue, t);
    else
        g->slots[t->number % p->count] = t;
    return false;
}

/* A token has left the stage: the next token may enter. Locked. */
static void pipeline_leave(struct pipeline *p, size_t stage) {
    struct gate *g = &p->gates[stage];
    unsigned kind = stage_kind_of(p, stage);
    struct token *t = NULL;
    if (kind == WEFT_STAGE_PARALLEL) return;
    if (kind == WEFT_STAGE_SERIAL)
        t = pipeline_take(&g->queue);
    else {
        struct token **slot = &g->slots[++g->due % p->count];
        t = *slot;
        *slot = NULL;
    }
    g->busy = t != NULL;
    if (t) make_ready(p, t);
}

/* Starts another item, if possible. Locked. */
static void pipeline_begin(struct pipeline *p) {
    struct gate *first = &p->gates[0];
    struct token *t = p->unused;
    if (p->over || first->busy || !t) return;
    if ((p->over = weft__par_is_over(&p->result))) return;
    p->unused = t->next;
    *t = (struct token){.number = first->due};
    first->busy = true;
    make_ready(p, t);
}

static void pipeline_finish(struct pipeline *p, struct token *t) {
    t->next = p->unused;
    p->unused = t;
}

/* The token has passed its stage: what next? True: the caller continues with it. Locked. */
static bool pipeline_continue(struct pipeline *p, struct token *t, int result) {
    size_t stage = t->stage++;
    if (result < 0 || (result && !stage)) p->over = true;
    if (result) t->ghost = true;
    if (!stage && result) { /* there was no item: no stage waits for its number */
        p->gates[0].busy = false;
        pipeline_finish(p, t);
        return false;
    }
    pipeline_leave(p, stage);
    bool further = t->stage < p->n;
    if (!further) pipeline_finish(p, t);
    pipeline_begin(p);
    return further && pipeline_enter(p, t);
}

static int pipeline_call(struct pipeline *p, struct token *t) {
    const struct weft_stage *s = &p->stages[t->stage];
    WEFT_BARRIER(barrier, "weft_pipeline");
    int result = t->ghost ? 0 : s->fn(&t->item, s->arg);
    barrier = NULL;
    if (result < 0) weft__par_set_result(&p->result, result);
    return result;
}

static void *pipeline_help(void *pipeline);

/* Spawns a fiber for each ready token that no fiber will take yet. Locked on entry and exit. */
static void send_for_more(struct pipeline *p) {
    while (p->readies > p->starting) {
        p->starting++;
        weft__unlock(&p->lock);
        int err = weft__fiber_group_spawn(&p->crew, pipeline_help, p);
        weft__lock(&p->lock);
        if (!err) continue;
        p->starting--; /* then the running fibers do it */
        return;
    }
}

static void pipeline_work(struct pipeline *p) {
    struct token *mine = NULL;
    for (;;) {
        if (!mine && (mine = pipeline_take(&p->ready))) p->readies--;
        send_for_more(p);
        if (!mine) return;
        weft__unlock(&p->lock);
        int result = pipeline_call(p, mine);
        weft__lock(&p->lock);
        if (pipeline_continue(p, mine, result)) continue;
        mine = NULL;
        weft__unlock(&p->lock);
        weft__par_yield(); /* now, while no stage waits for this fiber */
        weft__lock(&p->lock);
    }
}

static void begin_work(void *pipeline) {
    struct pipeline *p = pipeline;
    weft__lock(&p->lock);
    p->starting--;
    pipeline_work(p);
    weft__unlock(&p->lock);
}

static void *pipeline_help(void *pipeline) {
    struct pipeline *p = pipeline;
    weft__fiber_group_run(&p->crew, begin_work, p);
    return NULL;
}

static int pipeline_prepare(struct pipeline *p) {
    size_t in_order = 1;
    for (size_t i = 1; i < p->n; i++) in_order += p->stages[i].kind == WEFT_STAGE_IN_ORDER;
    if (p->count > SIZE_MAX / 2 / sizeof *p->tokens || in_order > SIZE_MAX / 2 / sizeof *p->slots / p->count)
        return -ENOMEM;
    p->tokens = weft__alloc(p->count * sizeof *p->tokens);
    p->gates = weft__alloc(p->n * sizeof *p->gates);
    p->slots = weft__alloc(in_order * p->count * sizeof *p->slots);
    if (!p->tokens || !p->gates || !p->slots) return -ENOMEM;
    struct token **slots = p->slots;
    for (size_t i = 0; i < p->n; i++) {
        p->gates[i].queue.last = &p->gates[i].queue.first;
        if (stage_kind_of(p, i) != WEFT_STAGE_IN_ORDER) continue;
        p->gates[i].slots = slots;
        slots += p->count;
    }
    for (size_t i = p->count; i-- > 0;) pipeline_finish(p, &p->tokens[i]);
    p->ready.last = &p->ready.first;
    return 0;
}

static int pipeline_run(void *pipeline) {
    struct pipeline *p = pipeline;
    if (!p->count) p->count = (size_t)WEFT_TOKENS * weft__par_count_workers();
    int err = pipeline_prepare(p);
    if (!err) {
        weft__fiber_group_begin(&p->crew, "weft_pipeline");
        weft__lock(&p->lock);
        pipeline_begin(p);
        pipeline_work(p);
        weft__unlock(&p->lock);
        weft__fiber_group_end(&p->crew);
        err = load_rlx(&p->result); /* the end of the group has ordered it */
    }
    weft__free(p->slots);
    weft__free(p->gates);
    weft__free(p->tokens);
    return err;
}

WEFT_PUBLIC int weft_pipeline(const struct weft_stage *stages, size_t n, size_t tokens) {
    if (!stages || !n || n > SIZE_MAX / 2 / sizeof(struct gate)) return -EINVAL;
    for (size_t i = 0; i < n; i++)
        if (!stages[i].fn || stages[i].kind > WEFT_STAGE_SERIAL) return -EINVAL;
    struct pipeline p = {.stages = stages, .n = n, .count = tokens};
    return weft__par_enter(pipeline_run, &p, "weft_pipeline");
}
