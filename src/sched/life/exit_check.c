/* SPDX-License-Identifier: MIT */
/*
 * Where a fiber must not end by weft_fiber_exit: inside a function of the program that weft has called and that must
 * return, such as a forked call or the body of a loop. If such a call ended by weft_fiber_exit, a call that a thief
 * runs would never be done, and a call that the forker runs would end the forker. So weft_fiber_exit ends the program
 * there, on every path:
 *
 *   a stolen typed call, a child, WEFT_RUN   their deque is `entered`
 *   generic calls, loops and algorithms      weft_fiber_exit walks the stack, and finds a return address in one of the
 *                                            functions that are marked WEFT_CALLS, a section of their own
 *
 * So forks, joins and pieces of loops pay nothing. The stack is walked only in fibers that have forked, have run a
 * loop, or were made for a stolen call (WEFT_OPEN_CALLS). Code without unwind tables ends the walk; compilers make
 * these tables unless told otherwise.
 */
#include "base/message.h"
#include "queue/deque.h"
#include "sched/wait/cancel.h"

#include <unwind.h>

/* Begin and end of the section, from the linker. Weak: a program that is linked with link-time optimisation and never
 * joins has no such section. */
extern const char __start_weft_calls[] __attribute__((weak, visibility("hidden")));
extern const char __stop_weft_calls[] __attribute__((weak, visibility("hidden")));

static _Unwind_Reason_Code exit_check_frame(struct _Unwind_Context *context, void *found) {
    uintptr_t call = (uintptr_t)_Unwind_GetIP(context) - 1; /* the return address follows the call */
    *(bool *)found = call >= (uintptr_t)__start_weft_calls && call < (uintptr_t)__stop_weft_calls;
    return *(bool *)found ? _URC_END_OF_STACK : _URC_NO_REASON;
}

WEFT_COLD bool weft__exit_has_caller(void) {
    bool found = false;
    _Unwind_Backtrace(exit_check_frame, &found);
    return found;
}

void weft__exit_check(struct weft__worker *w, struct weft__fiber *me) {
    const struct weft__deque *d = load_rlx(&w->calls.deque);
    bool inside = d && d->entered;
    if (!inside && unlikely(load_rlx(&me->context.open) & WEFT_OPEN_CALLS)) inside = weft__exit_has_caller();
    if (likely(!inside)) return;
    struct weft__text text;
    weft__die(
        "weft_fiber_exit was called in a forked call, or in what a loop or algorithm calls: that must return; in %s",
        weft__describe(me, &text));
}

WEFT_COLD void weft__exit_looks(struct weft__fiber *me) {
    uint8_t open = weft__frames_lock(me);
    weft__frames_unlock(me, open | WEFT_OPEN_CALLS);
}
