/* SPDX-License-Identifier: MIT */
/*
 * What the shared benchmarks run on: Boost.Fiber. The names are explained in
 * tools/bench/weft/system.h. The benchmarks are C and zero their records, so objects with a
 * constructor are kept as bytes here and constructed in place.
 */
#ifndef BENCH_SYSTEM_H
#define BENCH_SYSTEM_H

#include "measure.h"

#include <boost/fiber/all.hpp>

#include <chrono>
#include <new>

template <typename T> struct in_place {
    alignas(T) unsigned char bytes[sizeof(T)];
    T *get() { return reinterpret_cast<T *>(bytes); }
    template <typename... A> void make(A &&...a) { new (bytes) T(static_cast<A &&>(a)...); }
    void end() { get()->~T(); }
};

struct sys_fiber {
    in_place<boost::fibers::fiber> fiber;
};

static inline void sys_spawn(struct sys_fiber *fiber, void *(*fn)(void *), void *p) { fiber->fiber.make(fn, p); }

static inline void sys_join(struct sys_fiber *fiber) {
    fiber->fiber.get()->join();
    fiber->fiber.end();
}

static inline void sys_yield(void) { boost::this_fiber::yield(); }

static inline void sys_sleep(uint64_t nanoseconds) {
    boost::this_fiber::sleep_for(std::chrono::nanoseconds(nanoseconds));
}

/*
 * A semaphore made the way Boost.Fiber makes its own mutex. One put together from its mutex and
 * condition variable, as a user of the library would, takes about twice as long.
 */
class handing_semaphore {
    boost::fibers::detail::spinlock lock_{};
    boost::fibers::context::wait_queue_t waiting_{};
    uint64_t value_;

  public:
    explicit handing_semaphore(uint64_t value) : value_{value} {}
    void wait();
    void post();
    uint64_t drain();
};

struct sys_sem {
    in_place<handing_semaphore> sem;
};

static inline void sys_sem_init(struct sys_sem *sem, uint64_t value) { sem->sem.make(value); }
static inline void sys_sem_wait(struct sys_sem *sem) { sem->sem.get()->wait(); }
static inline void sys_sem_post(struct sys_sem *sem) { sem->sem.get()->post(); }
static inline uint64_t sys_sem_drain(struct sys_sem *sem) { return sem->sem.get()->drain(); }

/* Nothing in the library is cheaper than a semaphore. */
struct sys_permit {
    struct sys_sem sem;
};

static inline void sys_permit_init(struct sys_permit *permit) { sys_sem_init(&permit->sem, 0); }
static inline void sys_permit_bind(struct sys_permit *, const struct sys_fiber *) {}
static inline void sys_permit_wait(struct sys_permit *permit) { sys_sem_wait(&permit->sem); }
static inline void sys_permit_give(struct sys_permit *permit) { sys_sem_post(&permit->sem); }

struct sys_mutex {
    in_place<boost::fibers::mutex> mutex;
};

static inline void sys_mutex_init(struct sys_mutex *mutex) { mutex->mutex.make(); }
static inline void sys_mutex_lock(struct sys_mutex *mutex) { mutex->mutex.get()->lock(); }
static inline void sys_mutex_unlock(struct sys_mutex *mutex) { mutex->mutex.get()->unlock(); }
/* A buffer of Boost holds one less than it is made for, and is made for a power of two. */
struct sys_chan {
    boost::fibers::unbuffered_channel<uint64_t> *plain;
    boost::fibers::buffered_channel<uint64_t> *buffered;
};

static inline void sys_chan_init(struct sys_chan *chan, size_t capacity) {
    chan->plain = capacity ? nullptr : new boost::fibers::unbuffered_channel<uint64_t>();
    chan->buffered = capacity ? new boost::fibers::buffered_channel<uint64_t>(capacity) : nullptr;
}
static inline void sys_chan_end(struct sys_chan *chan) {
    delete chan->plain;
    delete chan->buffered;
}
static inline void sys_chan_send(struct sys_chan *chan, uint64_t number) {
    if (chan->plain)
        chan->plain->push(number);
    else
        chan->buffered->push(number);
}
static inline bool sys_chan_recv(struct sys_chan *chan, uint64_t *number) {
    return (chan->plain ? chan->plain->pop(*number) : chan->buffered->pop(*number)) ==
           boost::fibers::channel_op_status::success;
}
static inline void sys_chan_close(struct sys_chan *chan) {
    if (chan->plain)
        chan->plain->close();
    else
        chan->buffered->close();
}

void sys_run(const struct args *args, measure_fn *run, struct result *result);

#endif
