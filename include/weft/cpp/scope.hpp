/* SPDX-License-Identifier: MIT */
/* Scopes and shields for C++, see weft.hpp. */
#ifndef WEFT_CPP_SCOPE_HPP
#define WEFT_CPP_SCOPE_HPP

#include "fiber.hpp"

#include <atomic>

namespace weft {

/*
 * A block that owns the fibers spawned in it:
 *
 *     weft::scope scope(500ms);
 *     scope.spawn([&] { fetch(a); });
 *     scope.spawn([&] { fetch(b); });
 *     scope.end();
 *
 * When a child throws, the scope cancels the other children and the waits of the block itself. end() waits for all
 * children and throws the first exception again. When the deadline passes, the scope cancels all, and end() throws
 * timed_out.
 *
 * The destructor waits, too. If end() was not called, also because an exception leaves the block, the destructor first
 * cancels the children. It drops their exceptions.
 */
class scope : detail::pinned {
    weft_scope scope_;
    std::atomic<bool> failed_{false}; /* a child has claimed the right to write thrown_ */
    std::exception_ptr thrown_;
    bool ended_ = false;

    template <class F> struct child {
        scope *in;
        F function;
        static int entry(void *self) noexcept {
            std::unique_ptr<child> mine(static_cast<child *>(self));
            try {
                mine->function();
            } catch (const cancelled &) {
                /* The scope was already cancelled, or only this child was. Neither is a failure of the scope. */
            } catch (const error &e) {
                return mine->in->failed(-e.code().value());
            } catch (...) {
                return mine->in->failed(-EIO);
            }
            return 0;
        }
    };

    /* Called in a catch handler. thrown_ is read after the scope has ended, so the write happens before the read. */
    int failed(int result) noexcept {
        if (!failed_.exchange(true, std::memory_order_relaxed)) thrown_ = std::current_exception();
        return result < 0 ? result : -EIO;
    }
    void begin(std::uint64_t deadline) { detail::check(weft_scope_begin(&scope_, deadline), "scope"); }
    template <class F> void spawn_child(const weft_attr *attr, F &&f, const char *where) {
        using function = std::decay_t<F>;
        std::unique_ptr<child<function>> made(new child<function>{this, std::forward<F>(f)});
        detail::check(weft_scope_spawn_at(&scope_, attr, child<function>::entry, made.get(), where), "scope.spawn");
        (void)made.release();
    }

  public:
    scope() { begin(WEFT_FOREVER); }
    template <class Rep, class Period> explicit scope(const std::chrono::duration<Rep, Period> &time) {
        begin(detail::deadline(time));
    }
    template <class Clock, class Duration> explicit scope(const std::chrono::time_point<Clock, Duration> &time) {
        begin(detail::deadline(time));
    }
    ~scope() {
        if (ended_) return;
        (void)weft_scope_cancel(&scope_);
        (void)weft_scope_end(&scope_);
    }

    /* Runs f() in a fiber of the scope, and drops its result. Throws cancelled if the scope was already cancelled or
     * its deadline has passed. */
    template <class F> void spawn(const weft_attr &attr, F &&f, const char *where = __builtin_FUNCTION()) {
        spawn_child(&attr, std::forward<F>(f), where);
    }
    template <class F> void spawn(F &&f, const char *where = __builtin_FUNCTION()) {
        spawn_child(nullptr, std::forward<F>(f), where);
    }

    void cancel() noexcept { (void)weft_scope_cancel(&scope_); }

    /* Changes the deadline. */
    template <class Time> void set_deadline(const Time &time) {
        detail::check(weft_scope_set_deadline(&scope_, detail::deadline(time)), "scope.set_deadline");
    }

    /* Waits for all children. Throws the exception of the first child that failed; timed_out if the deadline has
     * passed; cancelled after cancel(). */
    void end() {
        ended_ = true;
        int result = weft_scope_end(&scope_);
        if (failed_.load(std::memory_order_relaxed)) std::rethrow_exception(thrown_);
        detail::check(result, "scope");
    }
    weft_scope *native_handle() noexcept { return &scope_; }
};

/* While a shield exists, cancellation does not end waits of its fiber. */
class shield : detail::pinned {
    weft_shield shield_;

  public:
    shield() { detail::check(weft_shield_begin(&shield_), "shield"); }
    ~shield() { detail::must(weft_shield_end(&shield_), "end of a shield"); }
};

} // namespace weft

#endif
