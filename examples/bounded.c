/* A queue with room for four, by a mutex and two condition variables. */
#include <stdio.h>
#include <weft.h>

enum { ROOM = 4, ITEMS = 1000 };

static struct weft_mutex lock = WEFT_MUTEX_INIT;
static struct weft_cond not_full = WEFT_COND_INIT, not_empty = WEFT_COND_INIT;
static int queue[ROOM], length;

static void *makes(void *unused) {
    for (int i = 1; i <= ITEMS; i++) {
        weft_mutex_lock(&lock);
        /* The mutex is given back while we wait and held again afterwards, even if we were cancelled. */
        while (length == ROOM) weft_cond_wait(&not_full, &lock);
        queue[length++] = i;
        weft_cond_signal(&not_empty);
        weft_mutex_unlock(&lock);
    }
    return unused;
}

static void *uses(void *unused) {
    (void)unused;
    long sum = 0;
    for (int i = 0; i < ITEMS; i++) {
        weft_mutex_lock(&lock);
        while (!length) weft_cond_wait(&not_empty, &lock);
        sum += queue[--length];
        weft_cond_signal(&not_full);
        weft_mutex_unlock(&lock);
    }
    return (void *)sum;
}

static int run(void *unused) {
    (void)unused;
    struct weft_fiber maker, user;
    void *sum;
    weft_spawn(&maker, NULL, makes, NULL);
    weft_spawn(&user, NULL, uses, NULL);
    weft_join(maker, NULL);
    weft_join(user, &sum);
    printf("the sum of all items is %ld\n", (long)sum);
    return (long)sum == (long)ITEMS * (ITEMS + 1) / 2 ? 0 : 1;
}

int main(void) { return weft_run(run, NULL, NULL); }
