/* SPDX-License-Identifier: MIT */
/* Scopes, shields, clean-up handlers, and cancellation by scopes. See misuse.h. */
OBJECT(scope_begin, WEFT_FOREVER)
NONE(scope_begin, zero)
CELL(scope_begin, range, EITHER, -ETIMEDOUT, (weft_scope_begin(&scope, 0), weft_scope_end(&scope)))
CELL(scope_begin, state, FIBER, -ECANCELED,
     (cancel_self(), weft_scope_begin(&scope, WEFT_FOREVER), weft_scope_end(&scope)))
CELL(scope_begin, state, FIBER, ENDS, (weft_scope_begin(&scope, WEFT_FOREVER), weft_fiber_exit(NULL), 0))
CELL(scope_begin, state, EITHER, -EBUSY,
     (weft_scope_begin(&scope, WEFT_FOREVER), and_end(weft_scope_begin(&scope, WEFT_FOREVER))))
CELL(scope_begin, no_runtime, NOTHING, 0, weft_scope_begin(&scope, LATER))
CELL(scope_begin, no_runtime, NOTHING, 0, weft_scope_begin(&scope, WEFT_FOREVER))
CELL(scope_begin, thread, THREAD, 0, weft_scope_begin(&scope, LATER))
CELL(scope_begin, fiber, FIBER, 0, (weft_scope_begin(&scope, LATER), weft_scope_end(&scope)))
CELL(scope_begin, timer, TIMER, ABORTS, weft_scope_begin(&scope, WEFT_FOREVER))

CELL(scope_spawn_at, null, EITHER, -EINVAL, weft_scope_spawn(NULL, NULL, returns_zero, NULL))
CELL(scope_spawn_at, null, EITHER, -EINVAL,
     (weft_scope_begin(&scope, WEFT_FOREVER), and_end(weft_scope_spawn(&scope, NULL, NULL, NULL))))
CELL(scope_spawn_at, zero, EITHER, -EINVAL, weft_scope_spawn(&(struct weft_scope){{0}}, NULL, returns_zero, NULL))
CELL(scope_spawn_at, stale, EITHER, -EINVAL,
     (weft_scope_begin(&scope, WEFT_FOREVER), weft_scope_end(&scope),
      weft_scope_spawn(&scope, NULL, returns_zero, NULL)))
NONE(scope_spawn_at, garbage)
CELL(scope_spawn_at, range, EITHER, -EINVAL,
     (weft_scope_begin(&scope, WEFT_FOREVER),
      and_end(weft_scope_spawn(&scope, &(struct weft_attr){.pinned = 1000}, returns_zero, NULL))))
CELL(scope_spawn_at, state, EITHER, -ECANCELED,
     (weft_scope_begin(&scope, WEFT_FOREVER), weft_scope_cancel(&scope),
      and_end(weft_scope_spawn(&scope, NULL, returns_zero, NULL))))
CELL(scope_spawn_at, state, EITHER, -EINVAL,
     (weft_scope_begin(&scope, WEFT_FOREVER),
      and_end(weft_scope_spawn(&scope, &(struct weft_attr){.background = 1}, returns_zero, NULL))))
CELL(scope_spawn_at, no_runtime, NOTHING, -ESRCH,
     (weft_scope_begin(&scope, WEFT_FOREVER), weft_scope_spawn(&scope, NULL, returns_zero, NULL)))
THREAD_OR_FIBER(scope_spawn_at, 0,
                (weft_scope_begin(&scope, WEFT_FOREVER), and_end(weft_scope_spawn(&scope, NULL, returns_zero, NULL))))
CELL(scope_spawn_at, timer, TIMER, 0, weft_scope_spawn(&fx.open, NULL, returns_zero, NULL))

CELL(scope_fail, null, EITHER, -EINVAL, weft_scope_fail(NULL, -EIO))
CELL(scope_fail, zero, EITHER, -EINVAL, weft_scope_fail(&(struct weft_scope){{0}}, -EIO))
CELL(scope_fail, stale, EITHER, -EINVAL,
     (weft_scope_begin(&scope, WEFT_FOREVER), weft_scope_end(&scope), weft_scope_fail(&scope, -EIO)))
NONE(scope_fail, garbage)
CELL(scope_fail, range, EITHER, -EINVAL, weft_scope_fail(&fx.open, 0))
CELL(scope_fail, range, EITHER, -EINVAL, weft_scope_fail(&fx.open, EIO))
CELL(scope_fail, state, EITHER, -EALREADY, (weft_scope_fail(&fx.open, -EIO), weft_scope_fail(&fx.open, -EIO)))
CELL(scope_fail, no_runtime, NOTHING, 0, (weft_scope_begin(&scope, WEFT_FOREVER), weft_scope_fail(&scope, -EIO)))
WITH_RUNTIME(scope_fail, 0, weft_scope_fail(&fx.open, -EIO))

CELL(scope_cancel, null, EITHER, -EINVAL, weft_scope_cancel(NULL))
CELL(scope_cancel, zero, EITHER, -EINVAL, weft_scope_cancel(&(struct weft_scope){{0}}))
CELL(scope_cancel, stale, EITHER, -EINVAL,
     (weft_scope_begin(&scope, WEFT_FOREVER), weft_scope_end(&scope), weft_scope_cancel(&scope)))
NONE(scope_cancel, garbage, range)
CELL(scope_cancel, state, EITHER, -EALREADY, (weft_scope_cancel(&fx.open), weft_scope_cancel(&fx.open)))
CELL(scope_cancel, no_runtime, NOTHING, 0, (weft_scope_begin(&scope, WEFT_FOREVER), weft_scope_cancel(&scope)))
WITH_RUNTIME(scope_cancel, 0, weft_scope_cancel(&fx.open))

CELL(scope_end, null, EITHER, -EINVAL, weft_scope_end(NULL))
CELL(scope_end, zero, EITHER, -EINVAL, weft_scope_end(&(struct weft_scope){{0}}))
CELL(scope_end, stale, EITHER, -EINVAL,
     (weft_scope_begin(&scope, WEFT_FOREVER), weft_scope_end(&scope), weft_scope_end(&scope)))
NONE(scope_end, garbage, range)
CELL(scope_end, state, EITHER, -EPERM, weft_scope_end(&fx.open))
CELL(scope_end, state, EITHER, -EINVAL,
     (weft_scope_begin(&scope, WEFT_FOREVER), weft_shield_begin(&shield), out_of_shield(weft_scope_end(&scope))))
CELL(scope_end, no_runtime, NOTHING, 0, (weft_scope_begin(&scope, WEFT_FOREVER), weft_scope_end(&scope)))
THREAD_OR_FIBER(scope_end, 0, (weft_scope_begin(&scope, LATER), weft_scope_end(&scope)))
CELL(scope_end, timer, TIMER, -EPERM, weft_scope_end(&fx.open))

OBJECT(shield_begin)
NONE(shield_begin, zero, range)
CELL(shield_begin, state, FIBER, 0, (cancel_self(), weft_shield_begin(&shield), and_unshield(weft_sleep_for(1))))
CELL(shield_begin, state, EITHER, -EBUSY, (weft_shield_begin(&shield), and_unshield(weft_shield_begin(&shield))))
CELL(shield_begin, no_runtime, NOTHING, 0, weft_shield_begin(&shield))
CELL(shield_begin, thread, THREAD, 0, weft_shield_begin(&shield))
CELL(shield_begin, fiber, FIBER, 0, and_unshield(weft_shield_begin(&shield)))
CELL(shield_begin, timer, TIMER, ABORTS, weft_shield_begin(&shield))

CELL(shield_end, null, EITHER, -EINVAL, weft_shield_end(NULL))
CELL(shield_end, zero, EITHER, -EINVAL, weft_shield_end(&(struct weft_shield){{0}}))
CELL(shield_end, stale, EITHER, -EINVAL,
     (weft_shield_begin(&shield), weft_shield_end(&shield), weft_shield_end(&shield)))
NONE(shield_end, garbage, range)
CELL(shield_end, state, EITHER, -EPERM, weft_shield_end(&fx.shield))
CELL(shield_end, state, EITHER, -EINVAL,
     (weft_shield_begin(&shield), weft_scope_begin(&scope, WEFT_FOREVER), out_of_scope(weft_shield_end(&shield))))
NO_TIMER(shield_end, 0, (weft_shield_begin(&shield), weft_shield_end(&shield)))
CELL(shield_end, timer, TIMER, -EPERM, weft_shield_end(&fx.shield))

OBJECT(cleanup_push, does_nothing, NULL)
CELL(cleanup_push, null, EITHER, -EINVAL, weft_cleanup_push(&cleanup, NULL, NULL))
NONE(cleanup_push, zero, range)
CELL(cleanup_push, state, FIBER, ENDS, (weft_cleanup_push(&cleanup, does_nothing, NULL), weft_fiber_exit(NULL), 0))
CELL(cleanup_push, state, FIBER, -EBUSY,
     (weft_cleanup_push(&cleanup, does_nothing, NULL), and_pop(weft_cleanup_push(&cleanup, does_nothing, NULL))))
CELL(cleanup_push, no_runtime, NOTHING, -EPERM, weft_cleanup_push(&cleanup, does_nothing, NULL))
CELL(cleanup_push, thread, THREAD, -EPERM, weft_cleanup_push(&cleanup, does_nothing, NULL))
CELL(cleanup_push, fiber, FIBER, 0, (weft_cleanup_push(&cleanup, does_nothing, NULL), weft_cleanup_pop(&cleanup, 1)))
CELL(cleanup_push, timer, TIMER, -EPERM, weft_cleanup_push(&cleanup, does_nothing, NULL))

CELL(cleanup_pop, null, EITHER, -EINVAL, weft_cleanup_pop(NULL, 1))
CELL(cleanup_pop, zero, FIBER, -EINVAL, weft_cleanup_pop(&(struct weft_cleanup){{0}}, 1))
CELL(cleanup_pop, stale, FIBER, -EINVAL,
     (weft_cleanup_push(&cleanup, does_nothing, NULL), weft_cleanup_pop(&cleanup, 0), weft_cleanup_pop(&cleanup, 0)))
NONE(cleanup_pop, garbage, range)
CELL(cleanup_pop, state, FIBER, -EINVAL,
     (weft_cleanup_push(&cleanup, does_nothing, NULL), weft_cleanup_push(&another, does_nothing, NULL),
      weft_cleanup_pop(&cleanup, 1)))
CELL(cleanup_pop, no_runtime, NOTHING, -EPERM, weft_cleanup_pop(&cleanup, 1))
CELL(cleanup_pop, thread, THREAD, -EPERM, weft_cleanup_pop(&cleanup, 1))
CELL(cleanup_pop, fiber, FIBER, 0, (weft_cleanup_push(&cleanup, does_nothing, NULL), weft_cleanup_pop(&cleanup, 0)))
CELL(cleanup_pop, timer, TIMER, -EPERM, weft_cleanup_pop(&cleanup, 1))

NONE(fiber_exit_if_cancelled, null, zero, stale, garbage, range)
CELL(fiber_exit_if_cancelled, state, FIBER, ENDS, (cancel_self(), weft_fiber_exit_if_cancelled(), 0))
CELL(fiber_exit_if_cancelled, state, FIBER, 0,
     (cancel_self(), weft_shield_begin(&shield), weft_fiber_exit_if_cancelled(), and_unshield(0)))
CELL(fiber_exit_if_cancelled, state, FIBER, ABORTS, (cancel_self(), fork_join_of(exits_if_cancelled)))
ANYWHERE(fiber_exit_if_cancelled, 0, (weft_fiber_exit_if_cancelled(), 0))

OBJECT(cancellations, 1)
CELL(cancellations, null, EITHER, 0, weft_cancellations(NULL, 0))
NONE(cancellations, zero)
CELL(cancellations, range, FIBER, 1, (cancel_self(), weft_cancellations(&cancellation, 1)))
NONE(cancellations, state)
ANYWHERE(cancellations, 0, weft_cancellations(&cancellation, 1))

CELL(scope_set_deadline, null, EITHER, -EINVAL, weft_scope_set_deadline(NULL, LATER))
CELL(scope_set_deadline, zero, EITHER, -EINVAL, weft_scope_set_deadline(&(struct weft_scope){{0}}, LATER))
CELL(scope_set_deadline, stale, EITHER, -EINVAL,
     (weft_scope_begin(&scope, WEFT_FOREVER), weft_scope_end(&scope), weft_scope_set_deadline(&scope, LATER)))
NONE(scope_set_deadline, garbage)
CELL(scope_set_deadline, range, EITHER, 0, weft_scope_set_deadline(&fx.open, WEFT_FOREVER))
CELL(scope_set_deadline, range, EITHER, -EALREADY,
     (weft_scope_set_deadline(&fx.open, 0), weft_scope_set_deadline(&fx.open, LATER)))
CELL(scope_set_deadline, state, EITHER, -EALREADY,
     (weft_scope_cancel(&fx.open), weft_scope_set_deadline(&fx.open, LATER)))
CELL(scope_set_deadline, no_runtime, NOTHING, 0,
     (weft_scope_begin(&scope, WEFT_FOREVER), weft_scope_set_deadline(&scope, LATER)))
CELL(scope_set_deadline, thread, THREAD, 0, weft_scope_set_deadline(&fx.open, LATER))
CELL(scope_set_deadline, fiber, FIBER, 0, weft_scope_set_deadline(&fx.open, LATER))
CELL(scope_set_deadline, timer, TIMER, 0, weft_scope_set_deadline(&fx.open, LATER))
