/* SPDX-License-Identifier: MIT */
/*
 * Explores the split deque and what owner and thief say to each other about a call: the real queue/deque_split.c,
 * weft/task.h, task/fork_join.c and sched/tasks/stolen.c. An owner that forks and joins, in any order; a thief that
 * takes what is public and asks for more; a thief of last resort that moves the split. Each call runs once, and its
 * join returns after that.
 */
#include "weak.h"

/* The inline halves in weft/task.h use the compiler's own. */
#define WEAK_ORDER(o) \
    ((o) == __ATOMIC_RELAXED ? ORDER_RELAXED : (o) == __ATOMIC_ACQUIRE ? ORDER_ACQUIRE : ORDER_RELEASE)
#define __atomic_load_n(p, o) \
    ((__typeof__(*(p)))WEAK_STEP(STEP_LOAD, p, sizeof *(p), WEAK_ORDER(o), 0, 0, "load " #p).read)
#define __atomic_store_n(p, v, o) \
    ((void)WEAK_STEP(STEP_STORE, p, sizeof *(p), WEAK_ORDER(o), (uint64_t)(v), 0, "store " #p))

#include "workers.h"

#include "queue/deque_split.c"
#include "sched/tasks/steal_worth.c"
#include "sched/tasks/stolen.c"
#include "sched/tasks/suspended.c"
#include "sched/tasks/task_scopes.c"
#include "sched/tasks/tasks.c"
#include "sched/wait/wait.c"
#include "task/fork_join.c"

enum { OWNER, THIEF, LAST_RESORT };
#define CALLS 3
#define PLACES 4

static struct {
    struct weft__deque deque;
    struct weft_call call[PLACES];
    struct weft_task task[CALLS];
    uint64_t result[CALLS]; /* written by the calls, read after the joins */
    uint8_t ran[CALLS], joined[CALLS];
    uint8_t thefts, presses;
    const char *program; /* of the owner: +n forks call n, -n joins it; fn, jn: in the typed form */
} s;

/* --- what is underneath ---------------------------------------------------------------------------------- */

void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
int explored_block(struct weft__fiber *me) {
    (void)me;
    weak_block();
    return 0;
}
void explored_ready(struct weft__fiber *f) {
    claim(f == &fiber[0], "another is made ready");
    claim(weak_release(OWNER), "made ready twice");
}
static bool always(struct weft__worker *w) { return (void)w, true; } /* no wait on the spot */
__attribute__((constructor)) static void let_it_work(void) { weft__tasks_other_work = always; }
struct weft__forking weft__forking;
const struct weft__deque_variant weft__deque_kept;
bool weak_goes_too_far(void) { return false; }

/* --- what the threads do ----------------------------------------------------------------------------------- */

static GHOST void note_run(unsigned n) {
    claim(!s.ran[n], "a call runs twice");
    s.ran[n] = 1;
}
static GHOST void note_join(unsigned n) {
    claim(s.ran[n], "a join returns before the call has run");
    s.joined[n] = 1;
}

static void call(void *arg) {
    unsigned n = (unsigned)(uintptr_t)arg;
    note_run(n);
    s.result[n]++;
}

/* The typed form: the youngest, by the inline halves. */
static void run_typed(struct weft_deque *d, struct weft_call *c) {
    (void)d;
    call(*(void **)(void *)c->data);
}
static void fork_typed(unsigned n) {
    struct weft_call *c = s.deque.in.head;
    c->run = run_typed;
    *(void **)(void *)c->data = (void *)(uintptr_t)n;
    weft__task_push(&s.deque.in, c);
}
static void join_typed(void) {
    struct weft_call *c = s.deque.in.head - 1;
    if (weft__task_take(&s.deque.in, c)) run_typed(&s.deque.in, c);
}

static void own(void) {
    for (const char *p = s.program; *p; p += 2) {
        unsigned n = (unsigned)(p[1] - '0');
        if (*p == '+') weft_task_fork(&s.task[n], call, (void *)(uintptr_t)n);
        if (*p == 'f') fork_typed(n);
        if (*p == '-') weft_task_join(&s.task[n]);
        if (*p == 'j') join_typed();
        if (*p == '+' || *p == 'f') continue;
        claim(s.result[n] == 1, "what the call wrote is not seen");
        note_join(n);
    }
}

static bool steal(void) {
    struct weft__deque *d = &s.deque;
    struct weft_call *c = d->variant->ready(d) ? d->variant->steal(d) : NULL;
    if (!c) return false;
    if (weft__call_begin(c)) c->run(&d->in, c);
    weft__call_finish(c);
    return true;
}

void run_thread(unsigned t) {
    struct weft__deque *d = &s.deque;
    if (t == OWNER)
        own();
    else if (t == THIEF)
        for (unsigned i = 0; i < s.thefts; i++) {
            if (!steal() && i + 1 < s.thefts) deque_ask(d, 1); /* as split_press does the first time */
        }
    else
        for (unsigned i = 0; i < s.presses; i++) move_split(d);
}

/* --- scenes -------------------------------------------------------------------------------------------------- */

static void set_up_with(const char *program, unsigned thefts, unsigned presses) {
    struct weft__deque *d = &s.deque;
    set_up_workers(2);
    driven[OWNER] = &worker[0];
    driven[THIEF] = &worker[1];
    driven[LAST_RESORT] = NULL;
    store_rlx(&worker[0].current, &fiber[0]);
    store_rlx(&worker[0].calls.deque, d);
    d->variant = &weft__deque_split;
    d->calls = d->floor = d->base = d->in.low = d->in.head = d->in.split = s.call;
    d->used = PLACES;
    d->in.span = (PLACES - 1) * sizeof(struct weft_call);
    d->owner = &fiber[0];
    s.program = program;
    s.thefts = (uint8_t)thefts;
    s.presses = (uint8_t)presses;
}
static void one_taken(void) { set_up_with("+0-0", 2, 0); }
static void two_taken(void) { set_up_with("+0+1-1-0", 2, 0); }
static void used_again(void) { set_up_with("+0-0+1-1", 2, 0); }
static void last_resort(void) { set_up_with("+0-0", 1, 1); }
static void last_resort_two(void) { set_up_with("+0+1-1-0", 1, 1); }
static void last_resort_again(void) { set_up_with("+0-0+1-1", 1, 1); }
static void out_of_order(void) { set_up_with("+0+1-0-1", 2, 0); }
static void last_resort_out_of_order(void) { set_up_with("+0+1-0-1", 1, 1); }
static void holes(void) { set_up_with("+0+1+2-0-1-2", 1, 1); }
static void typed(void) { set_up_with("f0f1j1j0", 1, 1); }
static void everything(void) { set_up_with("+0+1-1-0+2-2", 2, 1); }

static void check(void) {
    for (unsigned t = 0; t < 3; t++) claim(!weak_goes_on(t), "waits for ever");
    for (const char *p = s.program; *p; p += 2) claim(s.joined[p[1] - '0'], "not joined");
    claim(s.deque.in.head == s.call, "the deque is not empty");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"split, a call is stolen", 2, one_taken, check}) &&
           weak_explore(&(struct weak_scene){"split, two calls", 2, two_taken, check}) &&
           weak_explore(&(struct weak_scene){"split, a place is used again", 2, used_again, check}) &&
           weak_explore(&(struct weak_scene){"split, joined in another order", 2, out_of_order, check}) &&
           weak_explore(&(struct weak_scene){"split, the last resort, one call", 3, last_resort, check}) &&
           weak_explore(&(struct weak_scene){"split, the last resort, two calls", 3, last_resort_two, check}) &&
           weak_explore(&(struct weak_scene){"split, the last resort, joined in another order", 3,
                                             last_resort_out_of_order, check}) &&
           weak_explore(&(struct weak_scene){"split, the typed form", 3, typed, check}) &&
           weak_explore(&(struct weak_scene){"split, the last resort, a place is used again", 3, last_resort_again,
                                             check, .large = true}) &&
           weak_explore(&(struct weak_scene){"split, the last resort, two holes", 3, holes, check, .large = true}) &&
           weak_explore(&(struct weak_scene){"split, everything", 3, everything, check, .large = true});
}

int main(int argc, char **argv) {
    share_workers(2);
    weak_share(&s, sizeof s);
    return weak_main(argc, argv, all_scenes);
}
