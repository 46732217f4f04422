/* SPDX-License-Identifier: MIT */
/*
 * Child processes and libraries. A child starts with the mask of the thread, not that of its carrier. A thread that
 * waits for a child does not keep its worker. Libraries that are loaded later get storage in every thread. exec.c has
 * the exec functions.
 */
#define _GNU_SOURCE
#include "threads/threads.h"
#include "weft/io.h"

#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

REAL(system);
REAL(popen);
REAL(posix_spawn);
REAL(posix_spawnp);
REAL(waitpid);
REAL(wait);
REAL(wait3);
REAL(wait4);
REAL(waitid);
REAL(dlopen);
REAL(dlclose);

/* Makes a call while the kernel thread has the mask of the thread. */
#define WITH_OWN_MASK(call) \
    ({ \
        struct weft__thread *t_ = weft__thread_self(); \
        uint64_t before_ = 0; \
        if (t_) { \
            weft__thread_enter(); /* kicks do nothing then */ \
            before_ = weft__signals_set_kernel_mask(load_rlx(&t_->mask)); \
        } \
        __typeof__(call) result_ = call; \
        if (t_) { \
            weft__signals_set_kernel_mask(before_); \
            weft__thread_leave(); \
        } \
        result_; \
    })

WEFT_INTERPOSED int system(const char *command) { return WITH_OWN_MASK(real(system)(command)); }
WEFT_INTERPOSED FILE *popen(const char *command, const char *mode) { return WITH_OWN_MASK(real(popen)(command, mode)); }
WEFT_INTERPOSED int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                                const posix_spawnattr_t *attr, char *const arguments[], char *const environment[]) {
    return WITH_OWN_MASK(real(posix_spawn)(pid, path, actions, attr, arguments, environment));
}
WEFT_INTERPOSED int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                                 const posix_spawnattr_t *attr, char *const arguments[], char *const environment[]) {
    return WITH_OWN_MASK(real(posix_spawnp)(pid, file, actions, attr, arguments, environment));
}

static pid_t wait_for_child(pid_t pid, int *status, int options) {
    struct weft__interruptible i;
    pid_t result;
    for (;;) {
        weft__interrupt_begin(&i, WEFT_FOREVER);
        result = weft_waitpid(pid, status, options);
        bool again = weft__interrupt_end(&i);
        if (result >= 0 || !weft__interrupt_explain(WEFT_FOREVER, 0) || !again) return result;
    }
}
WEFT_INTERPOSED pid_t waitpid(pid_t pid, int *status, int options) {
    return weft__caller_parks() && !(options & WNOHANG) ? wait_for_child(pid, status, options)
                                                        : real(waitpid)(pid, status, options);
}
WEFT_INTERPOSED pid_t wait(int *status) {
    return weft__caller_parks() ? wait_for_child(-1, status, 0) : real(wait)(status);
}
WEFT_INTERPOSED pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage) {
    if (!weft__caller_parks() || usage || options & WNOHANG) return real(wait4)(pid, status, options, usage);
    return wait_for_child(pid, status, options);
}
WEFT_INTERPOSED pid_t wait3(int *status, int options, struct rusage *usage) {
    return wait4(-1, status, options, usage);
}
/* Asks repeatedly, with growing pauses. */
WEFT_INTERPOSED int waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
    const uint64_t most = 10 * WEFT_MILLISECOND;
    siginfo_t unwanted;
    struct weft__interruptible i;
    if (!weft__caller_parks() || options & WNOHANG) return real(waitid)(type, id, info, options);
    if (!info) info = &unwanted;
    for (uint64_t pause = 100 * WEFT_MICROSECOND;; pause = pause < most / 2 ? 2 * pause : most) {
        info->si_pid = 0;
        if (real(waitid)(type, id, info, options | WNOHANG) || info->si_pid) return info->si_pid ? 0 : -1;
        weft__interrupt_begin(&i, WEFT_FOREVER);
        int err = weft_sleep_for(pause);
        if (err) errno = -err;
        bool again = weft__interrupt_end(&i);
        if (err && (!weft__interrupt_explain(WEFT_FOREVER, 0) || !again)) return -1;
    }
}

/* dlopen finds its caller by the return address, and uses the caller's search path. Here the caller is this library. */
WEFT_INTERPOSED void *dlopen(const char *path, int mode) {
    void *handle = real(dlopen)(path, mode);
    if (handle && (load_rlx(&weft__threads_on) || weft__posix)) weft__libc_heed_libraries(true);
    return handle;
}
WEFT_INTERPOSED int dlclose(void *handle) {
    int result = real(dlclose)(handle);
    if (load_rlx(&weft__threads_on) || weft__posix) weft__libc_heed_libraries(true);
    return result;
}
