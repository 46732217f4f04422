// SPDX-License-Identifier: MIT
// C++: exceptions that wait in a handler, thread_local objects, std::thread, std::async, call_once.
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {
std::mutex mutex;
int destroyed, caught;

struct counted {
    int value = 3;
    ~counted() {
        std::lock_guard<std::mutex> lock(mutex);
        destroyed++;
    }
};
thread_local counted mine;
thread_local std::string name = "none";

void throws(int n) {
    if (n) throws(n - 1);
    throw std::runtime_error(name);
}

void work(int i) {
    mine.value = i;
    name = std::to_string(i);
    for (int round = 0; round < 20; round++) {
        try {
            throws(round);
        } catch (const std::runtime_error &e) {
            std::this_thread::yield(); // elsewhere meanwhile, also another handler
            if (e.what() != std::to_string(i) || mine.value != i || std::uncaught_exceptions()) std::abort();
            std::lock_guard<std::mutex> lock(mutex);
            caught++;
        }
    }
}
} // namespace

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 50; i++) threads.emplace_back(work, i);
    for (auto &t : threads) t.join();
    auto later = std::async(std::launch::async, [] { return std::string(mine.value == 3 ? "new" : "old"); });
    if (later.get() != "new" || caught != 1000) return 1;
    std::once_flag flag;
    int once = 0;
    for (int i = 0; i < 3; i++) std::thread([&] { std::call_once(flag, [&] { once++; }); }).join();
    if (destroyed < 51 || once != 1) return 1;
    std::puts("ok");
    return 0;
}
