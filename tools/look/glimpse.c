/* SPDX-License-Identifier: MIT */
/*
 * A glimpse of a running thread: ptrace seizes the thread, interrupts it, and detaches from it. The thread is seized
 * only for this moment, because the kernel would report each signal of a seized thread to this process first.
 *
 * A thread in an uninterruptible sleep does not stop in time, but later. So it is remembered, and detached before the
 * next glimpse. If this process ends meanwhile, the kernel detaches it.
 */
#include "target.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

enum { PATIENCE_MS = 200, LATE_MOST = 256, PAGE = 4096 };

static int late[LATE_MOST]; /* threads that are still to stop */
static unsigned n_late;

static bool get_registers(int tid, struct weft__registers *to) {
    struct user_regs_struct r;
    struct iovec v = {&r, sizeof r};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &v)) return false;
#if defined(__x86_64__)
    *to = (struct weft__registers){r.rip, r.rsp, r.rbp, r.rcx};
#else
    *to = (struct weft__registers){r.pc, r.sp, r.regs[29], r.regs[30]};
#endif
    return true;
}

/* The signal that a stopped thread is to go on with. */
static int signal_of(int status) { return status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status); }

static void let_go(int tid, int signal) { ptrace(PTRACE_DETACH, tid, NULL, (void *)(uintptr_t)signal); }

static void let_late_ones_go(void) {
    for (unsigned i = 0; i < n_late;) {
        int status, got = waitpid(late[i], &status, __WALL | WNOHANG);
        if (!got) {
            i++;
            continue;
        }
        if (got == late[i] && WIFSTOPPED(status)) let_go(late[i], signal_of(status));
        late[i] = late[--n_late];
    }
}

static bool is_late(int tid) {
    for (unsigned i = 0; i < n_late; i++)
        if (late[i] == tid) return true;
    return false;
}

/* Waits until the thread has stopped. The kernel reports that by SIGCHLD, which glimpse_thread has blocked. */
static bool wait_for_stop(int tid, int *status) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (unsigned ms = 0;; ms += 10) {
        int got = waitpid(tid, status, __WALL | WNOHANG);
        if (got == tid) return WIFSTOPPED(*status);
        if (got < 0 && errno != EINTR) return false;
        if (ms > PATIENCE_MS) break;
        if (sigtimedwait(&child, NULL, &(struct timespec){0, 10000000}) > 0 && ms) ms -= 10;
    }
    late[n_late++] = tid;
    return false;
}

/* Reads page by page, because the memory above the stack may not be readable. Returns the number of bytes. */
static size_t read_stack(pid_t pid, uint64_t sp, char *to) {
    struct iovec from[GLIMPSE_MOST / PAGE + 1];
    unsigned n = 0;
    for (size_t done = 0; done < GLIMPSE_MOST; n++) {
        size_t some = PAGE - (sp + done) % PAGE;
        if (some > GLIMPSE_MOST - done) some = GLIMPSE_MOST - done;
        from[n] = (struct iovec){(void *)(uintptr_t)(sp + done), some};
        done += some;
    }
    struct iovec all = {to, GLIMPSE_MOST};
    ssize_t got = process_vm_readv(pid, &all, 1, from, n, 0);
    return got > 0 ? (size_t)got : 0;
}

bool glimpse_thread(struct weft__memory *m, int tid, struct glimpse *g, bool (*also)(void *), void *arg) {
    static bool blocked;
    int status;
    if (!blocked) {
        sigset_t child;
        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        sigprocmask(SIG_BLOCK, &child, NULL);
        blocked = true;
    }
    let_late_ones_go();
    if (tid <= 0 || n_late == LATE_MOST || is_late(tid) || ptrace(PTRACE_SEIZE, tid, NULL, NULL)) return false;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL)) return false; /* it ends: no stop will come */
    if (!wait_for_stop(tid, &status)) return false;
    bool ok = get_registers(tid, &g->at) && (!also || also(arg));
    if (ok) g->size = read_stack(m->pid, g->at.sp, g->bytes);
    let_go(tid, signal_of(status));
    return ok;
}
