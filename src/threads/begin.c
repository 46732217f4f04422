/* SPDX-License-Identifier: MIT */
/*
 * The start. Nothing happens until the program creates a thread. Then the calling thread becomes a fiber in the middle
 * of the call, with its stack and its storage, and its kernel thread becomes the receiver of signals:
 *
 *   the first thread            its kernel thread                          a fiber, on a carrier
 *   1. starts the runtime
 *   2. switches to the
 *      receiver's stack
 *                               3. takes storage of its own
 *                               4. spawns the fiber
 *                               5. waits for signals, for ever             6. enters the first thread's storage
 *                                                                          7. switches to its stack
 *   8. goes on, as a fiber
 *
 * The same happens in a forked child that creates threads. There the thread that forked is the first thread.
 */
#define _GNU_SOURCE
#include "arch/switch.h"
#include "arch/thread_pointer.h"
#include "base/message.h"
#include "sched/dispatch/own_tls.h"
#include "sched/elastic/resize.h"
#include "threads/caught.h"
#include "threads/descriptors.h"
#include "threads/kick.h"
#include "threads/shared.h"
#include "threads/threads.h"

#include <errno.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int main_function(int, char **, char **);
extern int __wrap___libc_start_main(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                                    void *);
int __libc_start_main(main_function *program, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack_end);
REAL(fork);
REAL(daemon);
REAL(forkpty);

_Atomic bool weft__threads_on;
uint32_t weft__threads_forks;
void *weft__threads_first_block, *weft__threads_receiver_block;

static struct weft__context first_context, receiver_context, fiber_context;
static struct weft__thread *first;
static bool refused;

/* --- the receiver --------------------------------------------------------------------------------------- */

static void *first_main(void *unused) {
    first->fiber = weft_self();
    weft__first_thread = (struct weft__first_thread){first->owner_name, first->fiber.id};
    weft__signals_add(first);
    weft__own_tls_enter(first->block);
    weft__switch(&fiber_context, &first_context, NULL); /* comes back when the first thread ends by pthread_exit */
    struct weft__thread *t = first;
    weft__signals_remove(t);
    weft__own_tls_leave();
    weft__thread_announce(t);
    return unused;
}

static _Noreturn void receive_signals(void *unused) {
    (void)unused;
    weft__thread_pointer_set(weft__threads_receiver_block);
    struct weft_attr attr = {.detached = 1, .name = "main"};
    int err = weft_spawn_at(NULL, &attr, first_main, NULL, "main");
    if (err) weft__die("the first thread cannot become a fiber: error %d", -err);
    for (;;) {
        siginfo_t info;
        uint64_t set = ~WEFT_FAULT_SIGNALS;
        long signal = __wrap_syscall(SYS_rt_sigtimedwait, &set, &info, NULL, sizeof set);
        if (signal > 0) weft__signals_dispatch((int)signal, &info);
    }
}

/* --- the first thread ------------------------------------------------------------------------------------ */

static bool prepare_receiver(void) {
    enum { STACK = 256 << 10 };
    void *stack;
    if (!(weft__threads_receiver_block = weft__block_get()) || weft__pages_map(&stack, STACK)) return false;
    receiver_context.pc = (void *)(uintptr_t)receive_signals;
    receiver_context.sp = (char *)stack + STACK - 64;
#if defined(__x86_64__)
    receiver_context.sp = (char *)receiver_context.sp - 8; /* as after a call */
#endif
    return true;
}

static bool refuse_program(const char *why) {
    refused = true;
    weft__say("this program runs with kernel threads: %s", why);
    return false;
}

static bool start_runtime(uint64_t mask) {
    const char *why;
    struct weft_config config = {.no_deadlock = 1};
    if (refused || weft__posix) return false;
    if (!weft__libc_read(&why)) return refuse_program(why);
    weft__libc_heed_libraries(false);
    if (!prepare_receiver()) return refuse_program("no memory");
    weft__signals_set_kernel_mask(~WEFT_FAULT_SIGNALS); /* carriers inherit it */
    weft__kick_begin();
    weft__spares_most = WEFT_WORKERS_MAX;
    if (!weft_start(&config)) return true;
    weft__signals_set_kernel_mask(mask);
    return refuse_program("the runtime cannot start");
}

/* Takes over the signals that are pending in the kernel for the only thread. Signals that were sent to the thread
 * become pending in its record. Returns the signals that were sent to the process. */
static uint64_t take_pending(uint64_t mask) {
    struct timespec none = {0, 0};
    uint64_t set = mask & ~WEFT_FAULT_SIGNALS, for_process = 0;
    siginfo_t info;
    for (long signal; (signal = __wrap_syscall(SYS_rt_sigtimedwait, &set, &info, &none, sizeof set)) > 0;)
        if (info.si_code == SI_TKILL)
            atomic_fetch_or(&first->pending, WEFT_BIT(signal));
        else
            for_process |= WEFT_BIT(signal);
    return for_process;
}

static WEFT_SWITCHES void become_fiber(void) { weft__switch(&first_context, &receiver_context, NULL); }

static bool begin_fibers(void) {
    uint64_t mask = 0;
    __wrap_syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof mask);
    if (!start_runtime(mask)) return false;
    uintptr_t name = weft__caller(); /* it keeps its name, because it may hold locks */
    first = &weft__thread;
    *first =
        (struct weft__thread){.is_first = true, .inside = 1, .owner_name = name, .alternate = {.ss_flags = SS_DISABLE}};
    first->block = weft__threads_first_block = weft__thread_pointer();
    first->result = PTHREAD_CANCELED;
    store_rlx(&first->mask, mask & ~WEFT_FAULT_SIGNALS);
    store_rlx(&first->state, WEFT_THREAD_JOINABLE);
    strcpy(first->name, "main");
    struct sched_param param;
    if (!sched_getparam(0, &param)) first->priority = param.sched_priority;
    first->policy = sched_getscheduler(0);
    weft__rseq_leave(weft__thread_pointer()); /* otherwise the kernel would store the receiver's CPU there */
    weft__setxid_begin();
    uint64_t pending = take_pending(mask);
    store_rlx(&weft__threads_on, true);
    become_fiber();
    for (; pending; pending &= pending - 1) weft__signals_dispatch(__builtin_ctzll(pending) + 1, NULL);
    weft__thread_leave();
    weft__signals_recheck(first); /* signals may have come before the fiber was in the list of threads */
    return true;
}

/* Threads that the C library has made, for timers, may create threads at the same time. */
bool weft__threads_begin_fibers(void) {
    static struct weft__lock lock;
    weft__lock(&lock);
    bool on = load_rlx(&weft__threads_on) || begin_fibers();
    weft__unlock(&lock);
    return on;
}

_Noreturn void weft__threads_end_first(void) { weft__switch_away(&fiber_context, NULL); }

/* --- main -------------------------------------------------------------------------------------------------- */

static main_function *program_main;

/* Runs the program's main, and catches pthread_exit before the C library's caller of main ends the kernel thread. */
static int run_main(int argc, char **argv, char **environment) {
    __pthread_unwind_buf_t buffer;
    memset(&buffer, 0, sizeof buffer);
    if (!weft__caught(&buffer)) {
        weft__caught_begin(&buffer);
        int result = program_main(argc, argv, environment);
        weft__caught_end(&buffer);
        return result;
    }
    struct weft__thread *t = weft__thread_self();
    if (!t) exit(0); /* the only thread */
    weft__thread_finish(t);
    if (!load_rlx(&weft__threads_on)) exit(0); /* a forked child */
    t->inside = 1;
    weft__threads_end_first();
}

WEFT_INTERPOSED int __libc_start_main(main_function *program, int argc, char **argv, void (*init)(void),
                                      void (*fini)(void), void (*loader_fini)(void), void *stack_end) {
    program_main = program;
    return __wrap___libc_start_main(run_main, argc, argv, init, fini, loader_fini, stack_end);
}

/* --- fork ---------------------------------------------------------------------------------------------------- */

/* In a forked child the caller is the only thread, and no fiber: it uses its own mask, and no thread waits. */
static void begin_in_child(void) {
    struct weft__thread *t = weft__thread_self();
    weft__threads_forks++;
    if (!t) return;
    uint64_t mask = load_rlx(&t->mask);
    store_rlx(&weft__threads_on, false);
    store_rlx(&t->state, WEFT_THREAD_NONE);
    store_rlx(&t->pending, 0);
    t->inside = 0;
    weft__lot_after_fork();
    weft__shared_after_fork();
    weft__signals_after_fork();
    weft__kick_after_fork();
    weft__threads_live_after_fork();
    weft__signals_set_kernel_mask(mask);
}

/* Calls that return 0 in a child. */
#define FORK(call) \
    ({ \
        weft__thread_enter(); \
        weft__descriptors_share(); \
        int result_ = call; \
        if (!result_) \
            begin_in_child(); \
        else \
            weft__thread_leave(); \
        result_; \
    })

WEFT_INTERPOSED pid_t fork(void) { return FORK(real(fork)()); }
/* A copy of the process, as by fork. With its parent's memory, the child would change the record of the thread. */
WEFT_INTERPOSED pid_t vfork(void) { return fork(); }
WEFT_INTERPOSED int daemon(int stays, int keeps) { return FORK(real(daemon)(stays, keeps)); }
WEFT_INTERPOSED int forkpty(int *terminal, char *name, const struct termios *mode, const struct winsize *size) {
    return FORK(real(forkpty)(terminal, name, mode, size));
}
