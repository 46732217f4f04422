/* SPDX-License-Identifier: MIT */
/* Waiting with a deadline, and cancelling a fiber. */
#include <stdio.h>
#include <weft.h>

static void *worker(void *jobs) {
    long done = 0;
    /* Returns -ECANCELED when this fiber is cancelled; a job that is there is still taken. */
    while (!weft_sem_wait((struct weft_sem *)jobs)) done++;
    return (void *)done;
}

static int run(void *unused) {
    (void)unused;
    struct weft_sem jobs = WEFT_SEM_INIT(0), nothing = WEFT_SEM_INIT(0);
    struct weft_fiber f;
    void *done;
    if (weft_spawn(&f, &(struct weft_attr){.name = "worker"}, worker, &jobs)) return 1;
    for (int i = 0; i < 5; i++) weft_sem_post(&jobs);
    int err = weft_sem_wait_until(&nothing, weft_now() + 10 * WEFT_MILLISECOND);
    printf("no post came: %s\n", err == -ETIMEDOUT ? "timed out" : "?");
    weft_cancel(f);
    if (weft_join(f, &done)) return 1;
    printf("the worker did %ld jobs before it was asked to stop\n", (long)done);
    return (long)done == 5 ? 0 : 1;
}

int main(void) { return weft_run(run, NULL, NULL); }
