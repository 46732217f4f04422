/* SPDX-License-Identifier: MIT */
/* Channels and select for C++, see weft.hpp. */
#ifndef WEFT_CPP_CHANNEL_HPP
#define WEFT_CPP_CHANNEL_HPP

#include "future.hpp"

#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weft {

enum class channel_status { done, not_now, closed };

namespace detail {

/* How a channel stores an item: as bytes if the type is trivially copyable, else as a pointer to an allocated object,
 * which the channel owns. */
template <class T, bool bytes = std::is_trivially_copyable_v<T> &&std::is_trivially_destructible_v<T>> struct item {
    using wire = T;
    static wire pack(T &&value) { return std::move(value); }
    static T unpack(wire &w) { return w; }
    static void drop(wire &) noexcept {}
};
template <class T> struct item<T, false> {
    using wire = T *;
    static wire pack(T &&value) { return new T(std::move(value)); }
    static T unpack(wire &w) {
        std::unique_ptr<T> mine(w);
        return std::move(*mine);
    }
    static void drop(wire &w) noexcept { delete w; }
};

/* Room for an item that a receive fills. */
template <class T> union room {
    char none;
    T item;
    room() : none(0) {}
};

} // namespace detail

/*
 * A channel carries items of one type from senders to receivers. Without a capacity, a send waits for a receiver.
 * Trivially copyable types are sent without allocation; other types need one allocation for each item.
 *
 *     weft::channel<std::string> lines(64);
 *     lines.send("hello");
 *     for (std::string &line : lines) ...          until it is closed and empty
 */
template <class T> class channel : detail::pinned {
    using wire = typename detail::item<T>::wire;
    static_assert(std::is_nothrow_move_constructible_v<T>, "an item must be movable without exceptions");
    weft_chan *chan_;

    static channel_status status(int result, const char *what) {
        return __builtin_expect(result == 0, 1) ? channel_status::done : not_done(result, what);
    }
    /* Not inlined, so that a loop that sends or receives tests the result only once. */
    __attribute__((noinline, cold)) static channel_status not_done(int result, const char *what) {
        if (result == -EPIPE) return channel_status::closed;
        if (result == -EAGAIN) return channel_status::not_now;
        detail::fail(result, what);
    }
    /* If the item was not sent, it moves back into `value`. */
    template <class Send> channel_status send_by(T &&value, const char *what, Send send) {
        wire w = detail::item<T>::pack(std::move(value));
        int result = send(&w);
        if (__builtin_expect(result != 0, 0)) {
            value = detail::item<T>::unpack(w);
            return status(result, what);
        }
        return channel_status::done;
    }
    template <class Receive> channel_status receive_by(std::optional<T> &value, const char *what, Receive receive) {
        detail::room<wire> w;
        channel_status s = status(receive(&w.item), what);
        if (s == channel_status::done) value.emplace(detail::item<T>::unpack(w.item));
        return s;
    }

  public:
    explicit channel(std::size_t capacity = 0) : chan_(weft_chan_make(sizeof(wire), capacity)) {
        if (!chan_) throw std::bad_alloc();
    }
    /* No fiber may wait on the channel. Items that are left in it are destroyed. */
    ~channel() {
        detail::room<wire> w;
        while (weft_chan_recv_try(chan_, &w.item) == 0) detail::item<T>::drop(w.item);
        detail::must(weft_chan_free(chan_), "destructor of a channel");
    }

    /* Waits until the buffer has room or a receiver takes the item. Returns false if the channel is closed and the item
     * was not sent. */
    bool send(T value) {
        return send_by(std::move(value), "channel.send", [&](wire *w) { return weft_chan_send(chan_, w); }) ==
               channel_status::done;
    }
    /* Sends if that needs no wait; otherwise returns not_now. An item that was not sent stays in `value`. */
    channel_status try_send(T &value) {
        return send_by(std::move(value), "channel.try_send", [&](wire *w) { return weft_chan_send_try(chan_, w); });
    }
    /* Sends with a deadline; returns timed_out when it passes. */
    template <class Time> channel_status send_until(T &value, const Time &time) {
        return send_by(std::move(value), "channel.send_until",
                       [&](wire *w) { return weft_chan_send_until(chan_, w, detail::deadline(time)); });
    }

    /* Waits for an item. Returns an empty optional if the channel is closed and empty. */
    std::optional<T> recv() {
        std::optional<T> value;
        (void)receive_by(value, "channel.recv", [&](wire *w) { return weft_chan_recv(chan_, w); });
        return value;
    }
    /* Receives if that needs no wait; otherwise returns not_now. */
    channel_status try_recv(std::optional<T> &value) {
        return receive_by(value, "channel.try_recv", [&](wire *w) { return weft_chan_recv_try(chan_, w); });
    }
    /* Receives with a deadline; throws timed_out when it passes. */
    template <class Time> std::optional<T> recv_until(const Time &time) {
        std::optional<T> value;
        (void)receive_by(value, "channel.recv_until",
                         [&](wire *w) { return weft_chan_recv_until(chan_, w, detail::deadline(time)); });
        return value;
    }

    /* Closes the channel: sends fail from now on, and items in the buffer can still be received. Returns false if the
     * channel was already closed. */
    bool close() noexcept { return weft_chan_close(chan_) == 0; }
    std::size_t size() const noexcept { return weft_chan_len(chan_); }
    std::size_t capacity() const noexcept { return weft_chan_cap(chan_); }
    weft_chan *native_handle() noexcept { return chan_; }

    /* For range loops: they receive until the channel is closed and empty. */
    struct end_of_items {};
    class iterator {
        channel *from_;
        std::optional<T> item_;

      public:
        explicit iterator(channel *from) : from_(from), item_(from->recv()) {}
        T &operator*() { return *item_; }
        T *operator->() { return &*item_; }
        iterator &operator++() {
            item_ = from_->recv();
            return *this;
        }
        bool operator!=(end_of_items) const { return item_.has_value(); }
        bool operator==(end_of_items) const { return !item_.has_value(); }
    };
    iterator begin() { return iterator(this); }
    end_of_items end() { return {}; }
};

namespace detail {

template <class T, class F> class recv_case {
    using wire = typename item<T>::wire;
    channel<T> &from_;
    F handler_;
    room<wire> room_;

  public:
    recv_case(channel<T> &from, F handler) : from_(from), handler_(std::move(handler)) {}
    weft_case wanted() { return WEFT_CASE_RECV(from_.native_handle(), &room_.item); }
    void chosen(int result) {
        std::optional<T> value;
        if (result == 0)
            value.emplace(item<T>::unpack(room_.item));
        else if (result != -EPIPE)
            fail(result, "select");
        handler_(std::move(value));
    }
    void refused() noexcept {}
};

template <class T, class F> class send_case {
    using wire = typename item<T>::wire;
    channel<T> &to_;
    F handler_;
    wire wire_;

  public:
    send_case(channel<T> &to, T &&value, F handler)
        : to_(to), handler_(std::move(handler)), wire_(item<T>::pack(std::move(value))) {}
    weft_case wanted() { return WEFT_CASE_SEND(to_.native_handle(), &wire_); }
    void chosen(int result) {
        if (result) item<T>::drop(wire_);
        if (result && result != -EPIPE) fail(result, "select");
        handler_(result == 0);
    }
    void refused() noexcept { item<T>::drop(wire_); }
};

template <class T, class F> class future_case {
    future<T> &of_;
    F handler_;

  public:
    future_case(future<T> &of, F handler) : of_(of), handler_(std::move(handler)) {}
    weft_case wanted() { return WEFT_CASE_FUTURE(of_.native_handle(), nullptr); }
    void chosen(int) { handler_(of_); }
    void refused() noexcept {}
};

template <class F> class ready_case {
    int fd_;
    short events_;
    F handler_;

  public:
    ready_case(int fd, short events, F handler) : fd_(fd), events_(events), handler_(std::move(handler)) {}
    weft_case wanted() { return WEFT_CASE_READY(fd_, events_); }
    void chosen(int result) { handler_(check(result, "select")); }
    void refused() noexcept {}
};

template <class F> class time_case {
    std::uint64_t time_;
    F handler_;

  public:
    time_case(std::uint64_t time, F handler) : time_(time), handler_(std::move(handler)) {}
    weft_case wanted() { return WEFT_CASE_TIME(time_); }
    void chosen(int) { handler_(); }
    void refused() noexcept {}
};

template <class Cases, std::size_t... I> int select_of(Cases cases, std::index_sequence<I...>, bool wait) {
    weft_case wanted[] = {std::get<I>(cases).wanted()...};
    int which = wait ? weft_case_select(wanted, sizeof...(I)) : weft_case_select_try(wanted, sizeof...(I));
    ((static_cast<int>(I) == which ? void() : std::get<I>(cases).refused()), ...);
    if (which == -EAGAIN && !wait) return -1;
    check(which, "select");
    ((static_cast<int>(I) == which ? std::get<I>(cases).chosen(wanted[I].result) : void()), ...);
    return which;
}

} // namespace detail

/*
 * The cases of a select. Each has a function, which is called if that case was done:
 *
 *     weft::select(weft::on_recv(jobs, [&](std::optional<job> j) { ... none: closed ... }),
 *                  weft::on_send(log, line, [&](bool sent) { ... false: closed ... }),
 *                  weft::on_done(answer, [&](auto &future) { use(future.get()); }),
 *                  weft::on_ready(fd, POLLIN, [&](int events) { ... }),
 *                  weft::on_time(1s, [&] { ... }));
 *
 * The item of an on_send that was not done is destroyed.
 */
template <class T, class F> auto on_recv(channel<T> &from, F handler) {
    return detail::recv_case<T, F>(from, std::move(handler));
}
template <class T, class F> auto on_send(channel<T> &to, std::common_type_t<T> value, F handler) {
    return detail::send_case<T, F>(to, std::move(value), std::move(handler));
}
template <class T, class F> auto on_done(future<T> &of, F handler) {
    return detail::future_case<T, F>(of, std::move(handler));
}
template <class F> auto on_ready(int fd, short events, F handler) {
    return detail::ready_case<F>(fd, events, std::move(handler));
}
template <class Time, class F> auto on_time(const Time &time, F handler) {
    return detail::time_case<F>(detail::deadline(time), std::move(handler));
}

/* Waits until one of the cases can be done, does it, calls its function, and returns its number, from 0. */
template <class... Cases> int select(Cases &&...cases) {
    return detail::select_of(std::tie(cases...), std::index_sequence_for<Cases...>(), true);
}

/* Does one of the cases if that needs no wait. Returns -1 if no case could be done. */
template <class... Cases> int try_select(Cases &&...cases) {
    return detail::select_of(std::tie(cases...), std::index_sequence_for<Cases...>(), false);
}

} // namespace weft

#endif
