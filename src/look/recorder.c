/* SPDX-License-Identifier: MIT */
/*
 * weft_trace_begin, _end and _save, and the variables WEFT_TRACE and WEFT_TRACE_LAST: a process records itself.
 *
 * A thread visits the tapes as a tool in another process would (tapes.c): it writes what is new, and finds rules for
 * stacks. Workers do not wait for it. If it is too slow, events are lost and counted.
 *
 * The last events of a program that dies are written by its handler of SIGABRT, which copies the tapes by system calls
 * and allocates nothing.
 */
#define _GNU_SOURCE
#include "weft/trace.h"

#include "base/handler.h"
#include "base/message.h"
#include "base/sys.h"
#include "look/recorder.h"
#include "look/trace.h"
#include "sched/core/layers.h"
#include "sched/elastic/recording.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define WEFT_VISIT_FIRST (2 * WEFT_MILLISECOND)
#define WEFT_VISIT_SOON (100 * WEFT_MICROSECOND) /* stacks become known frame by frame */
#define WEFT_VISIT_LEAST (500 * WEFT_MICROSECOND)
#define WEFT_VISIT_MOST (20 * WEFT_MILLISECOND)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held by a begin, an end or a save */
static bool is_on;
static struct recording {
    struct weft__memory memory;
    struct weft__look look;
    struct weft__trace_writer *writer; /* the thread's */
    struct weft__trace_writer *saver;  /* writes last events; NULL: they go to a file anyway */
    pthread_t thread;
    int fd, result;
} recording;
static _Atomic uint32_t quits;
static const char *last_path; /* WEFT_TRACE_LAST; NULL: none */
static _Atomic uint32_t is_saving;
static struct sigaction before_abort;
static bool watches_abort;

/* --- last events -------------------------------------------------------------------------------------------- */

/* One save at a time. Allocates nothing. */
static int recorder_save(int fd) {
    struct weft__trace_writer *w = recording.saver;
    if (!w) return -ESRCH;
    int err =
        weft__trace_writer_begin(w, &recording.memory, (uintptr_t)&weft__recorder, &recording.look.modules, fd, true);
    if (!err) err = weft__trace_drain(w);
    int ended = weft__trace_writer_end(w);
    return err ? err : ended;
}

static void save_last(const char *why) {
    uint32_t none = 0;
    if (!cas_ar(&is_saving, &none, 1)) return; /* another thread does that */
    int fd = open(last_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int err = fd < 0 ? -errno : recorder_save(fd);
    if (fd >= 0) close(fd);
    if (err)
        weft__say("WEFT_TRACE_LAST=%s: not written: error %d", last_path, -err);
    else
        weft__say("%s: the last events are in %s", why, last_path);
    store_rel(&is_saving, 0); /* pairs with the swap above */
}

/* The abort goes on when the handler has returned. */
static void on_abort(int sig, siginfo_t *info, void *context) {
    int saved = errno;
    if (last_path && recording.saver) save_last("aborted");
    errno = saved;
    weft__handler_pass_on(&before_abort, sig, info, context);
}

static void abort_watch(void) {
    struct sigaction action = {.sa_sigaction = on_abort, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    watches_abort = !sigaction(SIGABRT, &action, &before_abort);
}

/* --- the thread --------------------------------------------------------------------------------------------- */

/* The pause until the next visit. If a tape was a quarter full, the visits become twice as frequent. */
static uint64_t pause_after(uint64_t pause, const struct weft__trace_writer *w) {
    if (w->rules) return WEFT_VISIT_SOON;
    if (w->most > WEFT_TAPE_EVENTS / 4) pause /= 2;
    if (w->most < WEFT_TAPE_EVENTS / 16) pause *= 2;
    return pause < WEFT_VISIT_LEAST ? WEFT_VISIT_LEAST : pause > WEFT_VISIT_MOST ? WEFT_VISIT_MOST : pause;
}

static void recorder_visits(struct weft__trace_writer *w) {
    uint64_t pause = WEFT_VISIT_FIRST;
    uint32_t late = load_rlx(&weft__recorder.late);
    while (!load_acq(&quits)) { /* pairs with recorder_end */
        weft__futex_wait(&quits, 0, weft__clock() + pause);
        int err = weft__trace_drain(w);
        if (err && !recording.result) recording.result = err;
        pause = pause_after(pause, w);
        if (last_path && late != load_rlx(&weft__recorder.late)) save_last("a fiber was ready for too long");
        late = load_rlx(&weft__recorder.late);
    }
}

static void *recorder_main(void *unused) {
    (void)unused;
    struct weft__trace_writer *w = recording.writer;
    recorder_visits(w);
    int err = weft__trace_drain(w);
    if (!err && w->fd >= 0) err = weft__trace_fibers(w, &recording.look, true);
    if (w->fd >= 0 && !err) err = weft__trace_writer_end(w);
    if (err && !recording.result) recording.result = err;
    return NULL;
}

/* --- begin and end -------------------------------------------------------------------------------------------- */

static void recorder_release(void) {
    struct weft__trace_writer *saver = recording.saver;
    recording.saver = NULL;
    weft__free(recording.writer);
    weft__free(saver);
    weft__look_end(&recording.look);
}

/* Runs in a separate thread, because fibers have small stacks. */
static void *recorder_prepare_main(void *unused) {
    (void)unused;
    struct recording *r = &recording;
    r->memory = weft__memory_of(getpid());
    r->look = (struct weft__look){.stacks = true};
    r->writer = weft__alloc(sizeof *r->writer);
    r->saver = r->fd < 0 ? weft__alloc(sizeof *r->saver) : NULL;
    r->result = !r->writer || (r->fd < 0 && !r->saver) ? -ENOMEM : weft__look_begin(&r->look, &r->memory);
    if (r->result) return NULL;
    r->writer->unwinder = r->look.unwinder;
    if (r->saver) r->saver->unwinder = NULL;
    r->result =
        weft__trace_writer_begin(r->writer, &r->memory, (uintptr_t)&weft__recorder, &r->look.modules, r->fd, false);
    if (!r->result && r->fd >= 0) r->result = weft__trace_fibers(r->writer, &r->look, false);
    return NULL;
}

static int recorder_begin(int fd) {
    if (is_on) return -EBUSY;
    recording.fd = fd;
    store_rlx(&quits, 0);
    int err = weft__recording_prepare();
    if (!err) err = weft__thread_create_masked(&recording.thread, recorder_prepare_main, NULL);
    if (err) return err;
    pthread_join(recording.thread, NULL);
    err = recording.result;
    if (!err) err = weft__recording_ask(true);
    if (!err && (err = weft__thread_create_masked(&recording.thread, recorder_main, NULL))) weft__recording_ask(false);
    if (err)
        recorder_release();
    else
        is_on = true;
    return err;
}

static int recorder_end(void) {
    if (!is_on) return -ESRCH;
    weft__recording_ask(false);
    store_rel(&quits, 1); /* pairs with recorder_visits */
    weft__futex_wake(&quits, 1);
    pthread_join(recording.thread, NULL);
    is_on = false;
    recorder_release();
    return recording.result;
}

WEFT_PUBLIC int weft_trace_begin(int fd) {
    if (fd != -1 && fcntl(fd, F_GETFD) < 0) return -EBADF;
    if (!load_acq(&weft__cluster.running)) return -ESRCH; /* pairs with the start */
    pthread_mutex_lock(&lock);
    int err = recorder_begin(fd);
    pthread_mutex_unlock(&lock);
    return err;
}

WEFT_PUBLIC int weft_trace_end(void) {
    pthread_mutex_lock(&lock);
    int err = recorder_end();
    pthread_mutex_unlock(&lock);
    return err;
}

WEFT_PUBLIC int weft_trace_save(int fd) {
    uint32_t none = 0;
    if (fcntl(fd, F_GETFD) < 0) return -EBADF;
    pthread_mutex_lock(&lock);
    while (!cas_ar(&is_saving, &none, 1)) none = 0, weft__cpu_yield(); /* pairs with save_last */
    int err = is_on ? recorder_save(fd) : -ESRCH;
    store_rel(&is_saving, 0); /* pairs with the swap above */
    pthread_mutex_unlock(&lock);
    return err;
}

/* --- WEFT_TRACE ------------------------------------------------------------------------------------------------- */

static int wanted_fd = -1; /* of WEFT_TRACE */

static void watch_one(const char *variable, const char *path, int flags) {
    int fd = flags ? open(path, flags, 0666) : -1;
    pthread_mutex_lock(&lock);
    int err = flags && fd < 0 ? -errno : recorder_begin(fd);
    if (!err)
        wanted_fd = fd;
    else if (fd >= 0)
        close(fd);
    pthread_mutex_unlock(&lock);
    if (err) weft__say("%s=%s: nothing is recorded: error %d", variable, path, -err);
}

void weft__trace_watch(void) {
    const char *all = getenv("WEFT_TRACE"), *last = getenv("WEFT_TRACE_LAST");
    if (all && *all)
        watch_one("WEFT_TRACE", all, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
    else if (last && *last) {
        watch_one("WEFT_TRACE_LAST", last, 0);
        last_path = is_on ? last : NULL;
        if (last_path) abort_watch();
    }
}

/* A recording that the program has not ended ends with the runtime. */
static void recorder_stopped(void) {
    pthread_mutex_lock(&lock);
    int err = is_on ? recorder_end() : 0;
    if (wanted_fd >= 0 && close(wanted_fd) && !err) err = -errno;
    if (wanted_fd >= 0 && err) weft__say("WEFT_TRACE=%s: not whole: error %d", getenv("WEFT_TRACE"), -err);
    wanted_fd = -1;
    last_path = NULL;
    if (watches_abort) weft__handler_restore(SIGABRT, on_abort, &before_abort);
    watches_abort = false;
    pthread_mutex_unlock(&lock);
}

/* In a forked child: the thread does not exist there. */
static void recorder_after_fork(void) {
    pthread_mutex_init(&lock, NULL);
    is_on = false;
    last_path = NULL;
    recording.saver = NULL;
    if (wanted_fd >= 0) close(wanted_fd);
    wanted_fd = -1;
    store_rlx(&is_saving, 0);
}
static struct weft__layer layer = {.stopped = recorder_stopped, .forked = recorder_after_fork};
__attribute__((constructor)) static void register_recorder(void) { weft__layer_add(&layer); }

/* --- the program's own events ------------------------------------------------------------------------------------- */

/* The number of the calling thread, if the caller is no fiber; otherwise 0. */
static uint64_t thread_of(uint64_t fiber) { return fiber ? 0 : (uint64_t)gettid(); }

static WEFT_NOINLINE void user_event(enum weft__happened kind, const char *name, uint64_t value) {
    uint64_t fiber = weft__record_caller();
    bool is_span = kind == WEFT_HAPPENED_SPAN_BEGIN || kind == WEFT_HAPPENED_SPAN_END;
    weft__record_slow(kind, fiber, weft__record_name(name, false), is_span ? thread_of(fiber) : value);
}

WEFT_PUBLIC void weft_span_begin(const char *name) {
    if (unlikely(weft__is_recording())) user_event(WEFT_HAPPENED_SPAN_BEGIN, name, 0);
}
WEFT_PUBLIC void weft_span_end(void) {
    if (unlikely(weft__is_recording())) user_event(WEFT_HAPPENED_SPAN_END, NULL, 0);
}
WEFT_PUBLIC void weft_instant(const char *name) {
    if (unlikely(weft__is_recording())) user_event(WEFT_HAPPENED_INSTANT, name, 0);
}
WEFT_PUBLIC void weft_count(const char *name, int64_t value) {
    if (unlikely(weft__is_recording())) user_event(WEFT_HAPPENED_COUNT, name, (uint64_t)value);
}
