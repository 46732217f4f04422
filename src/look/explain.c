/* SPDX-License-Identifier: MIT */
/*
 * Why does a program make no progress, or too little? The waiting fibers make a graph. Its edges lead from a waiting
 * fiber to the fiber that can end the wait:
 *
 *   - A fiber that waits for a mutex, for the writer of a reader-writer lock or for a weft_once has an edge to the
 *     fiber that holds it. A fiber that joins has an edge to the fiber that it joins, or that runs the forked call. A
 *     fiber that waits for the children of a scope has an edge to each child.
 *   - A circle of edges is a deadlock. It is certain if no member has a deadline.
 *   - The fiber at the end of a chain of edges holds up the others. It sleeps, computes, blocks in C, has ended without
 *     an unlock, or waits for something that has no owner.
 *   - Waits without an owner are hopeless if no fiber can run, and no fiber waits for a time, for input or output, or
 *     for a signal.
 *
 * Each finding says whether it is certain or likely. Findings about waits are confirmed by a second look (confirm.h).
 */
#include "look/explain.h"

#include "base/sys.h"
#include "look/confirm.h"
#include "look/site.h"
#include "look/starved.h"
#include "sched/wait/cancel.h"
#include "sched/wait/wait_chain.h"

#include <errno.h>
#include <stdlib.h>

#define WEFT_KEPT_FRAMES 16
#define WEFT_NAMED 8 /* fibers of a finding that are named */
#define WEFT_REGIONS 32
#define WEFT_WALK_MOST 200 /* fibers in a row; the walk recurses, and its frames are small */
#define WEFT_FINDINGS 100

struct node {
    uint64_t scope;         /* the scope of which the fiber is a member; 0: none */
    bool is_named;          /* in a finding */
    bool is_reported;       /* its wait was reported. A fiber can also be named as the holder of a lock */
    struct weft__seen seen; /* with its innermost frames only */
};

enum { UNSEEN, ON_THE_WAY, DONE };

struct graph {
    struct weft__report *report;
    struct node **node; /* by the number of their records */
    uint8_t *mark;
    size_t count, room;
    struct node **member; /* of scopes, by scope */
    size_t members;
    uint64_t runs, ready, outside, timed; /* how many fibers run, are ready, wait for something outside, for a time */
    unsigned findings;
    bool alone;      /* it is known that no thread of the program could do anything */
    bool has_paused; /* before the second looks */
    bool no_memory;
};

/* --- collecting ----------------------------------------------------------------------------------------- */

/* The scope of which a fiber is a member: the lowest entry of its stack of open scopes and shields. */
static uint64_t scope_of(struct weft__look *look, const struct weft__seen *f) {
    uint64_t frames = f->frames_word;
    for (unsigned i = 0; i < WEFT_REGIONS && (frames & WEFT_FRAMES_TAG); i++) {
        uint64_t at = frames & ~(uint64_t)WEFT_FRAMES_BITS;
        if (weft__frames_kind((uintptr_t)frames) == WEFT_FRAME_MEMBER)
            return weft__peek64(look->memory, at + look->layout.region_scope);
        frames = weft__peek64(look->memory, at);
    }
    return !(frames & WEFT_FRAMES_TAG) && frames > look->layout.scope_outstanding
               ? frames - look->layout.scope_outstanding
               : 0;
}

static void collect_nodes(const struct weft__seen *f, void *arg) {
    struct graph *g = arg;
    size_t kept =
        offsetof(struct node, seen) + offsetof(struct weft__seen, frame) + WEFT_KEPT_FRAMES * sizeof *f->frame;
    struct node *n = weft__alloc(kept);
    if (n && g->count == g->room) {
        size_t room = g->room ? 2 * g->room : 1024;
        struct node **moved = weft__alloc(room * sizeof *moved);
        if (moved && g->count) memcpy(moved, g->node, g->count * sizeof *moved);
        if (moved) {
            weft__free(g->node);
            g->node = moved;
            g->room = room;
        }
    }
    if (!n || g->count == g->room) {
        weft__free(n);
        g->no_memory = true;
        return;
    }
    memcpy(&n->seen, f, kept - offsetof(struct node, seen));
    if (n->seen.depth > WEFT_KEPT_FRAMES) n->seen.depth = WEFT_KEPT_FRAMES;
    n->is_named = n->is_reported = false;
    n->scope = f->state == WEFT_SEEN_THREAD || f->state == WEFT_SEEN_ENDED ? 0 : scope_of(g->report->look, f);
    g->node[g->count++] = n;
    g->runs += f->state == WEFT_SEEN_RUNNING;
    g->ready += f->state == WEFT_SEEN_READY || f->state == WEFT_SEEN_FRESH;
    g->outside += f->state == WEFT_SEEN_OUTSIDE;
    g->timed += f->state == WEFT_SEEN_WAITING && f->deadline;
}

/* The index of the node of the fiber with this handle; if there is none, the index where it would be. */
static size_t node_index_of(const struct graph *g, uint64_t id) {
    uint32_t index = weft__life_index(id);
    size_t low = 0, high = g->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (weft__life_index(g->node[middle]->seen.id) < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct node *find_graph_node(const struct graph *g, uint64_t id) {
    size_t at = node_index_of(g, id);
    return at < g->count && g->node[at]->seen.id == id ? g->node[at] : NULL;
}

static int by_scope(const void *a, const void *b) {
    uint64_t x = (*(struct node *const *)a)->scope, y = (*(struct node *const *)b)->scope;
    return x < y ? -1 : x > y;
}

static bool sort_members(struct graph *g) {
    if (!(g->member = weft__alloc((g->count + 1) * sizeof *g->member))) return false;
    for (size_t i = 0; i < g->count; i++)
        if (g->node[i]->scope) g->member[g->members++] = g->node[i];
    qsort(g->member, g->members, sizeof *g->member, by_scope);
    return true;
}

/* The k-th fiber for which the fiber waits: the owner, or a child of its scope. NULL: there are no more. */
static struct node *awaited_node(const struct graph *g, const struct node *n, size_t k) {
    const struct weft__seen *f = &n->seen;
    if (f->owner) return k ? NULL : find_graph_node(g, f->owner);
    if (f->on != WEFT_WAITS_SCOPE) return NULL;
    uint64_t scope = f->object - g->report->look->layout.scope_outstanding;
    size_t low = 0, high = g->members;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (g->member[middle]->scope < scope)
            low = middle + 1;
        else
            high = middle;
    }
    return low + k < g->members && g->member[low + k]->scope == scope ? g->member[low + k] : NULL;
}

/* --- saying it ------------------------------------------------------------------------------------------ */

/* Writes the first frame outside of weft. */
static void say_call_site(struct weft__report *r, const struct weft__seen *f) {
    struct weft__site site;
    unsigned i = 0, first = 1;
    if (f->state == WEFT_SEEN_RUNNING) {
        for (; i < f->depth && i < 3; i++) weft__report_frame(r, f->frame[i], i);
        return;
    }
    weft__site_of(r->names, f, &site);
    if (site.found) first = site.frame;
    if (site.found && site.file[0])
        weft__out(&r->out, "      in %s at %s:%d\n", site.function[0] ? site.function : "?", site.file, site.line);
    else
        for (i = first; i < f->depth && i < first + 3; i++) weft__report_frame(r, f->frame[i], i);
}

static void say_fiber(struct graph *g, struct node *n) {
    n->is_named = true;
    weft__out(&g->report->out, "    ");
    weft__report_line(g->report, &n->seen);
    weft__out(&g->report->out, "\n");
    say_call_site(g->report, &n->seen);
}

static void say_finding(struct graph *g, const char *what, bool certain) {
    weft__out(&g->report->out, "%s%s (%s): ", g->findings++ ? "\n" : "", what, certain ? "certain" : "likely");
}

/* Before the first finding that is confirmed by a second look. */
static void pause_once(struct graph *g) {
    if (!g->has_paused) weft__confirm_pause(g->report);
    g->has_paused = true;
}

/* --- circles -------------------------------------------------------------------------------------------- */

/* First all waits with their owners, then all waits once more. */
static bool is_circle(struct graph *g, struct node *const *way, size_t from, size_t to) {
    pause_once(g);
    for (size_t i = from; i < to; i++)
        if (way[i]->seen.torn || !weft__confirm_wait(g->report, &way[i]->seen)) return false;
    for (size_t i = from; i < to; i++)
        if (!weft__confirm_state(g->report, &way[i]->seen)) return false;
    return true;
}

static void say_circle(struct graph *g, struct node *const *way, size_t from, size_t to) {
    bool certain = true;
    if (!is_circle(g, way, from, to)) return;
    for (size_t i = from; i < to; i++) certain &= !way[i]->seen.deadline;
    say_finding(g, "deadlock", certain);
    if (to - from == 1)
        weft__out(&g->report->out, "a fiber waits for itself\n");
    else
        weft__out(&g->report->out, "%llu fibers wait for each other\n", (unsigned long long)(to - from));
    for (size_t i = from; i < to; i++) say_fiber(g, way[i]);
}

/* Follows the edges of a node. Only a fiber that waits for the children of a scope has several. */
static void walk_edges(struct graph *g, struct node **way, size_t length, struct node *n) {
    size_t at = node_index_of(g, n->seen.id);
    if (g->mark[at] == ON_THE_WAY) {
        size_t from = 0;
        while (from < length && way[from] != n) from++;
        if (from < length) say_circle(g, way, from, length);
        return;
    }
    if (g->mark[at] != UNSEEN || length >= WEFT_WALK_MOST) return;
    g->mark[at] = ON_THE_WAY;
    way[length] = n;
    for (size_t k = 0; (n = awaited_node(g, way[length], k)); k++) walk_edges(g, way, length + 1, n);
    g->mark[at] = DONE;
}

static void find_circles(struct graph *g) {
    struct node *way[WEFT_WALK_MOST];
    for (size_t i = 0; i < g->count; i++)
        if (g->mark[i] == UNSEEN) walk_edges(g, way, 0, g->node[i]);
}

/* --- what holds others up --------------------------------------------------------------------------------- */

static bool is_lock(unsigned on) {
    return on == WEFT_ON_MUTEX || on == WEFT_ON_READ || on == WEFT_ON_WRITE || on == WEFT_ON_ONCE;
}

/* Is the owner a running thread? It is no fiber that was seen, so the owner may also have ended. */
static bool is_thread(struct graph *g, uint64_t id) {
    struct weft__look *look = g->report->look;
    const struct weft__layout *l = &look->layout;
    uint32_t index = weft__life_index(id);
    uint8_t kind = 255;
    uint64_t chunk = weft__peek64(look->memory, (uintptr_t)l->fibers + l->slab_chunk + index / l->chunk_records * 8);
    uint64_t at = chunk + (uint64_t)(index % l->chunk_records) * l->record_size;
    if (!chunk || weft__peek64(look->memory, at + l->fiber_life) != id) return false;
    return weft__peek(look->memory, at + l->fiber_kind, &kind, 1) && kind == WEFT_KIND_THREAD;
}

static void say_waiters(struct graph *g, const struct node *first) {
    unsigned named = 0;
    uint64_t count = 0;
    for (size_t i = 0; i < g->count; i++) {
        const struct weft__seen *f = &g->node[i]->seen;
        if (f->object != first->seen.object || !is_lock(f->on)) continue;
        g->node[i]->is_reported = true;
        if (count++ < WEFT_NAMED) named++, say_fiber(g, g->node[i]);
    }
    if (count > named) weft__out(&g->report->out, "    and %llu more\n", (unsigned long long)(count - named));
}

/* Why the owner does not release the object. NULL: the owner will run soon, or waits itself, so that its own wait is
 * reported. */
static const char *held_by(const struct weft__seen *owner, bool *certain) {
    *certain = false;
    if (owner->state == WEFT_SEEN_ENDED) {
        *certain = true;
        return "held by a fiber that has ended: an unlock was forgotten";
    }
    if (owner->state == WEFT_SEEN_RUNNING && owner->since)
        return owner->blocks ? "held by a fiber that blocks in C" : "held by a fiber that computes";
    if (owner->state == WEFT_SEEN_OUTSIDE) return "held by a fiber that waits for something outside";
    if (owner->on == WEFT_WAITS_SLEEP) return "held by a fiber that sleeps";
    if (owner->state == WEFT_SEEN_WAITING && !owner->owner && owner->on != WEFT_WAITS_SCOPE)
        return "held by a fiber that waits";
    return NULL;
}

/* Does the waiter still wait for this owner, after the owner was seen in the same state? */
static bool is_held(struct graph *g, const struct weft__seen *f, const struct node *owner) {
    pause_once(g);
    if (owner && !weft__confirm_state(g->report, &owner->seen)) return false;
    if (!owner && f->owner && !is_thread(g, f->owner) && !weft__confirm_gone(g->report, f->owner)) return false;
    return weft__confirm_wait(g->report, f);
}

static void find_holders(struct graph *g) {
    for (size_t i = 0; i < g->count && g->findings < WEFT_FINDINGS; i++) {
        const struct weft__seen *f = &g->node[i]->seen;
        if (!is_lock(f->on) || !(f->owner || f->held_outside) || f->torn || g->node[i]->is_reported) continue;
        struct node *owner = find_graph_node(g, f->owner);
        bool certain = false;
        const char *what = NULL;
        if (owner)
            what = held_by(&owner->seen, &certain);
        else if (f->held_outside || is_thread(g, f->owner))
            what = "held by a thread of the program";
        else {
            what = "held by a fiber that has ended: an unlock was forgotten";
            certain = true;
        }
        if (!what || !is_held(g, f, owner)) continue;
        say_finding(g, "held up", certain);
        weft__out(&g->report->out, "%s 0x%llx, %s\n", weft__waits_name(f->on), (unsigned long long)f->object, what);
        if (owner && owner->seen.state != WEFT_SEEN_ENDED) say_fiber(g, owner);
        say_waiters(g, g->node[i]);
    }
}

/* Finds locks that readers hold. The lock does not record its readers; but if a writer waits and there is no writer,
 * readers hold it. */
static void find_readers(struct graph *g) {
    for (size_t i = 0; i < g->count && g->findings < WEFT_FINDINGS; i++) {
        const struct weft__seen *f = &g->node[i]->seen;
        if (f->on != WEFT_ON_WRITE || f->owner || !f->object || g->node[i]->is_reported) continue;
        uint64_t readers = f->readers;
        if (!f->in_lot)
            readers = weft__peek64(g->report->look->memory, f->object + g->report->look->layout.rwlock_word) >> 3;
        if (!readers) continue;
        pause_once(g);
        if (!weft__confirm_wait(g->report, f)) continue;
        say_finding(g, "held up", false);
        weft__out(&g->report->out,
                  "rwlock to write 0x%llx, held by %llu reader%s; if the waiting fiber is one of them, it waits for "
                  "itself\n",
                  (unsigned long long)f->object, (unsigned long long)readers, readers == 1 ? "" : "s");
        say_waiters(g, g->node[i]);
    }
}

/* --- waits without an owner ------------------------------------------------------------------------------- */

static bool has_no_owner(const struct weft__seen *f) {
    return f->state == WEFT_SEEN_WAITING && !f->deadline && !f->torn && !is_lock(f->on) && f->on != WEFT_WAITS_JOIN &&
           f->on != WEFT_WAITS_CALL && f->on != WEFT_WAITS_SCOPE;
}

static const char *what_lacks(unsigned on) {
    switch (on) {
    case WEFT_ON_COND: return "nothing signals it";
    case WEFT_ON_SEM: return "nothing posts it";
    case WEFT_ON_COUNTER: return "nothing completes it";
    case WEFT_ON_BARRIER: return "too few fibers arrive at it";
    case WEFT_ON_FUTURE: return "nothing sets it";
    case WEFT_ON_RECEIVE: return "nothing sends to it or closes it";
    case WEFT_ON_SEND: return "nothing receives from it or closes it";
    case WEFT_WAITS_PARK: return "nothing calls weft_unpark";
    case WEFT_WAITS_SELECT: return "nothing completes any of its cases";
    default: return "nothing ends this wait";
    }
}

/* Names the fibers that wait for the same as node i, at most so many. */
static void say_same_waits(struct graph *g, size_t i, unsigned most) {
    const struct weft__seen *f = &g->node[i]->seen;
    uint64_t count = 0;
    for (size_t k = i; k < g->count; k++) {
        const struct weft__seen *other = &g->node[k]->seen;
        if (!has_no_owner(other) || other->on != f->on || other->object != f->object) continue;
        if (other->where != f->where && !f->object) continue;
        g->node[k]->is_reported = true;
        if (count++ < most) say_fiber(g, g->node[k]);
    }
    if (count > most) weft__out(&g->report->out, "    and %llu more\n", (unsigned long long)(count - most));
}

/* Can any fiber do something, now or later? */
static bool goes_on(const struct graph *g) { return g->runs || g->ready || g->outside || g->timed; }

/* Finds waits that nothing can end. Reports them only if no fiber runs or is in a blocking call, because such a fiber
 * may end any wait. */
static void find_hopeless(struct graph *g) {
    if (goes_on(g) || (!g->alone && weft__has_worked(g->report))) return;
    for (size_t i = 0; i < g->count && g->findings < WEFT_FINDINGS; i++) {
        const struct weft__seen *f = &g->node[i]->seen;
        if (!has_no_owner(f) || g->node[i]->is_reported) continue;
        say_finding(g, "hopeless", g->alone);
        weft__out(&g->report->out, "%s", weft__waits_name(f->on));
        if (f->object) weft__out(&g->report->out, " 0x%llx", (unsigned long long)f->object);
        weft__out(&g->report->out, ": %s\n", what_lacks(f->on));
        say_same_waits(g, i, WEFT_NAMED);
    }
}

/* Does the fiber wait for a fiber that is named, directly or through further waiting fibers? */
static bool is_behind(const struct graph *g, const struct node *n) {
    for (unsigned i = 0; n && i < WEFT_WALK_MOST; i++) {
        n = awaited_node(g, n, 0);
        if (n && (n->is_named || n->is_reported)) return true;
    }
    return false;
}

static bool is_unnamed(const struct node *n) {
    return !n->is_named && !n->is_reported && n->seen.state != WEFT_SEEN_THREAD;
}

/* Lists the fibers that wait for fibers of the findings: the rest of the queue. */
static void say_behind(struct graph *g) {
    uint64_t count = 0;
    uint8_t *behind = g->mark; /* the circles were found */
    for (size_t i = 0; i < g->count; i++) count += behind[i] = is_unnamed(g->node[i]) && is_behind(g, g->node[i]);
    if (!count) return;
    weft__out(&g->report->out, "\nbehind these: %llu fiber%s for fibers that are named above\n",
              (unsigned long long)count, count == 1 ? " waits" : "s wait");
    for (size_t i = 0, named = 0; i < g->count && named < WEFT_NAMED; i++)
        if (behind[i]) named++, say_fiber(g, g->node[i]);
    if (count > WEFT_NAMED) weft__out(&g->report->out, "    and %llu more\n", (unsigned long long)(count - WEFT_NAMED));
}

/*
 * Lists waits without an owner in a program that goes on. Nothing tells whether a fiber that goes on will end them, or
 * has forgotten them: a server's idle fibers wait like fibers that are lost. So this is no finding.
 */
static void say_open_waits(struct graph *g) {
    unsigned said = 0;
    uint64_t count = 0;
    for (size_t i = 0; i < g->count; i++) count += has_no_owner(&g->node[i]->seen) && !g->node[i]->is_reported;
    if (!count || !goes_on(g)) return;
    weft__out(&g->report->out, "\nfor information: %llu fiber%s for an event that another fiber may still cause\n",
              (unsigned long long)count, count == 1 ? " waits" : "s wait");
    for (size_t i = 0; i < g->count && said < WEFT_NAMED; i++) {
        if (!has_no_owner(&g->node[i]->seen) || g->node[i]->is_reported) continue;
        say_same_waits(g, i, 1);
        said++;
    }
}

/* --- too little happens ------------------------------------------------------------------------------------- */

static void find_hogs(struct graph *g) {
    for (size_t i = 0; i < g->count && g->findings < WEFT_FINDINGS; i++) {
        const struct weft__seen *f = &g->node[i]->seen;
        if (f->state != WEFT_SEEN_RUNNING || !f->since || g->node[i]->is_reported) continue;
        say_finding(g, "hog", true);
        weft__out(&g->report->out, "a fiber keeps its worker, and %s\n", f->blocks ? "blocks in C" : "computes");
        say_fiber(g, g->node[i]);
    }
    if (!g->ready) return;
    unsigned stuck = 0;
    for (unsigned i = 0; i < g->report->look->workers; i++) stuck += g->report->look->worker[i].hog != 0;
    if (!stuck) return;
    say_finding(g, "starved", false);
    weft__out(&g->report->out, "%llu fibers are ready, and %u of %u workers have a hog\n", (unsigned long long)g->ready,
              stuck, g->report->look->workers);
}

static void say_starved(struct graph *g, const struct weft__starved *s) {
    if (s->asleep) {
        say_finding(g, "asleep", false);
        weft__out(&g->report->out,
                  "%llu fibers are ready, and all workers sleep: this is a mistake of weft, please report it\n",
                  (unsigned long long)s->count);
        return;
    }
    say_finding(g, "starved", false);
    weft__out(
        &g->report->out,
        "%llu fiber%s been ready for %.1f s without running, %llu of low priority; workers have switched to other "
        "fibers %llu times meanwhile\n",
        (unsigned long long)s->count, s->count == 1 ? " has" : "s have", s->seconds, (unsigned long long)s->low,
        (unsigned long long)s->switches);
}

/* Finds ready fibers that do not run. */
static void find_starved(struct graph *g) {
    const struct weft__seen **ready = weft__alloc((g->ready + 1) * sizeof *ready);
    struct weft__starved s = {0};
    size_t n = 0;
    for (size_t i = 0; ready && i < g->count; i++) {
        const struct weft__seen *f = &g->node[i]->seen;
        if ((f->state == WEFT_SEEN_READY || f->state == WEFT_SEEN_FRESH) && !f->torn && n < g->ready) ready[n++] = f;
    }
    if (ready) weft__starved_find(g->report, ready, n, &s);
    if (s.count) say_starved(g, &s);
    for (size_t i = 0; i < s.count && i < WEFT_NAMED; i++) {
        struct node *f = find_graph_node(g, ready[i]->id);
        if (f) say_fiber(g, f);
    }
    if (s.count > WEFT_NAMED)
        weft__out(&g->report->out, "    and %llu more\n", (unsigned long long)(s.count - WEFT_NAMED));
    weft__free(ready);
}

static void find_outside(struct graph *g) {
    uint64_t count = 0;
    if (g->runs || g->ready || !g->outside || weft__has_worked(g->report))
        return; /* the program works; the look met a moment of rest */
    say_finding(g, "outside", false);
    weft__out(&g->report->out, "no fiber can run: %llu wait for something outside", (unsigned long long)g->outside);
    if (g->timed) weft__out(&g->report->out, ", and %llu for a time", (unsigned long long)g->timed);
    weft__out(&g->report->out, "\n");
    for (size_t i = 0; i < g->count; i++)
        if (g->node[i]->seen.state == WEFT_SEEN_OUTSIDE && count++ < WEFT_NAMED) say_fiber(g, g->node[i]);
    if (count > WEFT_NAMED) weft__out(&g->report->out, "    and %llu more\n", (unsigned long long)(count - WEFT_NAMED));
}

/* Finds workers that a timer's function keeps: such a worker is busy, runs no fiber, and expires timers. */
static void find_timers(struct graph *g) {
    const struct weft__look *look = g->report->look;
    for (unsigned i = 0; i < look->workers; i++) {
        const struct weft__worker_seen *w = &look->worker[i];
        if (!w->expiring || w->current || !g->report->now || g->report->now < w->polled_at + 1000000000) continue;
        say_finding(g, "stuck", false);
        weft__out(&g->report->out, "worker %u (thread %d) has been in the function of a timer for %.1f s\n", w->index,
                  w->tid, (double)(g->report->now - w->polled_at) / 1e9);
    }
}

/* --- all of it ------------------------------------------------------------------------------------------------ */

int weft__explain(struct weft__report *report, bool alone) {
    struct graph g = {.report = report, .alone = alone};
    int err = weft__look_fibers(report->look, collect_nodes, &g);
    g.mark = weft__alloc(g.count + 1);
    if (!err && (g.no_memory || !g.mark || !sort_members(&g))) err = -ENOMEM;
    if (!err) {
        memset(g.mark, UNSEEN, g.count + 1);
        for (unsigned i = 0; i < report->look->workers; i++) g.runs += report->look->worker[i].expiring;
        find_circles(&g);
        find_holders(&g);
        find_readers(&g);
        find_hopeless(&g);
        find_hogs(&g);
        find_starved(&g);
        find_timers(&g);
        find_outside(&g);
        if (g.findings) say_behind(&g);
        if (!g.findings && !alone)
            weft__out(&report->out, "nothing is wrong, as far as can be seen: %llu records were looked at\n",
                      (unsigned long long)report->look->records);
        if (!alone) say_open_waits(&g);
    }
    for (size_t i = 0; i < g.count; i++) weft__free(g.node[i]);
    weft__free(g.node);
    weft__free(g.mark);
    weft__free(g.member);
    int written = weft__out_end(&report->out);
    return err ? err : written ? written : (int)g.findings;
}
