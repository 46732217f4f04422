/* SPDX-License-Identifier: MIT */
/* A parallel, stable sort for C++, see weft.hpp. It includes weft/sort.h inside a class template, which provides the
 * name, the type and the comparison that weft/sort.h expects as macros. */
#ifndef WEFT_CPP_SORT_HPP
#define WEFT_CPP_SORT_HPP

#include "parallel.hpp"

#include <functional>

/* The first inclusion is outside of any class, for the declarations that all sorts share. */
#define WEFT_SORT_NAME weft__sort_of_bytes
#define WEFT_SORT_TYPE unsigned char
#define WEFT_SORT_LESS(a, b, arg) (*(a) < *(b))
#include <weft/sort.h>

namespace weft {
namespace detail {

template <class T, class Less> struct sorter {
#define WEFT_SORT_NAME sort
#define WEFT_SORT_TYPE T
#define WEFT_SORT_LESS(a, b, arg) ((*static_cast<Less *>(arg))(*(a), *(b)))
#include <weft/sort.h>
};

/* Sorts elements that are not trivially copyable: sorts pointers to them, and then moves the elements. */
template <class Iterator, class Less> void sort_by_pointers(Iterator first, std::size_t n, Less &less) {
    using T = typename std::iterator_traits<Iterator>::value_type;
    using distance = typename std::iterator_traits<Iterator>::difference_type;
    std::vector<T *> order(n);
    for (std::size_t i = 0; i < n; i++) order[i] = std::addressof(first[static_cast<distance>(i)]);
    auto by_target = [&](T *a, T *b) { return less(static_cast<const T &>(*a), static_cast<const T &>(*b)); };
    check(sorter<T *, decltype(by_target)>::sort(order.data(), n, &by_target), "sort");
    std::vector<T> sorted;
    sorted.reserve(n);
    for (T *p : order) sorted.push_back(std::move(*p));
    for (std::size_t i = 0; i < n; i++) first[static_cast<distance>(i)] = std::move(sorted[i]);
}

} // namespace detail

/*
 * Sorts a range. The sort is stable. Contiguous, trivially copyable elements are sorted in place, others by pointers to
 * them. `less` must not throw: that ends the program.
 */
template <class Iterator, class Less = std::less<>> void sort(Iterator first, Iterator last, Less less = {}) {
    using T = typename std::iterator_traits<Iterator>::value_type;
    auto n = static_cast<std::size_t>(last - first);
    if (n < 2) return;
    constexpr bool in_place =
        std::is_trivially_copyable_v<T> &&
        (std::is_pointer_v<Iterator> || std::is_same_v<Iterator, typename std::vector<T>::iterator>);
    if constexpr (in_place)
        detail::check(detail::sorter<T, Less>::sort(std::addressof(*first), n, &less), "sort");
    else
        detail::sort_by_pointers(first, n, less);
}
template <class Range, class Less = std::less<>> void sort(Range &range, Less less = {}) {
    weft::sort(std::begin(range), std::end(range), std::move(less));
}

} // namespace weft

#endif
