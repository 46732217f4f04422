/* SPDX-License-Identifier: MIT */
/* Locks for C++, see weft.hpp. They have the member functions that std::lock_guard, std::unique_lock, std::scoped_lock
 * and std::shared_lock need. Locks are not cancellation points; conditions and semaphores are. */
#ifndef WEFT_CPP_SYNC_HPP
#define WEFT_CPP_SYNC_HPP

#include "error.hpp"

#include <cstddef>
#include <mutex>

namespace weft {
namespace detail {

/* Returns true if the call succeeded, and false if it would have to wait or its deadline passed. */
inline bool done(int result, const char *what) {
    if (__builtin_expect(result >= 0, 1)) return true;
    if (result == -EBUSY || result == -EAGAIN || result == -ETIMEDOUT) return false;
    fail(result, what);
}

class any_mutex : pinned {
  protected:
    weft_mutex mutex_;
    constexpr explicit any_mutex(unsigned flags) noexcept : mutex_{{0, nullptr, nullptr}, 0, flags, 0} {}

  public:
    void lock() { check(weft_mutex_lock(&mutex_), "mutex.lock"); }
    bool try_lock() { return done(weft_mutex_try(&mutex_), "mutex.try_lock"); }
    void unlock() noexcept { must(weft_mutex_unlock(&mutex_), "mutex.unlock"); }
    template <class Time> bool try_lock_until(const Time &time) {
        return done(weft_mutex_lock_until(&mutex_, deadline(time)), "mutex.try_lock_until");
    }
    template <class Rep, class Period> bool try_lock_for(const std::chrono::duration<Rep, Period> &time) {
        return try_lock_until(time);
    }
    weft_mutex *native_handle() noexcept { return &mutex_; }
};

} // namespace detail

/* A mutex. A fiber that already holds it and locks it again gets error(EDEADLK). */
class mutex : public detail::any_mutex {
  public:
    constexpr mutex() noexcept : any_mutex(0) {}
};

class recursive_mutex : public detail::any_mutex {
  public:
    constexpr recursive_mutex() noexcept : any_mutex(WEFT_MUTEX_RECURSIVE) {}
};

class shared_mutex : detail::pinned {
    weft_rwlock lock_ = WEFT_RWLOCK_INIT;

  public:
    void lock() { detail::check(weft_rwlock_write(&lock_), "shared_mutex.lock"); }
    bool try_lock() { return detail::done(weft_rwlock_write_try(&lock_), "shared_mutex.try_lock"); }
    template <class Time> bool try_lock_until(const Time &time) {
        return detail::done(weft_rwlock_write_until(&lock_, detail::deadline(time)), "shared_mutex.try_lock_until");
    }
    template <class Rep, class Period> bool try_lock_for(const std::chrono::duration<Rep, Period> &time) {
        return try_lock_until(time);
    }
    void unlock() noexcept { detail::must(weft_rwlock_unlock_write(&lock_), "shared_mutex.unlock"); }
    void lock_shared() { detail::check(weft_rwlock_read(&lock_), "shared_mutex.lock_shared"); }
    bool try_lock_shared() { return detail::done(weft_rwlock_read_try(&lock_), "shared_mutex.try_lock_shared"); }
    template <class Time> bool try_lock_shared_until(const Time &time) {
        return detail::done(weft_rwlock_read_until(&lock_, detail::deadline(time)),
                            "shared_mutex.try_lock_shared_until");
    }
    template <class Rep, class Period> bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time) {
        return try_lock_shared_until(time);
    }
    void unlock_shared() noexcept { detail::must(weft_rwlock_unlock_read(&lock_), "shared_mutex.unlock_shared"); }
    weft_rwlock *native_handle() noexcept { return &lock_; }
};

/* For std::unique_lock<weft::mutex>. The mutex is locked when a wait returns, and when it throws cancelled. */
class condition_variable : detail::pinned {
    weft_cond cond_ = WEFT_COND_INIT;

  public:
    void notify_one() noexcept { (void)weft_cond_signal(&cond_); }
    void notify_all() noexcept { (void)weft_cond_broadcast(&cond_); }

    template <class Mutex> void wait(std::unique_lock<Mutex> &lock) {
        detail::check(weft_cond_wait(&cond_, lock.mutex()->native_handle()), "condition_variable.wait");
    }
    template <class Mutex, class Predicate> void wait(std::unique_lock<Mutex> &lock, Predicate predicate) {
        while (!predicate()) wait(lock);
    }

    /* Returns false if the deadline passed and the predicate is still false. */
    template <class Mutex, class Time, class Predicate>
    bool wait_until(std::unique_lock<Mutex> &lock, const Time &time, Predicate predicate) {
        std::uint64_t deadline = detail::deadline(time);
        while (!predicate()) {
            int result = weft_cond_wait_until(&cond_, lock.mutex()->native_handle(), deadline);
            if (result == -ETIMEDOUT && weft_now() >= deadline) return predicate();
            detail::check(result, "condition_variable.wait_until");
        }
        return true;
    }
    template <class Mutex, class Rep, class Period, class Predicate>
    bool wait_for(std::unique_lock<Mutex> &lock, const std::chrono::duration<Rep, Period> &time, Predicate predicate) {
        return wait_until(lock, time, std::move(predicate));
    }
    weft_cond *native_handle() noexcept { return &cond_; }
};

class semaphore : detail::pinned {
    weft_sem sem_;

  public:
    constexpr explicit semaphore(std::uint64_t value) noexcept : sem_{{value << 2, nullptr, nullptr}} {}
    void acquire() { detail::check(weft_sem_wait(&sem_), "semaphore.acquire"); }
    bool try_acquire() { return detail::done(weft_sem_try(&sem_), "semaphore.try_acquire"); }
    template <class Time> bool try_acquire_until(const Time &time) {
        std::uint64_t deadline = detail::deadline(time);
        int result = weft_sem_wait_until(&sem_, deadline);
        if (result == -ETIMEDOUT && weft_now() < deadline)
            detail::fail(result, "semaphore.try_acquire_until"); /* the deadline of a scope passed */
        return detail::done(result, "semaphore.try_acquire_until");
    }
    template <class Rep, class Period> bool try_acquire_for(const std::chrono::duration<Rep, Period> &time) {
        return try_acquire_until(time);
    }
    void release() { detail::check(weft_sem_post(&sem_), "semaphore.release"); }
    weft_sem *native_handle() noexcept { return &sem_; }
};

class latch : detail::pinned {
    weft_latch latch_;

  public:
    explicit latch(std::uint64_t count) { detail::check(weft_latch_init(&latch_, count), "latch"); }
    void count_down(std::uint64_t n = 1) { detail::check(weft_latch_count_down(&latch_, n), "latch.count_down"); }
    void wait() { detail::check(weft_latch_wait(&latch_), "latch.wait"); }
    bool try_wait() { return detail::done(weft_latch_try(&latch_), "latch.try_wait"); }
    void arrive_and_wait(std::uint64_t n = 1) {
        count_down(n);
        wait();
    }
    weft_latch *native_handle() noexcept { return &latch_; }
};

class barrier : detail::pinned {
    weft_barrier barrier_;

  public:
    explicit barrier(std::uint64_t count) { detail::check(weft_barrier_init(&barrier_, count), "barrier"); }

    /* Waits until all callers have arrived. Returns true to exactly one of them. */
    bool arrive_and_wait() {
        return detail::check(weft_barrier_wait(&barrier_), "barrier.arrive_and_wait") == WEFT_BARRIER_SERIAL;
    }
    weft_barrier *native_handle() noexcept { return &barrier_; }
};

} // namespace weft

#endif
