/* SPDX-License-Identifier: MIT */
/*
 * Directed loops: the range is cut into parts, each intended for a worker and mailed to it (mail.h). So every worker
 * starts at once, with data that it may have used before, instead of looking for work.
 *
 *   part    a fraction of the range, cut into pieces by the partitioner when it runs (loop.c)
 *   group   consecutive parts for the same worker
 *   share   groups that are mailed together, to the worker of the first group. The worker that runs a share mails
 *           all groups but the first on, in halves (even) or one by one (uneven), and runs the first itself
 *
 * Each mailed share is also in the deque of the sender, which joins it. Thieves find it there only after the sender has
 * mailed everything. For WEFT_HOLD they leave shares of other workers alone, because a sleeping worker needs that long
 * to start. At the end the sender runs what is left.
 */
#include "par/fiber_group.h"
#include "par/loop.h"
#include "par/mail.h"

#include <string.h>

#define WEFT_HOLD (100 * WEFT_MICROSECOND)
#define WEFT_PARTS 4 /* for each worker, with affinity */
#define WEFT_PARTS_MOST (sizeof((struct weft_affinity *)0)->worker / sizeof(uint16_t))

struct share {
    struct weft_task task;
    struct weft__proxy *proxy; /* NULL: not mailed */
    struct spread *spread;
    struct share *before, *after;   /* shares of the same sender */
    struct weft__fiber_group *sent; /* how many of these have not run, and the scope they run in */
    unsigned first, end;            /* groups */
    _Atomic bool joining;           /* the sender joins it */
    bool settled;                   /* its task has claimed the proxy */
};

struct group {
    unsigned first, end; /* parts */
    unsigned worker;
};

struct spread {
    struct weft__loop *loop;
    unsigned parts, groups;
    uint64_t hold_until;
    struct group *group;
    struct share *share; /* indexed by first group; [0] is not mailed */
    char *values;        /* a value for each part */
    size_t apart;        /* bytes between two values */
};

static void *spread_value_of(struct spread *s, unsigned part) { return s->values ? s->values + part * s->apart : NULL; }

static _Atomic uint16_t *ran_on(struct weft_affinity *affinity, unsigned part) {
    return (_Atomic uint16_t *)&affinity->worker[part];
}

/* --- running ------------------------------------------------------------------------------------ */

static void run_part(struct spread *s, unsigned part) {
    struct weft__loop *loop = s->loop;
    if (loop->affinity) store_rlx(ran_on(loop->affinity, part), (uint16_t)(weft__self()->index + 1));
    weft__loop_run_part(loop, part, spread_value_of(s, part));
}

static void run_share(void *share);

static void spread_complete(struct share *share) { weft_counter_complete(&share->sent->alive); }

/* Called on the worker that has found its mail. The scope is the sender's, which may leave it when the last share is
 * complete. */
static void run_mailed(void *p) {
    struct share *share = p;
    weft__fiber_group_run(share->sent, run_share, share);
    spread_complete(share);
}

/* Called by a thief or by the sender, if the mail was not found yet. Both are in the scope already. */
static void run_otherwise(struct share *share) {
    share->settled = true;
    if (share->proxy && !weft__proxy_claim(share->proxy)) return;
    run_share(share);
    spread_complete(share);
}

static void run_forked(void *p) {
    struct share *share = p;
    if (!load_rlx(&share->joining) && share->proxy && weft__clock() < share->spread->hold_until &&
        weft__self()->index != share->spread->group[share->first].worker)
        return; /* not yet: left to its worker */
    run_otherwise(share);
}

/* Mails groups [first, end), and appends them to the list. */
static struct share *spread_send(struct spread *s, unsigned first, unsigned end, struct weft__fiber_group *sent,
                                 struct share *last) {
    struct share *share = &s->share[first];
    *share = (struct share){.spread = s, .before = last, .sent = sent, .first = first, .end = end};
    if (last) last->after = share;
    weft_counter_add(&sent->alive, 1);
    if (s->group[first].worker != weft__self()->index)
        share->proxy = weft__mail_send(s->group[first].worker, run_mailed, share, s->loop->name);
    return share;
}

/* The sender joins a share. */
static void spread_collect(struct share *share) {
    store_rlx(&share->joining, true);
    weft_task_join(&share->task);
    if (!share->settled) run_otherwise(share);
}

/* Runs the first group of a share. */
static void run_own(struct spread *s, unsigned group) {
    for (unsigned part = s->group[group].first; part < s->group[group].end; part++) run_part(s, part);
}

static void run_share(void *p) {
    struct share *share = p;
    struct spread *s = share->spread;
    if (share->end - share->first < 2) {
        run_own(s, share->first);
        return;
    }
    struct weft__fiber_group sent = {.alive = WEFT_COUNTER_INIT};
    weft__fiber_group_begin(&sent, s->loop->name);
    struct share *last = NULL, *largest = NULL;
    bool even = s->loop->spread == WEFT_SPREAD_EVEN;
    unsigned first = share->first;
    for (unsigned end = share->end, mid; end - first > 1; end = mid) {
        mid = even ? first + (end - first + 1) / 2 : end - 1;
        last = spread_send(s, mid, end, &sent, last);
        if (!largest) largest = last;
    }
    /* The largest share was mailed first and is forked first: thieves take the oldest. */
    for (struct share *i = largest; i; i = i->after) weft_task_fork(&i->task, run_forked, i);
    run_own(s, first);
    for (struct share *i = last; i; i = i->before) spread_collect(i);
    weft__fiber_group_end(&sent);
}

/* --- which worker gets which part -------------------------------------------------------------- */

/* The worker for which the part is intended. */
static unsigned worker_of(const struct spread *s, unsigned part) {
    struct weft__loop *loop = s->loop;
    unsigned ran = loop->affinity ? load_rlx(ran_on(loop->affinity, part)) : 0;
    return ran && ran <= loop->workers ? ran - 1 : (unsigned)((uint64_t)part * loop->workers / s->parts);
}

/* Forms groups of parts for the same worker. A group of the caller comes first, because the caller runs the first
 * group. */
static void form_groups(struct spread *s, unsigned self) {
    unsigned mine = 0;
    s->groups = 0;
    for (unsigned part = 0; part < s->parts; part++) {
        unsigned worker = worker_of(s, part);
        struct group *last = s->groups ? &s->group[s->groups - 1] : NULL;
        if (last && last->worker == worker)
            last->end = part + 1;
        else
            s->group[s->groups++] = (struct group){part, part + 1, worker};
        if (worker == self) mine = s->groups - 1;
    }
    struct group first = s->group[mine];
    s->group[mine] = s->group[0];
    s->group[0] = first;
}

static void begin_with_identity(struct spread *s) {
    for (unsigned i = 0; s->values && i < s->parts; i++)
        memcpy(spread_value_of(s, i), s->loop->identity, s->loop->size);
}

static void spread_run(struct spread *s, void *value) {
    struct weft__loop *loop = s->loop;
    struct share all = {.spread = s};
    form_groups(s, weft__self()->index);
    begin_with_identity(s);
    all.end = s->groups;
    s->hold_until = weft__clock() + WEFT_HOLD;
    run_share(&all);
    for (unsigned i = 0; s->values && i < s->parts; i++) loop->combine(value, spread_value_of(s, i), loop->arg);
}

bool weft__loop_run_spread(struct weft__loop *loop, void *value) {
    if (loop->workers < 2) return false;
    struct spread s = {.loop = loop, .parts = loop->workers};
    if (loop->affinity) {
        s.parts = loop->workers * WEFT_PARTS < WEFT_PARTS_MOST ? loop->workers * WEFT_PARTS : WEFT_PARTS_MOST;
        if (loop->affinity->parts != s.parts) memset(loop->affinity, 0, sizeof *loop->affinity);
        loop->affinity->parts = (uint16_t)s.parts;
    }
    loop->parts = s.parts;
    if (loop->size > SIZE_MAX / 2 / s.parts) return false;
    s.group = weft__alloc(s.parts * sizeof *s.group);
    s.share = weft__alloc(s.parts * sizeof *s.share);
    s.apart = weft__par_stride(loop->size);
    s.values = loop->size ? weft__alloc(s.parts * s.apart) : NULL;
    bool possible = s.group && s.share && (s.values || !loop->size);
    if (possible) spread_run(&s, value);
    weft__free(s.values);
    weft__free(s.share);
    weft__free(s.group);
    return possible;
}
