/* SPDX-License-Identifier: MIT */
/* Exceptions and deadlines for C++, see weft.hpp. */
#ifndef WEFT_CPP_ERROR_HPP
#define WEFT_CPP_ERROR_HPP

#include <weft.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <system_error>

namespace weft {

/* A call has failed. code().value() is the errno, positive. */
class error : public std::system_error {
  public:
    error(int number, const char *what) : std::system_error(number, std::generic_category(), what) {}
};

/* The fiber was cancelled while it waited. Usually let this exception leave the fiber's function, so that it ends. */
class cancelled : public error {
  public:
    explicit cancelled(const char *what) : error(ECANCELED, what) {}
};

/* A deadline has passed: that of the call, or that of a scope around the caller. */
class timed_out : public error {
  public:
    explicit timed_out(const char *what) : error(ETIMEDOUT, what) {}
};

namespace detail {

[[noreturn]] inline void fail(int result, const char *what) {
    if (result == -ECANCELED) throw cancelled(what);
    if (result == -ETIMEDOUT) throw timed_out(what);
    throw error(-result, what);
}

/* Returns the result of a call, or throws if it is an error. */
inline int check(int result, const char *what) {
    if (__builtin_expect(result < 0, 0)) fail(result, what);
    return result;
}

/* For calls in destructors. They fail only if the program misuses an object. */
inline void must(int result, const char *what) noexcept {
    if (__builtin_expect(result >= 0, 1)) return;
    std::fprintf(stderr, "weft: %s: %s\n", what, std::strerror(-result));
    std::abort();
}

/* The base of objects that can be neither copied nor moved. */
struct pinned {
    pinned() = default;
    pinned(const pinned &) = delete;
    pinned &operator=(const pinned &) = delete;
};

} // namespace detail

/* The clock of deadlines. Its time is weft_now(). */
struct clock {
    using rep = std::int64_t;
    using period = std::nano;
    using duration = std::chrono::nanoseconds;
    using time_point = std::chrono::time_point<clock>;
    static constexpr bool is_steady = true;
    static time_point now() noexcept { return time_point(duration(static_cast<rep>(weft_now()))); }
};

namespace detail {

template <class Rep, class Period> std::uint64_t nanoseconds(const std::chrono::duration<Rep, Period> &d) {
    if (d <= d.zero()) return 0;
    using longest = std::chrono::duration<long double, std::nano>;
    if (longest(d).count() >= 9.2e18L) return WEFT_FOREVER;
    return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::nanoseconds>(d).count());
}

template <class Rep, class Period> std::uint64_t deadline(const std::chrono::duration<Rep, Period> &d) {
    std::uint64_t now = weft_now(), more = nanoseconds(d);
    return more > WEFT_FOREVER - now ? WEFT_FOREVER : now + more;
}

/* A time of another clock is converted once. If that clock is set later, the deadline does not change. */
template <class Clock, class Duration> std::uint64_t deadline(const std::chrono::time_point<Clock, Duration> &time) {
    auto now = Clock::now();
    return time <= now ? 0 : deadline(time - now);
}
template <class Duration> std::uint64_t deadline(const std::chrono::time_point<clock, Duration> &time) {
    return nanoseconds(time.time_since_epoch());
}

} // namespace detail
} // namespace weft

#endif
