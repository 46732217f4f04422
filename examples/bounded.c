/* A queue with room for four, by a mutex and two condition variables; who is cancelled stops. */
#include <stdio.h>
#include <weft.h>

enum { ROOM = 4, ITEMS = 1000 };

static struct weft_mutex lock = WEFT_MUTEX_INIT;
static struct weft_cond not_full = WEFT_COND_INIT, not_empty = WEFT_COND_INIT;
static int queue[ROOM], length;

static int put(int item) {
    int err = weft_mutex_lock(&lock);
    if (err) return err; /* cancelled, and not held */
    /* The mutex is given back while we wait and held again afterwards, also when we were cancelled. Then the wait does
     * not wait any more: the result must end the loop, or it goes round for ever and keeps everybody out. */
    while (length == ROOM && !err) err = weft_cond_wait(&not_full, &lock);
    if (!err) {
        queue[length++] = item;
        weft_cond_signal(&not_empty);
    }
    weft_mutex_unlock(&lock);
    return err;
}

static int take(int *item) {
    int err = weft_mutex_lock(&lock);
    if (err) return err;
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
    weft_spawn(&maker, NULL, makes, NULL);
    weft_spawn(&user, NULL, uses, (void *)(long)ITEMS);
    weft_join(maker, NULL);
    weft_join(user, &sum);
    printf("the sum of all items is %ld\n", (long)sum);

    struct weft_fiber late; /* nothing will come for this one */
    weft_spawn(&late, NULL, uses, (void *)1L);
    weft_cancel(late);
    weft_join(late, NULL);
    printf("who waited for more was cancelled\n");
    return (long)sum == (long)ITEMS * (ITEMS + 1) / 2 ? 0 : 1;
}

int main(void) { return weft_run(run, NULL, NULL); }
