/* SPDX-License-Identifier: MIT */
/*
 * Explores the real semaphores, counters, latches and once (weak.h). No unit is lost or given twice. A thread that
 * waits for a count sees everything that was done before the count was reached. A once-function succeeds once, even if
 * it fails at first.
 */
#include <stdbool.h>
#include <stdint.h>

#include "weft.h"

struct shared {
    struct weft_sem sem;
    struct weft_latch latch;
    struct weft_once once;
    uint64_t data[2]; /* written before a post or a count, read after the wait */
    uint8_t tries, done;
    int result[3];
};

#include "waits.h"

#include "sched/wait/counter.c"
#include "sched/wait/wait_queue.c"
#include "sync/latch.c"
#include "sync/once.c"
#include "sync/sem.c"

enum { POSTS, GIVES_UP, COUNTS, ONCE, FAILS };
static unsigned program;

static int do_it(void *unused) {
    (void)unused;
    claim(!S->done, "done twice");
    if (program == FAILS && !S->tries++) return -EIO;
    S->data[0]++;
    S->done = 1;
    return 0;
}

static int do_once(void) {
    int err = weft_once_run(&S->once, do_it, NULL);
    if (!err) claim(S->data[0] == 1, "not done, or not seen");
    return err;
}

void run_thread(unsigned t) {
    int *r = &S->result[t];
    switch (program) {
    case POSTS: /* one thread posts twice, two wait */
        if (t == 0) {
            S->data[0]++;
            *r = weft_sem_post(&S->sem) | weft_sem_post(&S->sem);
        } else {
            *r = weft_sem_wait(&S->sem);
            claim(S->data[0] == 1, "what was done before the post is not seen");
        }
        break;
    case GIVES_UP:
        if (t == 0) *r = weft_sem_post(&S->sem);
        if (t == 1) *r = weft_sem_wait(&S->sem);
        if (t == 2) cancel(1);
        break;
    case COUNTS:
        if (t == 2) {
            *r = weft_latch_wait(&S->latch);
            claim(S->data[0] && S->data[1], "what was counted is not seen");
        } else {
            S->data[t]++;
            *r = weft_latch_count_down(&S->latch, 1);
        }
        break;
    case ONCE:
    case FAILS: *r = do_once(); break;
    }
}

static void set_up(void) {
    struct weft_latch of_two = WEFT_LATCH_INIT(2);
    S->latch = of_two;
}

static void all_end(void) {
    for (unsigned t = 0; t < n_threads; t++) claim(weak_has_ended(t), "waits for ever");
}
static void all_done(void) {
    all_end();
    for (unsigned t = 0; t < n_threads; t++) claim(!S->result[t], "failed");
    claim(!S->sem.queue.word && !S->sem.queue.first, "something is left of the semaphore");
}
static void unit_is_kept(void) {
    all_end();
    claim(S->result[1] == 0 || S->result[1] == -ECANCELED, "another outcome");
    claim(S->sem.queue.word >> 2 == (S->result[1] == -ECANCELED), "a unit is lost, or one too many");
}
static void one_fails(void) {
    all_end();
    unsigned failed = 0;
    for (unsigned t = 0; t < n_threads; t++) failed += S->result[t] == -EIO;
    claim(failed == 1 && (S->done || n_threads == 1), "not failed once and then done");
}

static bool one(const char *name, unsigned what, unsigned threads, void (*end)(void), bool large) {
    program = what;
    return explore_all(&(struct weak_scene){name, threads, set_up, end, large});
}

static bool all_scenes(void) {
    return one("sem, two posts, two that wait", POSTS, 3, all_done, false) &&
           one("sem, one gives up", GIVES_UP, 3, unit_is_kept, false) &&
           one("latch, two count down, one waits", COUNTS, 3, all_done, false) &&
           one("once, two come", ONCE, 2, all_done, false) && one("once, three come", ONCE, 3, all_done, true) &&
           one("once, the first attempt fails", FAILS, 2, one_fails, false) &&
           one("once, the first attempt fails, three come", FAILS, 3, one_fails, true);
}

int main(int argc, char **argv) { return weak_main(argc, argv, all_scenes); }
