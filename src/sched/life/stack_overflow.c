/* SPDX-License-Identifier: MIT */
/*
 * Stack overflow: a fault in the guard of a fiber's stack prints one line and aborts. Every other
 * SIGSEGV or SIGBUS goes to the handler that was there before. Also here: what happens when a C++
 * exception, or pthread_exit, leaves a fiber.
 *
 * A bare stack (mem/arena.h) has no guard of its own, and an overflow is found by what it leaves behind in the gap
 * below: when its fiber ends, when the trimmer sees it run or comes to its stack on its round, and when anything
 * faults. If it never ends, it comes to a guard of another stack. In all cases the line is the same.
 */
#define _GNU_SOURCE
#include "sched/life/stack_overflow.h"
#include "sched/wait/cancel.h"

#include "base/handler.h"
#include "base/message.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <unwind.h>

#define SIGNAL_STACK_SIZE (64 * 1024)

static struct sigaction before[2];
static bool in_place[2];
static const int signals[2] = {SIGSEGV, SIGBUS};

static void say_overflow(const struct weft__fiber *f, const struct weft__stack *s) {
    struct weft__text text;
    weft__say(
        "stack overflow in %s: the stack is %x to %x, %z bytes; ask for more with stack_size of the attributes or "
        "the configuration, or WEFT_STACK_SIZE",
        f ? weft__describe(f, &text) : "a fiber that has ended", (uint64_t)(uintptr_t)s->low,
        (uint64_t)(uintptr_t)weft__stack_top(s), (size_t)(weft__stack_top(s) - s->low));
}

/* One overflow may show on several threads at once. The first thread reports it; the other threads wait for its abort.
 */
static _Atomic pid_t dying;

static _Noreturn void end_process(void) {
    signal(SIGABRT, SIG_DFL);
    abort();
}

static void wait_if_dying(pid_t reporter) {
    if (likely(!reporter)) return;
    if (reporter == gettid()) end_process(); /* the report itself has faulted */
    for (;;) pause();
}

static void die_alone(void) {
    pid_t reporter = 0;
    if (!cas_ar(&dying, &reporter, gettid())) wait_if_dying(reporter); /* pairs with itself */
}

static struct weft__fiber *running_fiber(void) {
    struct weft__worker *w = weft__self();
    return w ? load_rlx(&w->current) : NULL;
}

static void overflow_report(const struct weft__stack *s, const void *address) {
    struct weft__fiber *f = running_fiber();
    if (f && (f->stack == s || weft__stack_is_below(f->stack, address)))
        say_overflow(f, f->stack);
    else
        weft__say("fault in the guard of a stack that the thread does not run on: %x to %x",
                  (uint64_t)(uintptr_t)s->low, (uint64_t)(uintptr_t)weft__stack_top(s));
}

/* --- bare stacks -------------------------------------------------------------------------------------- */

struct search {
    const struct weft__stack *stack;
    struct weft__fiber *found;
};
static WEFT_MAY_RACE bool is_not_on(struct weft__fiber *f, void *p) {
    struct search *s = p;
    if (f->stack == s->stack) s->found = f;
    return !s->found;
}

/* A long overflow crosses the stacks below it, and their gaps. So it came from the topmost of the overrun stacks. */
static const struct weft__stack *overflow_culprit(const struct weft__stack *s) {
    for (const struct weft__stack *above; (above = weft__stack_above(s)) && weft__stack_is_overrun(above);) s = above;
    return s;
}

/* f: the fiber on this stack, or NULL if the caller does not know it. */
static _Noreturn void die_of_overflow(const struct weft__fiber *f, const struct weft__stack *overrun) {
    die_alone();
    const struct weft__stack *s = overflow_culprit(overrun);
    struct search search = {s, NULL};
    if (s != overrun) f = NULL;
    if (!f) weft__each_live(is_not_on, &search);
    say_overflow(f ? f : search.found, s);
    end_process();
}

void weft__overrun_check(const struct weft__fiber *f) {
    if (unlikely(weft__stack_is_overrun(f->stack))) die_of_overflow(f, f->stack);
}

/* Checks the stacks of the fibers that workers run. Meanwhile the worker may switch to another fiber, and the stack may
 * go to another fiber, too. So the fiber is named only if the worker runs it on this stack before and after the check.
 */
static WEFT_MAY_RACE bool look_at_workers(struct weft__cluster *c, void *unused) {
    (void)unused;
    for (unsigned i = 0; i < load_acq(&c->count); i++) { /* pairs with the making of a worker */
        struct weft__worker *w = c->workers[i];
        struct weft__fiber *f = load_acq(&w->current); /* pairs with weft__choose */
        const struct weft__stack *s = f ? f->stack : NULL;
        if (s && weft__stacks_is_overrun(s)) die_of_overflow(load_rlx(&w->current) == f && f->stack == s ? f : NULL, s);
    }
    return true;
}

void weft__overrun_look(void) {
    weft__each_cluster(look_at_workers, NULL);
    const struct weft__stack *s = weft__stacks_sweep();
    if (s) die_of_overflow(NULL, s);
}

/* A fault that is not in a guard may be the consequence of an overflow. Either another fiber has overwritten this
 * fiber's stack, or this fiber has overwritten another stack. */
static void look_after_fault(void) {
    struct weft__fiber *f = running_fiber();
    const struct weft__stack *above = f && f->stack->cache == WEFT_STACK_BARE ? weft__stack_above(f->stack) : NULL;
    if (!f) return;
    weft__overrun_check(f);
    if (above && weft__stack_is_overrun(above)) die_of_overflow(NULL, above);
}

/* --- the handler ----------------------------------------------------------------------------------------- */

static void signal_pass_on(int sig, siginfo_t *info, void *context) {
    if (weft__handler_pass_on(&before[sig == SIGBUS], sig, info, context)) return;
    /* Restores the default action, and the instruction faults again. A signal that was sent would not come again, so it
     * is raised. */
    signal(sig, SIG_DFL);
    if (info->si_code <= 0) raise(sig);
}

static void on_fault(int sig, siginfo_t *info, void *context) {
    bool is_fault = info->si_code > 0; /* and was not sent */
    const struct weft__stack *s = is_fault ? weft__stack_of_gap(info->si_addr) : NULL;
    if (is_fault) wait_if_dying(load_rlx(&dying));
    if (s) {
        die_alone();
        overflow_report(s, info->si_addr);
        end_process();
    }
    if (is_fault) look_after_fault();
    signal_pass_on(sig, info, context);
}

int weft__overflow_watch(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    for (int i = 0; i < 2; i++)
        if (!in_place[i] && sigaction(signals[i], &action, &before[i]))
            return -errno;
        else
            in_place[i] = true;
    return 0;
}

/* If another handler was installed in front of ours, ours stays in place, and the next weft__overflow_watch does not
 * install it again. */
void weft__overflow_unwatch(void) {
    for (int i = 0; i < 2; i++)
        if (in_place[i]) in_place[i] = !weft__handler_restore(signals[i], on_fault, &before[i]);
}

/* Not from the heap: only the carrier's own stack points to it, and LeakSanitizer does not look there while a fiber
 * runs. */
void weft__signal_stack_begin(struct weft__signal_stack *s) {
    if (weft__pages_map(&s->memory, SIGNAL_STACK_SIZE)) {
        s->memory = NULL;
        return;
    }
    stack_t new = {.ss_sp = s->memory, .ss_size = SIGNAL_STACK_SIZE};
    if (!sigaltstack(&new, &s->before)) return;
    weft__pages_unmap(s->memory, SIGNAL_STACK_SIZE);
    s->memory = NULL;
}

/* A sanitizer gives each thread a signal stack, and unmaps the current one when the thread ends. So the carrier must
 * put that stack back: without it the sanitizer's memory would leak. */
void weft__signal_stack_end(struct weft__signal_stack *s) {
    if (!s->memory) return;
    sigaltstack(&s->before, NULL);
    weft__pages_unmap(s->memory, SIGNAL_STACK_SIZE);
}

/*
 * The unwinder calls this when it reaches the entry of a fiber, because no frame handles the exception.
 *
 * A forked call that was stolen runs in a fiber of its own, without the handlers of its forker. The frame that called
 * the user's function then knows best what to say (WEFT_BARRIER), but its clean-up runs only if a handler was found.
 * So the entry claims to be the handler, and that frame ends the program on the way here. Other exceptions end the
 * program in the search phase, where the stack of the throw is still whole for a debugger.
 */
WEFT_USED _Unwind_Reason_Code weft__entry_personality(int version, _Unwind_Action actions, uint64_t class,
                                                      struct _Unwind_Exception *exception,
                                                      struct _Unwind_Context *context);
_Unwind_Reason_Code weft__entry_personality(int version, _Unwind_Action actions, uint64_t class,
                                            struct _Unwind_Exception *exception, struct _Unwind_Context *context) {
    (void)version, (void)class, (void)exception, (void)context;
    if (actions & _UA_SEARCH_PHASE && weft__exit_has_caller()) return _URC_HANDLER_FOUND;
    struct weft__worker *w = weft__self();
    struct weft__text text;
    weft__die("%s left %s", actions & _UA_FORCE_UNWIND ? "pthread_exit or a thread's cancellation" : "an exception",
              w && load_rlx(&w->current) ? weft__describe(load_rlx(&w->current), &text) : "a fiber");
}
