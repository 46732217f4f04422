/* SPDX-License-Identifier: MIT */
/* Reader-writer locks, barriers, once, latches. See misuse.h. */
OBJECT(rwlock_read)
CELL(rwlock_read, zero, EITHER, 0, weft_rwlock_read(&fx.free_rw))
NONE(rwlock_read, range)
CELL(rwlock_read, state, EITHER, -EDEADLK, (weft_rwlock_write(&fx.free_rw), weft_rwlock_read(&fx.free_rw)))
ANYWHERE(rwlock_read, 0, weft_rwlock_read(&fx.free_rw))
CELL(rwlock_read, timer, TIMER, ABORTS, weft_rwlock_read(&fx.others_rw))

OBJECT(rwlock_read_until, 0)
CELL(rwlock_read_until, zero, EITHER, 0, weft_rwlock_read_until(&fx.free_rw, 0))
CELL(rwlock_read_until, range, EITHER, -ETIMEDOUT, weft_rwlock_read_until(&fx.others_rw, 0))
CELL(rwlock_read_until, state, EITHER, -EDEADLK,
     (weft_rwlock_write(&fx.free_rw), weft_rwlock_read_until(&fx.free_rw, LATER)))
NO_TIMER(rwlock_read_until, 0, weft_rwlock_read_until(&fx.free_rw, 0))
CELL(rwlock_read_until, timer, TIMER, ABORTS, weft_rwlock_read_until(&fx.others_rw, 0))

OBJECT(rwlock_read_cancellable, 0)
CELL(rwlock_read_cancellable, zero, EITHER, 0, weft_rwlock_read_cancellable(&fx.free_rw, 0))
CELL(rwlock_read_cancellable, range, EITHER, -ETIMEDOUT, weft_rwlock_read_cancellable(&fx.others_rw, 0))
CELL(rwlock_read_cancellable, state, EITHER, -EDEADLK,
     (weft_rwlock_write(&fx.free_rw), weft_rwlock_read_cancellable(&fx.free_rw, LATER)))
CELL(rwlock_read_cancellable, state, FIBER, -ECANCELED,
     (cancel_self(), weft_rwlock_read_cancellable(&fx.others_rw, LATER)))
NO_TIMER(rwlock_read_cancellable, 0, weft_rwlock_read_cancellable(&fx.free_rw, 0))
CELL(rwlock_read_cancellable, timer, TIMER, ABORTS, weft_rwlock_read_cancellable(&fx.others_rw, 0))

OBJECT(rwlock_read_try)
CELL(rwlock_read_try, zero, EITHER, 0, weft_rwlock_read_try(&fx.free_rw))
NONE(rwlock_read_try, range)
CELL(rwlock_read_try, state, EITHER, -EBUSY, weft_rwlock_read_try(&fx.others_rw))
CELL(rwlock_read_try, state, EITHER, -EBUSY, (weft_rwlock_write(&fx.free_rw), weft_rwlock_read_try(&fx.free_rw)))
ANYWHERE(rwlock_read_try, 0, weft_rwlock_read_try(&fx.free_rw))

OBJECT(rwlock_write)
CELL(rwlock_write, zero, EITHER, 0, weft_rwlock_write(&fx.free_rw))
NONE(rwlock_write, range)
CELL(rwlock_write, state, EITHER, -EDEADLK, (weft_rwlock_write(&fx.free_rw), weft_rwlock_write(&fx.free_rw)))
NO_TIMER(rwlock_write, 0, weft_rwlock_write(&fx.free_rw))
CELL(rwlock_write, timer, TIMER, ABORTS, weft_rwlock_write(&fx.free_rw))

OBJECT(rwlock_write_until, 0)
CELL(rwlock_write_until, zero, EITHER, 0, weft_rwlock_write_until(&fx.free_rw, 0))
CELL(rwlock_write_until, range, EITHER, -ETIMEDOUT, weft_rwlock_write_until(&fx.others_rw, 0))
CELL(rwlock_write_until, state, EITHER, -ETIMEDOUT,
     (weft_rwlock_read(&fx.free_rw), weft_rwlock_write_until(&fx.free_rw, 0)))
NO_TIMER(rwlock_write_until, 0, weft_rwlock_write_until(&fx.free_rw, 0))
CELL(rwlock_write_until, timer, TIMER, ABORTS, weft_rwlock_write_until(&fx.others_rw, 0))

OBJECT(rwlock_write_cancellable, 0)
CELL(rwlock_write_cancellable, zero, EITHER, 0, weft_rwlock_write_cancellable(&fx.free_rw, 0))
CELL(rwlock_write_cancellable, range, EITHER, -ETIMEDOUT, weft_rwlock_write_cancellable(&fx.others_rw, 0))
CELL(rwlock_write_cancellable, state, EITHER, -ETIMEDOUT,
     (weft_rwlock_read(&fx.free_rw), weft_rwlock_write_cancellable(&fx.free_rw, 0)))
CELL(rwlock_write_cancellable, state, FIBER, -ECANCELED,
     (cancel_self(), weft_rwlock_write_cancellable(&fx.others_rw, LATER)))
NO_TIMER(rwlock_write_cancellable, 0, weft_rwlock_write_cancellable(&fx.free_rw, 0))
CELL(rwlock_write_cancellable, timer, TIMER, ABORTS, weft_rwlock_write_cancellable(&fx.others_rw, 0))

OBJECT(rwlock_write_try)
CELL(rwlock_write_try, zero, EITHER, 0, weft_rwlock_write_try(&fx.free_rw))
NONE(rwlock_write_try, range)
CELL(rwlock_write_try, state, EITHER, -EBUSY, weft_rwlock_write_try(&fx.others_rw))
CELL(rwlock_write_try, state, EITHER, -EBUSY, (weft_rwlock_read(&fx.free_rw), weft_rwlock_write_try(&fx.free_rw)))
NO_TIMER(rwlock_write_try, 0, weft_rwlock_write_try(&fx.free_rw))
CELL(rwlock_write_try, timer, TIMER, ABORTS, weft_rwlock_write_try(&fx.free_rw))

OBJECT(rwlock_unlock_read)
CELL(rwlock_unlock_read, zero, EITHER, -EPERM, weft_rwlock_unlock_read(&fx.free_rw))
NONE(rwlock_unlock_read, range)
CELL(rwlock_unlock_read, state, EITHER, -EPERM, weft_rwlock_unlock_read(&fx.others_rw))
CELL(rwlock_unlock_read, state, EITHER, -EPERM, (weft_rwlock_write(&fx.free_rw), weft_rwlock_unlock_read(&fx.free_rw)))
CELL(rwlock_unlock_read, state, EITHER, -EPERM,
     (weft_rwlock_read(&fx.free_rw), weft_rwlock_unlock_read(&fx.free_rw), weft_rwlock_unlock_read(&fx.free_rw)))
ANYWHERE(rwlock_unlock_read, 0, (weft_rwlock_read(&fx.free_rw), weft_rwlock_unlock_read(&fx.free_rw)))

OBJECT(rwlock_unlock_write)
CELL(rwlock_unlock_write, zero, EITHER, -EPERM, weft_rwlock_unlock_write(&fx.free_rw))
NONE(rwlock_unlock_write, range)
CELL(rwlock_unlock_write, state, EITHER, -EPERM, weft_rwlock_unlock_write(&fx.others_rw))
CELL(rwlock_unlock_write, state, EITHER, -EPERM, (weft_rwlock_read(&fx.free_rw), weft_rwlock_unlock_write(&fx.free_rw)))
NO_TIMER(rwlock_unlock_write, 0, (weft_rwlock_write(&fx.free_rw), weft_rwlock_unlock_write(&fx.free_rw)))
CELL(rwlock_unlock_write, timer, TIMER, ABORTS, weft_rwlock_unlock_write(&fx.others_rw))

OBJECT(barrier_init, 1)
CELL(barrier_init, zero, EITHER, -EINVAL, weft_barrier_init(&fx.barrier, 0))
CELL(barrier_init, range, EITHER, -EINVAL, weft_barrier_init(&fx.barrier, (UINT64_C(1) << 60) + 1))
CELL(barrier_init, range, EITHER, 0, weft_barrier_init(&fx.barrier, UINT64_C(1) << 60))
NONE(barrier_init, state)
ANYWHERE(barrier_init, 0, weft_barrier_init(&fx.barrier, 1))

OBJECT(barrier_wait)
CELL(barrier_wait, zero, EITHER, -EINVAL, weft_barrier_wait(&(struct weft_barrier){.count = 0}))
NONE(barrier_wait, range)
CELL(barrier_wait, state, FIBER, -ECANCELED, (cancel_self(), weft_barrier_wait(&fx.barrier)))
CELL(barrier_wait, state, FIBER, WEFT_BARRIER_SERIAL,
     (cancel_self(), weft_barrier_init(&fx.barrier, 1), weft_barrier_wait(&fx.barrier)))
NO_TIMER(barrier_wait, WEFT_BARRIER_SERIAL, (weft_barrier_init(&fx.barrier, 1), weft_barrier_wait(&fx.barrier)))
CELL(barrier_wait, timer, TIMER, ABORTS, weft_barrier_wait(&fx.barrier))

OBJECT(barrier_wait_until, 0)
CELL(barrier_wait_until, zero, EITHER, -EINVAL, weft_barrier_wait_until(&(struct weft_barrier){.count = 0}, 0))
CELL(barrier_wait_until, range, EITHER, -ETIMEDOUT, weft_barrier_wait_until(&fx.barrier, 0))
CELL(barrier_wait_until, state, FIBER, -ECANCELED, (cancel_self(), weft_barrier_wait_until(&fx.barrier, LATER)))
NO_TIMER(barrier_wait_until, -ETIMEDOUT, weft_barrier_wait_until(&fx.barrier, weft_now()))
CELL(barrier_wait_until, timer, TIMER, ABORTS, weft_barrier_wait_until(&fx.barrier, 0))

OBJECT(once_run, returns_seven, NULL)
CELL(once_run, null, EITHER, -EINVAL, weft_once_run(&fx.once, NULL, NULL))
CELL(once_run, zero, EITHER, 7, weft_once_run(&fx.once, returns_seven, NULL))
NONE(once_run, range)
CELL(once_run, state, FIBER, -ECANCELED, (cancel_self(), weft_once_run(&fx.others_once, returns_seven, NULL)))
CELL(once_run, state, EITHER, -EDEADLK, weft_once_run(&fx.once, once_again, NULL))
NO_TIMER(once_run, 7, weft_once_run(&fx.once, returns_seven, NULL))
CELL(once_run, timer, TIMER, ABORTS, weft_once_run(&fx.once, returns_seven, NULL))

OBJECT(once_run_until, returns_seven, NULL, 0)
CELL(once_run_until, null, EITHER, -EINVAL, weft_once_run_until(&fx.once, NULL, NULL, 0))
CELL(once_run_until, zero, EITHER, 7, weft_once_run_until(&fx.once, returns_seven, NULL, 0))
CELL(once_run_until, range, EITHER, -ETIMEDOUT, weft_once_run_until(&fx.others_once, returns_seven, NULL, 0))
CELL(once_run_until, state, FIBER, -ECANCELED,
     (cancel_self(), weft_once_run_until(&fx.others_once, returns_seven, NULL, LATER)))
NO_TIMER(once_run_until, 7, weft_once_run_until(&fx.once, returns_seven, NULL, 0))
CELL(once_run_until, timer, TIMER, ABORTS, weft_once_run_until(&fx.once, returns_seven, NULL, 0))

OBJECT(latch_init, 1)
CELL(latch_init, zero, EITHER, 0, weft_latch_init(&fx.latch, 0))
CELL(latch_init, range, EITHER, -EINVAL, weft_latch_init(&fx.latch, (UINT64_C(1) << 60) + 1))
CELL(latch_init, range, EITHER, 0, weft_latch_init(&fx.latch, UINT64_C(1) << 60))
NONE(latch_init, state)
ANYWHERE(latch_init, 0, weft_latch_init(&fx.latch, 1))

OBJECT(latch_count_down, 1)
CELL(latch_count_down, zero, EITHER, 0, weft_latch_count_down(&fx.latch, 0))
CELL(latch_count_down, range, EITHER, -EINVAL, weft_latch_count_down(&fx.latch, 2))
CELL(latch_count_down, range, EITHER, -EINVAL, weft_latch_count_down(&fx.latch, UINT64_MAX))
CELL(latch_count_down, state, EITHER, -EINVAL,
     (weft_latch_count_down(&fx.latch, 1), weft_latch_count_down(&fx.latch, 1)))
ANYWHERE(latch_count_down, 0, weft_latch_count_down(&fx.latch, 1))

OBJECT(latch_wait)
CELL(latch_wait, zero, EITHER, 0, weft_latch_wait(&(struct weft_latch){.counter = WEFT_COUNTER_INIT}))
NONE(latch_wait, range)
CELL(latch_wait, state, FIBER, -ECANCELED, (cancel_self(), weft_latch_wait(&fx.latch)))
NO_TIMER(latch_wait, 0, (weft_latch_count_down(&fx.latch, 1), weft_latch_wait(&fx.latch)))
CELL(latch_wait, timer, TIMER, ABORTS, weft_latch_wait(&fx.latch))

OBJECT(latch_wait_until, 0)
CELL(latch_wait_until, zero, EITHER, 0, weft_latch_wait_until(&(struct weft_latch){.counter = WEFT_COUNTER_INIT}, 0))
CELL(latch_wait_until, range, EITHER, -ETIMEDOUT, weft_latch_wait_until(&fx.latch, 0))
CELL(latch_wait_until, state, FIBER, -ECANCELED, (cancel_self(), weft_latch_wait_until(&fx.latch, LATER)))
NO_TIMER(latch_wait_until, -ETIMEDOUT, weft_latch_wait_until(&fx.latch, weft_now()))
CELL(latch_wait_until, timer, TIMER, ABORTS, weft_latch_wait_until(&fx.latch, 0))

OBJECT(latch_try)
CELL(latch_try, zero, EITHER, 0, weft_latch_try(&(struct weft_latch){.counter = WEFT_COUNTER_INIT}))
NONE(latch_try, range)
CELL(latch_try, state, EITHER, 0, (weft_latch_count_down(&fx.latch, 1), weft_latch_try(&fx.latch)))
ANYWHERE(latch_try, -EAGAIN, weft_latch_try(&fx.latch))
