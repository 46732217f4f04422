/* SPDX-License-Identifier: MIT */
/* Futures: results that will be there later. Wait for one or for all. A result may be an error. */
#include <stdio.h>
#include <weft.h>

struct lookup {
    int key;
    struct weft_future answer; /* zeros are a future that is not done */
};

static void *looks_up(void *arg) {
    struct lookup *l = (struct lookup *)arg;
    weft_sleep_for((uint64_t)l->key * WEFT_MILLISECOND); /* it takes a while */
    if (l->key == 3)
        weft_future_fail(&l->answer, -ENOENT);
    else
        weft_future_set(&l->answer, &l->key);
    return NULL;
}

static int run(void *unused) {
    (void)unused;
    struct lookup lookups[3] = {{3, WEFT_FUTURE_INIT}, {1, WEFT_FUTURE_INIT}, {2, WEFT_FUTURE_INIT}};
    struct weft_future *answers[3];
    struct weft_fiber f[3];
    for (int i = 0; i < 3; i++) {
        answers[i] = &lookups[i].answer;
        if (weft_spawn(&f[i], NULL, looks_up, &lookups[i])) return 1;
    }
    int first = weft_future_any(answers, 3);
    printf("the first answer is for key %d\n", lookups[first].key);

    /* All of them: returns the error of the first that failed, or 0. */
    int err = weft_future_all(answers, 3);
    printf("together: %s\n", err == -ENOENT ? "one was not found" : "fine");

    void *value;
    for (int i = 0; i < 3; i++) /* all are done: these waits return at once */
        if (weft_future_wait(answers[i], &value) == 0) printf("key %d is there\n", *(int *)value);
    for (int i = 0; i < 3; i++)
        if (weft_join(f[i], NULL)) return 1;
    return err == -ENOENT ? 0 : 1;
}

int main(void) { return weft_run(run, NULL, NULL); }
