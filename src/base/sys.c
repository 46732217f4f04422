/* SPDX-License-Identifier: MIT */
/*
 * See sys.h. Only this file calls the kernel for memory, sleep and time; threads.c does so for threads.
 */
#define _GNU_SOURCE
#include "base/sys.h"

#include "base/message.h"
#include "base/sanitizer.h"

#include "weft.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Newer than the headers of the oldest supported systems. */
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#ifdef WEFT_FAULTS
_Atomic long weft__fault_countdown = -1;
bool weft__fault_is_due(void) {
    long n = load_rlx(&weft__fault_countdown);
    return n == WEFT_FAULT_ALL || (n > 0 && add_ar(&weft__fault_countdown, -1) == 1);
}
#endif

void *weft__alloc(size_t bytes) { return weft__fault_is_due() ? NULL : calloc(1, bytes); }

void *weft__alloc_aligned(size_t alignment, size_t bytes) {
    bytes = weft__round_up(bytes, alignment);
    void *p = weft__fault_is_due() ? NULL : aligned_alloc(alignment, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

void weft__free(void *memory) { free(memory); }

int weft__pages_map(void **out, size_t bytes) {
    if (weft__fault_is_due()) return -ENOMEM;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return -errno;
    madvise(p, bytes, MADV_NOHUGEPAGE);
    *out = p;
    return 0;
}

void weft__pages_unmap(void *memory, size_t bytes) { munmap(memory, bytes); }

/* One call for many ranges if the kernel has such a call, else one call for each range. */
static int give_advice(const struct weft__range *ranges, size_t n, int advice) {
    enum { BATCH = 32 };
    /* valgrind knows neither call, and would print five lines about each */
    int self = n > 1 && !san_on_valgrind() ? (int)syscall(SYS_pidfd_open, getpid(), 0) : -1;
    int err = 0;
    size_t i = 0;
    while (self >= 0 && i < n) {
        struct iovec iov[BATCH];
        size_t k = 0, bytes = 0;
        for (; k < BATCH && i + k < n; k++) {
            iov[k] = (struct iovec){ranges[i + k].start, ranges[i + k].bytes};
            bytes += ranges[i + k].bytes;
        }
        if (syscall(SYS_process_madvise, self, iov, k, advice, 0) != (ssize_t)bytes) break;
        i += k;
    }
    if (self >= 0) close(self);
    for (; i < n && !err; i++)
        if (madvise(ranges[i].start, ranges[i].bytes, advice)) err = -errno;
    return err;
}

int weft__pages_guard(const struct weft__range *ranges, size_t n) {
    enum { NO_SUCH_ADVICE = 0x7fff };
    if (weft__fault_is_due()) return -ENOMEM;
    /* Some emulators accept every advice and follow none, so a success proves nothing there. */
    if (!madvise(ranges[0].start, WEFT_PAGE, NO_SUCH_ADVICE)) return -EINVAL;
    return give_advice(ranges, n, MADV_GUARD_INSTALL);
}

int weft__pages_protect(const struct weft__range *range) {
    if (weft__fault_is_due()) return -ENOMEM;
    return mprotect(range->start, range->bytes, PROT_NONE) ? -errno : 0;
}

int weft__pages_discard(const struct weft__range *ranges, size_t n) { return give_advice(ranges, n, MADV_DONTNEED); }

unsigned long weft__mappings_limit(void) {
    char text[32];
    ssize_t n = -1;
    int fd = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, text, sizeof text - 1);
        close(fd);
    }
    text[n > 0 ? n : 0] = 0;
    unsigned long most = strtoul(text, NULL, 10);
    return most ? most : 65530; /* the kernel's default */
}

int weft__pages_resident(const struct weft__range *range, unsigned char *pages) {
    return mincore(range->start, range->bytes, pages) ? -errno : 0;
}

static int syscall_result(int r) { return r < 0 ? -errno : r; }

int weft__epoll_create(void) { return weft__fault_is_due() ? -ENOMEM : syscall_result(epoll_create1(EPOLL_CLOEXEC)); }
int weft__eventfd(void) {
    return weft__fault_is_due() ? -ENOMEM : syscall_result(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}
void weft__eventfd_notify(int fd) {
    const uint64_t one = 1;
    ssize_t ignored =
        write(fd, &one, sizeof one); /* fails only if the counter is full: then a wake-up is pending already */
    (void)ignored;
}
int weft__pipe(int ends[2]) {
    return weft__fault_is_due() ? -ENOMEM : syscall_result(pipe2(ends, O_CLOEXEC | O_NONBLOCK));
}

int weft__futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline) {
    struct timespec at, *until = NULL;
    if (deadline != WEFT_FOREVER) {
        at.tv_sec = (time_t)(deadline / WEFT_SECOND);
        at.tv_nsec = (long)(deadline % WEFT_SECOND);
        until = &at;
    }
    long r =
        syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value, until, NULL, FUTEX_BITSET_MATCH_ANY);
    return r < 0 && errno == ETIMEDOUT ? -ETIMEDOUT : 0;
}

void weft__futex_wake(_Atomic uint32_t *word, int threads) {
    syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, threads, NULL, NULL, 0);
}

/*
 * Fences are made by the kernel (membarrier), or are symmetric. If the kernel refuses membarrier after it worked:
 *
 *   1. weft__fence_is_symmetric becomes true, and a full fence makes that visible. Light sides that start later
 *      execute a fence.
 *   2. The heavy side waits for WEFT_BUFFERS_DRAIN. A light side that started earlier has stored its word by then: a
 *      store stays in a processor's buffer for less than a microsecond, and a thread that loses its processor
 *      executes a full fence in the kernel.
 *   3. The state becomes SYMMETRIC: later heavy sides need not wait.
 *
 * Rejected ways to make all threads execute a fence: mprotect interrupts no other processor on aarch64, nor on x86-64
 * with broadcast invalidation. A signal to each thread needs a signal number, and those belong to the program. Moving
 * through all CPUs by affinity misses the CPUs that the caller may not use. A seccomp filter may forbid all of them
 * together with membarrier.
 */
#define WEFT_BUFFERS_DRAIN (10 * WEFT_MILLISECOND)
enum { BY_KERNEL, REFUSED, SYMMETRIC };
static _Atomic uint8_t fences = SYMMETRIC;
_Atomic bool weft__fence_is_symmetric = true;

static int call_membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0) ? -errno : 0; }

void weft__fence_init(void) {
    if (load_rlx(&fences) == BY_KERNEL || call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) ||
        call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        return;
    store_rlx(&fences, BY_KERNEL);
    store_rlx(&weft__fence_is_symmetric, false);
}

void weft__fence_after_fork(void) {
    store_rlx(&fences, SYMMETRIC);
    store_rlx(&weft__fence_is_symmetric, true);
}

/* The slower command also works if the kernel has no memory for the faster command. */
static bool fence_by_kernel(void) {
    int err = call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    if (likely(!err) || !call_membarrier(MEMBARRIER_CMD_GLOBAL)) return true;
    store_rlx(&weft__fence_is_symmetric, true);
    fence_sc(); /* step 1: before any thread learns of the refusal and waits */
    uint8_t before = BY_KERNEL;
    if (cas_ar(&fences, &before, REFUSED)) /* pairs with weft__fence_heavy */
        weft__say("membarrier is refused, which worked before (%s): weft goes on without it", weft__error_text(err));
    return false;
}

static void wait_for_buffers(void) {
    uint64_t now, until = weft__clock() + WEFT_BUFFERS_DRAIN;
    while ((now = weft__clock()) < until) weft__nap(until - now); /* a signal may end the nap early */
}

/* False: the kernel refused, step 1 is done and the wait of step 2 is over. */
static bool fence_all(void) {
    fence_sc();
    if (load_rlx(&fences) == BY_KERNEL && fence_by_kernel()) return true;
    wait_for_buffers();
    return false;
}

void weft__fence_all(void) { fence_all(); }

void weft__fence_heavy(void) {
    fence_sc();
    if (load_acq(&fences) == SYMMETRIC) return;                                  /* pairs with step 3 */
    if (unlikely(!fence_all())) cas_ar(&fences, &(uint8_t){REFUSED}, SYMMETRIC); /* step 3 */
}

uint64_t weft__clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * WEFT_SECOND + (uint64_t)t.tv_nsec;
}

void weft__cpu_yield(void) { sched_yield(); }

void weft__nap(uint64_t nanoseconds) {
    struct timespec t = {(time_t)(nanoseconds / WEFT_SECOND), (long)(nanoseconds % WEFT_SECOND)};
    nanosleep(&t, NULL);
}
