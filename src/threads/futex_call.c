/* SPDX-License-Identifier: MIT */
/*
 * syscall(2), for programs and libraries that use futexes themselves, such as Rust's standard library. Waits for
 * private futexes use the lot.
 */
#define _GNU_SOURCE
#include "threads/threads.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

static long futex_fail(int err) {
    errno = err;
    return -1;
}

static long futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline) {
    if (load_acq(word) != value) return futex_fail(EAGAIN); /* pairs with the program's store */
    int err = weft__lot_wait(word, value, deadline, WEFT_LOT_SIGNAL, weft__lot_for(WEFT_WAITS_FUTEX, word));
    return err ? futex_fail(err) : 0;
}

/* Makes a futex call. False: the kernel must make it. */
static bool futex_call(const long *a, long *result) {
    _Atomic uint32_t *word = (_Atomic uint32_t *)a[0]; /* arguments of a system call */
    int operation = (int)a[1] & FUTEX_CMD_MASK;
    const struct timespec *time = (const struct timespec *)a[3];
    clockid_t clock = a[1] & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    if (!(a[1] & FUTEX_PRIVATE_FLAG)) return false;
    switch (operation) {
    case FUTEX_WAIT:
        *result = futex_wait(word, (uint32_t)a[2], time ? weft__time_after(time) : WEFT_FOREVER);
        return true;
    case FUTEX_WAIT_BITSET:
        *result = futex_wait(word, (uint32_t)a[2], time ? weft__time_deadline(time, clock) : WEFT_FOREVER);
        return true;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: *result = weft__lot_wake(word, (int)a[2]); return true;
    case FUTEX_CMP_REQUEUE:
        if (load_acq(word) != (uint32_t)a[5]) {
            *result = futex_fail(EAGAIN);
            return true;
        }
        /* fall through */
    case FUTEX_REQUEUE: *result = weft__lot_requeue(word, (int)a[2], (_Atomic uint32_t *)a[4], (int)a[3]); return true;
    default: return false;
    }
}

WEFT_INTERPOSED long syscall(long number, ...) {
    va_list list;
    long a[6], result;
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_futex && (load_rlx(&weft__threads_on) || weft__posix) && futex_call(a, &result)) return result;
    if (number == SYS_gettid && weft__thread_self()) return gettid();
    return __wrap_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Returns the number in the thread's descriptor. No kernel thread has this number, except that of the first thread. */
WEFT_INTERPOSED pid_t gettid(void) {
    struct weft__thread *t = weft__thread_self();
    if (!t) return (pid_t)__wrap_syscall(SYS_gettid);
    return *(const pid_t *)(const void *)((const char *)weft__block_descriptor(t->block) + weft__libc_read(NULL)->tid);
}
