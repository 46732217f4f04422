/*
 * Stack overflow: a fault in the guard of a fiber's stack prints one line and aborts. Every other
 * SIGSEGV or SIGBUS goes to the handler that was there before. Also here: what happens when a C++
 * exception, or pthread_exit, leaves a fiber.
 */
#define _GNU_SOURCE
#include "sched/sched.h"

#include "base/handler.h"
#include "base/say.h"

#include <signal.h>
#include <stdlib.h>
#include <unwind.h>

#define SIGNAL_STACK_SIZE (64 * 1024)

static struct sigaction before[2];
static bool in_place[2];
static const int signals[2] = {SIGSEGV, SIGBUS};

static void report(const struct weft__stack *s) {
    struct weft__worker *w = weft__self();
    struct weft__fiber *f = w ? load_rlx(&w->current) : NULL;
    struct weft__text text;
    if (f && f->stack == s)
        weft__say("stack overflow in %s: the stack is %x to %x, %z bytes; ask for more with stack_size of the "
                  "attributes or the configuration, or WEFT_STACK_SIZE",
                  weft__describe(f, &text), (uint64_t)(uintptr_t)s->low, (uint64_t)(uintptr_t)weft__stack_top(s),
                  (size_t)(weft__stack_top(s) - s->low));
    else
        weft__say("fault in the guard of a stack that the thread does not run on: %x to %x",
                  (uint64_t)(uintptr_t)s->low, (uint64_t)(uintptr_t)weft__stack_top(s));
}

static void pass_on(int sig, siginfo_t *info, void *context) {
    if (weft__handler_pass_on(&before[sig == SIGBUS], sig, info, context)) return;
    /* As if we had not been there: the instruction faults again, and the default applies. A signal
     * that was sent does not come again by itself. */
    signal(sig, SIG_DFL);
    if (info->si_code <= 0) raise(sig);
}

static void on_fault(int sig, siginfo_t *info, void *context) {
    const struct weft__stack *s = info->si_code > 0 ? weft__stack_of_guard(info->si_addr) : NULL;
    if (!s) {
        pass_on(sig, info, context);
        return;
    }
    report(s);
    signal(SIGABRT, SIG_DFL);
    abort();
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

/* One that stays, behind another that was put in front of it, is not put in front of that one again. */
void weft__overflow_unwatch(void) {
    for (int i = 0; i < 2; i++)
        if (in_place[i]) in_place[i] = !weft__handler_restore(signals[i], on_fault, &before[i]);
}

/* Not from the heap: only the carrier's own stack knows of it, where LeakSanitizer does not look while a fiber runs. */
int weft__signal_stack(void **memory) {
    int err = weft__map(memory, SIGNAL_STACK_SIZE);
    if (err) return err;
    stack_t s = {.ss_sp = *memory, .ss_size = SIGNAL_STACK_SIZE};
    if (!sigaltstack(&s, NULL)) return 0;
    err = -errno;
    weft__unmap(*memory, SIGNAL_STACK_SIZE);
    return err;
}

void weft__signal_stack_free(void *memory) {
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    if (memory) weft__unmap(memory, SIGNAL_STACK_SIZE);
}

/* Asked by the unwinder when it has come to the entry of a fiber: nothing there handles it. */
WEFT_USED _Unwind_Reason_Code weft__entry_personality(int version, _Unwind_Action actions, uint64_t class,
                                                      struct _Unwind_Exception *exception,
                                                      struct _Unwind_Context *context);
_Unwind_Reason_Code weft__entry_personality(int version, _Unwind_Action actions, uint64_t class,
                                            struct _Unwind_Exception *exception, struct _Unwind_Context *context) {
    (void)version, (void)class, (void)exception, (void)context;
    struct weft__worker *w = weft__self();
    struct weft__text text;
    weft__die("%s left %s", actions & _UA_FORCE_UNWIND ? "pthread_exit or a thread's cancellation" : "an exception",
              w && load_rlx(&w->current) ? weft__describe(load_rlx(&w->current), &text) : "a fiber");
}
