/* SPDX-License-Identifier: MIT */
/* A scope owns the fibers spawned in it: it ends with them, and the first failure cancels the rest. */
#include <stdio.h>
#include <weft.h>

struct part {
    const char *name;
    uint64_t takes;
    int outcome; /* 0, or a negative errno */
    int stopped; /* cancelled by the failure of another child */
};

/* Returns 0, or a negative errno, which cancels the scope. */
static int fetch(void *arg) {
    struct part *p = (struct part *)arg;
    int err = weft_sleep_for(p->takes); /* -ECANCELED as soon as another child has failed */
    p->stopped = err == -ECANCELED;
    return err ? err : p->outcome;
}

static int run(void *unused) {
    (void)unused;
    struct part parts[] = {{"header", WEFT_MILLISECOND, 0, 0},
                           {"index", 5 * WEFT_MILLISECOND, -EIO, 0},
                           {"body", 3600 * WEFT_SECOND, 0, 0}};
    struct weft_scope scope;
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (int i = 0; i < 3; i++) /* fails only if the scope is already cancelled, or memory is short */
        if (weft_scope_spawn(&scope, NULL, fetch, &parts[i])) break;
    int err = weft_scope_end(&scope); /* waits for all three, whatever happens */
    for (int i = 0; i < 3; i++)
        printf("%-6s %s\n", parts[i].name, parts[i].stopped ? "was stopped" : parts[i].outcome ? "failed" : "is there");
    printf("the scope ended with %s\n", err == -EIO ? "the error of the one that failed first" : "?");
    return err == -EIO && parts[2].stopped ? 0 : 1;
}

int main(void) { return weft_run(run, NULL, NULL); }
