/* SPDX-License-Identifier: MIT */
/* weft from C++: workers that take jobs from a channel, a scope with a deadline, an exception that crosses fibers, and
 * a parallel sum. docs/CPP.md explains it line by line. */
#include <weft.hpp>

#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

static std::string shout(std::string word) {
    if (word.empty()) throw std::invalid_argument("an empty word");
    for (char &c : word)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return word;
}

/* Three workers take words from one channel and send them on to another. */
static std::vector<std::string> shout_all(const std::vector<std::string> &words) {
    weft::channel<std::string> jobs(8), answers(8);
    weft::scope scope(5s);
    weft::latch working(3);
    for (int i = 0; i < 3; i++)
        scope.spawn([&] {
            for (std::string &word : jobs) answers.send(shout(std::move(word)));
            working.count_down();
        });
    scope.spawn([&] {
        for (const std::string &word : words) jobs.send(word);
        jobs.close();
        working.wait();
        answers.close();
    });
    std::vector<std::string> result;
    try {
        for (std::string &answer : answers) result.push_back(std::move(answer));
    } catch (const weft::cancelled &) {
        /* A worker has failed, and scope.end() will say why. */
    }
    scope.end();
    weft::sort(result);
    return result;
}

static int example() {
    for (const std::string &word : shout_all({"weft", "channels", "carry", "strings"}))
        std::printf("%s ", word.c_str());
    std::puts("");

    try {
        shout_all({"one", "", "two"});
    } catch (const std::invalid_argument &e) {
        std::printf("a worker failed: %s\n", e.what());
    }

    auto slow = weft::spawn([] { weft::sleep_for(1h); });
    try {
        slow.join_for(10ms);
    } catch (const weft::timed_out &) {
        std::puts("no answer within 10 ms");
    }
    slow.cancel(); /* the destructor waits for its end */

    std::vector<double> v(1000000);
    std::iota(v.begin(), v.end(), 1.0);
    double sum = weft::reduce(v.begin(), v.end(), 0.0);
    std::printf("the sum is %.0f\n", sum);
    return sum == 500000500000.0 ? 0 : 1;
}

int main() { return weft::run(example); }
