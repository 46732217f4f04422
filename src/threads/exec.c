/* SPDX-License-Identifier: MIT */
/*
 * The exec functions, which replace this program by another. The new program inherits the mask of the thread, and the
 * pending signals of its kernel thread. No kick may be pending then, because it would end the new program:
 *
 *   exec                                        a thread that kicks
 *   1. stops kicks (weft__kick_stop); fence     1. adds itself to the count of kickers; fence
 *   2. waits until the count of kickers is 0    2. kicks, unless kicks are stopped
 *   3. sets the mask: a pending kick arrives    3. removes itself from the count
 */
#define _GNU_SOURCE
#include "threads/kick.h"
#include "threads/threads.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

REAL(execve);
REAL(execv);
REAL(execvp);
REAL(execvpe);
REAL(fexecve);
REAL(execveat);

/* exec functions return only if they fail. */
#define IN_PLACE(call) \
    ({ \
        struct weft__thread *t_ = weft__thread_self(); \
        uint64_t before_ = 0; \
        if (t_) { \
            weft__thread_enter(); \
            weft__kick_stop(); \
            before_ = weft__signals_set_kernel_mask(load_rlx(&t_->mask)); \
        } \
        int result_ = call, err_ = errno; \
        if (t_) { \
            weft__signals_set_kernel_mask(before_); \
            weft__kick_go_on(); \
            weft__thread_leave(); \
        } \
        errno = err_; \
        result_; \
    })

WEFT_INTERPOSED int execve(const char *path, char *const arguments[], char *const environment[]) {
    return IN_PLACE(real(execve)(path, arguments, environment));
}
WEFT_INTERPOSED int execv(const char *path, char *const arguments[]) { return IN_PLACE(real(execv)(path, arguments)); }
WEFT_INTERPOSED int execvp(const char *file, char *const arguments[]) {
    return IN_PLACE(real(execvp)(file, arguments));
}
WEFT_INTERPOSED int execvpe(const char *file, char *const arguments[], char *const environment[]) {
    return IN_PLACE(real(execvpe)(file, arguments, environment));
}
WEFT_INTERPOSED int fexecve(int fd, char *const arguments[], char *const environment[]) {
    return IN_PLACE(real(fexecve)(fd, arguments, environment));
}
WEFT_INTERPOSED int execveat(int fd, const char *path, char *const arguments[], char *const environment[], int flags) {
    return IN_PLACE(real(execveat)(fd, path, arguments, environment, flags));
}

/* The forms with a list: the arguments after the first, up to NULL, as an array on the stack. */
#define LISTED(first, last, call) \
    va_list list_; \
    size_t n_ = 1; \
    va_start(list_, first); \
    while (va_arg(list_, char *)) n_++; \
    va_end(list_); \
    char *arguments_[n_ + 1]; \
    arguments_[0] = (char *)(uintptr_t)(first); \
    va_start(list_, first); \
    for (size_t i_ = 1; i_ <= n_; i_++) arguments_[i_] = va_arg(list_, char *); \
    last; \
    va_end(list_); \
    return call

WEFT_INTERPOSED int execl(const char *path, const char *first, ...) { LISTED(first, , execv(path, arguments_)); }
WEFT_INTERPOSED int execlp(const char *file, const char *first, ...) { LISTED(first, , execvp(file, arguments_)); }
WEFT_INTERPOSED int execle(const char *path, const char *first, ...) {
    LISTED(first, char *const *environment = va_arg(list_, char *const *), execve(path, arguments_, environment));
}
