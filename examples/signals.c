/* SPDX-License-Identifier: MIT */
/* A server that reloads on SIGHUP and ends gracefully on SIGTERM: both are awaited by an ordinary fiber. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <weft.h>

static struct weft_sem stop;

/* Stands for whatever serves: works until it is told to stop, and finishes what it has begun. */
static void *serve(void *served) {
    while (weft_sem_wait_until(&stop, weft_now() + WEFT_MILLISECOND) == -ETIMEDOUT) ++*(long *)served;
    return NULL;
}

static int run(void *unused) {
    (void)unused;
    struct weft_signals signals = WEFT_SIGNALS_INIT;
    struct weft_signal what;
    struct weft_fiber server;
    long served = 0;
    /* From here on nothing is lost: what comes while we are busy is kept until we ask. */
    if (weft_signals_begin(&signals, WEFT_SIGNAL(SIGHUP) | WEFT_SIGNAL(SIGTERM))) return 1;
    if (weft_spawn(&server, NULL, serve, &served)) return 1;

    kill(getpid(), SIGHUP); /* stands for another process */
    while (weft_signals_next(&signals, &what) == SIGHUP) {
        printf("reload, asked for by %s\n", what.pid == getpid() ? "this process" : "another process");
        kill(getpid(), SIGTERM); /* and again */
    }
    printf("shutting down\n");
    weft_sem_post(&stop);
    if (weft_join(server, NULL)) return 1;
    weft_signals_end(&signals); /* what SIGTERM did before, it does again */
    printf("done\n");
    return 0;
}

int main(void) { return weft_run(run, NULL, NULL); }
