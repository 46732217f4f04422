/* exit, called by a fiber: what atexit was told runs there, may wait, and the process ends with that status. */
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

/* On the stack of the fiber that called exit: it parks, and its worker runs others. Not weft_stop: that would wait for
 * this fiber, and answers -EDEADLK. */
static void at_exit(void) {
    weft_spawn(NULL, NULL, saves, NULL);
    weft_sem_wait(&saved);
    printf("the handler goes on\n");
}

static void *works(void *unused) {
    (void)unused;
    weft_sleep_for(WEFT_FOREVER); /* ends with the process, where it is */
    return NULL;
}

static int run(void *unused) {
    (void)unused;
    atexit(at_exit);
    weft_spawn(NULL, NULL, works, NULL);
    weft_yield();
    exit(EXIT_SUCCESS);
}

int main(void) {
    weft_run(run, NULL, NULL); /* does not return */
    return EXIT_FAILURE;
}
