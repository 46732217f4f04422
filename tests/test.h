/* SPDX-License-Identifier: MIT */
/*
 * The tests' harness. A binary is a few files with
 *
 *     TEST(what_is_tested) { ... CHECK(condition); CHECK_EQ(got, wanted); ... }
 *
 * linked with test.c and runner.c. Each test runs in a child of its own with a time limit, so that a crash or a
 * hang is one failed test with a name. The last line of a binary is "unit/queue_ready: 7 passed, 0
 * failed"; its status is 1 if a test failed. Arguments choose the tests with names that contain them;
 * -l lists them, -n runs without a child (for a debugger), -v tells each test's time.
 *
 * A failed check ends the child at once, in any fiber or thread.
 */
#ifndef WEFT_TESTS_TEST_H
#define WEFT_TESTS_TEST_H

#include "weft.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_ASAN 1
#endif
#endif
#ifndef TEST_TSAN
#define TEST_TSAN 0
#endif
#ifndef TEST_ASAN
#define TEST_ASAN 0
#endif

#ifdef __cplusplus
extern "C" {
#define TEST_NORETURN [[noreturn]]
#else
#define TEST_NORETURN _Noreturn
#endif

struct test {
    const char *name;
    void (*run)(void);
    unsigned seconds;
    struct test *next;
};
void test_add(struct test *test);

/* The seconds of a plain build on an idle machine; limit_of in runner.c multiplies them. */
#define TEST_WITHIN(name, limit) \
    static void test_##name(void); \
    static struct test entry_##name = {#name, test_##name, limit, NULL}; \
    __attribute__((constructor)) static void add_##name(void) { test_add(&entry_##name); } \
    static void test_##name(void)
#define TEST(name) TEST_WITHIN(name, 20)

TEST_NORETURN void test_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define TEST_SKIPPED 77 /* an exit status */
/* Ends the test as neither passed nor failed. */
TEST_NORETURN void test_skip(const char *why);

#define CHECK(condition) \
    do { \
        if (!(condition)) test_fail(__FILE__, __LINE__, "not so: %s", #condition); \
    } while (0)
#define CHECK_EQ(got, wanted) \
    do { \
        long long got_ = (long long)(got), wanted_ = (long long)(wanted); \
        if (got_ != wanted_) \
            test_fail(__FILE__, __LINE__, "%s is %lld, %s would be %lld", #got, got_, #wanted, wanted_); \
    } while (0)
#define CHECK_HAS(text, part) \
    do { \
        if (!test_has(text, part)) test_fail(__FILE__, __LINE__, "no \"%s\" in \"%s\"", (const char *)(part), text); \
    } while (0)
bool test_has(const char *text, const char *part);

/*
 * Sizes. WEFT_TEST_SCALE divides them; it is 1 unless set, and 10 where a sanitizer or valgrind
 * slows everything down.
 */
unsigned test_scale(void);
size_t test_size(size_t n);
/* The same for fibers that live at once: ThreadSanitizer has room for some 8000. */
size_t test_fibers(size_t n);
bool test_valgrind(void);
bool test_emulated(void); /* another machine's instructions, by qemu */
/* Skips the test where the forked child of a process with threads cannot start threads. */
void test_needs_forks(void);

/* What the process holds, and what the machine has left. */
size_t test_rss_kib(void);
size_t test_mapped_kib(void);
size_t test_open_files(void);
size_t test_threads(void);
size_t test_available_mib(void);

/* Starts a runtime and checks that it did; stops it and checks that it did. */
void test_start(unsigned workers);
void test_stop(void);

/* Starts a runtime with this many workers, runs fn(arg) as a fiber, and stops it. */
void test_in_fiber(unsigned workers, void (*fn)(void *), void *arg);

/* Runs fn(arg) in a process of its own. Returns what it wrote to standard error, and its status. */
struct test_child {
    int status; /* of waitpid */
    char said[16384];
};
void test_child(struct test_child *child, void (*fn)(void *), void *arg);
bool test_child_aborted(const struct test_child *child);
bool test_child_exited(const struct test_child *child, int code);
bool test_child_killed(const struct test_child *child, int signal);

/* The first line of the text that contains this string, in a buffer that the next call overwrites; "" if no line does.
 * */
const char *test_line_with(const char *text, const char *part);
unsigned test_lines_with(const char *text, const char *part);

/* Waits in the kernel until *flag is at least value. Fails after the test's limit. */
void test_await(const int *flag, int value);
/* The same for what a function says. */
void test_until(bool (*fn)(void *), void *arg);
void test_nap_ms(unsigned ms);

static inline uint64_t test_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}
static inline uint64_t test_below(uint64_t *state, uint64_t n) { return test_random(state) % n; }

#ifdef __cplusplus
}
#endif
#endif
