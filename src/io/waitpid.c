/* SPDX-License-Identifier: MIT */
/*
 * Waiting for a child process: calls waitpid with WNOHANG whenever there may be a result.
 *
 *   the end of one child          a pidfd becomes readable
 *   any child, or other changes   SIGCHLD arrives, to which this file subscribes meanwhile
 *
 * If neither works, waitpid is called again, less and less often: if the program ignores SIGCHLD (there is no signal,
 * and installing a handler would change how children are reaped), if children may end without SIGCHLD, or if there is
 * no memory. A blocking waitpid on a thread of the pool could not be cancelled.
 */
#define _GNU_SOURCE
#include "io/waitpid.h"

#include "base/sys.h"
#include "io/fd_generation.h"
#include "io/readiness.h"
#include "weft/signal.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static pid_t waitpid_ask(const struct weft__request *r) {
    pid_t pid = waitpid(r->fd, r->memory, (int)r->flags | WNOHANG);
    return pid < 0 ? -errno : pid;
}

static ssize_t waitpid_for_end(const struct weft__request *r, int pidfd) {
    for (;;) {
        pid_t pid = waitpid_ask(r);
        if (pid) return pid;
        int err = weft__readiness_await(pidfd, POLLIN, weft__fd_generation_read(pidfd));
        if (err < 0) return err;
    }
}

static ssize_t wait_for_signal(const struct weft__request *r, struct weft_signals *signals) {
    for (;;) {
        pid_t pid = waitpid_ask(r);
        if (pid) return pid;
        int err = weft_signals_next(signals, NULL);
        if (err < 0) return err;
    }
}

static ssize_t look_again(const struct weft__request *r) {
    const uint64_t most = 10 * WEFT_MILLISECOND;
    for (uint64_t pause = 100 * WEFT_MICROSECOND;; pause = pause < most / 2 ? 2 * pause : most) {
        pid_t pid = waitpid_ask(r);
        if (pid) return pid;
        int err = weft_sleep_for(pause);
        if (err) return err;
    }
}

static bool is_ignored(int sig) {
    struct sigaction action;
    return !sigaction(sig, NULL, &action) && (action.sa_handler == SIG_IGN || action.sa_flags & SA_NOCLDWAIT);
}

static ssize_t waitpid_for_any(const struct weft__request *r) {
    struct weft_signals signals = WEFT_SIGNALS_INIT;
    bool unheard = r->flags & (__WCLONE | __WALL | __WNOTHREAD); /* they may end without SIGCHLD */
    if (unheard || is_ignored(SIGCHLD) || weft_signals_begin(&signals, WEFT_SIGNAL(SIGCHLD))) return look_again(r);
    ssize_t result = wait_for_signal(r, &signals);
    weft_signals_end(&signals);
    return result;
}

ssize_t weft__waitpid_run(const struct weft__request *r) {
    pid_t pid = waitpid_ask(r);
    if (pid || r->flags & WNOHANG) return pid;
    if (r->fd <= 0 || r->flags & ~(uint32_t)WNOHANG) return waitpid_for_any(r);
    int pidfd = (int)syscall(SYS_pidfd_open, r->fd, 0);
    if (pidfd < 0) return waitpid_for_any(r);
    ssize_t result = waitpid_for_end(r, pidfd);
    close(pidfd);
    return result;
}
