/* SPDX-License-Identifier: MIT */
/* A fiber calls exit: functions registered by atexit run in it and may wait. The process ends with that status. */
#include <stdio.h>
#include <stdlib.h>
#include <weft.h>

static struct weft_sem saved = WEFT_SEM_INIT(0);

static void *saves(void *unused) {
    weft_sleep_for(WEFT_MILLISECOND);
    printf("saved by another fiber\n");
    weft_sem_post(&saved);
    return unused;
}

/* Runs on the stack of the fiber that called exit. The fiber parks, and its worker runs other fibers. weft_stop would
 * return -EDEADLK here, because it would wait for this fiber. */
static void at_exit(void) {
    if (weft_spawn(NULL, NULL, saves, NULL) || weft_sem_wait(&saved)) return;
    printf("the handler goes on\n");
}

static void *works(void *unused) {
    (void)unused;
    weft_sleep_for(WEFT_FOREVER); /* ends with the process */
    return NULL;
}

static int run(void *unused) {
    (void)unused;
    atexit(at_exit);
    if (weft_spawn(NULL, NULL, works, NULL)) return 1;
    weft_yield();
    exit(EXIT_SUCCESS);
}

int main(void) { return weft_run(run, NULL, NULL); /* does not return */ }
