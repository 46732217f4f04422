/* SPDX-License-Identifier: MIT */
/* The runner of a test binary: a child for each test, a time limit, and the last line. See test.h. */
#define _GNU_SOURCE
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct test *tests, **last = &tests;

void test_add(struct test *test) {
    *last = test;
    last = &test->next;
}

/* A large limit costs time only if a test hangs, and a busy machine takes several times as long as an idle machine.
 * WEFT_TEST_PATIENCE is larger where many tests run at once. */
static unsigned limit_of(const struct test *t) {
    const char *text = getenv("WEFT_TEST_PATIENCE");
    unsigned patience = text && atoi(text) > 0 ? (unsigned)atoi(text) : 4;
    return patience * t->seconds * (test_valgrind() ? 20 : TEST_TSAN || TEST_ASAN ? 4 : 1);
}

/* Prints where a child hangs. Only on demand, because it takes a while. */
static void show_hang(pid_t pid) {
    char command[160];
    if (!getenv("WEFT_TEST_GDB")) return;
    snprintf(command, sizeof command, "gdb -p %d -batch -ex 'thread apply all bt' 2>/dev/null 1>&2", (int)pid);
    if (system(command)) fprintf(stderr, "    no backtrace\n");
}

/* The status of waitpid, or -1: out of time. */
static int wait_for(pid_t pid, unsigned seconds) {
    struct timespec nap = {0, 200000}, start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid) return status;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - start.tv_sec > (time_t)seconds) break;
        nanosleep(&nap, NULL);
        if (nap.tv_nsec < 5000000) nap.tv_nsec *= 2;
    }
    show_hang(pid);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return -1;
}

enum outcome { PASSED, FAILED, LEFT_OUT };

static enum outcome run_one(const struct test *t, bool in_child) {
    if (!in_child) {
        t->run();
        return PASSED;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) abort();
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        t->run();
        exit(0);
    }
    int status = wait_for(pid, limit_of(t));
    if (status == 0) return PASSED;
    if (status < 0)
        fprintf(stderr, "    no end after %u s\n", limit_of(t));
    else if (WIFSIGNALED(status))
        fprintf(stderr, "    killed by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == TEST_SKIPPED)
        return LEFT_OUT;
    return FAILED;
}

static bool chosen(const struct test *t, int argc, char **argv) {
    bool any = false;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-') continue;
        any = true;
        if (strstr(t->name, argv[i])) return true;
    }
    return !any;
}

static bool flag(int argc, char **argv, const char *name) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], name)) return true;
    return false;
}

/* "unit/queue_ready" of ".../tests/unit/queue_ready". */
static const char *short_name(const char *path) {
    const char *name = path;
    for (const char *p = path; (p = strstr(p, "tests/")); p += 6) name = p + 6;
    return name;
}

int main(int argc, char **argv) {
    unsigned count[3] = {0, 0, 0};
    bool list = flag(argc, argv, "-l"), in_child = !flag(argc, argv, "-n"), tell = flag(argc, argv, "-v");
    signal(SIGPIPE, SIG_IGN);
    for (struct test *t = tests; t; t = t->next) {
        if (!chosen(t, argc, argv)) continue;
        if (list) {
            puts(t->name);
            continue;
        }
        uint64_t start = weft_now();
        enum outcome o = run_one(t, in_child);
        count[o]++;
        static const char *const words[] = {"passed", "FAILED", "left out"};
        if (tell || o != PASSED)
            fprintf(stderr, "  %s: %s %s (%.2f s)\n", short_name(argv[0]), t->name, words[o],
                    (double)(weft_now() - start) / 1e9);
    }
    if (!list) printf("%s: %u passed, %u failed\n", short_name(argv[0]), count[PASSED], count[FAILED]);
    return count[FAILED] != 0;
}
