/* SPDX-License-Identifier: MIT */
/*
 * Explores continuation stealing, with the real sched/tasks/continuation.c (pop_parent, forget_stolen,
 * weft__parents_steal, after_child, weft__parents_ready), queue/deque_split.c, weft/task.h and the join in stolen.c. A
 * worker forks, one level deep or two, and runs the child. A thief takes the parent, waits until the worker has left
 * the parent's stack, continues as the parent, and joins. A parent continues in one place only, and after its child if
 * it joins it.
 */
#include "weak.h"

/* The inline halves in weft/task.h use the compiler's atomics. */
#define WEAK_ORDER(o) \
    ((o) == __ATOMIC_RELAXED ? ORDER_RELAXED : (o) == __ATOMIC_ACQUIRE ? ORDER_ACQUIRE : ORDER_RELEASE)
#define __atomic_load_n(p, o) \
    ((__typeof__(*(p)))WEAK_STEP(STEP_LOAD, p, sizeof *(p), WEAK_ORDER(o), 0, 0, "load " #p).read)
#define __atomic_store_n(p, v, o) \
    ((void)WEAK_STEP(STEP_STORE, p, sizeof *(p), WEAK_ORDER(o), (uint64_t)(v), 0, "store " #p))

#include "workers.h"

#include "queue/deque_split.c"
#include "sched/tasks/continuation.c"
#include "sched/tasks/steal_worth.c"
#include "sched/tasks/stolen.c"
#include "sched/tasks/suspended.c"
#include "sched/tasks/task_scopes.c"
#include "sched/tasks/tasks.c"
#include "sched/wait/wait.c"
#include "task/fork_join.c"

enum { OWNER, THIEF };
#define PLACES 4
#define LEVELS 2

static struct {
    struct weft__deque parents, deque[LEVELS]; /* parents: of the worker; deque: of the fiber that forks at each
                                                  level */
    struct weft_call place[PLACES], call[LEVELS];
    uint64_t local[LEVELS]; /* variables on the parent's stack: written before and after the fork */
    uint64_t saved[LEVELS];
    uint64_t result[LEVELS]; /* results of the children, read by the parent */
    uint8_t levels, thefts, parks;
    uint8_t goes_on[LEVELS], joined[LEVELS];
} s;

/* --- what is underneath ---------------------------------------------------------------------------------- */

void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
int explored_block(struct weft__fiber *me) {
    (void)me;
    weak_block();
    return 0;
}
/* Only a stolen parent waits. A parent on its own worker does not. */
void explored_ready(struct weft__fiber *f) {
    claim(f == &fiber[0], "another is made ready");
    claim(weak_release(THIEF), "made ready twice");
}
struct weft__fiber *weft__next_slow(struct weft__worker *w) {
    return (void)w, NULL;
}
static bool always(struct weft__worker *w) { return (void)w, true; } /* never spins in place */
__attribute__((constructor)) static void let_it_work(void) { weft__tasks_other_work = always; }
struct weft__forking weft__forking;
bool weak_goes_too_far(void) { return false; }

/* --- what the threads do ----------------------------------------------------------------------------------- */

static GHOST void note_parent(unsigned level) {
    claim(!s.goes_on[level], "a parent goes on twice");
    s.goes_on[level] = 1;
}

/* The parent continues after its fork, on this worker or another. */
static void go_on_as_parent(unsigned level) {
    note_parent(level);
    claim(s.saved[level] == 1, "entered before it was left");
    claim(s.local[level] == 1, "the stack of the parent is not as it left it");
    s.local[level] = 2;
    if (load_acq(weft__call_state(&s.call[level])) != WEFT_CALL_DONE)
        weft__tasks_await(&s.deque[level], &s.call[level]);
    store_rlx(weft__call_state(&s.call[level]), WEFT_CALL_FREE);
    claim(s.result[level] == 1, "joined before the child has run");
    s.joined[level] = 1;
}

/* Ends a child as continuation.c does it. Returns what the worker runs next, or NULL. */
static struct weft__fiber *end_child(struct weft__worker *w, unsigned level) {
    struct weft__fiber *next = pop_parent(load_rlx(&w->calls.parents));
    if (!next) return after_child(w, &s.call[level]);
    claim(next == &fiber[level], "another parent");
    store_rel(weft__call_state(&s.call[level]), WEFT_CALL_DONE);
    store_rlx(&next->context.on_stack, WEFT_STOOD_ON);
    store_rel(&w->current, next);
    return next;
}

/* As weft__continue_fork does it; the child runs instead of the switch. Returns false if the parent continues
 * elsewhere. */
static bool fork_child(struct weft__worker *w, unsigned level) {
    struct weft_call *place = s.parents.in.head;
    s.local[level] = 1;
    store_rlx(weft__call_state(&s.call[level]), WEFT_CALL_TAKEN);
    *parent_in(place) = &fiber[level];
    weft__task_push(&s.parents.in, place);
    s.saved[level] = 1; /* the switch saves the registers */
    store_rel(&fiber[level].context.on_stack, WEFT_AT_REST);
    if (level + 1 < s.levels && !fork_child(w, level + 1)) return false; /* the older calls were stolen before */
    if (s.parks && level + 1 == s.levels) weft__parents_ready(w);
    s.result[level]++;
    struct weft__fiber *next = end_child(w, level);
    if (next) go_on_as_parent(level);
    return next;
}

static void steal(struct weft__worker *w) {
    for (unsigned i = 0; i < s.thefts; i++) {
        struct weft__fiber *f = weft__parents_steal(w, &worker[0], i ? UINT64_MAX / 2 : 1);
        if (!f) continue;
        store_rlx(&w->current, f);
        for (unsigned turn = 0; !weft__prepare(w, f);) weft__backoff(&turn);
        go_on_as_parent((unsigned)(f - fiber));
        return;
    }
}

void run_thread(unsigned t) {
    struct weft__worker *w = weft__self();
    if (t == OWNER) fork_child(w, 0);
    if (t == THIEF) steal(w);
}

/* --- scenes -------------------------------------------------------------------------------------------------- */

static void set_up_with(unsigned levels, unsigned thefts, bool parks) {
    struct weft__deque *p = &s.parents;
    set_up_workers(2);
    for (unsigned t = 0; t < 2; t++) driven[t] = &worker[t];
    p->variant = &weft__deque_split;
    p->calls = p->floor = p->base = p->in.low = p->in.head = p->in.split = s.place;
    p->used = PLACES;
    p->in.span = (PLACES - 1) * sizeof(struct weft_call);
    store_rlx(&worker[0].calls.parents, p);
    for (unsigned i = 0; i < LEVELS; i++) {
        s.deque[i].variant = &weft__deque_kept;
        s.deque[i].owner = &fiber[i];
        store_rlx(&fiber[i].context.on_stack, WEFT_STOOD_ON);
    }
    s.levels = (uint8_t)levels;
    s.thefts = (uint8_t)thefts;
    s.parks = parks;
}
static void one(void) { set_up_with(1, 2, false); }
static void two(void) { set_up_with(2, 2, false); }
static void parks(void) { set_up_with(1, 2, true); }

static void check(void) {
    for (unsigned t = 0; t < 2; t++) claim(!weak_goes_on(t), "waits for ever");
    for (unsigned i = 0; i < s.levels; i++) claim(s.joined[i], "not joined");
    claim(s.parents.in.head == s.place, "the parents' deque is not empty");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"continue, a parent is stolen", 2, one, check}) &&
           weak_explore(&(struct weak_scene){"continue, a child that forks", 2, two, check}) &&
           weak_explore(&(struct weak_scene){"continue, a child that parks", 2, parks, check});
}

int main(int argc, char **argv) {
    share_workers(2);
    weak_share(&s, sizeof s);
    return weak_main(argc, argv, all_scenes);
}
