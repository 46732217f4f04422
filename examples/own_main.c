/* SPDX-License-Identifier: MIT */
/* A program with its own main and threads: they start the runtime, hand work in, wait, and stop it. */
#include <pthread.h>
#include <stdio.h>
#include <weft.h>

static struct weft_counter outstanding = WEFT_COUNTER_INIT;

static void *square(void *n) {
    weft_yield();
    *(long *)n *= *(long *)n;
    return NULL;
}

static void *client(void *numbers) {
    for (int i = 0; i < 10; i++) {
        struct weft_attr attr = {.name = "square", .counter = &outstanding};
        weft_counter_add(&outstanding, 1);
        if (weft_spawn(NULL, &attr, square, (long *)numbers + i)) return NULL;
    }
    return NULL;
}

int main(void) {
    long numbers[30], sum = 0;
    pthread_t threads[3];
    if (weft_start(NULL)) return 1;
    for (int i = 0; i < 30; i++) numbers[i] = i;
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, client, numbers + 10 * i);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    if (weft_counter_wait(&outstanding, 0)) return 1; /* this thread sleeps while the workers run */
    for (int i = 0; i < 30; i++) sum += numbers[i];
    printf("three threads handed in thirty fibers: the squares add up to %ld\n", sum);
    return weft_stop() || sum != 8555;
}
