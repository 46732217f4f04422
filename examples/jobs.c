/* SPDX-License-Identifier: MIT */
/*
 * A job queue with a graceful shutdown: jobs PORT WORKERS GRACE
 *
 * A client sends lines "NUMBER MILLISECONDS"; each is a job that takes that long. "done NUMBER" is the answer when it
 * has run, "busy NUMBER" if the queue is full, "dropped NUMBER" if the program ended first. WORKERS fibers run the
 * jobs.
 *
 * At SIGTERM or SIGINT the program stops in three steps. It accepts no more connections and no more jobs. It runs what
 * it has accepted, for at most GRACE seconds. What has not run by then is dropped, and the client is told.
 */
#include <signal.h>
#include <string.h>
#include <weft.h>

#include "net.h"

/* A connection lives as long as its reader and its jobs. */
struct client {
    int fd;
    struct weft_mutex writing;
    struct weft_counter jobs; /* accepted, and not answered yet */
};

struct job {
    struct client *client;
    unsigned number, milliseconds;
};

static struct job room[256];
static struct weft_chan queue = WEFT_CHAN_BUFFERED(room);
static struct weft_scope readers, workers;
static struct weft_counter done = WEFT_COUNTER_INIT, dropped = WEFT_COUNTER_INIT;

static void answer(struct client *client, const char *what, unsigned number) {
    char text[64];
    int size = snprintf(text, sizeof text, "%s %u\n", what, number);
    struct weft_shield shield; /* the answer is sent even if this fiber was cancelled */
    weft_shield_begin(&shield);
    weft_mutex_lock(&client->writing);
    (void)!weft_write_until(client->fd, text, (size_t)size, weft_now() + WEFT_SECOND); /* the client may have gone */
    weft_mutex_unlock(&client->writing);
    weft_shield_end(&shield);
}

static int work(void *unused) {
    (void)unused;
    struct job job;
    while (weft_chan_recv(&queue, &job) == 0) {
        int err = weft_sleep_for(job.milliseconds * WEFT_MILLISECOND); /* stands for the real work */
        answer(job.client, err ? "dropped" : "done", job.number);
        weft_counter_add(err ? &dropped : &done, 1);
        weft_counter_complete(&job.client->jobs);
    }
    return 0;
}

/* Reads jobs until the client ends or the readers are cancelled, then waits for those that were accepted. */
static int serve(void *connection) {
    struct client client = {.fd = (int)(intptr_t)connection};
    char buffer[256];
    size_t have = 0;
    for (ssize_t n; (n = weft_read(client.fd, buffer + have, sizeof buffer - 1 - have)) > 0;) {
        have += (size_t)n;
        for (char *end; (end = memchr(buffer, '\n', have));) {
            struct job job = {.client = &client};
            *end = 0;
            if (sscanf(buffer, "%u %u", &job.number, &job.milliseconds) == 2) {
                weft_counter_add(&client.jobs, 1);
                if (weft_chan_send_try(&queue, &job)) {
                    weft_counter_complete(&client.jobs);
                    answer(&client, "busy", job.number);
                }
            }
            have -= (size_t)(end + 1 - buffer);
            memmove(buffer, end + 1, have);
        }
        if (have == sizeof buffer - 1) break; /* the line is too long */
    }
    struct weft_shield shield;
    weft_shield_begin(&shield);
    (void)!weft_counter_wait(&client.jobs, 0); /* jobs use this frame */
    weft_shield_end(&shield);
    weft_close(client.fd);
    return 0;
}

static int accept_all(void *listener) {
    for (int fd; (fd = accept_next((int)(intptr_t)listener)) >= 0;)
        if (weft_scope_spawn(&readers, NULL, serve, (void *)(intptr_t)fd)) weft_close(fd);
    return -errno;
}

struct settings {
    const char *port;
    int workers, grace;
};

static int run(void *arg) {
    struct settings *settings = arg;
    struct weft_signals signals = WEFT_SIGNALS_INIT;
    int listener = listen_on(settings->port), err = 0;
    if (listener < 0 || weft_signals_begin(&signals, WEFT_SIGNAL(SIGINT) | WEFT_SIGNAL(SIGTERM))) return 1;
    weft_scope_begin(&workers, WEFT_FOREVER);
    for (int i = 0; i < settings->workers && !err; i++) err = weft_scope_spawn(&workers, NULL, work, NULL);
    weft_scope_begin(&readers, WEFT_FOREVER);
    if (!err) err = weft_scope_spawn(&readers, NULL, accept_all, (void *)(intptr_t)listener);
    if (!err && (err = weft_signals_next(&signals, NULL)) > 0) err = 0;

    printf("stopping: no more jobs, %d s for those that wait\n", settings->grace);
    weft_scope_cancel(&readers);
    weft_chan_close(&queue); /* workers end when it is empty */
    weft_scope_set_deadline(&workers, weft_now() + (uint64_t)settings->grace * WEFT_SECOND);
    weft_scope_end(&readers); /* waits for the answers of all jobs */
    weft_scope_end(&workers);
    weft_signals_end(&signals);
    weft_close(listener);
    printf("%d jobs done, %d dropped\n", (int)weft_counter_value(&done), (int)weft_counter_value(&dropped));
    return err < 0;
}

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: jobs PORT WORKERS GRACE\n"), 2;
    struct settings settings = {argv[1], atoi(argv[2]), atoi(argv[3])};
    return weft_run(run, &settings, NULL);
}
