/* SPDX-License-Identifier: MIT */
/* Message queues and semaphores of System V. The kernel offers no wait for them besides these calls: see shared.h. */
#define _GNU_SOURCE
#include "threads/shared.h"

#include <sys/msg.h>
#include <sys/sem.h>

REAL(msgrcv);
REAL(msgsnd);
REAL(semop);
REAL(semtimedop);

enum { BUSY = -2 };

/* The result of an attempt with IPC_NOWAIT. */
static ssize_t sysv_result(ssize_t result, int busy) { return result < 0 && errno == busy ? BUSY : result; }

WEFT_INTERPOSED ssize_t msgrcv(int queue, void *message, size_t size, long type, int flags) {
    if (flags & IPC_NOWAIT || !weft__caller_parks()) return real(msgrcv)(queue, message, size, type, flags);
    weft__cancel_point();
    return SHARED_WAIT(WEFT_FOREVER, real(msgrcv)(queue, message, size, type, flags),
                       sysv_result(real(msgrcv)(queue, message, size, type, flags | IPC_NOWAIT), ENOMSG), BUSY);
}
WEFT_INTERPOSED int msgsnd(int queue, const void *message, size_t size, int flags) {
    if (flags & IPC_NOWAIT || !weft__caller_parks()) return real(msgsnd)(queue, message, size, flags);
    weft__cancel_point();
    return SHARED_WAIT(WEFT_FOREVER, real(msgsnd)(queue, message, size, flags),
                       (int)sysv_result(real(msgsnd)(queue, message, size, flags | IPC_NOWAIT), EAGAIN), BUSY);
}

/* Makes the operations without waiting. If the program has set IPC_NOWAIT for one of them, EAGAIN is a result for the
 * program: then they are made unchanged. */
static int semop_at_once(int set, struct sembuf *operations, size_t n) {
    enum { MOST = 64 };
    struct sembuf copies[MOST];
    if (n > MOST) return real(semop)(set, operations, n);
    for (size_t i = 0; i < n; i++) {
        copies[i] = operations[i];
        if (copies[i].sem_flg & IPC_NOWAIT) return real(semop)(set, operations, n);
        copies[i].sem_flg |= IPC_NOWAIT;
    }
    return (int)sysv_result(real(semop)(set, copies, n), EAGAIN);
}
WEFT_INTERPOSED int semtimedop(int set, struct sembuf *operations, size_t n, const struct timespec *time) {
    if (!weft__caller_parks()) return real(semtimedop)(set, operations, n, time);
    uint64_t deadline = time ? weft__time_after(time) : WEFT_FOREVER;
    int result =
        SHARED_WAIT(deadline, real(semtimedop)(set, operations, n, time), semop_at_once(set, operations, n), BUSY);
    if (result != ETIMEDOUT) return result;
    errno = EAGAIN;
    return -1;
}
WEFT_INTERPOSED int semop(int set, struct sembuf *operations, size_t n) { return semtimedop(set, operations, n, NULL); }
