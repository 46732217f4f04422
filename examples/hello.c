/* SPDX-License-Identifier: MIT */
/* The first program: a thousand fibers, each of which sleeps; the whole takes one second. */
#include <stdio.h>
#include <weft.h>

static void *greet(void *n) {
    weft_sleep_for(WEFT_SECOND);
    return n;
}

static int run(void *unused) {
    (void)unused;
    struct weft_fiber fiber[1000];
    size_t sum = 0;
    for (size_t i = 0; i < 1000; i++)
        if (weft_spawn(&fiber[i], NULL, greet, (void *)i)) return 1;
    for (size_t i = 0; i < 1000; i++) {
        void *n;
        if (weft_join(fiber[i], &n)) return 1;
        sum += (size_t)n;
    }
    printf("1000 fibers slept for a second each, and returned %zu in all\n", sum);
    return 0;
}

int main(void) { return weft_run(run, NULL, NULL); }
