/* SPDX-License-Identifier: MIT */
/* Fibers for C++, see weft.hpp. */
#ifndef WEFT_CPP_FIBER_HPP
#define WEFT_CPP_FIBER_HPP

#include "error.hpp"

#include <weft/io.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace weft {
namespace detail {

struct nothing {};
template <class T> using kept = std::conditional_t<std::is_void_v<T>, nothing, T>;

/* A function, and its result or exception. */
template <class F, class T = std::invoke_result_t<F &>> struct call {
    F function;
    std::optional<kept<T>> value;
    std::exception_ptr thrown;

    explicit call(F &&f) : function(std::move(f)) {}
    explicit call(const F &f) : function(f) {}
    void run() noexcept {
        try {
            if constexpr (std::is_void_v<T>)
                function();
            else
                value.emplace(function());
        } catch (...) {
            thrown = std::current_exception();
        }
    }
    T result() {
        if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
        if constexpr (!std::is_void_v<T>) return std::move(*value);
    }
    static void *entry(void *self) {
        static_cast<call *>(self)->run();
        return nullptr;
    }
};

/*
 * What a fiber hands to its joiner. If the C++ function returned void, the C function of the fiber returns NULL;
 * otherwise, also after an exception, it returns a pointer to an outcome, allocated by malloc. So a fiber<T> holds only
 * a handle.
 */
template <class T> struct outcome {
    std::exception_ptr thrown;
    union {
        kept<T> value; /* if nothing was thrown */
    };
    outcome() noexcept : thrown() {}
    ~outcome() {
        if (!thrown) std::destroy_at(&value);
    }
    static void drop(outcome *o) noexcept {
        o->~outcome();
        std::free(o);
    }
};

/* A function, and room for its outcome. The fiber destroys the function; the outcome stays for the joiner. */
template <class T, class F> struct parcel : outcome<T> {
    union {
        F function;
    };
    template <class G> explicit parcel(G &&f) : outcome<T>(), function(std::forward<G>(f)) {}
    ~parcel() {}

    static void *allocate() {
        void *memory;
        if constexpr (alignof(parcel) <= alignof(std::max_align_t))
            memory = std::malloc(sizeof(parcel));
        else
            memory = std::aligned_alloc(alignof(parcel), sizeof(parcel));
        if (__builtin_expect(!memory, 0)) throw std::bad_alloc();
        return memory;
    }
    template <class G> static parcel *make(G &&f) {
        std::unique_ptr<void, decltype(&std::free)> memory(allocate(), std::free);
        parcel *made = new (memory.get()) parcel(std::forward<G>(f));
        (void)memory.release();
        return made;
    }
    /* Frees the parcel of a function that was not run. */
    static void discard(parcel *p) noexcept {
        p->function.~F();
        p->thrown.~exception_ptr();
        std::free(p);
    }

    /* Runs the function in its fiber, and destroys the function. */
    static void *enter(void *self) noexcept {
        auto *mine = static_cast<parcel *>(self);
        try {
            if constexpr (std::is_void_v<T>)
                mine->function();
            else
                new (&mine->value) T(mine->function());
        } catch (...) {
            mine->thrown = std::current_exception();
        }
        mine->function.~F();
        if (!std::is_void_v<T> || mine->thrown) return static_cast<outcome<T> *>(mine);
        std::free(mine);
        return nullptr;
    }
};

/* A function without a result whose bytes fit into a pointer needs no memory: the bytes are the fiber's argument. */
template <class F>
constexpr bool fits = std::is_void_v<std::invoke_result_t<F &>> &&std::is_trivially_copyable_v<F> &&
                          std::is_trivially_destructible_v<F> &&
                      sizeof(F) <= sizeof(void *) && alignof(F) <= alignof(void *);

template <class F> void *enter_fitting(void *bytes) noexcept {
    alignas(F) unsigned char room[sizeof(F)];
    std::memcpy(room, &bytes, sizeof(F));
    try {
        (*std::launder(reinterpret_cast<F *>(room)))();
    } catch (...) {
        void *memory = std::malloc(sizeof(outcome<void>));
        if (!memory) std::terminate();
        auto *o = new (memory) outcome<void>;
        o->thrown = std::current_exception();
        return o;
    }
    return nullptr;
}

/* Returns the outcome of a fiber; NULL if the fiber ended by weft_fiber_exit with an errno or with NULL. */
template <class T> outcome<T> *outcome_of(void *result) noexcept {
    constexpr std::uintptr_t last_errno = 4095;
    bool is_pointer = reinterpret_cast<std::uintptr_t>(result) - 1 < ~last_errno;
    return __builtin_expect(is_pointer, 1) ? static_cast<outcome<T> *>(result) : nullptr;
}

/* A fiber without attributes costs less: its handle never goes through memory. */
inline weft__spawned begin(const weft_attr *attr, void *(*fn)(void *), void *arg, const char *where) {
    if (!attr) return weft__spawn_plain(fn, arg, where);
    weft__spawned made;
    made.error = weft_spawn_at(&made.fiber, attr, fn, arg, where);
    return made;
}

inline int errno_of(void *result) noexcept { return static_cast<int>(reinterpret_cast<std::intptr_t>(result)); }

/* Waits for the end of a fiber, even if the caller is cancelled meanwhile. */
inline void *join_always(weft_fiber fiber) noexcept {
    void *result = nullptr;
    weft_shield shield;
    must(weft_shield_begin(&shield), "join of a fiber");
    must(weft_join(fiber, &result), "join of a fiber");
    must(weft_shield_end(&shield), "join of a fiber");
    return result;
}

} // namespace detail

/*
 * A fiber that runs a function, and the function's result. spawn() makes it. It can be moved, but not copied.
 *
 * The fiber destroys the function after it has returned. The destructor of this object waits until then, even if the
 * caller is cancelled meanwhile. It drops a result or exception that join() has not taken.
 */
template <class T> class fiber {
    weft_fiber handle_;

  public:
    fiber() noexcept : handle_() {}
    fiber(fiber &&other) noexcept : handle_(other.handle_) { other.handle_ = {}; }
    fiber &operator=(fiber &&other) noexcept { /* self-assignment works: the object has no handle meanwhile */
        weft_fiber handle = other.handle_;
        other.handle_ = {};
        if (joinable()) wait();
        handle_ = handle;
        return *this;
    }
    ~fiber() {
        if (joinable()) wait();
    }

    /* Use spawn(). */
    template <class F>
    fiber(const weft_attr *attr, F &&f, const char *where) : handle_(start(attr, std::forward<F>(f), where)) {}

    /*
     * Waits until the function has returned. Returns its result or throws its exception. A fiber can be joined once;
     * after that join() throws error(ESRCH). If the caller is cancelled meanwhile, join() throws cancelled (or
     * timed_out), and the fiber can still be joined.
     */
    T join() {
        void *result = nullptr;
        detail::check(weft_join(handle_, &result), "join");
        handle_ = {};
        return take(result);
    }

    /* Joins with a deadline. When it passes, throws timed_out; the fiber can still be joined. */
    template <class Time> T join_until(const Time &time) { return join_before(detail::deadline(time)); }
    template <class Rep, class Period> T join_for(const std::chrono::duration<Rep, Period> &time) {
        return join_before(detail::deadline(time));
    }

    /* Cancels the fiber: its waits throw cancelled. Does not wait for its end. Does nothing if the fiber has ended. */
    void cancel() noexcept { (void)weft_cancel(handle_); }

    bool joinable() const noexcept { return handle_.id != 0; }
    weft_fiber native_handle() const noexcept { return handle_; }

  private:
    T join_before(std::uint64_t deadline) {
        void *result = nullptr;
        detail::check(weft_join_until(handle_, &result, deadline), "join_until");
        handle_ = {};
        return take(result);
    }
    template <class F> static weft_fiber start(const weft_attr *attr, F &&f, const char *where) {
        using function = std::decay_t<F>;
        if constexpr (detail::fits<function>) {
            void *bytes = nullptr;
            function copy(std::forward<F>(f));
            std::memcpy(&bytes, &copy, sizeof copy);
            weft__spawned made = detail::begin(attr, detail::enter_fitting<function>, bytes, where);
            if (__builtin_expect(made.error != 0, 0)) detail::fail(static_cast<int>(made.error), "spawn");
            return made.fiber;
        } else {
            using parcel = detail::parcel<T, function>;
            parcel *sent = parcel::make(std::forward<F>(f));
            weft__spawned made = detail::begin(attr, parcel::enter, sent, where);
            if (__builtin_expect(made.error != 0, 0)) {
                parcel::discard(sent);
                detail::fail(static_cast<int>(made.error), "spawn");
            }
            return made.fiber;
        }
    }
    static T take(void *result) {
        if constexpr (std::is_void_v<T>)
            if (__builtin_expect(!result, 1)) return;
        detail::outcome<T> *o = detail::outcome_of<T>(result);
        if (__builtin_expect(!o, 0)) detail::fail(result ? detail::errno_of(result) : -ENODATA, "join");
        if constexpr (std::is_void_v<T>) {
            raise(o);
        } else {
            if (__builtin_expect(!!o->thrown, 0)) raise(o);
            owner held(o);
            return std::move(o->value);
        }
    }
    struct owner { /* drops the value also if its move throws */
        detail::outcome<T> *outcome;
        explicit owner(detail::outcome<T> *o) noexcept : outcome(o) {}
        ~owner() {
            std::destroy_at(&outcome->value);
            std::free(outcome);
        }
    };
    [[noreturn]] static void raise(detail::outcome<T> *o) {
        std::exception_ptr thrown = o->thrown;
        detail::outcome<T>::drop(o);
        std::rethrow_exception(std::move(thrown));
    }
    __attribute__((noinline)) void wait() noexcept {
        void *result = detail::join_always(handle_);
        handle_ = {};
        if (auto *o = detail::outcome_of<T>(result)) detail::outcome<T>::drop(o);
    }
};

/*
 * Runs f() in a new fiber. Messages and `weft dump` show `where`: by default the name of the calling function; pass
 * WEFT_HERE to show file and line.
 */
template <class F> [[nodiscard]] auto spawn(const weft_attr &attr, F &&f, const char *where = __builtin_FUNCTION()) {
    return fiber<std::invoke_result_t<std::decay_t<F> &>>(&attr, std::forward<F>(f), where);
}
template <class F> [[nodiscard]] auto spawn(F &&f, const char *where = __builtin_FUNCTION()) {
    return fiber<std::invoke_result_t<std::decay_t<F> &>>(nullptr, std::forward<F>(f), where);
}

namespace detail {

template <class F> void spawn_detached(const weft_attr *attr, F &&f, const char *where) {
    using function = std::decay_t<F>;
    auto made = std::make_unique<function>(std::forward<F>(f));
    auto entry = [](void *self) noexcept -> void * {
        std::unique_ptr<function> mine(static_cast<function *>(self));
        (*mine)();
        return nullptr;
    };
    check(weft_spawn_at(nullptr, attr, entry, made.get(), where), "spawn_detached");
    (void)made.release();
}

} // namespace detail

/* Runs f() in a new fiber that cannot be joined. An exception that leaves f ends the program, as with std::thread. */
template <class F> void spawn_detached(const weft_attr &attr, F &&f, const char *where = __builtin_FUNCTION()) {
    detail::spawn_detached(&attr, std::forward<F>(f), where);
}
template <class F> void spawn_detached(F &&f, const char *where = __builtin_FUNCTION()) {
    detail::spawn_detached(nullptr, std::forward<F>(f), where);
}

/* Starts the runtime, runs f() as its first fiber, waits for all fibers and stops the runtime. Returns the result of f
 * or throws its exception. Throws error(EDEADLK) if all fibers, also f, waited for each other for ever. */
template <class F> auto run(F &&f, const weft_config *config = nullptr) {
    detail::call<std::decay_t<F>> call(std::forward<F>(f));
    auto entry = [](void *self) {
        static_cast<decltype(call) *>(self)->run();
        return 0;
    };
    int result = weft_run(entry, &call, config);
    if (!call.thrown) detail::check(result, "run");
    return call.result();
}

/* A runtime for a program whose main is not a fiber. The constructor starts it, the destructor stops it. */
class runtime : detail::pinned {
  public:
    explicit runtime(const weft_config *config = nullptr) { detail::check(weft_start(config), "runtime"); }
    ~runtime() { detail::must(weft_stop(), "stop of the runtime"); }
};

/* Runs f() on a thread of the pool for blocking calls, while the calling fiber waits; see weft_blocking. */
template <class F> auto blocking(F &&f) {
    detail::call<std::decay_t<F>> call(std::forward<F>(f));
    detail::check(weft_blocking(decltype(call)::entry, &call, nullptr), "blocking");
    return call.result();
}

inline void yield() noexcept { weft_yield(); }

template <class Rep, class Period> void sleep_for(const std::chrono::duration<Rep, Period> &time) {
    detail::check(weft_sleep_for(detail::nanoseconds(time)), "sleep_for");
}
template <class Clock, class Duration> void sleep_until(const std::chrono::time_point<Clock, Duration> &time) {
    detail::check(weft_sleep_until(detail::deadline(time)), "sleep_until");
}

/* Was the caller cancelled? For code that computes without waiting. */
inline bool is_cancelled() noexcept { return weft_cancelled() != 0; }

} // namespace weft

#endif
