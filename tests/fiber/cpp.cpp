/* SPDX-License-Identifier: MIT */
/* weft.hpp: fibers, scopes, locks, channels, select, futures and loops as C++ has them. */
#include "../test.h"

#include <weft.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

using namespace std::chrono_literals;

/* On 1, 2 and 4 workers. */
template <class F> static void each_size(F f) {
    for (unsigned workers = 1; workers <= 4; workers *= 2)
        test_in_fiber(
            workers, [](void *arg) { (*static_cast<F *>(arg))(); }, &f);
}

/* What f throws, as text; "" if nothing. */
template <class F> static std::string thrown_by(F f) {
    try {
        f();
    } catch (const weft::cancelled &) {
        return "cancelled";
    } catch (const weft::timed_out &) {
        return "timed out";
    } catch (const weft::error &e) {
        return "error " + std::to_string(e.code().value());
    } catch (const std::exception &e) {
        return e.what();
    }
    return "";
}

/* Counts the objects that are alive: each object is destroyed exactly once. */
struct counted {
    static std::atomic<int> alive;
    int value;
    explicit counted(int v = 0) : value(v) { alive++; }
    counted(const counted &o) : value(o.value) { alive++; }
    counted(counted &&o) noexcept : value(o.value) { alive++; }
    counted &operator=(const counted &) = default;
    ~counted() { alive--; }
};
std::atomic<int> counted::alive{0};

/* --- fibers -------------------------------------------------------------------------------------- */

TEST(results_of_any_type) {
    each_size([] {
        auto number = weft::spawn([] { return 7; });
        auto text = weft::spawn([word = std::string("a long word that is not in place")] { return word + "!"; });
        auto moved = weft::spawn([] { return std::make_unique<int>(5); });
        int seen = 0;
        auto none = weft::spawn([&seen] { seen = 3; });
        CHECK_EQ(number.join(), 7);
        CHECK(text.join() == "a long word that is not in place!");
        CHECK_EQ(*moved.join(), 5);
        none.join();
        CHECK_EQ(seen, 3);
        CHECK(!none.joinable());
        CHECK(thrown_by([&] { none.join(); }) == "error " + std::to_string(ESRCH));
    });
}

TEST(exceptions_reach_the_joiner) {
    each_size([] {
        counted c(1);
        std::vector<weft::fiber<int>> fibers;
        for (int i = 0; i < 50; i++)
            fibers.push_back(weft::spawn([i, c]() -> int {
                weft::sleep_for(std::chrono::microseconds(i % 5));
                if (i % 2) throw std::runtime_error(std::to_string(i));
                return i + c.value - 1;
            }));
        for (int i = 0; i < 50; i++) {
            std::string text = thrown_by([&] { CHECK_EQ(fibers[static_cast<size_t>(i)].join(), i); });
            CHECK(text == (i % 2 ? std::to_string(i) : ""));
        }
        /* Without memory of its own. */
        auto small = weft::spawn([] { throw std::logic_error("small"); });
        CHECK(thrown_by([&] { small.join(); }) == "small");
    });
    CHECK_EQ(counted::alive, 0);
}

TEST(destruction_waits) {
    each_size([] {
        std::atomic<int> ended{0};
        {
            std::vector<weft::fiber<void>> fibers;
            for (int i = 0; i < 20; i++)
                fibers.push_back(weft::spawn([&ended] {
                    weft::sleep_for(1ms);
                    ended++;
                }));
            auto thrower = weft::spawn([] { throw std::runtime_error("dropped"); });
            auto bigger = weft::spawn([c = counted(1)] { throw std::runtime_error(std::to_string(c.value)); });
            auto other = std::move(thrower);
            CHECK(!thrower.joinable() && other.joinable());
            other = weft::spawn([] {}); /* waits for the first */
        }
        CHECK_EQ(ended, 20);
    });
    CHECK_EQ(counted::alive, 0);
}

/* The destructor waits although its own fiber is cancelled. */
TEST(a_cancelled_fiber_still_waits_for_its_own) {
    each_size([] {
        std::atomic<bool> inner_ended{false};
        auto outer = weft::spawn([&] {
            auto inner = weft::spawn([&] {
                weft::shield shield;
                weft::sleep_for(2ms);
                inner_ended = true;
            });
            weft::sleep_for(1h);
        });
        weft::sleep_for(1ms);
        outer.cancel();
        CHECK(thrown_by([&] { outer.join(); }) == "cancelled");
        CHECK(inner_ended);
    });
}

TEST(joins_with_deadlines) {
    each_size([] {
        weft::semaphore go(0);
        auto waits = weft::spawn([&] {
            go.acquire();
            return 1;
        });
        CHECK(thrown_by([&] { waits.join_for(1ms); }) == "timed out");
        CHECK(thrown_by([&] { waits.join_until(weft::clock::now() + 1ms); }) == "timed out");
        CHECK(thrown_by([&] { waits.join_until(std::chrono::system_clock::now() - 1s); }) == "timed out");
        CHECK(thrown_by([&] { waits.join_until(std::chrono::system_clock::time_point::min()); }) == "timed out");
        auto releases = weft::spawn([&] {
            weft::sleep_for(1ms); /* the join below has begun to wait */
            go.release();
        });
        CHECK_EQ(waits.join_for(std::chrono::hours::max()), 1);
        releases.join();
    });
}

TEST(a_run_has_a_result_and_exceptions) {
    CHECK_EQ(weft::run([] { return 4; }), 4);
    CHECK(weft::run([] { return std::string("text"); }) == "text");
    CHECK(thrown_by([] { weft::run([] { throw std::runtime_error("from main"); }); }) == "from main");
    struct weft_config config = WEFT_CONFIG_INIT;
    config.workers = WEFT_WORKERS_MAX + 1;
    CHECK(thrown_by([&] { weft::run([] {}, &config); }) == "error " + std::to_string(EINVAL));
    weft::runtime runtime;
    auto f = weft::spawn([] { return weft_workers() > 0; });
    CHECK(f.join());
    CHECK(thrown_by([] { weft::runtime second; }) == "error " + std::to_string(EBUSY));
}

/* The function of a fiber, and what it holds, is destroyed when it has returned or thrown, not only at the join. */
TEST(functions_are_destroyed_by_their_fibers) {
    each_size([] {
        weft_attr attr = WEFT_ATTR_INIT;
        weft_counter ended = WEFT_COUNTER_INIT;
        attr.counter = &ended;
        weft_counter_add(&ended, 3);
        auto plain = weft::spawn(attr, [c = counted(1)] { (void)c; });
        auto valued = weft::spawn(attr, [c = counted(2)] { return c.value; });
        auto thrown = weft::spawn(attr, [c = counted(3)] { throw std::runtime_error(std::to_string(c.value)); });
        CHECK_EQ(weft_counter_wait(&ended, 0), 0);
        CHECK_EQ(counted::alive, 0);
        plain.join();
        CHECK_EQ(valued.join(), 2);
        CHECK(thrown_by([&] { thrown.join(); }) == "3");
    });
}

TEST(functions_and_results_may_be_aligned) {
    struct alignas(128) wide {
        char bytes[128];
    };
    each_size([] {
        wide w{};
        w.bytes[127] = 5;
        auto f = weft::spawn([w] {
            wide copy = w;
            CHECK_EQ(reinterpret_cast<std::uintptr_t>(&w) % alignof(wide), 0u);
            copy.bytes[0] = copy.bytes[127];
            return copy;
        });
        CHECK_EQ(f.join().bytes[0], 5);
        auto none = weft::spawn([w] { CHECK_EQ(w.bytes[127], 5); });
        none.join();
    });
}

/* weft_fiber_exit runs no destructors, so what the function has captured is lost, with its memory. */
extern "C" const char *__lsan_default_suppressions(void);
extern "C" const char *__lsan_default_suppressions(void) { return "leak:an_exit_in_the_way_of_c"; }

/* Neither fiber has a result. The join says why, and does not return the exit value as a result. */
TEST(an_exit_in_the_way_of_c_is_an_error_of_the_join) {
    each_size([] {
        auto none = weft::spawn([] { weft_fiber_exit(nullptr); });
        none.join();
        auto nothing = weft::spawn([]() -> int { weft_fiber_exit(nullptr); });
        CHECK(thrown_by([&] { nothing.join(); }) == "error " + std::to_string(ENODATA));
        auto stopped = weft::spawn([] {
            weft_cancel(weft_self());
            weft_fiber_exit_if_cancelled();
        });
        CHECK(thrown_by([&] { stopped.join(); }) == "cancelled");
        auto dropped = weft::spawn([]() -> int { weft_fiber_exit(nullptr); });
        CHECK(dropped.joinable());
    });
}

TEST(detached_fibers_free_what_they_have) {
    each_size([] {
        weft::latch ended(10);
        for (int i = 0; i < 10; i++) weft::spawn_detached([&ended, c = counted(i)] { ended.count_down(); });
        ended.wait();
    });
    CHECK_EQ(counted::alive, 0);
}

TEST(attributes_come_first) {
    each_size([] {
        weft_counter ended = WEFT_COUNTER_INIT;
        weft_attr attr = WEFT_ATTR_INIT;
        attr.name = "named";
        attr.counter = &ended;
        weft_counter_add(&ended, 3);
        auto joined = weft::spawn(attr, [] { return weft_self().id; });
        std::uint64_t id = joined.native_handle().id;
        weft::spawn_detached(attr, [] {});
        weft::scope scope;
        scope.spawn(attr, [] {});
        CHECK_EQ(weft_counter_wait(&ended, 0), 0);
        CHECK(joined.join() == id);
        scope.end();
    });
}

TEST(objects_lead_to_those_of_c) {
    each_size([] {
        weft::semaphore sem(1);
        weft::shared_mutex shared;
        weft::latch latch(1);
        weft::barrier barrier(1);
        weft::scope scope;
        CHECK_EQ(weft_sem_wait(sem.native_handle()), 0);
        CHECK(!sem.try_acquire());
        CHECK_EQ(weft_rwlock_write(shared.native_handle()), 0);
        CHECK(!shared.try_lock_shared());
        weft_rwlock_unlock_write(shared.native_handle());
        weft_latch_count_down(latch.native_handle(), 1);
        latch.wait();
        CHECK_EQ(weft_barrier_wait(barrier.native_handle()), WEFT_BARRIER_SERIAL);
        weft_scope_cancel(scope.native_handle());
        CHECK(thrown_by([&] { scope.end(); }) == "cancelled");
    });
}

TEST(blocking_calls) {
    each_size([] {
        CHECK_EQ(weft::blocking([] {
                     usleep(1000);
                     return 3;
                 }),
                 3);
        CHECK(thrown_by([] { weft::blocking([] { throw std::runtime_error("blocked"); }); }) == "blocked");
    });
}

TEST(without_a_runtime_a_spawn_throws) {
    CHECK(thrown_by([] { (void)weft::spawn([] {}); }) == "error " + std::to_string(ESRCH));
    CHECK(thrown_by([] { (void)weft::spawn([c = counted(1)] { return c.value; }); }) ==
          "error " + std::to_string(ESRCH));
    CHECK_EQ(counted::alive, 0);
}

/* --- scopes -------------------------------------------------------------------------------------- */

TEST(scopes_end_together) {
    each_size([] {
        std::atomic<int> cancelled{0}, done{0};
        weft::scope scope;
        for (int i = 0; i < 10; i++)
            scope.spawn([&, c = counted(i)] {
                try {
                    weft::sleep_for(1h);
                } catch (const weft::cancelled &) {
                    cancelled++;
                    throw;
                }
            });
        scope.spawn([&] { done++; });
        scope.spawn([&] {
            weft::sleep_for(1ms);
            throw std::runtime_error("first");
        });
        CHECK(thrown_by([] { weft::sleep_for(1h); }) == "cancelled");
        CHECK(thrown_by([&] { scope.end(); }) == "first");
        CHECK_EQ(cancelled, 10);
        CHECK_EQ(done, 1);
        CHECK(thrown_by([] { weft::sleep_for(1us); }) == ""); /* the cancellation is over */
    });
    CHECK_EQ(counted::alive, 0);
}

TEST(scopes_have_deadlines) {
    each_size([] {
        weft::scope over(1ms);
        CHECK(thrown_by([] { weft::sleep_for(1h); }) == "timed out");
        CHECK(thrown_by([&] { over.spawn([] {}); }) == "cancelled");
        CHECK(thrown_by([&] { over.end(); }) == "timed out");
        weft::scope late;
        late.spawn([] { weft::sleep_for(1h); });
        late.set_deadline(weft::clock::now() + 1ms);
        CHECK(thrown_by([&] { late.end(); }) == "timed out");
        weft::scope asked(weft::clock::now() + 1h);
        asked.spawn([] { weft::sleep_for(1h); });
        asked.cancel();
        CHECK(thrown_by([&] { asked.end(); }) == "cancelled");
    });
}

TEST(an_exception_in_the_block_cancels_the_children) {
    each_size([] {
        std::atomic<int> ended{0};
        CHECK(thrown_by([&] {
                  weft::scope scope;
                  for (int i = 0; i < 5; i++)
                      scope.spawn([&] {
                          try {
                              weft::sleep_for(1h);
                          } catch (const weft::cancelled &) {
                              ended++;
                          }
                      });
                  throw std::runtime_error("block");
              }) == "block");
        CHECK_EQ(ended, 5);
    });
}

/* --- locks --------------------------------------------------------------------------------------- */

TEST(locks_are_what_the_library_takes) {
    each_size([] {
        weft::mutex a, b;
        weft::recursive_mutex again;
        weft::shared_mutex shared;
        size_t total = 0, seen = 0, rounds = test_size(2000);
        std::vector<weft::fiber<void>> fibers;
        for (int i = 0; i < 4; i++)
            fibers.push_back(weft::spawn([&] {
                for (size_t r = 0; r < rounds; r++) {
                    std::scoped_lock both(a, b);
                    total++;
                    std::lock_guard<weft::recursive_mutex> once(again), twice(again);
                    if (r % 16 == 0) weft::yield();
                }
                for (size_t r = 0; r < rounds / 10; r++) {
                    {
                        std::shared_lock<weft::shared_mutex> reader(shared);
                        if (seen > 4 * rounds) return;
                    }
                    std::unique_lock<weft::shared_mutex> writer(shared);
                    seen++;
                }
            }));
        for (auto &f : fibers) f.join();
        CHECK_EQ(total, 4 * rounds);
        CHECK_EQ(seen, 4 * (rounds / 10));
        std::unique_lock<weft::mutex> lock(a);
        CHECK(thrown_by([&] { a.lock(); }) == "error " + std::to_string(EDEADLK));
        auto other = weft::spawn([&] {
            CHECK(!a.try_lock());
            CHECK(!a.try_lock_for(1ms));
            CHECK(b.try_lock());
            b.unlock();
        });
        other.join();
    });
}

TEST(conditions) {
    each_size([] {
        weft::mutex mutex;
        weft::condition_variable changed;
        int turn = 0;
        std::vector<weft::fiber<void>> fibers;
        for (int me = 0; me < 3; me++)
            fibers.push_back(weft::spawn([&, me] {
                for (int r = 0; r < 100; r++) {
                    std::unique_lock lock(mutex);
                    changed.wait(lock, [&] { return turn % 3 == me; });
                    turn++;
                    changed.notify_all();
                }
            }));
        for (auto &f : fibers) f.join();
        CHECK_EQ(turn, 300);
        std::unique_lock lock(mutex);
        CHECK(!changed.wait_for(lock, 1ms, [] { return false; }));
        CHECK(lock.owns_lock());
        auto waits = weft::spawn([&] {
            std::unique_lock mine(mutex);
            changed.wait(mine, [] { return false; });
        });
        lock.unlock();
        waits.cancel();
        CHECK(thrown_by([&] { waits.join(); }) == "cancelled");
        CHECK(mutex.try_lock()); /* the cancelled fiber has released it */
        mutex.unlock();
    });
}

TEST(counting) {
    each_size([] {
        weft::semaphore units(2);
        CHECK(units.try_acquire() && units.try_acquire_for(1ms));
        CHECK(!units.try_acquire() && !units.try_acquire_for(1ms));
        weft::barrier all(3);
        weft::latch started(3);
        std::atomic<int> serial{0};
        auto f = [&] {
            started.count_down();
            serial += all.arrive_and_wait();
        };
        auto a = weft::spawn(f), b = weft::spawn(f);
        f();
        a.join(), b.join();
        started.wait();
        CHECK(started.try_wait());
        CHECK_EQ(serial, 1);
    });
}

/* --- channels ------------------------------------------------------------------------------------ */

template <class T, class Make, class Value> static void through_channel(size_t capacity, Make make, Value value) {
    weft::channel<T> channel(capacity);
    constexpr int senders = 3;
    int each = static_cast<int>(test_size(300));
    std::vector<weft::fiber<void>> fibers;
    for (int s = 0; s < senders; s++)
        fibers.push_back(weft::spawn([&, s] {
            for (int i = 0; i < each; i++) CHECK(channel.send(make(s * each + i)));
        }));
    auto closer = weft::spawn([&] {
        for (auto &f : fibers) f.join();
        channel.close();
    });
    std::vector<int> got;
    for (T &item : channel) got.push_back(value(item));
    closer.join();
    std::sort(got.begin(), got.end());
    CHECK_EQ(got.size(), static_cast<size_t>(senders * each));
    for (size_t i = 0; i < got.size(); i++) CHECK_EQ(got[i], static_cast<int>(i));
    CHECK(!channel.send(make(0)));
    CHECK(!channel.recv());
}
TEST(channels_of_any_type) {
    each_size([] {
        for (size_t capacity : {0u, 1u, 64u}) {
            through_channel<int>(
                capacity, [](int i) { return i; }, [](int i) { return i; });
            through_channel<std::string>(
                capacity, [](int i) { return std::string(20, ' ') + std::to_string(i); },
                [](const std::string &s) { return std::stoi(s); });
            through_channel<std::unique_ptr<int>>(
                capacity, [](int i) { return std::make_unique<int>(i); },
                [](const std::unique_ptr<int> &p) { return *p; });
        }
    });
}

TEST(items_that_are_not_received_are_destroyed) {
    each_size([] {
        weft::channel<counted> channel(4);
        for (int i = 0; i < 4; i++) CHECK(channel.send(counted(i)));
        counted more(5);
        CHECK(channel.try_send(more) == weft::channel_status::not_now);
        CHECK_EQ(more.value, 5); /* it is still there */
        CHECK(thrown_by([&] { channel.send_until(more, 1ms); }) == "timed out");
        std::optional<counted> got;
        CHECK(channel.try_recv(got) == weft::channel_status::done);
        CHECK_EQ(got->value, 0);
        CHECK_EQ(channel.size(), 3u);
        CHECK_EQ(channel.capacity(), 4u);
        channel.close();
        CHECK(channel.try_send(more) == weft::channel_status::closed);
    });
    CHECK_EQ(counted::alive, 0);
}

TEST(a_wait_in_a_channel_is_cancelled) {
    each_size([] {
        weft::channel<counted> channel;
        auto receives = weft::spawn([&] { (void)channel.recv(); });
        receives.cancel();
        CHECK(thrown_by([&] { receives.join(); }) == "cancelled");
        auto sends = weft::spawn([&] { channel.send(counted(1)); });
        sends.cancel();
        CHECK(thrown_by([&] { sends.join(); }) == "cancelled");
        CHECK(thrown_by([&] { (void)channel.recv_until(1ms); }) == "timed out");
    });
    CHECK_EQ(counted::alive, 0);
}

TEST(select_does_one) {
    each_size([] {
        weft::channel<std::string> in(1), out(1);
        weft::channel<int> never;
        weft::future<int> answer;
        int ends[2], readable = 0;
        CHECK(!pipe(ends));
        std::string got;
        auto one = [&] {
            return weft::select(weft::on_recv(in, [&](std::optional<std::string> s) { got = s ? *s : "closed"; }),
                                weft::on_recv(never, [](std::optional<int>) { CHECK(false); }),
                                weft::on_done(answer, [&](auto &f) { got = std::to_string(f.get()); }),
                                weft::on_ready(ends[0], 1, [&](int events) { readable = events; }),
                                weft::on_time(1h, [] { CHECK(false); }));
        };
        CHECK(in.send("item"));
        CHECK_EQ(one(), 0);
        CHECK(got == "item");
        CHECK_EQ(write(ends[1], "x", 1), 1);
        CHECK_EQ(one(), 3);
        CHECK_EQ(readable, 1);
        char byte;
        CHECK_EQ(read(ends[0], &byte, 1), 1);
        answer.set(42);
        CHECK_EQ(one(), 2);
        CHECK(got == "42");
        CHECK_EQ(weft::select(weft::on_time(1ms, [&] { got = "time"; })), 0);
        CHECK(got == "time");
        /* Sends: successful, impossible, to a closed channel. */
        bool sent = false;
        CHECK_EQ(weft::select(weft::on_send(out, "long enough to be on the heap", [&](bool s) { sent = s; })), 0);
        CHECK(sent);
        CHECK_EQ(weft::try_select(weft::on_send(out, "no room for this one, it is dropped", [](bool) {})), -1);
        out.close();
        CHECK_EQ(weft::select(weft::on_send(out, "closed", [&](bool s) { sent = s; })), 0);
        CHECK(!sent);
        in.close();
        weft::channel<std::string> empty;
        empty.close();
        CHECK_EQ(weft::select(weft::on_recv(empty, [&](std::optional<std::string> s) { got = s ? *s : "closed"; })), 0);
        CHECK(got == "closed");
        auto waits = weft::spawn([&] { weft::select(weft::on_recv(never, [](std::optional<int>) {})); });
        waits.cancel();
        CHECK(thrown_by([&] { waits.join(); }) == "cancelled");
        close(ends[0]), close(ends[1]);
    });
}

/* --- futures ------------------------------------------------------------------------------------- */

TEST(futures) {
    each_size([] {
        weft::future<std::string> text;
        weft::future<void> signal;
        weft::future<int> failed;
        CHECK(!text.is_done());
        std::vector<weft::fiber<size_t>> waiters;
        for (int i = 0; i < 5; i++)
            waiters.push_back(weft::spawn([&] {
                signal.get();
                return text.get().size();
            }));
        text.set(30u, 'x');
        signal.set();
        failed.fail(std::make_exception_ptr(std::runtime_error("no answer")));
        for (auto &w : waiters) CHECK_EQ(w.join(), 30u);
        CHECK(text.is_done());
        CHECK(thrown_by([&] { failed.get(); }) == "no answer");
        CHECK(thrown_by([&] { text.set("again"); }) == "error " + std::to_string(EALREADY));
        weft::future<int> never;
        CHECK(thrown_by([&] { never.get_until(1ms); }) == "timed out");
    });
}

/* --- loops --------------------------------------------------------------------------------------- */

TEST(loops) {
    each_size([] {
        std::vector<int> v(test_size(100000));
        weft::for_index(0, v.size(), [&](size_t i) { v[i] = static_cast<int>(i % 1000); });
        weft::for_each(v, [](int &x) { x *= 2; });
        CHECK_EQ(weft::reduce(v.begin(), v.end(), 0L), std::accumulate(v.begin(), v.end(), 0L));
        CHECK_EQ(weft::reduce(v.begin(), v.end(), 0, [](int a, int b) { return std::max(a, b); }),
                 *std::max_element(v.begin(), v.end()));
        CHECK_EQ(weft::transform_reduce(v.begin(), v.end(), 0L, std::plus<>(), [](int x) { return long(x) * x; }),
                 std::inner_product(v.begin(), v.end(), v.begin(), 0L));
        weft::for_each(v.begin(), v.begin(), [](int) { CHECK(false); });
        CHECK(thrown_by([&] {
                  weft::for_each(v, [](int x) {
                      if (x == 500) throw std::runtime_error("in the loop");
                  });
              }) == "in the loop");
        CHECK(thrown_by([&] {
                  (void)weft::reduce(v.begin(), v.end(), 0, [](int a, int b) {
                      if (b == 500) throw std::runtime_error("in the sum");
                      return a;
                  });
              }) == "in the sum");
    });
}

template <class T, class Make> static void sorted(Make make) {
    size_t n = test_size(50000);
    std::vector<std::pair<int, T>> wanted;
    std::vector<T> values;
    unsigned random = 1;
    for (size_t i = 0; i < n; i++) {
        random = random * 1103515245u + 12345u;
        values.push_back(make(static_cast<int>(random >> 16 & 0xff)));
    }
    std::vector<T> mine = values;
    std::stable_sort(values.begin(), values.end());
    weft::sort(mine);
    CHECK(mine == values);
    std::stable_sort(values.begin(), values.end(), std::greater<>());
    weft::sort(mine, std::greater<>());
    CHECK(mine == values);
    std::deque<T> pieces(mine.rbegin(), mine.rend());
    weft::sort(pieces.begin(), pieces.end(), [](const T &a, const T &b) { return b < a; });
    CHECK(std::equal(pieces.begin(), pieces.end(), mine.begin()));
}
TEST(sorts) {
    each_size([] {
        sorted<int>([](int i) { return i; });
        sorted<double>([](int i) { return i / 2.0; });
        sorted<std::string>([](int i) { return "key " + std::to_string(i); });
        /* Compares only the first: the second shows whether the sort is stable. */
        std::vector<std::pair<int, int>> pairs;
        for (int i = 0; i < 10000; i++) pairs.emplace_back(i * 7919 % 13, i);
        weft::sort(pairs, [](const auto &a, const auto &b) { return a.first < b.first; });
        for (size_t i = 1; i < pairs.size(); i++) CHECK(pairs[i - 1] < pairs[i]);
    });
}
