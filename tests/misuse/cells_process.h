/* SPDX-License-Identifier: MIT */
/* Readiness of descriptors, signals. See misuse.h. */
NONE(ready, null)
CELL(ready, zero, EITHER, POLLIN | POLLOUT, weft_ready(a_file(), POLLIN | POLLOUT))
CELL(ready, stale, EITHER, -EBADF, weft_ready(closed(), POLLIN))
CELL(ready, garbage, EITHER, -EBADF, weft_ready(123456789, POLLIN))
CELL(ready, range, EITHER, -EBADF, weft_ready(-1, POLLIN))
CELL(ready, range, EITHER, -EINVAL, weft_ready(readable(), POLLNVAL))
CELL(ready, range, EITHER, -EINVAL, weft_ready(readable(), -1))
CELL(ready, state, FIBER, -ECANCELED, (cancel_self(), weft_ready(silent(), POLLIN)))
CELL(ready, state, EITHER, -EPERM, weft_ready(a_file(), POLLPRI))
ANYWHERE(ready, POLLIN, weft_ready(readable(), POLLIN))
CELL(ready, timer, TIMER, ABORTS, weft_ready(silent(), POLLIN))

NONE(ready_until, null)
CELL(ready_until, zero, EITHER, -ETIMEDOUT, weft_ready_until(silent(), 0, 0))
CELL(ready_until, stale, EITHER, -EBADF, weft_ready_until(closed(), POLLIN, LATER))
CELL(ready_until, garbage, EITHER, -EBADF, weft_ready_until(123456789, POLLIN, LATER))
CELL(ready_until, range, EITHER, -EBADF, weft_ready_until(-1, POLLIN, 0))
CELL(ready_until, range, EITHER, -EINVAL, weft_ready_until(readable(), POLLNVAL, 0))
CELL(ready_until, range, EITHER, POLLIN, weft_ready_until(readable(), POLLIN, 0))
CELL(ready_until, state, FIBER, -ECANCELED, (cancel_self(), weft_ready_until(silent(), POLLIN, LATER)))
NO_TIMER(ready_until, -ETIMEDOUT, weft_ready_until(silent(), POLLIN, weft_now()))
CELL(ready_until, timer, TIMER, ABORTS, weft_ready_until(silent(), POLLIN, 0))

NONE(ready_try, null)
CELL(ready_try, zero, EITHER, -EAGAIN, weft_ready_try(silent(), 0))
CELL(ready_try, stale, EITHER, -EBADF, weft_ready_try(closed(), POLLIN))
CELL(ready_try, garbage, EITHER, -EBADF, weft_ready_try(123456789, POLLIN))
CELL(ready_try, range, EITHER, -EBADF, weft_ready_try(-1, POLLIN))
CELL(ready_try, range, EITHER, -EINVAL, weft_ready_try(readable(), 0x4000))
NONE(ready_try, state)
CELL(ready_try, no_runtime, NOTHING, -EAGAIN, weft_ready_try(silent(), POLLIN))
THREAD_OR_FIBER(ready_try, POLLIN, weft_ready_try(readable(), POLLIN))
CELL(ready_try, timer, TIMER, -EAGAIN, weft_ready_try(silent(), POLLIN))

CELL(signals_begin, null, EITHER, -EINVAL, weft_signals_begin(NULL, 1))
CELL(signals_begin, zero, EITHER, -EINVAL, weft_signals_begin(&signals, 0))
CELL(signals_begin, stale, EITHER, 0,
     (weft_signals_begin(&signals, 1), weft_signals_end(&signals), weft_signals_begin(&signals, 1)))
NONE(signals_begin, garbage)
CELL(signals_begin, range, EITHER, -EINVAL, weft_signals_begin(&signals, UINT64_MAX))
CELL(signals_begin, range, EITHER, -EINVAL, weft_signals_begin(&signals, WEFT_SIGNAL(SIGKILL)))
CELL(signals_begin, range, EITHER, 0, weft_signals_begin(&signals, WEFT_SIGNAL(64)))
CELL(signals_begin, state, EITHER, -EBUSY, (weft_signals_begin(&signals, 1), weft_signals_begin(&signals, 1)))
ANYWHERE(signals_begin, 0, weft_signals_begin(&signals, WEFT_SIGNAL(SIGTERM)))

CELL(signals_next, null, EITHER, -EINVAL, weft_signals_next(NULL, NULL))
CELL(signals_next, null, EITHER, SIGHUP, (subscribed(SIGHUP), raise(SIGHUP), weft_signals_next(&signals, NULL)))
CELL(signals_next, zero, EITHER, -EINVAL, weft_signals_next(&signals, NULL))
CELL(signals_next, stale, EITHER, -EINVAL,
     (subscribed(SIGHUP), weft_signals_end(&signals), weft_signals_next(&signals, NULL)))
NONE(signals_next, garbage, range)
CELL(signals_next, state, FIBER, -ECANCELED, (subscribed(SIGHUP), cancel_self(), weft_signals_next(&signals, NULL)))
NO_TIMER(signals_next, SIGHUP, (subscribed(SIGHUP), raise(SIGHUP), weft_signals_next(&signals, NULL)))
CELL(signals_next, timer, TIMER, ABORTS, (subscribed(SIGHUP), weft_signals_next(&signals, NULL)))

CELL(signals_next_until, null, EITHER, -EINVAL, weft_signals_next_until(NULL, NULL, 0))
CELL(signals_next_until, zero, EITHER, -EINVAL, weft_signals_next_until(&signals, NULL, LATER))
CELL(signals_next_until, stale, EITHER, -EINVAL,
     (subscribed(SIGHUP), weft_signals_end(&signals), weft_signals_next_until(&signals, NULL, 0)))
NONE(signals_next_until, garbage)
CELL(signals_next_until, range, EITHER, -ETIMEDOUT, (subscribed(SIGHUP), weft_signals_next_until(&signals, NULL, 0)))
CELL(signals_next_until, state, FIBER, -ECANCELED,
     (subscribed(SIGHUP), cancel_self(), weft_signals_next_until(&signals, NULL, LATER)))
CELL(signals_next_until, no_runtime, NOTHING, -ETIMEDOUT,
     (subscribed(SIGHUP), weft_signals_next_until(&signals, NULL, weft_now())))
THREAD_OR_FIBER(signals_next_until, SIGHUP,
                (subscribed(SIGHUP), raise(SIGHUP), weft_signals_next_until(&signals, NULL, LATER)))
CELL(signals_next_until, timer, TIMER, ABORTS, (subscribed(SIGHUP), weft_signals_next_until(&signals, NULL, 0)))

CELL(signals_next_try, null, EITHER, -EINVAL, weft_signals_next_try(NULL, NULL))
CELL(signals_next_try, zero, EITHER, -EINVAL, weft_signals_next_try(&signals, NULL))
CELL(signals_next_try, stale, EITHER, -EINVAL,
     (subscribed(SIGHUP), weft_signals_end(&signals), weft_signals_next_try(&signals, NULL)))
NONE(signals_next_try, garbage, range)
CELL(signals_next_try, state, EITHER, -EAGAIN, (subscribed(SIGHUP), weft_signals_next_try(&signals, NULL)))
ANYWHERE(signals_next_try, -EAGAIN, (subscribed(SIGHUP), weft_signals_next_try(&signals, NULL)))

CELL(signals_end, null, EITHER, -EINVAL, weft_signals_end(NULL))
CELL(signals_end, zero, EITHER, -EINVAL, weft_signals_end(&signals))
CELL(signals_end, stale, EITHER, -EINVAL, (subscribed(SIGHUP), weft_signals_end(&signals), weft_signals_end(&signals)))
NONE(signals_end, garbage, range, state)
ANYWHERE(signals_end, 0, (subscribed(SIGHUP), weft_signals_end(&signals)))
