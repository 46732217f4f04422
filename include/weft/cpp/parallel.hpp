/* SPDX-License-Identifier: MIT */
/* Loops and reductions for C++, see weft.hpp. The compiler can inline the functions passed in. */
#ifndef WEFT_CPP_PARALLEL_HPP
#define WEFT_CPP_PARALLEL_HPP

#include "fiber.hpp"

#include <atomic>
#include <functional>
#include <iterator>
#include <vector>

namespace weft {
namespace detail {

/* What the pieces of a loop share: the function and the first exception. A piece that threw returns `stop`, so no
 * further piece begins. The exception is read after the loop has ended, so the write happens before the read. */
template <class F> struct pieces {
    static constexpr int stop = 1;
    F &function;
    std::atomic<bool> failed{false};
    std::exception_ptr thrown;

    explicit pieces(F &f) : function(f) {}
    template <class Piece> int guarded(Piece piece) noexcept {
        try {
            piece();
            return 0;
        } catch (...) {
            if (!failed.exchange(true, std::memory_order_relaxed)) thrown = std::current_exception();
            return stop;
        }
    }
    void end(int result, const char *what) {
        if (thrown) std::rethrow_exception(thrown);
        check(result, what);
    }
};

} // namespace detail

/* Calls f(i) for each i from begin to end - 1, on as many workers as are free. The first exception ends the loop and is
 * thrown again. */
template <class F>
void for_index(std::size_t begin, std::size_t end, F &&f, const weft_for_options *options = nullptr) {
    using shared = detail::pieces<std::remove_reference_t<F>>;
    shared all(f);
    auto body = [](std::size_t b, std::size_t e, void *arg) {
        auto *mine = static_cast<shared *>(arg);
        return mine->guarded([&] {
            for (std::size_t i = b; i < e; i++) mine->function(i);
        });
    };
    all.end(weft_for(begin, end, body, &all, options), "for_index");
}

/* Calls f(*i) for each i of a range with random-access iterators. */
template <class Iterator, class F>
void for_each(Iterator first, Iterator last, F &&f, const weft_for_options *options = nullptr) {
    static_assert(
        std::is_base_of_v<std::random_access_iterator_tag, typename std::iterator_traits<Iterator>::iterator_category>,
        "for_each needs random access iterators");
    using distance = typename std::iterator_traits<Iterator>::difference_type;
    weft::for_index(
        0, static_cast<std::size_t>(last - first), [&](std::size_t i) { f(first[static_cast<distance>(i)]); }, options);
}
template <class Range, class F> void for_each(Range &&range, F &&f, const weft_for_options *options = nullptr) {
    weft::for_each(std::begin(range), std::end(range), std::forward<F>(f), options);
}

/*
 * Computes combine(... combine(identity, map(*first)) ...) over a range, in order, in pieces. combine must be
 * associative, and identity must be its neutral element. T is copied byte by byte.
 */
template <class Iterator, class T, class Combine, class Map>
T transform_reduce(Iterator first, Iterator last, T identity, Combine combine, Map map,
                   const weft_for_options *options = nullptr) {
    static_assert(std::is_trivially_copyable_v<T>, "reduce copies values byte by byte");
    using distance = typename std::iterator_traits<Iterator>::difference_type;
    struct functions {
        Iterator first;
        Combine &combine;
        Map &map;
    } both{first, combine, map};
    using shared = detail::pieces<functions>;
    shared all(both);
    weft_reduction how{sizeof(T), &identity,
                       [](std::size_t b, std::size_t e, void *value, void *arg) {
                           auto *mine = static_cast<shared *>(arg);
                           return mine->guarded([&] {
                               T sum = *static_cast<T *>(value);
                               for (std::size_t i = b; i < e; i++)
                                   sum = mine->function.combine(
                                       sum, mine->function.map(mine->function.first[static_cast<distance>(i)]));
                               *static_cast<T *>(value) = sum;
                           });
                       },
                       [](void *left, const void *right, void *arg) {
                           auto *mine = static_cast<shared *>(arg);
                           (void)mine->guarded([&] {
                               *static_cast<T *>(left) =
                                   mine->function.combine(*static_cast<T *>(left), *static_cast<const T *>(right));
                           });
                       }};
    T value = identity;
    all.end(weft_reduce(0, static_cast<std::size_t>(last - first), &value, &how, &all, options), "reduce");
    return value;
}
template <class Iterator, class T, class Combine = std::plus<>>
T reduce(Iterator first, Iterator last, T identity, Combine combine = {}, const weft_for_options *options = nullptr) {
    return weft::transform_reduce(
        first, last, identity, std::move(combine), [](const auto &v) -> decltype(auto) { return v; }, options);
}

} // namespace weft

#endif
