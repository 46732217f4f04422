/* SPDX-License-Identifier: MIT */
/* A server that reloads on SIGHUP and ends gracefully on SIGTERM. An ordinary fiber waits for both signals. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <weft.h>

static struct weft_sem stop;

/* Stands for a server: works until it is asked to stop, and completes the work that it has begun. */
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
    /* From here on no signal is lost: signals that arrive meanwhile are kept. */
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
    weft_signals_end(&signals); /* the previous action of SIGTERM is restored */
    printf("done\n");
    return 0;
}

int main(void) { return weft_run(run, NULL, NULL); }
