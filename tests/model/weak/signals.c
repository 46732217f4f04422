/* SPDX-License-Identifier: MIT */
/*
 * Explores signals that fibers wait for, the real io/signals.c: handlers that write into a pipe which has room for one,
 * the service that reads, and an end of the subscription meanwhile. Each signal is delivered, or none is subscribed; no
 * handler uses a pipe that was closed.
 */
#include "workers.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* The kernel's side: a pipe for one record. */
static ssize_t pipe_write(int fd, const void *data, size_t n);
static ssize_t pipe_read(int fd, void *data, size_t n);
static int pipe_close(int fd);
static int own_pid(void);
static int lock_mutex(pthread_mutex_t *m);
static int unlock_mutex(pthread_mutex_t *m);
#define write(fd, data, n) pipe_write(fd, data, n)
#define read(fd, data, n) pipe_read(fd, data, n)
#define close(fd) pipe_close(fd)
#define getpid own_pid
#define pthread_mutex_lock lock_mutex
#define pthread_mutex_unlock unlock_mutex
#include "io/signals.c"
#undef write
#undef read
#undef close

enum { SERVICE, FIRST, SECOND };

static struct {
    struct weft__lock kernel, mutex;
    _Atomic uint32_t full;
    struct weft_signal in_pipe;
    uint8_t is_closed;
    struct weft_signals subscription;
    struct weft_signal kept[2];
    uint8_t ends, begins;
    uint8_t asked, noted; /* the first handler has seen a pipe; and used it */
} s;

/* --- what is underneath ---------------------------------------------------------------------------------- */

static int lock_mutex(pthread_mutex_t *m) { return (void)m, weft__lock(&s.mutex), 0; }
static int unlock_mutex(pthread_mutex_t *m) { return (void)m, weft__unlock(&s.mutex), 0; }

static GHOST int own_pid(void) {
    if (current == FIRST) s.asked = true;
    return 1;
}
int weft__pipe(int ends[2]) { return ends[0] = 3, ends[1] = 4, 0; }
int weft__poll_thread_watch(int fd, void (*fn)(void)) { return (void)fd, (void)fn, 0; }

static GHOST bool is_closed(void) { return s.is_closed; }
static ssize_t pipe_write(int fd, const void *data, size_t n) {
    (void)fd;
    claim(!is_closed(), "a pipe is written to that was closed");
    weft__lock(&s.kernel);
    bool full = load_rlx(&s.full);
    if (!full) {
        s.in_pipe = *(const struct weft_signal *)data;
        store_rlx(&s.full, 1);
    }
    weft__unlock(&s.kernel);
    if (!full) weak_futex_wake(&s.full);
    return full ? -1 : (ssize_t)n;
}
static ssize_t pipe_read(int fd, void *data, size_t n) {
    (void)fd;
    weft__lock(&s.kernel);
    bool full = load_rlx(&s.full);
    if (full) {
        *(struct weft_signal *)data = s.in_pipe;
        store_rlx(&s.full, 0);
    }
    weft__unlock(&s.kernel);
    return full ? (ssize_t)n : -1;
}
static GHOST int pipe_close(int fd) { return (void)fd, s.is_closed = true, 0; }
void weft__make_all_ready(struct weft__list *won) { (void)won; }
void weft__poll_thread_set_signals(uint64_t signals) { (void)signals; }
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

/* --- what the threads do ----------------------------------------------------------------------------------- */

void run_thread(unsigned t) {
    siginfo_t info = {0};
    if (t == FIRST) s.noted = signals_note(SIGUSR1, &info);
    if (t == SECOND && s.begins) open_pipe();
    if (t == SECOND && !s.ends && !s.begins) signals_note(SIGUSR2, &info);
    if (t == SECOND && s.ends) {
        struct weft__list won = {NULL, NULL};
        lock_mutex(&change);
        signals_forget(&s.subscription, &won);
        unlock_mutex(&change);
    }
    if (t == SERVICE && !s.ends && !s.begins)
        for (;;) {
            if (load_acq(&s.full))
                deliver_signals();
            else
                weak_futex_wait(&s.full, 0, false); /* epoll_wait: until it is readable */
        }
}

/* --- scenes -------------------------------------------------------------------------------------------------- */

static void set_up(void) {
    set_up_workers(1);
    s.subscription = (struct weft_signals){.kept = s.kept, .set = WEFT_SIGNAL(SIGUSR1) | WEFT_SIGNAL(SIGUSR2)};
    subscriptions = &s.subscription;
    source = 3;
    store_rlx(&sink, 4);
    store_rlx(&owner, 1);
}
static void set_up_end(void) {
    set_up();
    s.ends = true;
}
/* The handler is in place already, of a subscription before. */
static void set_up_begin(void) {
    set_up();
    source = -1;
    store_rlx(&sink, -1);
    store_rlx(&owner, 0);
    s.begins = true;
}
static void is_ours(void) { claim(s.noted || !s.asked, "a handler sees a pipe, and does not know whose it is"); }
static void all_delivered(void) {
    claim(!weak_goes_on(FIRST) && !weak_goes_on(SECOND), "a handler does not return");
    claim(s.subscription.pending == s.subscription.set, "a signal is lost");
}
static void none_late(void) {
    for (unsigned t = 0; t < 3; t++) claim(!weak_goes_on(t), "waits for ever");
    claim(is_closed(), "not closed");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"signals, two of them, room for one", 3, set_up, all_delivered}) &&
           weak_explore(&(struct weak_scene){"signals, a subscription begins", 3, set_up_begin, is_ours}) &&
           weak_explore(&(struct weak_scene){"signals, the end of a subscription", 3, set_up_end, none_late});
}

int main(int argc, char **argv) {
    weak_share(&s, sizeof s);
    weak_share(&subscriptions, sizeof subscriptions);
    weak_share(&lock, sizeof lock);
    weak_share(&source, sizeof source);
    weak_share((void *)&sink, sizeof sink);
    weak_share((void *)&inside, sizeof inside);
    weak_share((void *)&missed, sizeof missed);
    weak_share((void *)&owner, sizeof owner);
    return weak_main(argc, argv, all_scenes);
}
