/* SPDX-License-Identifier: MIT */
/* A fiber is cancelled in the middle of its work: handlers clean up, and a shield lets them wait. */
#include <stdio.h>
#include <weft.h>

static int saved;

/* weft_fiber_exit calls this in a shield, so it may wait although the fiber was cancelled. */
static void save(void *what) {
    if (weft_sleep_for(WEFT_MILLISECOND) == 0) saved = 1;
    printf("saved the %s\n", (const char *)what);
}

static int writer(void *unused) {
    (void)unused;
    struct weft_cleanup cleanup;
    weft_cleanup_push(&cleanup, save, (void *)"journal");
    while (weft_sleep_for(WEFT_SECOND) == 0) {
    }                               /* ends when the fiber is cancelled */
    weft_fiber_exit_if_cancelled(); /* runs the handler, and does not return */
    return weft_cleanup_pop(&cleanup, 0);
}

/* The same with an explicit shield, for a fiber that continues afterwards. */
static int reader(void *unused) {
    (void)unused;
    int err = weft_sleep_for(WEFT_FOREVER);
    struct weft_shield shield;
    struct weft_scope brief;
    weft_shield_begin(&shield);
    weft_scope_begin(&brief, weft_now() + 5 * WEFT_MILLISECOND); /* a deadline for the clean-up */
    weft_sleep_for(WEFT_FOREVER);
    printf("the goodbye %s\n", weft_scope_end(&brief) == -ETIMEDOUT ? "was cut short" : "?");
    weft_shield_end(&shield);
    return err;
}

static int run(void *unused) {
    (void)unused;
    struct weft_scope scope;
    weft_scope_begin(&scope, WEFT_FOREVER);
    int err = weft_scope_spawn(&scope, &(struct weft_attr){.name = "writer"}, writer, NULL);
    if (!err) err = weft_scope_spawn(&scope, &(struct weft_attr){.name = "reader"}, reader, NULL);
    if (err) weft_scope_fail(&scope, err);
    weft_sleep_for(2 * WEFT_MILLISECOND);
    weft_scope_cancel(&scope);
    err = weft_scope_end(&scope);
    struct weft_cancellation list[8];
    for (int i = 0, n = weft_cancellations(list, 8); i < n; i++)
        printf("cancelled: \"%s\", spawned at %s\n", list[i].name, list[i].where);
    return err == -ECANCELED && saved ? 0 : 1;
}

int main(void) { return weft_run(run, NULL, NULL); }
