/* SPDX-License-Identifier: MIT */
/* Signals that fibers wait for: which fiber gets a signal, which signals are kept, and that earlier handlers and masks
 * are restored. */
#define _GNU_SOURCE
#include "threads.h"

#include "../state.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

static const uint64_t term_hup = WEFT_SIGNAL(SIGTERM) | WEFT_SIGNAL(SIGHUP);
static void send(int sig) { CHECK(!kill(getpid(), sig)); }

/* ThreadSanitizer runs a handler only when the thread next calls an intercepted function, and a thread that sleeps in
 * weft calls none. So there, all threads but the poll thread block signals that are sent to the process. */
static void let_the_service_take_it(void) {
    static const int sent[] = {SIGTERM, SIGHUP, SIGINT, SIGUSR1, SIGCHLD};
    sigset_t set;
    if (!TEST_TSAN) return;
    sigemptyset(&set);
    for (int i = 0; i < 5; i++) sigaddset(&set, sent[i]);
    sigaddset(&set, SIGRTMIN);
    CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
}

struct asker {
    struct weft_signals *from;
    uint64_t deadline;
    int got;
    struct weft_signal what;
};
static void *asks(void *arg) {
    struct asker *a = arg;
    STORE(&a->got, weft_signals_next_until(a->from, &a->what, a->deadline ? a->deadline : WEFT_FOREVER));
    return NULL;
}

/* --- one subscription ------------------------------------------------------------------------------------------ */

static void one_after_the_other(void *unused) {
    (void)unused;
    struct weft_signals s = WEFT_SIGNALS_INIT;
    struct weft_signal what;
    CHECK_EQ(weft_signals_begin(&s, term_hup | WEFT_SIGNAL(SIGUSR1) | WEFT_SIGNAL(SIGINT)), 0);
    CHECK_EQ(weft_signals_next_try(&s, NULL), -EAGAIN);
    static const int all[] = {SIGTERM, SIGHUP, SIGINT, SIGUSR1};
    for (int i = 0; i < 40; i++) {
        send(all[i % 4]);
        CHECK_EQ(weft_signals_next(&s, &what), all[i % 4]);
        CHECK_EQ(what.number, all[i % 4]);
        CHECK_EQ(what.pid, getpid());
        CHECK_EQ(what.uid, getuid());
        CHECK_EQ(what.code, SI_USER);
        CHECK_EQ(what.count, 1);
    }
    CHECK_EQ(weft_signals_next_until(&s, NULL, weft_now() + 2 * WEFT_MILLISECOND), -ETIMEDOUT);
    CHECK_EQ(weft_signals_end(&s), 0);
    CHECK_EQ(weft_signals_end(&s), -EINVAL);
    CHECK_EQ(weft_signals_next(&s, NULL), -EINVAL);
}
TEST(one_signal_after_the_other) {
    let_the_service_take_it();
    each_size(one_after_the_other);
    one_after_the_other(NULL); /* a thread, and no runtime */
}

/* All workers sleep when it comes, from another process. */
TEST(from_another_process_while_all_sleep) {
    let_the_service_take_it();
    struct weft_signals s = WEFT_SIGNALS_INIT;
    test_start(3);
    CHECK_EQ(weft_signals_begin(&s, term_hup), 0);
    struct asker a = {.from = &s};
    struct weft_fiber f = spawn(asks, &a);
    test_nap_ms(150);
    pid_t parent = getpid(), pid = fork();
    if (!pid) {
        kill(parent, SIGTERM);
        _exit(0);
    }
    join(f);
    CHECK_EQ(a.got, SIGTERM);
    CHECK_EQ(a.what.pid, pid);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK_EQ(weft_signals_end(&s), 0);
    test_stop();
}

/* Signals that come while no fiber asks are reported to the next fiber that does, each signal once and counted. */
/* A read from outside, which the lock does not order. */
#if TEST_TSAN
__attribute__((no_sanitize("thread")))
#endif
static bool
has_come(void *pending) {
    return *(volatile uint64_t *)pending != 0;
}
static void kept(void *unused) {
    (void)unused;
    struct weft_signals s = WEFT_SIGNALS_INIT;
    struct weft_signal what;
    CHECK_EQ(weft_signals_begin(&s, term_hup | WEFT_SIGNAL(SIGRTMIN)), 0);
    send(SIGTERM);
    for (int i = 0; i < 5; i++)
        CHECK(!sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_ptr = (void *)(intptr_t)(i + 1)}));
    test_until(has_come, &s.pending);
    test_nap_ms(20); /* so that most signals are kept; the others may come at any time */
    CHECK_EQ(weft_signals_next(&s, &what), SIGTERM);
    for (uint64_t seen = 0; seen < 5; seen += what.count) { /* those are not coalesced by the kernel */
        CHECK_EQ(weft_signals_next(&s, &what), SIGRTMIN);
        CHECK_EQ(what.code, SI_QUEUE);
        CHECK((intptr_t)what.value >= 1 && (intptr_t)what.value <= 5); /* each may have come by another thread */
    }
    CHECK_EQ(weft_signals_next_try(&s, &what), -EAGAIN);
    CHECK_EQ(weft_signals_end(&s), 0);
}
TEST(what_comes_between_two_questions_is_kept) {
    let_the_service_take_it();
    each_size(kept);
}

/* More signals than the pipe holds, while the poll thread cannot read. Every sent signal is seen. */
TEST(a_flood) {
    struct weft_signals s = WEFT_SIGNALS_INIT;
    struct weft_signal what;
    uint64_t seen = 0;
    CHECK_EQ(weft_signals_begin(&s, WEFT_SIGNAL(SIGRTMIN) | WEFT_SIGNAL(SIGHUP)), 0);
    for (int i = 0; i < 20000; i++) pthread_kill(pthread_self(), SIGRTMIN);
    send(SIGHUP);
    do {
        CHECK(weft_signals_next(&s, &what) > 0);
        if (what.number == SIGRTMIN) seen += what.count;
    } while (what.number != SIGHUP);
    while (weft_signals_next_until(&s, &what, weft_now() + 20 * WEFT_MILLISECOND) > 0) seen += what.count;
    CHECK(seen > 0 && seen <= 20000);
    CHECK_EQ(weft_signals_end(&s), 0);
}

/* --- several ---------------------------------------------------------------------------------------------------- */

/* How many of the askers have got this result. */
static int count(struct asker *a, int n, int what) {
    int found = 0;
    for (int i = 0; i < n; i++) found += LOAD(&a[i].got) == what;
    return found;
}
static void several(void *unused) {
    (void)unused;
    struct weft_signals s = WEFT_SIGNALS_INIT, other = WEFT_SIGNALS_INIT;
    struct asker a[4], cancelled = {.from = &s};
    struct weft_fiber f[4], c;
    CHECK_EQ(weft_signals_begin(&s, term_hup), 0);
    CHECK_EQ(weft_signals_begin(&other, WEFT_SIGNAL(SIGTERM)), 0);
    CHECK_EQ(weft_signals_begin(&s, term_hup), -EBUSY);
    c = spawn(asks, &cancelled);
    CHECK_EQ(weft_cancel(c), 0);
    join(c);
    CHECK_EQ(cancelled.got, -ECANCELED);
    for (int i = 0; i < 4; i++) {
        a[i] = (struct asker){.from = &s};
        f[i] = spawn(asks, &a[i]);
    }
    send(SIGTERM); /* to one asker, and to the other subscription */
    CHECK_EQ(weft_signals_next(&other, NULL), SIGTERM);
    while (count(a, 4, SIGTERM) < 1) weft_yield();
    CHECK_EQ(weft_signals_end(&other), 0);
    send(SIGTERM); /* s is still subscribed to it */
    while (count(a, 4, SIGTERM) < 2) weft_yield();
    weft_sleep_for(20 * WEFT_MILLISECOND); /* all wait by now */
    CHECK_EQ(weft_signals_end(&s), 0);     /* the other waits end */
    for (int i = 0; i < 4; i++) join(f[i]);
    CHECK_EQ(count(a, 4, SIGTERM), 2);
    CHECK_EQ(count(a, 4, -ESRCH) + count(a, 4, -EINVAL), 2);
}
TEST(several_ask_and_several_are_subscribed) {
    let_the_service_take_it();
    each_size(several);
}

/* --- the end of a subscription, and waits at that moment -------------------------------------- */

/* Memory that must not be touched once a subscription in it has ended. */
static struct weft_signals *on_a_page(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    return page;
}
static void *asks_in_turn(void *arg) {
    struct asker *a = arg;
    asks(a);
    CHECK(a->got == -ETIMEDOUT || a->got == -ESRCH || a->got == -EINVAL || a->got == -ECANCELED);
    return NULL;
}
/* All fibers wait, and stop waiting at about the time of the end: by deadline, by cancellation, or by the end. */
static void ended_under_them(void *unused) {
    (void)unused;
    enum { N = 8 };
    uint64_t r = 1;
    for (size_t i = 0; i < test_size(200) + 1; i++) {
        struct asker a[N];
        struct weft_fiber f[N];
        struct weft_signals *s = on_a_page();
        CHECK_EQ(weft_signals_begin(s, term_hup), 0);
        uint64_t when = weft_now() + 200 * WEFT_MICROSECOND;
        for (int k = 0; k < N; k++) {
            a[k] = (struct asker){.from = s, .deadline = k % 2 ? 0 : when + test_below(&r, 20000)};
            f[k] = spawn(asks_in_turn, &a[k]);
        }
        /* In the wait, or after it: so no fiber touches the page for the first time after it was unmapped. */
        for (int k = 0; k < N; k++)
            while (!state_waits(f[k]) && !LOAD(&a[k].got)) weft_yield();
        while (weft_now() < when + test_below(&r, 20000)) {
        }
        for (int k = 1; k < N; k += 4) CHECK(weft_cancel(f[k]) == 0);
        CHECK_EQ(weft_signals_end(s), 0);
        CHECK(!munmap(s, 4096));
        for (int k = 0; k < N; k++) join(f[k]);
    }
}
TEST(not_touched_after_the_end) { each_size(ended_under_them); }

static struct weft_signals both_end_it;
static int ended[2];
static void *ends_it(void *number) {
    int err = weft_signals_end(&both_end_it);
    if (err) CHECK_EQ(err, -EINVAL);
    ADD(&ended[!!err], 1);
    return number;
}
TEST(of_two_that_end_it_one_does) {
    int n = (int)test_size(500) + 1;
    for (int i = 0; i < n; i++) {
        CHECK_EQ(weft_signals_begin(&both_end_it, term_hup), 0);
        pthread_t t = thread_start(ends_it, NULL);
        ends_it(NULL);
        thread_join(t);
    }
    CHECK_EQ(ended[0], n);
    CHECK_EQ(ended[1], n);
}

static void cancelled(void *unused) {
    (void)unused;
    struct weft_signals s = WEFT_SIGNALS_INIT;
    CHECK_EQ(weft_signals_begin(&s, term_hup), 0);
    send(SIGHUP);
    while (!has_come(&s.pending)) weft_sleep_for(100000);
    CHECK_EQ(weft_cancel(weft_self()), 0);
    CHECK_EQ(weft_signals_next(&s, NULL), SIGHUP); /* it is there */
    CHECK_EQ(weft_signals_next(&s, NULL), -ECANCELED);
    CHECK_EQ(weft_signals_end(&s), 0);
}
TEST(a_cancelled_fiber_takes_what_is_there) {
    let_the_service_take_it();
    each_size(cancelled);
}

/* --- children --------------------------------------------------------------------------------------------------- */

static void children(void *unused) {
    (void)unused;
    struct weft_signals s = WEFT_SIGNALS_INIT;
    struct weft_signal what;
    CHECK_EQ(weft_signals_begin(&s, WEFT_SIGNAL(SIGCHLD)), 0);
    for (int i = 0; i < 5; i++) {
        int status;
        pid_t pid = fork();
        if (!pid) _exit(40 + i);
        CHECK_EQ(weft_signals_next(&s, &what), SIGCHLD);
        CHECK_EQ(what.pid, pid);
        CHECK_EQ(what.code, CLD_EXITED);
        CHECK_EQ(what.status, 40 + i);
        CHECK_EQ(waitpid(pid, &status, WNOHANG), pid);
    }
    CHECK_EQ(weft_signals_end(&s), 0);
}
TEST(children_that_end) {
    let_the_service_take_it();
    each_size(children);
}

/* A forked child is not subscribed, and the parent does not see the child's signals. */
static void subscribes_anew(void) {
    struct weft_signals mine = WEFT_SIGNALS_INIT;
    CHECK_EQ(weft_signals_begin(&mine, WEFT_SIGNAL(SIGHUP)), 0);
    send(SIGHUP);
    CHECK_EQ(weft_signals_next(&mine, NULL), SIGHUP);
    CHECK_EQ(weft_signals_end(&mine), 0);
}
static void not_the_parents(void *unused) {
    (void)unused;
    struct weft_signals s = WEFT_SIGNALS_INIT;
    int status;
    CHECK_EQ(weft_signals_begin(&s, term_hup), 0);
    size_t files = test_open_files();
    pid_t pid = fork();
    if (!pid) {
        CHECK_EQ(weft_signals_next(&s, NULL), -EINVAL);
        /* epoll, its two event fds, both ends of the pipe; a monitor may have a file open */
        if (!weft_workers()) CHECK_EQ(test_open_files(), files - 5);
        if (!TEST_TSAN) subscribes_anew(); /* which cannot start threads in a child */
        send(SIGTERM);                     /* as if there never was a subscription */
        _exit(9);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    CHECK_EQ(weft_signals_next_until(&s, NULL, weft_now() + 5 * WEFT_MILLISECOND), -ETIMEDOUT);
    send(SIGTERM);
    CHECK_EQ(weft_signals_next(&s, NULL), SIGTERM);
    CHECK_EQ(weft_signals_end(&s), 0);
}
TEST(a_forked_child_is_not_subscribed) {
    if (TEST_TSAN) test_skip("handlers are late there");
    if (TEST_ASAN) test_skip("a child may find the tool's allocator locked");
    test_needs_forks();
    each_size(not_the_parents);
    not_the_parents(NULL);
}

/* --- masks and handlers ------------------------------------------------------------------------------------------ */

/* All threads of the program block the signal: weft's own thread takes it, and no thread of the program is interrupted.
 * */
TEST(blocked_by_all_threads) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR2);
    CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
    struct weft_signals s = WEFT_SIGNALS_INIT;
    test_start(2);
    send(SIGTERM); /* before the subscription: pending, and not lost */
    CHECK_EQ(weft_signals_begin(&s, term_hup), 0);
    struct asker a = {.from = &s};
    join(spawn(asks, &a));
    CHECK_EQ(a.got, SIGTERM);
    send(SIGUSR2); /* a signal without a subscription stays pending: weft's thread blocks it as well */
    test_nap_ms(5);
    struct timespec now = {0, 0};
    CHECK_EQ(sigtimedwait(&set, NULL, &now), SIGUSR2);
    CHECK_EQ(weft_signals_end(&s), 0);
    test_stop();
}

/* How many threads of the process block exactly these signals, of all that can be blocked. */
static int threads_that_block(uint64_t set) {
    const uint64_t can_be = ~(WEFT_SIGNAL(SIGKILL) | WEFT_SIGNAL(SIGSTOP) | WEFT_SIGNAL(32) | WEFT_SIGNAL(33));
    int n = 0;
    glob_t tasks;
    CHECK(!glob("/proc/self/task/*/status", 0, NULL, &tasks));
    for (size_t i = 0; i < tasks.gl_pathc; i++) {
        char line[256];
        unsigned long long blocked;
        FILE *f = fopen(tasks.gl_pathv[i], "r"); /* it may have ended */
        while (f && fgets(line, sizeof line, f))
            if (sscanf(line, "SigBlk: %llx", &blocked) == 1) n += (blocked & can_be) == (set & can_be);
        if (f) fclose(f);
    }
    globfree(&tasks);
    return n;
}
struct blocking {
    uint64_t set;
    int threads;
};
static bool so_many_block(void *p) {
    struct blocking *b = p;
    int n = threads_that_block(b->set);
    return TEST_TSAN ? n >= b->threads : n == b->threads; /* which has a thread of its own, that blocks all */
}

/* Carriers and the monitor have the mask of the thread that started the runtime; the poll thread blocks all signals
 * without a subscription. */
TEST(signal_masks_of_all_threads) {
    if (test_emulated()) test_skip("the emulator changes masks");
    enum { WORKERS = 3 };
    const uint64_t ours = WEFT_SIGNAL(SIGUSR2) | WEFT_SIGNAL(SIGWINCH);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGWINCH);
    CHECK(!pthread_sigmask(SIG_SETMASK, &set, NULL));
    test_start(WORKERS);
    struct weft_signals s = WEFT_SIGNALS_INIT;
    test_until(so_many_block, &(struct blocking){ours, 1 + WORKERS + 1});
    CHECK_EQ(weft_signals_begin(&s, term_hup), 0);
    test_until(so_many_block, &(struct blocking){~term_hup, 1});
    test_until(so_many_block, &(struct blocking){ours, 1 + WORKERS + 1});
    CHECK_EQ(weft_cluster_resize((struct weft_cluster){0}, WORKERS + 2), 0);
    test_until(so_many_block, &(struct blocking){ours, 1 + WORKERS + 2 + 1});
    CHECK_EQ(weft_signals_end(&s), 0);
    test_stop();
    test_until(so_many_block, &(struct blocking){ours, 1});
}

static int handled;
static void handler(int sig) { ADD(&handled, sig); }
TEST(the_handler_from_before_comes_back) {
    struct sigaction ours = {.sa_handler = handler}, now;
    struct weft_signals s = WEFT_SIGNALS_INIT, t = WEFT_SIGNALS_INIT;
    CHECK(!sigaction(SIGHUP, &ours, NULL));
    test_start(2);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(weft_signals_begin(&s, term_hup), 0);
        CHECK_EQ(weft_signals_begin(&t, term_hup), 0);
        raise(SIGHUP);
        CHECK_EQ(weft_signals_next(&s, NULL), SIGHUP);
        CHECK_EQ(LOAD(&handled), i * SIGHUP);
        CHECK_EQ(weft_signals_end(&t), 0);
        CHECK_EQ(weft_signals_end(&s), 0);
        CHECK(!sigaction(SIGHUP, NULL, &now) && now.sa_handler == handler);
        CHECK(!sigaction(SIGTERM, NULL, &now) && now.sa_handler == SIG_DFL);
        raise(SIGHUP);
        CHECK_EQ(LOAD(&handled), (i + 1) * SIGHUP);
    }
    test_stop();
}

TEST(what_cannot_be_awaited) {
    static const int none[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL,
                               SIGTRAP, SIGSYS,  SIGABRT, SIGURG, 32,     33};
    struct weft_signals s = WEFT_SIGNALS_INIT;
    struct sigaction now;
    size_t files = test_open_files();
    for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
        CHECK_EQ(weft_signals_begin(&s, WEFT_SIGNAL(none[i]) | WEFT_SIGNAL(SIGTERM)), -EINVAL);
    CHECK(!sigaction(SIGTERM, NULL, &now) && now.sa_handler == SIG_DFL);
    CHECK_EQ(weft_signals_begin(&s, 0), -EINVAL);
    CHECK_EQ(test_open_files(), files);
    CHECK_EQ(weft_signals_next(&s, NULL), -EINVAL);
    await_alone();
}

/* A read that is under way is not disturbed. */
static int ends[2];
static void *reads(void *unused) {
    char c;
    CHECK_EQ(read(ends[0], &c, 1), 1);
    return unused;
}
TEST(blocking_calls_are_restarted) {
    if (TEST_TSAN) test_skip("handlers are late there");
    struct weft_signals s = WEFT_SIGNALS_INIT;
    CHECK(!pipe2(ends, O_CLOEXEC));
    test_start(2);
    CHECK_EQ(weft_signals_begin(&s, term_hup), 0);
    pthread_t t = thread_start(reads, NULL);
    test_nap_ms(5);
    for (int i = 0; i < 10; i++) {
        CHECK(!pthread_kill(t, SIGHUP));
        CHECK_EQ(weft_signals_next(&s, NULL), SIGHUP);
    }
    CHECK_EQ(write(ends[1], "x", 1), 1);
    thread_join(t);
    CHECK_EQ(weft_signals_end(&s), 0);
    test_stop();
}

/* --- what is left ----------------------------------------------------------------------------- */

TEST(nothing_is_left) {
    let_the_service_take_it();
    size_t files = test_open_files();
    for (int i = 0; i < 5; i++) {
        struct weft_signals s = WEFT_SIGNALS_INIT;
        if (i % 2) test_start(2);
        CHECK_EQ(weft_signals_begin(&s, term_hup), 0);
        send(SIGTERM);
        if (i % 2) test_stop(); /* the subscription outlives the runtime */
        CHECK_EQ(weft_signals_next(&s, NULL), SIGTERM);
        CHECK_EQ(weft_signals_end(&s), 0);
        await_alone();
        CHECK_EQ(test_open_files(), files);
    }
}

/* Each sent signal is seen, whichever subscriptions end and begin meanwhile. */
static int over;
static void *comes_and_goes(void *unused) {
    while (!LOAD(&over)) {
        struct weft_signals s = WEFT_SIGNALS_INIT;
        CHECK_EQ(weft_signals_begin(&s, term_hup | WEFT_SIGNAL(SIGUSR2)), 0);
        weft_yield();
        CHECK_EQ(weft_signals_end(&s), 0);
    }
    return unused;
}
static void with_others(void *unused) {
    (void)unused;
    struct weft_signals s = WEFT_SIGNALS_INIT;
    CHECK_EQ(weft_signals_begin(&s, WEFT_SIGNAL(SIGTERM)), 0);
    STORE(&over, 0);
    struct weft_fiber f[2] = {spawn(comes_and_goes, NULL), spawn(comes_and_goes, NULL)};
    for (size_t i = 0; i < test_size(500); i++) {
        send(SIGTERM);
        CHECK_EQ(weft_signals_next(&s, NULL), SIGTERM);
    }
    STORE(&over, 1);
    join(f[0]);
    join(f[1]);
    CHECK_EQ(weft_signals_end(&s), 0);
}
TEST(while_others_come_and_go) {
    let_the_service_take_it();
    each_size(with_others);
}
