/* SPDX-License-Identifier: MIT */
/* Counters, semaphores, mutexes, condition variables. See misuse.h. */
OBJECT(counter_add, 1)
CELL(counter_add, zero, EITHER, 0, weft_counter_add(&fx.nothing, 0))
CELL(counter_add, range, EITHER, -EOVERFLOW, weft_counter_add(&fx.nothing, UINT64_MAX))
CELL(counter_add, range, EITHER, -EOVERFLOW, weft_counter_add(&fx.most, 1))
NONE(counter_add, state)
ANYWHERE(counter_add, 0, weft_counter_add(&fx.nothing, 3))

OBJECT(counter_complete)
CELL(counter_complete, zero, EITHER, -EINVAL, weft_counter_complete(&fx.nothing))
NONE(counter_complete, range)
CELL(counter_complete, state, EITHER, -EINVAL,
     (weft_counter_complete(&fx.outstanding), weft_counter_complete(&fx.outstanding)))
ANYWHERE(counter_complete, 0, weft_counter_complete(&fx.outstanding))

OBJECT(counter_wait, 0)
CELL(counter_wait, zero, EITHER, 0, weft_counter_wait(&fx.nothing, 0))
CELL(counter_wait, range, EITHER, 0, weft_counter_wait(&fx.most, UINT64_MAX))
CELL(counter_wait, state, FIBER, -ECANCELED, (cancel_self(), weft_counter_wait(&fx.outstanding, 0)))
ANYWHERE(counter_wait, 0, weft_counter_wait(&fx.outstanding, 1))
CELL(counter_wait, timer, TIMER, ABORTS, weft_counter_wait(&fx.outstanding, 0))

OBJECT(counter_wait_until, 0, 0)
CELL(counter_wait_until, zero, EITHER, 0, weft_counter_wait_until(&fx.nothing, 0, 0))
CELL(counter_wait_until, range, EITHER, -ETIMEDOUT, weft_counter_wait_until(&fx.outstanding, 0, 0))
CELL(counter_wait_until, range, EITHER, 0, weft_counter_wait_until(&fx.most, UINT64_MAX, 0))
CELL(counter_wait_until, state, FIBER, -ECANCELED, (cancel_self(), weft_counter_wait_until(&fx.outstanding, 0, LATER)))
NO_TIMER(counter_wait_until, -ETIMEDOUT, weft_counter_wait_until(&fx.outstanding, 0, weft_now()))
CELL(counter_wait_until, timer, TIMER, ABORTS, weft_counter_wait_until(&fx.outstanding, 0, 0))

CELL(counter_value, null, EITHER, 0, weft_counter_value(NULL))
CELL(counter_value, zero, EITHER, 0, weft_counter_value(&fx.nothing))
NONE(counter_value, stale, garbage)
CELL(counter_value, range, EITHER, 1LL << 60, weft_counter_value(&fx.most))
NONE(counter_value, state)
ANYWHERE(counter_value, 1, weft_counter_value(&fx.outstanding))

OBJECT(sem_init, 0)
CELL(sem_init, zero, EITHER, 0, weft_sem_init(&fx.none, 0))
CELL(sem_init, range, EITHER, -EINVAL, weft_sem_init(&fx.none, (UINT64_C(1) << 60) + 1))
CELL(sem_init, range, EITHER, 0, weft_sem_init(&fx.none, UINT64_C(1) << 60))
NONE(sem_init, state)
ANYWHERE(sem_init, 0, weft_sem_init(&fx.none, 1))

OBJECT(sem_wait)
NONE(sem_wait, zero, range)
CELL(sem_wait, state, FIBER, -ECANCELED, (cancel_self(), weft_sem_wait(&fx.none)))
NO_TIMER(sem_wait, 0, weft_sem_wait(&fx.one))
CELL(sem_wait, timer, TIMER, ABORTS, weft_sem_wait(&fx.none))

OBJECT(sem_wait_until, 0)
CELL(sem_wait_until, zero, EITHER, -ETIMEDOUT, weft_sem_wait_until(&fx.none, 0))
CELL(sem_wait_until, range, EITHER, 0, weft_sem_wait_until(&fx.one, 0))
CELL(sem_wait_until, state, FIBER, -ECANCELED, (cancel_self(), weft_sem_wait_until(&fx.none, LATER)))
NO_TIMER(sem_wait_until, -ETIMEDOUT, weft_sem_wait_until(&fx.none, weft_now()))
CELL(sem_wait_until, timer, TIMER, ABORTS, weft_sem_wait_until(&fx.none, 0))

OBJECT(sem_try)
CELL(sem_try, zero, EITHER, -EAGAIN, weft_sem_try(&fx.none))
NONE(sem_try, range)
CELL(sem_try, state, EITHER, -EAGAIN, (weft_sem_try(&fx.one), weft_sem_try(&fx.one)))
ANYWHERE(sem_try, 0, weft_sem_try(&fx.one))

OBJECT(sem_post)
CELL(sem_post, zero, EITHER, 0, weft_sem_post(&fx.none))
CELL(sem_post, range, EITHER, -EOVERFLOW, weft_sem_post(&fx.full))
NONE(sem_post, state)
ANYWHERE(sem_post, 0, weft_sem_post(&fx.none))

CELL(mutex_init, null, EITHER, -EINVAL, weft_mutex_init(NULL, 0))
CELL(mutex_init, zero, EITHER, 0, weft_mutex_init(&fx.free, 0))
NONE(mutex_init, stale)
CELL(mutex_init, garbage, EITHER, -EINVAL, weft_mutex_init(&fx.free, 0xdeadbeef))
CELL(mutex_init, range, EITHER, -EINVAL, weft_mutex_init(&fx.free, 2))
CELL(mutex_init, range, EITHER, 0, weft_mutex_init(&fx.free, WEFT_MUTEX_RECURSIVE))
NONE(mutex_init, state)
ANYWHERE(mutex_init, 0, weft_mutex_init(&fx.free, 0))

OBJECT(mutex_lock)
CELL(mutex_lock, zero, EITHER, 0, weft_mutex_lock(&fx.free))
NONE(mutex_lock, range)
CELL(mutex_lock, state, EITHER, -EDEADLK, (weft_mutex_lock(&fx.free), weft_mutex_lock(&fx.free)))
CELL(mutex_lock, state, EITHER, 0,
     (weft_mutex_init(&fx.free, WEFT_MUTEX_RECURSIVE), weft_mutex_lock(&fx.free), weft_mutex_lock(&fx.free)))
NO_TIMER(mutex_lock, 0, weft_mutex_lock(&fx.free))
CELL(mutex_lock, timer, TIMER, ABORTS, weft_mutex_lock(&fx.free))

OBJECT(mutex_lock_until, 0)
CELL(mutex_lock_until, zero, EITHER, 0, weft_mutex_lock_until(&fx.free, 0))
CELL(mutex_lock_until, range, EITHER, -ETIMEDOUT, weft_mutex_lock_until(&fx.others, 0))
CELL(mutex_lock_until, state, EITHER, -EDEADLK, (weft_mutex_lock(&fx.free), weft_mutex_lock_until(&fx.free, LATER)))
NO_TIMER(mutex_lock_until, 0, weft_mutex_lock_until(&fx.free, 0))
CELL(mutex_lock_until, timer, TIMER, ABORTS, weft_mutex_lock_until(&fx.others, 0))

OBJECT(mutex_lock_cancellable, 0)
CELL(mutex_lock_cancellable, zero, EITHER, 0, weft_mutex_lock_cancellable(&fx.free, 0))
CELL(mutex_lock_cancellable, range, EITHER, -ETIMEDOUT, weft_mutex_lock_cancellable(&fx.others, 0))
CELL(mutex_lock_cancellable, state, EITHER, -EDEADLK,
     (weft_mutex_lock(&fx.free), weft_mutex_lock_cancellable(&fx.free, LATER)))
CELL(mutex_lock_cancellable, state, FIBER, -ECANCELED, (cancel_self(), weft_mutex_lock_cancellable(&fx.others, LATER)))
NO_TIMER(mutex_lock_cancellable, 0, weft_mutex_lock_cancellable(&fx.free, 0))
CELL(mutex_lock_cancellable, timer, TIMER, ABORTS, weft_mutex_lock_cancellable(&fx.others, 0))

OBJECT(mutex_try)
CELL(mutex_try, zero, EITHER, 0, weft_mutex_try(&fx.free))
NONE(mutex_try, range)
CELL(mutex_try, state, EITHER, -EBUSY, weft_mutex_try(&fx.others))
CELL(mutex_try, state, EITHER, -EBUSY, (weft_mutex_try(&fx.free), weft_mutex_try(&fx.free)))
NO_TIMER(mutex_try, 0, weft_mutex_try(&fx.free))
CELL(mutex_try, timer, TIMER, ABORTS, weft_mutex_try(&fx.free))

OBJECT(mutex_unlock)
CELL(mutex_unlock, zero, EITHER, -EPERM, weft_mutex_unlock(&fx.free))
NONE(mutex_unlock, range)
CELL(mutex_unlock, state, EITHER, -EPERM, weft_mutex_unlock(&fx.others))
CELL(mutex_unlock, state, EITHER, -EPERM,
     (weft_mutex_lock(&fx.free), weft_mutex_unlock(&fx.free), weft_mutex_unlock(&fx.free)))
NO_TIMER(mutex_unlock, 0, (weft_mutex_lock(&fx.free), weft_mutex_unlock(&fx.free)))
CELL(mutex_unlock, timer, TIMER, ABORTS, weft_mutex_unlock(&fx.others))

OBJECT(cond_wait, &fx.free)
CELL(cond_wait, null, EITHER, -EINVAL, weft_cond_wait(&fx.cond, NULL))
CELL(cond_wait, zero, EITHER, -EPERM, weft_cond_wait(&fx.cond, &fx.free))
NONE(cond_wait, range)
CELL(cond_wait, state, EITHER, -EPERM, weft_cond_wait(&fx.cond, &fx.others))
CELL(cond_wait, state, EITHER, -EINVAL,
     (weft_mutex_init(&fx.free, WEFT_MUTEX_RECURSIVE), weft_mutex_lock(&fx.free), weft_mutex_lock(&fx.free),
      weft_cond_wait(&fx.cond, &fx.free)))
CELL(cond_wait, state, FIBER, -ECANCELED,
     (weft_mutex_lock(&fx.free), cancel_self(), weft_cond_wait(&fx.cond, &fx.free)))
NO_TIMER(cond_wait, -EPERM, weft_cond_wait(&fx.cond, &fx.free))
CELL(cond_wait, timer, TIMER, ABORTS, weft_cond_wait(&fx.cond, &fx.others))

OBJECT(cond_wait_until, &fx.free, 0)
CELL(cond_wait_until, null, EITHER, -EINVAL, weft_cond_wait_until(&fx.cond, NULL, 0))
CELL(cond_wait_until, zero, EITHER, -EPERM, weft_cond_wait_until(&fx.cond, &fx.free, 0))
CELL(cond_wait_until, range, EITHER, -ETIMEDOUT,
     (weft_mutex_lock(&fx.free), weft_cond_wait_until(&fx.cond, &fx.free, 0)))
CELL(cond_wait_until, state, EITHER, -EPERM, weft_cond_wait_until(&fx.cond, &fx.others, LATER))
CELL(cond_wait_until, state, FIBER, -ECANCELED,
     (weft_mutex_lock(&fx.free), cancel_self(), weft_cond_wait_until(&fx.cond, &fx.free, LATER)))
NO_TIMER(cond_wait_until, -ETIMEDOUT, (weft_mutex_lock(&fx.free), weft_cond_wait_until(&fx.cond, &fx.free, 0)))
CELL(cond_wait_until, timer, TIMER, ABORTS, weft_cond_wait_until(&fx.cond, &fx.others, 0))

OBJECT(cond_signal)
CELL(cond_signal, zero, EITHER, 0, weft_cond_signal(&fx.cond))
NONE(cond_signal, range, state)
ANYWHERE(cond_signal, 0, weft_cond_signal(&fx.cond))

OBJECT(cond_broadcast)
CELL(cond_broadcast, zero, EITHER, 0, weft_cond_broadcast(&fx.cond))
NONE(cond_broadcast, range, state)
ANYWHERE(cond_broadcast, 0, weft_cond_broadcast(&fx.cond))
