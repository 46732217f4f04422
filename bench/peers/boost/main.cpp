/* SPDX-License-Identifier: MIT */
/*
 * Boost.Fiber, and for `switch` Boost.Context, as a measuring program.
 */
#include "benches.h"
#include "system.h"

#include <boost/context/fiber.hpp>

#include <malloc.h>

#include <thread>
#include <vector>

using boost::fibers::context;
using boost::fibers::detail::spinlock_lock;

void handing_semaphore::wait() {
    context *active = context::active();
    spinlock_lock lock{lock_};
    if (value_) {
        value_--;
        return;
    }
    active->wait_link(waiting_);
    active->twstatus.store(0, std::memory_order_release);
    active->suspend(lock);
}

void handing_semaphore::post() {
    context *active = context::active();
    spinlock_lock lock{lock_};
    if (waiting_.empty()) {
        value_++;
        return;
    }
    context *first = &waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    active->schedule(first);
}

uint64_t handing_semaphore::drain() {
    uint64_t value = value_;
    value_ = 0;
    return value;
}

/* The threads beside the first one serve fibers until the measurement is over. */
template <typename Algorithm, typename... A>
static void run_on(const struct args *args, measure_fn *run, struct result *result, A... a) {
    uint64_t workers = arg(args, "workers");
    boost::fibers::mutex lock;
    boost::fibers::condition_variable changed;
    bool over = false;
    std::vector<std::thread> others;
    for (uint64_t i = 1; i < workers; i++)
        others.emplace_back([&] {
            boost::fibers::use_scheduling_algorithm<Algorithm>(a...);
            std::unique_lock<boost::fibers::mutex> held{lock};
            changed.wait(held, [&] { return over; });
        });
    boost::fibers::use_scheduling_algorithm<Algorithm>(a...);
    run(args, result);
    {
        std::unique_lock<boost::fibers::mutex> held{lock};
        over = true;
    }
    changed.notify_all();
    for (std::thread &t : others) t.join();
}

/*
 * Work stealing with workers that spin when they have nothing: measured against shared_work, three
 * to six times the yields and cycles; with workers that sleep, nothing wakes them to steal.
 */
void sys_run(const struct args *args, measure_fn *run, struct result *result) {
    uint32_t workers = (uint32_t)arg(args, "workers");
    if (workers == 1)
        run_on<boost::fibers::algo::round_robin>(args, run, result);
    else
        run_on<boost::fibers::algo::work_stealing>(args, run, result, workers, false);
}

/* switch: from one context of Boost.Context to another and back. ns, one way. */
static void switch_to(const struct args *args, struct result *result) {
    namespace ctx = boost::context;
    const int stride = 1000;
    uint64_t asked = 0, answered = 0;
    ctx::fiber other{[&](ctx::fiber &&back) {
        for (;;) {
            answered++;
            back = static_cast<ctx::fiber &&>(back).resume();
        }
        return static_cast<ctx::fiber &&>(back);
    }};

    struct alarm_clock alarm;
    alarm_start(&alarm, arg(args, "ms"));
    uint64_t began = clock_ns();
    do {
        for (int i = 0; i < stride; i++) other = static_cast<ctx::fiber &&>(other).resume();
        asked += stride;
    } while (!alarm_rung(&alarm));
    uint64_t ended = clock_ns();
    alarm_join(&alarm);
    result->values[0] = (double)(ended - began) / (double)asked / 2;
    result->right = answered == asked;
}

static const struct measurement own[] = {
    {"switch", switch_to, true},
    {NULL, NULL, false},
};

int main(int argc, char **argv) {
    /* Stacks come from malloc: as it is, it maps and unmaps each, and a batch takes 20 times as long. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    const struct measurement *const tables[] = {own, bench_fibers, NULL};
    return measure_main(argc, argv, tables);
}
