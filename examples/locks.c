/* SPDX-License-Identifier: MIT */
/* A table that many fibers read and few write. The first fiber creates it, and all of them work in rounds. */
#include <stdio.h>
#include <weft.h>

enum { FIBERS = 8, ROUNDS = 5 };

static struct weft_once made = WEFT_ONCE_INIT; /* zeros are valid for all of these except the barrier */
static struct weft_rwlock lock = WEFT_RWLOCK_INIT;
static int table[FIBERS];

static struct weft_mutex log_lock = WEFT_MUTEX_RECURSIVE_INIT;
static struct weft_barrier round_over = WEFT_BARRIER_INIT(FIBERS);
static struct weft_latch all_done = WEFT_LATCH_INIT(FIBERS);
static long sum;

/* Runs once, in the first fiber; the others wait for it. After an error the next fiber would try. */
static int make_table(void *unused) {
    (void)unused;
    for (int i = 0; i < FIBERS; i++) table[i] = i;
    return 0;
}

static void add_to_log(int value) {
    weft_mutex_lock(&log_lock); /* recursive: the caller may hold it already */
    sum += value;
    weft_mutex_unlock(&log_lock);
}

static void *work(void *arg) {
    int me = (int)(intptr_t)arg;
    if (weft_once_run(&made, make_table, NULL)) return NULL;
    for (int round = 0; round < ROUNDS; round++) {
        weft_rwlock_read(&lock); /* other readers may be inside, too */
        int seen = table[(me + round) % FIBERS];
        weft_rwlock_unlock_read(&lock);

        weft_rwlock_write(&lock); /* alone; readers that come now wait, and all of them enter after the unlock */
        table[me] += 1;
        weft_rwlock_unlock_write(&lock);

        weft_mutex_lock(&log_lock);
        add_to_log(seen >= 0);
        weft_mutex_unlock(&log_lock);

        /* No fiber begins the next round before all have ended this round. One fiber gets a special result. */
        if (weft_barrier_wait(&round_over) == WEFT_BARRIER_SERIAL) printf("round %d is over\n", round);
    }
    weft_latch_count_down(&all_done, 1);
    return NULL;
}

static int run(void *unused) {
    (void)unused;
    for (intptr_t i = 0; i < FIBERS; i++)
        if (weft_spawn(NULL, NULL, work, (void *)i)) return 1;
    /* Opens when all have counted down. Every wait has a form with a deadline. */
    if (weft_latch_wait_until(&all_done, weft_now() + 10 * WEFT_SECOND)) return 1;
    long total = 0;
    for (int i = 0; i < FIBERS; i++) total += table[i] - i;
    printf("%ld reads, %ld writes\n", sum, total);
    return sum == FIBERS * ROUNDS && total == FIBERS * ROUNDS ? 0 : 1;
}

int main(void) { return weft_run(run, NULL, NULL); }
