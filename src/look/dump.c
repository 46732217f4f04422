/* SPDX-License-Identifier: MIT */
/*
 * weft_dump: a report of this process, written by the process itself. If WEFT_DUMP names a signal, that signal writes
 * the report, too.
 *
 * A separate thread writes the report, because fibers have small stacks. It reads by process_vm_readv, as a tool in
 * another process does: the records change meanwhile, so a wrong address must cause an error, not a fault.
 *
 *   the handler of the signal               the thread that waits for it
 *   1. asked + 1                            1. if `asked` has changed: writes the report
 *   2. wakes the thread                     2. sleeps until it changes
 */
#define _GNU_SOURCE
#include "look/dump.h"

#include "base/handler.h"
#include "base/message.h"
#include "look/explain.h"
#include "look/report.h"
#include "sched/core/cluster.h"
#include "sched/core/layers.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* --- one report --------------------------------------------------------------------------------------- */

static int dump_now(int fd, bool explain) {
    struct weft__memory memory = weft__memory_of(getpid());
    struct weft__look look = {.stacks = true};
    struct weft__report *report = weft__alloc(sizeof *report);
    int err = report ? weft__look_begin(&look, &memory) : -ENOMEM;
    if (!err) err = weft__look_workers(&look);
    if (!err) {
        struct weft__names names = weft__names_own(&look.modules);
        memset(report, 0, sizeof *report); /* too large for a temporary one on the stack */
        report->look = &look;
        report->names = &names;
        report->most = 4;
        report->now = weft__clock();
        report->out.fd = fd;
        err = explain ? weft__explain(report, true) : weft__report_text(report);
        weft__names_free(&names);
    }
    weft__look_end(&look);
    weft__free(report);
    return err;
}

struct request {
    int fd, result;
    bool explain;
};

static void *dump_main(void *arg) {
    struct request *r = arg;
    r->result = dump_now(r->fd, r->explain);
    return NULL;
}

static int in_a_thread(struct request *request) {
    pthread_t thread;
    int err = weft__thread_create_masked(&thread, dump_main, request);
    if (err) return err;
    pthread_join(thread, NULL);
    return request->result;
}

WEFT_PUBLIC int weft_dump(int fd) {
    struct request request = {.fd = fd};
    if (!load_acq(&weft__cluster.running)) return -ESRCH; /* pairs with the start */
    if (fcntl(fd, F_GETFD) < 0) return -EBADF;
    return in_a_thread(&request);
}

bool weft__explain_self(void) {
    struct request request = {.fd = STDERR_FILENO, .explain = true};
    return in_a_thread(&request) > 0;
}

/* --- on a signal -------------------------------------------------------------------------------------- */

static _Atomic uint32_t asked;
static _Atomic bool quits;
static bool watches;
static int watched;
static pthread_t watcher;
static struct sigaction before;

static void on_dump_signal(int sig, siginfo_t *info, void *context) {
    int saved = errno;
    add_ar(&asked, 1);
    weft__futex_wake(&asked, 1);
    weft__handler_pass_on(&before, sig, info, context);
    errno = saved;
}

static void *watch_main(void *unused) {
    (void)unused;
    for (uint32_t seen = 0; !load_acq(&quits);) { /* pairs with weft__dump_unwatch */
        uint32_t now = load_acq(&asked);
        if (now == seen) {
            weft__futex_wait(&asked, seen, WEFT_FOREVER);
            continue;
        }
        seen = now;
        dump_now(STDERR_FILENO, false);
    }
    return NULL;
}

/* "QUIT", "SIGQUIT" or a number; 0: none that can be caught. */
static int signal_named(const char *name) {
    static const struct {
        const char *name;
        int number;
    } known[] = {{"HUP", SIGHUP},   {"INT", SIGINT},     {"QUIT", SIGQUIT}, {"USR1", SIGUSR1},
                 {"USR2", SIGUSR2}, {"TERM", SIGTERM},   {"PIPE", SIGPIPE}, {"ALRM", SIGALRM},
                 {"CONT", SIGCONT}, {"WINCH", SIGWINCH}, {"IO", SIGIO},     {"PWR", SIGPWR}};
    char *end;
    long number = strtol(name, &end, 10);
    if (*name && !*end)
        return number > 0 && number <= SIGRTMAX && number != SIGKILL && number != SIGSTOP ? (int)number : 0;
    if (!strncmp(name, "SIG", 3)) name += 3;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i].name)) return known[i].number;
    return 0;
}

void weft__dump_watch(void) {
    const char *name = getenv("WEFT_DUMP");
    struct sigaction action = {.sa_sigaction = on_dump_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    if (!name || !*name || watches) return;
    if (!(watched = signal_named(name))) {
        weft__say("WEFT_DUMP=%s is ignored: it must be a signal, QUIT for instance", name);
        return;
    }
    store_rlx(&asked, 0);
    store_rlx(&quits, false);
    if (weft__thread_create_masked(&watcher, watch_main, NULL)) return; /* without the thread there are no reports */
    watches = true;
    sigaction(watched, NULL, &before);
    sigaction(watched, &action, NULL);
}

void weft__dump_unwatch(void) {
    if (!watches) return;
    watches = false;
    weft__handler_restore(watched, on_dump_signal, &before);
    store_rel(&quits, true); /* pairs with watch_main */
    add_ar(&asked, 1);
    weft__futex_wake(&asked, 1);
    pthread_join(watcher, NULL);
}

/* In a forked child: the thread that would answer does not exist there. */
static void dump_after_fork(void) { watches = false; }
static struct weft__layer layer = {.stopped = weft__dump_unwatch, .forked = dump_after_fork};
__attribute__((constructor)) static void register_dump(void) { weft__layer_add(&layer); }
