/* SPDX-License-Identifier: MIT */
/* A queue with room for four items, made of a mutex and two condition variables. A cancelled fiber stops waiting. */
#include <stdio.h>
#include <weft.h>

enum { ROOM = 4, ITEMS = 1000 };

static struct weft_mutex lock = WEFT_MUTEX_INIT;
static struct weft_cond not_full = WEFT_COND_INIT, not_empty = WEFT_COND_INIT;
static int queue[ROOM], length;

static int put(int item) {
    int err = 0;
    weft_mutex_lock(&lock); /* not a cancellation point: the mutex is held afterwards */
    /* The wait releases the mutex and locks it again, even if this fiber is cancelled. In a cancelled fiber the wait
     * returns at once, so an error must end the loop. */
    while (length == ROOM && !err) err = weft_cond_wait(&not_full, &lock);
    if (!err) {
        queue[length++] = item;
        weft_cond_signal(&not_empty);
    }
    weft_mutex_unlock(&lock);
    return err;
}

static int take(int *item) {
    int err = 0;
    weft_mutex_lock(&lock);
    while (!length && !err) err = weft_cond_wait(&not_empty, &lock);
    if (!err) {
        *item = queue[--length];
        weft_cond_signal(&not_full);
    }
    weft_mutex_unlock(&lock);
    return err;
}

static void *makes(void *unused) {
    for (int i = 1; i <= ITEMS && !put(i); i++) continue;
    return unused;
}

static void *uses(void *count) {
    long sum = 0;
    int item;
    for (long i = 0; i < (long)count && !take(&item); i++) sum += item;
    return (void *)sum;
}

static int run(void *unused) {
    (void)unused;
    struct weft_fiber maker, user;
    void *sum;
    if (weft_spawn(&maker, NULL, makes, NULL) || weft_spawn(&user, NULL, uses, (void *)(long)ITEMS)) return 1;
    if (weft_join(maker, NULL) || weft_join(user, &sum)) return 1;
    printf("the sum of all items is %ld\n", (long)sum);

    struct weft_fiber late; /* no item will come for this fiber */
    if (weft_spawn(&late, NULL, uses, (void *)1L)) return 1;
    weft_cancel(late);
    if (weft_join(late, NULL)) return 1;
    printf("the fiber that waited for more was cancelled\n");
    return (long)sum == (long)ITEMS * (ITEMS + 1) / 2 ? 0 : 1;
}

int main(void) { return weft_run(run, NULL, NULL); }
