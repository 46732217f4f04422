/*
 * Waiting for a child process: asked without waiting, again and again, whenever there may be an answer.
 *
 *   one child, for its end      a descriptor of it becomes readable
 *   any, or for other changes   SIGCHLD comes, to which we are subscribed meanwhile
 *
 * Where neither works, because the program ignores SIGCHLD (then there is no signal, and no handler may be put in
 * its place: the children would begin to need a wait), because they may end without it, or because there is no memory,
 * they are asked again, less and less often: a thread of the pool that waits could not be told to stop.
 */
#define _GNU_SOURCE
#include "io/children.h"

#include "base/sys.h"
#include "io/known.h"
#include "io/readiness.h"
#include "weft/signal.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static pid_t ask(const struct weft__request *r) {
    pid_t pid = waitpid(r->fd, r->memory, (int)r->flags | WNOHANG);
    return pid < 0 ? -errno : pid;
}

static ssize_t wait_for_end(const struct weft__request *r, int pidfd) {
    for (;;) {
        pid_t pid = ask(r);
        if (pid) return pid;
        int err = weft__readiness_await(pidfd, POLLIN, weft__known_life(pidfd));
        if (err < 0) return err;
    }
}

static ssize_t wait_for_signal(const struct weft__request *r, struct weft_signals *signals) {
    for (;;) {
        pid_t pid = ask(r);
        if (pid) return pid;
        int err = weft_signals_next(signals, NULL);
        if (err < 0) return err;
    }
}

static ssize_t look_again(const struct weft__request *r) {
    const uint64_t most = 10 * WEFT_MILLISECOND;
    for (uint64_t pause = 100 * WEFT_MICROSECOND;; pause = pause < most / 2 ? 2 * pause : most) {
        pid_t pid = ask(r);
        if (pid) return pid;
        int err = weft_sleep_for(pause);
        if (err) return err;
    }
}

static bool is_ignored(int sig) {
    struct sigaction action;
    return !sigaction(sig, NULL, &action) && (action.sa_handler == SIG_IGN || action.sa_flags & SA_NOCLDWAIT);
}

static ssize_t wait_for_any(const struct weft__request *r) {
    struct weft_signals signals = WEFT_SIGNALS_INIT;
    bool unheard = r->flags & (__WCLONE | __WALL | __WNOTHREAD); /* they may end without SIGCHLD */
    if (unheard || is_ignored(SIGCHLD) || weft_signals_begin(&signals, WEFT_SIGNAL(SIGCHLD))) return look_again(r);
    ssize_t result = wait_for_signal(r, &signals);
    weft_signals_end(&signals);
    return result;
}

ssize_t weft__children_wait(const struct weft__request *r) {
    pid_t pid = ask(r);
    if (pid || r->flags & WNOHANG) return pid;
    if (r->fd <= 0 || r->flags & ~(uint32_t)WNOHANG) return wait_for_any(r);
    int pidfd = (int)syscall(SYS_pidfd_open, r->fd, 0);
    if (pidfd < 0) return wait_for_any(r);
    ssize_t result = wait_for_end(r, pidfd);
    close(pidfd);
    return result;
}
