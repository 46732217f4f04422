/* SPDX-License-Identifier: MIT */
/*
 * Kernel threads: creates them, and counts the threads that belong to the program. See sys.h.
 *
 * The program's threads are all threads that the kernel counts, minus weft's own threads and minus the kernel's helper
 * threads for io_uring, which run no code of the process. A thread of weft increments `counted` after the kernel counts
 * it, and `discounted` before the kernel forgets it. So the difference is never too low, if `discounted` did not change
 * while the kernel was asked.
 */
#define _GNU_SOURCE
#include "base/sanitizer.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- creation ---------------------------------------------------------------------------------------- */

static cpu_set_t anywhere;
static bool is_known;
static _Atomic bool bind;

void weft__threads_begin(void) {
    is_known = !sched_getaffinity(0, sizeof anywhere, &anywhere);
    store_rlx(&bind, false);
}

void weft__threads_bind(void) { store_rlx(&bind, true); }

struct start {
    void *(*fn)(void *);
    void *arg;
};

static void *base_thread_main(void *p) {
    struct start start = *(struct start *)p;
    weft__free(p);
    weft__thread_set_foreign(false);
    void *result = start.fn(start.arg);
    weft__thread_set_foreign(true);
    return result;
}

int weft__thread_create(pthread_t *thread, void *(*fn)(void *), void *arg) {
    pthread_attr_t attr;
    if (weft__fault_is_due()) return -EAGAIN;
    struct start *start = weft__alloc(sizeof *start);
    if (!start) return -ENOMEM;
    *start = (struct start){fn, arg};
    int err = pthread_attr_init(&attr);
    if (!err) {
        if (is_known && load_rlx(&bind)) pthread_attr_setaffinity_np(&attr, sizeof anywhere, &anywhere);
        err = pthread_create(thread, &attr, base_thread_main, start);
        if (err == EINVAL)
            err = pthread_create(thread, NULL, base_thread_main, start); /* these CPUs are no longer allowed */
        pthread_attr_destroy(&attr);
    }
    if (err) weft__free(start);
    return -err;
}

int weft__thread_create_masked(pthread_t *thread, void *(*fn)(void *), void *arg) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = weft__thread_create(thread, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}

/* struct sched_attr, as far as it is needed; the C library has no definition. */
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

void weft__thread_set_slice(uint64_t nanoseconds) {
    struct scheduling s = {.size = sizeof s};
    if (syscall(SYS_sched_getattr, 0, &s, sizeof s, 0) || s.policy != SCHED_OTHER) return;
    s.runtime = nanoseconds;
    syscall(SYS_sched_setattr, 0, &s, 0); /* a hint: errors do not matter */
}

/* --- counting ------------------------------------------------------------------------------------- */

static _Atomic uint64_t counted, discounted;
static bool forked;

void weft__thread_set_foreign(bool lent) { add_ar(lent ? &discounted : &counted, 1); }

void weft__threads_after_fork(void) {
    store_rlx(&counted, 0);
    store_rlx(&discounted, 0);
    forked = true;
}

/* A field after the name, by its number in proc(5). The name may contain any character and ends at the last ')'. 0:
 * unknown. */
static unsigned long field_of(const char *stat, int number) {
    enum { NAME = 2 };
    char text[512];
    int fd = open(stat, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *p = strrchr(text, ')');
    for (int i = NAME; p && i < number; i++) p = strchr(p + 1, ' ');
    return p ? strtoul(p, NULL, 10) : 0;
}

static unsigned threads_in_kernel(void) {
    enum { THREADS = 20 };
    return (unsigned)field_of("/proc/self/stat", THREADS);
}

static bool serves_io_uring(const char *tid) {
    enum { FLAGS = 9, IO_WORKER = 0x10 };
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%.16s/stat", tid);
    return field_of(path, FLAGS) & IO_WORKER;
}

/* How many of the process's `all` threads serve io_uring. UINT_MAX: threads have begun or ended meanwhile, and the list
 * may lack some. */
static unsigned io_workers(unsigned all) {
    unsigned listed = 0, workers = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) return UINT_MAX;
    for (struct dirent *task; (task = readdir(tasks));) {
        if (task->d_name[0] == '.') continue;
        listed++;
        workers += serves_io_uring(task->d_name);
    }
    closedir(tasks);
    return listed == all && threads_in_kernel() == all ? workers : UINT_MAX;
}

unsigned weft__threads_count_foreign(void) {
    uint64_t ended, ours;
    unsigned all, workers = 0;
    do {
        ended = load_acq(&discounted); /* pairs with weft__thread_set_foreign, as below */
        ours = load_acq(&counted) - ended + san_threads(forked);
        all = threads_in_kernel();
        if (all > ours + 1) workers = io_workers(all);
        fence_sc(); /* pairs with the end of a thread: discounted before the kernel forgets it */
    } while (load_acq(&discounted) != ended);
    if (!all || workers == UINT_MAX) return UINT_MAX;
    ours += workers;
    return all > ours ? all - (unsigned)ours : 1;
}
