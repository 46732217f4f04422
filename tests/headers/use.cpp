/* SPDX-License-Identifier: MIT */
/* A C++ program that uses weft.hpp. run.sh compiles it with every compiler and standard from C++17 on. */
#include <weft.hpp>

#include <shared_mutex>
#include <string>

using namespace std::chrono_literals;

int main() {
    return weft::run([] {
        weft::channel<std::string> words(4);
        weft::future<int> answer;
        weft::mutex mutex;
        weft::shared_mutex shared;
        weft::condition_variable changed;
        weft::semaphore units(1);
        weft::scope scope(1s);
        std::vector<int> v{3, 2, 1};
        scope.spawn([&] { words.send("word"); });
        auto fiber = weft::spawn([&] { return answer.get(); });
        std::unique_lock<weft::mutex> lock(mutex);
        changed.wait_for(lock, 1ms, [] { return true; });
        units.acquire();
        std::shared_lock<weft::shared_mutex> reader(shared);
        answer.set(1);
        weft::select(weft::on_recv(words, [](std::optional<std::string>) {}), weft::on_send(words, "more", [](bool) {}),
                     weft::on_done(answer, [](auto &) {}), weft::on_ready(0, 1, [](int) {}), weft::on_time(1s, [] {}));
        weft::sort(v);
        weft::for_each(v, [](int &i) { i++; });
        scope.end();
        return weft::reduce(v.begin(), v.end(), 0) + fiber.join() + weft::blocking([] { return 1; });
    });
}
