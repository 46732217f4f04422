/* SPDX-License-Identifier: MIT */
/* What tests call; see test.h. The runner is in runner.c. */
#define _GNU_SOURCE
#include "test.h"

#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

/* One write: a fiber's stack may be small, and other threads may write, too. */
void test_fail(const char *file, int line, const char *format, ...) {
    char text[2048];
    const char *base = strstr(file, "tests/");
    int n = snprintf(text, sizeof text, "    %s:%d: ", base ? base : file, line);
    va_list args;
    va_start(args, format);
    n += vsnprintf(text + n, sizeof text - (size_t)n - 1, format, args);
    va_end(args);
    if (n > (int)sizeof text - 2) n = (int)sizeof text - 2;
    text[n++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, text, (size_t)n);
    (void)ignored;
    _exit(1);
}

void test_skip(const char *why) {
    fprintf(stderr, "    skipped: %s\n", why);
    _exit(TEST_SKIPPED);
}

bool test_has(const char *text, const char *part) { return strstr(text, part) != NULL; }

bool test_valgrind(void) { return RUNNING_ON_VALGRIND; }

bool test_emulated(void) {
    const char *under = getenv("WEFT_TEST_UNDER"); /* see run.sh */
    return under && strstr(under, "qemu");
}

void test_needs_forks(void) {
    if (test_emulated()) test_skip("the emulator does not survive a fork with threads");
}

unsigned test_scale(void) {
    const char *text = getenv("WEFT_TEST_SCALE");
    long n = text ? strtol(text, NULL, 10) : 0;
    return n > 0 ? (unsigned)n : TEST_TSAN || TEST_ASAN || test_valgrind() ? 10 : 1;
}

size_t test_size(size_t n) { return n / test_scale() ? n / test_scale() : 1; }

size_t test_fibers(size_t n) {
    size_t k = test_size(n);
    if (test_emulated() && k > 10000) return 10000; /* each guard is a mapping there, and mappings are few */
    return TEST_TSAN && k > 5000 ? 5000 : test_valgrind() && k > 1000 ? 1000 : k;
}

/* --- what the process holds ------------------------------------------------------------------- */

static size_t number_after(const char *path, const char *label) {
    char line[256];
    size_t n = 0;
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, label, strlen(label))) n = strtoul(line + strlen(label), NULL, 10);
    fclose(f);
    return n;
}

size_t test_rss_kib(void) { return number_after("/proc/self/status", "VmRSS:"); }
size_t test_mapped_kib(void) { return number_after("/proc/self/status", "VmSize:"); }
size_t test_threads(void) { return number_after("/proc/self/status", "Threads:"); }
size_t test_available_mib(void) { return number_after("/proc/meminfo", "MemAvailable:") / 1024; }

size_t test_open_files(void) {
    size_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    if (!d) return 0;
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

/* --- runtimes ---------------------------------------------------------------------------------- */

void test_start(unsigned workers) {
    struct weft_config config = {.workers = workers};
    CHECK_EQ(weft_start(&config), 0);
}

void test_stop(void) { CHECK_EQ(weft_stop(), 0); }

struct call {
    void (*fn)(void *);
    void *arg;
};

static int call_it(void *arg) {
    struct call *c = arg;
    c->fn(c->arg);
    return 4711;
}

void test_in_fiber(unsigned workers, void (*fn)(void *), void *arg) {
    struct weft_config config = {.workers = workers};
    struct call call = {fn, arg};
    CHECK_EQ(weft_run(call_it, &call, &config), 4711);
}

/* --- waiting ------------------------------------------------------------------------------------ */

void test_nap_ms(unsigned ms) {
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    while (nanosleep(&t, &t)) {
    }
}

/* The harness's time limit is the bound. */
void test_await(const int *flag, int value) {
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < value) test_nap_ms(1);
}

void test_until(bool (*fn)(void *), void *arg) {
    while (!fn(arg)) test_nap_ms(1);
}

/* --- children ----------------------------------------------------------------------------------- */

void test_child(struct test_child *child, void (*fn)(void *), void *arg) {
    int fds[2];
    size_t used = 0;
    CHECK(!pipe(fds));
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        close(fds[1]);
        fn(arg);
        exit(0);
    }
    close(fds[1]);
    for (ssize_t n;
         used < sizeof child->said - 1 && (n = read(fds[0], child->said + used, sizeof child->said - 1 - used)) > 0;)
        used += (size_t)n;
    child->said[used] = 0;
    close(fds[0]);
    CHECK_EQ(waitpid(pid, &child->status, 0), pid);
}

bool test_child_killed(const struct test_child *c, int sig) {
    return WIFSIGNALED(c->status) && WTERMSIG(c->status) == sig;
}
bool test_child_aborted(const struct test_child *c) { return test_child_killed(c, SIGABRT); }
bool test_child_exited(const struct test_child *c, int code) {
    return WIFEXITED(c->status) && WEXITSTATUS(c->status) == code;
}

const char *test_line_with(const char *text, const char *part) {
    static char line[2048];
    const char *at = strstr(text, part), *begin = at;
    line[0] = 0;
    if (!at) return line;
    while (begin > text && begin[-1] != '\n') begin--;
    snprintf(line, sizeof line, "%.*s", (int)strcspn(begin, "\n"), begin);
    return line;
}

unsigned test_lines_with(const char *text, const char *part) {
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, part)); n++) {
        at += strcspn(at, "\n");
        if (*at) at++;
    }
    return n;
}
