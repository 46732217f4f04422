/* SPDX-License-Identifier: MIT */
/*
 * Explores the lot, in which threads of an unmodified program wait for a word, with the real threads/lot.c. A waiter
 * reads its word while a waker changes it; a deadline passes while a waker removes the waiter; a waiter is moved to
 * another word meanwhile. No waiter sleeps after its word was changed, and none is woken twice. The waiters are kernel
 * threads; explore/wait.c explores how a fiber parks.
 */
#include "workers.h"

#include "threads/threads.h"
#define weft__thread_self() NULL
#define weft__caller_fiber() NULL
#define weft__thread_enter() ((void)0)
#define weft__thread_leave() ((void)0)
#undef errno
#define errno (((int[1]){0})[0]) /* not explored here */
bool weft__posix;
#include "threads/lot.c"

enum { WAITER, WAKER, SECOND };

static struct {
    _Atomic uint32_t word, other;
    uint8_t moves; /* the waker moves the waiter, and then wakes it there */
} s;

void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

static void wake(void) {
    store_rlx(&s.word, 1);
    if (s.moves) {
        weft__lot_requeue(&s.word, 0, &s.other, 1);
        weft__lot_wake(&s.other, 1);
    } else
        weft__lot_wake(&s.word, 2);
}

void run_thread(unsigned t) {
    if (t == WAKER)
        wake();
    else
        weft__lot_wait(&s.word, 0, 20 * WEFT_MICROSECOND, WEFT_LOT_PLAIN, weft__lot_for(WEFT_WAITS_FUTEX, &s.word));
}

static void set_up(void) {
    set_up_workers(1);
    for (unsigned t = 0; t < 3; t++) driven[t] = NULL;
    deadlines_pass = false;
}
static void set_up_late(void) {
    set_up();
    deadlines_pass = true;
}
static void set_up_moved(void) {
    set_up_late();
    s.moves = 1;
}

static void check(void) {
    for (unsigned t = 0; t < 3; t++) claim(!weak_goes_on(t), "a waiter sleeps for ever");
    claim(!load_rlx(&lot_bucket_of(&s.word)->count) && !load_rlx(&lot_bucket_of(&s.other)->count),
          "the count is wrong");
    claim(!lot_bucket_of(&s.word)->first && !lot_bucket_of(&s.other)->first, "a waiter that has gone is still there");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"lot, a waiter and a waker", 2, set_up, check}) &&
           weak_explore(&(struct weak_scene){"lot, a deadline passes", 2, set_up_late, check}) &&
           weak_explore(&(struct weak_scene){"lot, a waiter is moved", 2, set_up_moved, check}) &&
           weak_explore(&(struct weak_scene){"lot, two waiters", 3, set_up_late, check, .large = true});
}

int main(int argc, char **argv) {
    weak_share(&s, sizeof s);
    /* the bucket of a waiter that was removed; see lot_withdraw */
    weak_share(lot_bucket_of(NULL), sizeof(struct bucket));
    weak_share(lot_bucket_of(&s.word), sizeof(struct bucket));
    if (lot_bucket_of(&s.other) != lot_bucket_of(&s.word)) weak_share(lot_bucket_of(&s.other), sizeof(struct bucket));
    return weak_main(argc, argv, all_scenes);
}
