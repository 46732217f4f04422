/* SPDX-License-Identifier: MIT */
/* A signal handler that is installed in front of another handler. Needs _GNU_SOURCE. */
#ifndef WEFT_BASE_HANDLER_H
#define WEFT_BASE_HANDLER_H

#include "base/base.h"

#include <signal.h>

/* Calls the previous handler. False: there was no handler; the signal was ignored or had its default action. */
static inline bool weft__handler_pass_on(const struct sigaction *before, int sig, siginfo_t *info, void *context) {
    if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction(sig, info, context);
    else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)
        before->sa_handler(sig);
    else
        return false;
    return true;
}

/* Restores the previous handler. False: another handler was installed in front of `ours` meanwhile. That handler may
 * call `ours`, so `ours` must stay valid. */
static inline bool weft__handler_restore(int sig, void (*ours)(int, siginfo_t *, void *),
                                         const struct sigaction *before) {
    struct sigaction now;
    return !sigaction(sig, NULL, &now) && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == ours &&
           !sigaction(sig, before, NULL);
}

#endif
