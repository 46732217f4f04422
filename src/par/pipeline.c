/*
 * Pipelines. An item under way is a token; those that could go on stand in a list, `ready`, and fibers, the crew,
 * take them from there and take each as far as it gets. All of this is decided under one lock, once a stage and
 * item; the stages themselves are called without it.
 *
 *   a stage that takes one at a time is `busy` while somebody is in it; who comes then waits there, in order of
 *   arrival, or, if order counts, at the place of its number. Who leaves makes the next one ready.
 *
 *   An item that failed goes on as a ghost, for which nothing is called, because stages that keep the order
 *   wait for its number.
 *
 * Numbers of items that wait at a stage that keeps the order differ by less than the number of tokens: all
 * behind the oldest are still under way. So a ring of that size holds them.
 */
#include "par/crew.h"

#define WEFT_TOKENS 4 /* a worker */

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

/* Of a stage. */
struct gate {
    bool busy;
    uint64_t due;        /* in order: the number that is next */
    struct token **ring; /* who waits, by number */
    struct tokens queue; /* or by arrival */
};

struct pipeline {
    const struct weft_stage *stages;
    size_t n, count; /* stages, tokens */
    struct weft__crew crew;
    struct weft__lock lock;
    struct token *tokens, *unused;
    struct token **rings;
    struct gate *gates;
    struct tokens ready;
    size_t readies, starting; /* how many are ready; how many of the crew have not begun */
    bool over;                /* nothing new is begun */
    _Atomic int result;
};

static void put(struct tokens *list, struct token *t) {
    t->next = NULL;
    *list->last = t;
    list->last = &t->next;
}

static struct token *take(struct tokens *list) {
    struct token *t = list->first;
    if (!t) return NULL;
    list->first = t->next;
    if (!list->first) list->last = &list->first;
    return t;
}

/* The first stage is in order, too: that is what gives the numbers. */
static unsigned kind_of(const struct pipeline *p, size_t stage) {
    return stage ? p->stages[stage].kind : WEFT_STAGE_IN_ORDER;
}

static void make_ready(struct pipeline *p, struct token *t) {
    put(&p->ready, t);
    p->readies++;
}

/* May the token enter the stage that it stands before? If not, it waits there. Locked. */
static bool enter(struct pipeline *p, struct token *t) {
    struct gate *g = &p->gates[t->stage];
    unsigned kind = kind_of(p, t->stage);
    if (kind == WEFT_STAGE_PARALLEL) return true;
    if (!g->busy && (kind == WEFT_STAGE_SERIAL || g->due == t->number)) return g->busy = true;
    if (kind == WEFT_STAGE_SERIAL)
        put(&g->queue, t);
    else
        g->ring[t->number % p->count] = t;
    return false;
}

/* Somebody has left the stage: the next one may enter. Locked. */
static void leave(struct pipeline *p, size_t stage) {
    struct gate *g = &p->gates[stage];
    unsigned kind = kind_of(p, stage);
    struct token *t = NULL;
    if (kind == WEFT_STAGE_PARALLEL) return;
    if (kind == WEFT_STAGE_SERIAL)
        t = take(&g->queue);
    else {
        struct token **place = &g->ring[++g->due % p->count];
        t = *place;
        *place = NULL;
    }
    g->busy = t != NULL;
    if (t) make_ready(p, t);
}

/* Another item, if one may be begun. Locked. */
static void begin(struct pipeline *p) {
    struct gate *first = &p->gates[0];
    struct token *t = p->unused;
    if (p->over || first->busy || !t) return;
    if ((p->over = weft__par_over(&p->result))) return;
    p->unused = t->next;
    *t = (struct token){.number = first->due};
    first->busy = true;
    make_ready(p, t);
}

static void finish(struct pipeline *p, struct token *t) {
    t->next = p->unused;
    p->unused = t;
}

/* The token has been through its stage: where does it go? True: on, with whoever has it. Locked. */
static bool go_on(struct pipeline *p, struct token *t, int result) {
    size_t stage = t->stage++;
    if (result < 0 || (result && !stage)) p->over = true;
    if (result) t->ghost = true;
    if (!stage && result) { /* it never was one: nobody waits for its number */
        p->gates[0].busy = false;
        finish(p, t);
        return false;
    }
    leave(p, stage);
    bool further = t->stage < p->n;
    if (!further) finish(p, t);
    begin(p);
    return further && enter(p, t);
}

static int call(struct pipeline *p, struct token *t) {
    const struct weft_stage *s = &p->stages[t->stage];
    WEFT_BARRIER(barrier, "weft_pipeline");
    int result = t->ghost ? 0 : s->fn(&t->item, s->arg);
    barrier = NULL;
    if (result < 0) weft__par_end(&p->result, result);
    return result;
}

static void *help(void *pipeline);

/* What is ready and nobody comes for yet: one more of the crew. Locked, and again on return. */
static void send_for_more(struct pipeline *p) {
    while (p->readies > p->starting) {
        p->starting++;
        weft__unlock(&p->lock);
        int err = weft__crew_send(&p->crew, help, p);
        weft__lock(&p->lock);
        if (!err) continue;
        p->starting--; /* then those who are there do it */
        return;
    }
}

static void work(struct pipeline *p) {
    struct token *mine = NULL;
    for (;;) {
        if (!mine && (mine = take(&p->ready))) p->readies--;
        send_for_more(p);
        if (!mine) return;
        weft__unlock(&p->lock);
        int result = call(p, mine);
        weft__lock(&p->lock);
        if (go_on(p, mine, result)) continue;
        mine = NULL;
        weft__unlock(&p->lock);
        weft__let_in(); /* now, when no stage waits for us */
        weft__lock(&p->lock);
    }
}

static void begin_work(void *pipeline) {
    struct pipeline *p = pipeline;
    weft__lock(&p->lock);
    p->starting--;
    work(p);
    weft__unlock(&p->lock);
}

static void *help(void *pipeline) {
    struct pipeline *p = pipeline;
    weft__crew_work(&p->crew, begin_work, p);
    return NULL;
}

static int prepare(struct pipeline *p) {
    size_t in_order = 1;
    for (size_t i = 1; i < p->n; i++) in_order += p->stages[i].kind == WEFT_STAGE_IN_ORDER;
    if (p->count > SIZE_MAX / 2 / sizeof *p->tokens || in_order > SIZE_MAX / 2 / sizeof *p->rings / p->count)
        return -ENOMEM;
    p->tokens = weft__alloc(p->count * sizeof *p->tokens);
    p->gates = weft__alloc(p->n * sizeof *p->gates);
    p->rings = weft__alloc(in_order * p->count * sizeof *p->rings);
    if (!p->tokens || !p->gates || !p->rings) return -ENOMEM;
    struct token **ring = p->rings;
    for (size_t i = 0; i < p->n; i++) {
        p->gates[i].queue.last = &p->gates[i].queue.first;
        if (kind_of(p, i) != WEFT_STAGE_IN_ORDER) continue;
        p->gates[i].ring = ring;
        ring += p->count;
    }
    for (size_t i = p->count; i-- > 0;) finish(p, &p->tokens[i]);
    p->ready.last = &p->ready.first;
    return 0;
}

static int run(void *pipeline) {
    struct pipeline *p = pipeline;
    if (!p->count) p->count = (size_t)WEFT_TOKENS * weft__par_workers();
    int err = prepare(p);
    if (!err) {
        weft__crew_begin(&p->crew, "weft_pipeline");
        weft__lock(&p->lock);
        begin(p);
        work(p);
        weft__unlock(&p->lock);
        weft__crew_end(&p->crew);
        err = load_rlx(&p->result); /* the crew's end has ordered it */
    }
    weft__free(p->rings);
    weft__free(p->gates);
    weft__free(p->tokens);
    return err;
}

WEFT_PUBLIC int weft_pipeline(const struct weft_stage *stages, size_t n, size_t tokens) {
    if (!stages || !n || n > SIZE_MAX / 2 / sizeof(struct gate)) return -EINVAL;
    for (size_t i = 0; i < n; i++)
        if (!stages[i].fn || stages[i].kind > WEFT_STAGE_SERIAL) return -EINVAL;
    struct pipeline p = {.stages = stages, .n = n, .count = tokens};
    return weft__par_enter(run, &p, "weft_pipeline");
}
