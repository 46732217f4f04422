/* SPDX-License-Identifier: MIT */
/*
 * Operations of weft.hpp beside the same written with the C calls: run under callgrind by `bench/instructions.sh cpp`,
 * as ops.c is.
 *
 *   pairs NAME COUNT     NAME: one of the table below, with "c-" or "cpp-" before it
 */
#include <weft.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

static unsigned long count, work;

static void must(int rc) {
    if (rc < 0) {
        std::fprintf(stderr, "pairs: %s\n", std::strerror(-rc));
        std::exit(1);
    }
}

constexpr unsigned batch = 100;

/* A fiber that adds to a number, which its argument points to. */
static void *add(void *to) {
    ++*static_cast<unsigned long *>(to);
    return nullptr;
}
static void c_spawn() {
    weft_fiber fibers[batch];
    for (unsigned long i = 0; i < count; i += batch) {
        for (auto &f : fibers) must(weft_spawn(&f, nullptr, add, &work));
        for (auto &f : fibers) must(weft_join(f, nullptr));
    }
}
static void cpp_spawn() {
    weft::fiber<void> fibers[batch];
    unsigned long &to = work;
    for (unsigned long i = 0; i < count; i += batch) {
        for (auto &f : fibers) f = weft::spawn([&to] { ++to; });
        for (auto &f : fibers) f.join();
    }
}

/* A fiber with three numbers and a result, on the heap. */
struct sum {
    unsigned long a, b, c, result;
};
static void *add_three(void *arg) {
    auto *s = static_cast<sum *>(arg);
    s->result = s->a + s->b + s->c;
    return nullptr;
}
static void c_result() {
    weft_fiber fibers[batch];
    sum *sums[batch];
    for (unsigned long i = 0; i < count; i += batch) {
        for (unsigned k = 0; k < batch; k++) {
            sums[k] = static_cast<sum *>(std::malloc(sizeof(sum)));
            if (!sums[k]) std::abort();
            *sums[k] = sum{i, k, 1, 0};
            must(weft_spawn(&fibers[k], nullptr, add_three, sums[k]));
        }
        for (unsigned k = 0; k < batch; k++) {
            must(weft_join(fibers[k], nullptr));
            work += sums[k]->result;
            std::free(sums[k]);
        }
    }
}
static void cpp_result() {
    weft::fiber<unsigned long> fibers[batch];
    for (unsigned long i = 0; i < count; i += batch) {
        for (unsigned long k = 0; k < batch; k++) fibers[k] = weft::spawn([i, k, one = 1ul] { return i + k + one; });
        for (auto &f : fibers) work += f.join();
    }
}

static weft_mutex c_lock_of = WEFT_MUTEX_INIT;
static void c_mutex() {
    for (unsigned long i = 0; i < count; i++) {
        must(weft_mutex_lock(&c_lock_of));
        work++;
        must(weft_mutex_unlock(&c_lock_of));
    }
}
static weft::mutex cpp_lock_of;
static void cpp_mutex() {
    for (unsigned long i = 0; i < count; i++) {
        std::lock_guard<weft::mutex> guard(cpp_lock_of);
        work++;
    }
}

static weft_chan *chan;
static void *c_sender(void *) {
    for (unsigned long i = 0; i < count; i++) must(weft_chan_send(chan, &i));
    must(weft_chan_close(chan));
    return nullptr;
}
static void c_channel() {
    weft_fiber f;
    chan = weft_chan_make(sizeof(unsigned long), 64);
    if (!chan) std::abort();
    must(weft_spawn(&f, nullptr, c_sender, nullptr));
    for (unsigned long i; weft_chan_recv(chan, &i) == 0;) work += i;
    must(weft_join(f, nullptr));
    must(weft_chan_free(chan));
}
static void cpp_channel() {
    weft::channel<unsigned long> channel(64);
    auto f = weft::spawn([&channel] {
        for (unsigned long i = 0; i < count; i++) channel.send(i);
        channel.close();
    });
    for (unsigned long i : channel) work += i;
    f.join();
}

static weft_sem c_sems[2];
static void *c_player(void *) {
    for (unsigned long i = 0; i < count; i++) {
        must(weft_sem_wait(&c_sems[1]));
        must(weft_sem_post(&c_sems[0]));
    }
    return nullptr;
}
static void c_pingpong() {
    weft_fiber f;
    must(weft_spawn(&f, nullptr, c_player, nullptr));
    for (unsigned long i = 0; i < count; i++) {
        work++;
        must(weft_sem_post(&c_sems[1]));
        must(weft_sem_wait(&c_sems[0]));
    }
    must(weft_join(f, nullptr));
}
static void cpp_pingpong() {
    weft::semaphore there(0), back(0);
    auto f = weft::spawn([&] {
        for (unsigned long i = 0; i < count; i++) {
            there.acquire();
            back.release();
        }
    });
    for (unsigned long i = 0; i < count; i++) {
        work++;
        there.release();
        back.acquire();
    }
    f.join();
}

/* A loop and a sum over n elements. */
static int c_body(std::size_t b, std::size_t e, void *arg) {
    auto *v = static_cast<unsigned *>(arg);
    for (std::size_t i = b; i < e; i++) v[i] = v[i] * 3 + 1;
    return 0;
}
static void c_loop() {
    std::vector<unsigned> v(count);
    must(weft_for(0, v.size(), c_body, v.data(), nullptr));
    work += v[0];
}
static void cpp_loop() {
    std::vector<unsigned> v(count);
    weft::for_each(v, [](unsigned &x) { x = x * 3 + 1; });
    work += v[0];
}

static int compare(const void *a, const void *b, void *) {
    unsigned x = *static_cast<const unsigned *>(a), y = *static_cast<const unsigned *>(b);
    return (x > y) - (x < y);
}
static std::vector<unsigned> random_numbers() {
    std::vector<unsigned> v(count);
    unsigned random = 1;
    for (unsigned &x : v) x = random = random * 1103515245u + 12345u;
    return v;
}
static void c_sort() {
    auto v = random_numbers();
    must(weft_sort(v.data(), v.size(), sizeof v[0], compare, nullptr));
    work += v[0];
}
static void cpp_sort() {
    auto v = random_numbers();
    weft::sort(v);
    work += v[0];
}

static const struct pair {
    const char *name;
    void (*c)(), (*cpp)();
} pairs[] = {{"spawn", c_spawn, cpp_spawn},       {"result", c_result, cpp_result},       {"mutex", c_mutex, cpp_mutex},
             {"channel", c_channel, cpp_channel}, {"pingpong", c_pingpong, cpp_pingpong}, {"loop", c_loop, cpp_loop},
             {"sort", c_sort, cpp_sort}};

int main(int argc, char **argv) {
    weft_config config = WEFT_CONFIG_INIT;
    config.workers = 1;
    if (argc == 3) count = std::strtoul(argv[2], nullptr, 0);
    for (const pair &p : pairs) {
        if (!count) break;
        bool cpp = !std::strcmp(argv[1], (std::string("cpp-") + p.name).c_str());
        if (!cpp && std::strcmp(argv[1], (std::string("c-") + p.name).c_str())) continue;
        weft::run([f = cpp ? p.cpp : p.c] { f(); }, &config);
        return work == 0;
    }
    std::fprintf(stderr, "usage: pairs c-NAME|cpp-NAME COUNT\n");
    return 2;
}
