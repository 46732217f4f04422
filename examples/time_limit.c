/* SPDX-License-Identifier: MIT */
/* A deadline for everything in a block, however deep: the calls in it need no deadlines of their own. */
#include <stdio.h>
#include <weft.h>

static struct weft_sem reply = WEFT_SEM_INIT(0); /* never comes */

static int ask(void *unused) {
    (void)unused;
    return weft_sem_wait(&reply); /* -ETIMEDOUT when the time of the scope is up */
}

/* Does not know the deadline; its own scope ends in time with the outer scope. */
static int ask_both(void) {
    struct weft_scope both;
    weft_scope_begin(&both, WEFT_FOREVER);
    for (int i = 0; i < 2; i++)
        if (weft_scope_spawn(&both, NULL, ask, NULL)) break;
    return weft_scope_end(&both);
}

static int run(void *unused) {
    (void)unused;
    struct weft_scope limit;
    weft_scope_begin(&limit, weft_now() + 20 * WEFT_MILLISECOND);
    int inner = ask_both();
    int outer = weft_scope_end(&limit);
    printf("inside: %s, outside: %s\n", inner == -ETIMEDOUT ? "timed out" : "?",
           outer == -ETIMEDOUT ? "timed out" : "?");
    /* The deadline ends with its scope. */
    printf("and afterwards one may wait again: %s\n", weft_sleep_for(WEFT_MILLISECOND) == 0 ? "yes" : "no");
    return inner == -ETIMEDOUT && outer == -ETIMEDOUT ? 0 : 1;
}

int main(void) { return weft_run(run, NULL, NULL); }
