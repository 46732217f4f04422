/* SPDX-License-Identifier: MIT */
/* Futures for C++, see weft.hpp. */
#ifndef WEFT_CPP_FUTURE_HPP
#define WEFT_CPP_FUTURE_HPP

#include "fiber.hpp"

#include <atomic>

namespace weft {

/*
 * A value or an exception that is set once. Any number of fibers and threads can wait for it. Setter and waiters use
 * the same object. It may be destroyed when all waits have returned and no further wait can begin.
 */
template <class T> class future : detail::pinned {
    weft_future future_ = WEFT_FUTURE_INIT;
    std::atomic<bool> claimed_{false};
    std::optional<detail::kept<T>> value_;
    std::exception_ptr thrown_;

    void claim(const char *what) {
        if (claimed_.exchange(true, std::memory_order_relaxed)) throw error(EALREADY, what);
    }
    void publish() noexcept { detail::must(weft_future_set(&future_, nullptr), "future"); }

  public:
    /* Sets the value. Throws error(EALREADY) if a value or an exception was set before. */
    template <class... Args> void set(Args &&...args) {
        detail::kept<T> made(std::forward<Args>(args)...); /* may throw, before anything has changed */
        claim("future.set");
        value_.emplace(std::move(made));
        publish();
    }
    void fail(std::exception_ptr thrown) {
        claim("future.fail");
        thrown_ = std::move(thrown);
        publish();
    }

    bool is_done() { return weft_future_try(&future_, nullptr) == 0; }

    void wait() { detail::check(weft_future_wait(&future_, nullptr), "future.wait"); }
    template <class Time> void wait_until(const Time &time) {
        detail::check(weft_future_wait_until(&future_, nullptr, detail::deadline(time)), "future.wait_until");
    }

    /* Waits until the future is set. Returns the value or throws the exception. The value stays in the future. */
    std::add_lvalue_reference_t<T> get() {
        wait();
        if (thrown_) std::rethrow_exception(thrown_);
        if constexpr (!std::is_void_v<T>) return *value_;
    }
    template <class Time> std::add_lvalue_reference_t<T> get_until(const Time &time) {
        wait_until(time);
        return get();
    }

    weft_future *native_handle() noexcept { return &future_; }
};

} // namespace weft

#endif
