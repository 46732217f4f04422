/* SPDX-License-Identifier: MIT */
/*
 * libuv's loop, and fibers beside it: loop_libuv <PORTS. The loop runs on the main thread. It begins a fiber for each
 * line of standard input. Fibers send their answers through a channel, and wake the loop by uv_async_send, the only
 * call of libuv that any thread may make.
 */
#include <uv.h>

#include "loop_fetch.h"

static struct answer *room[64];
static struct weft_chan answers = WEFT_CHAN_BUFFERED(room);
static uv_async_t wake;
static uv_poll_t input;
static int outstanding, more = 1; /* used by the loop only */

/* On a worker. */
static void deliver(struct answer *answer) {
    if (weft_chan_send(&answers, &answer) == 0) uv_async_send(&wake);
}

/* Does not close `wake` yet: the fiber of the last answer may still be in uv_async_send. */
static void end_if_done(void) {
    if (!more && !outstanding) uv_stop(uv_default_loop());
}

/* In the loop. libuv may answer several sends with one call, so this takes all that is there. */
static void on_wake(uv_async_t *unused) {
    (void)unused;
    struct answer *answer;
    for (; weft_chan_recv_try(&answers, &answer) == 0; outstanding--) {
        printf("%s: %s\n", answer->port, answer->text);
        free(answer);
    }
    fflush(stdout);
    end_if_done();
}

static void on_input(uv_poll_t *poll, int status, int events) {
    (void)events;
    int begun = status < 0 ? -1 : fetch_lines_of_input(deliver);
    more = begun >= 0;
    if (more) {
        outstanding += begun;
    } else {
        uv_close((uv_handle_t *)poll, NULL);
        end_if_done();
    }
}

int main(void) {
    uv_loop_t *loop = uv_default_loop();
    if (weft_start(NULL)) return 1;
    if (uv_async_init(loop, &wake, on_wake) || uv_poll_init(loop, &input, STDIN_FILENO) ||
        uv_poll_start(&input, UV_READABLE, on_input))
        return 1;
    uv_run(loop, UV_RUN_DEFAULT);
    int err = weft_stop(); /* no fiber is left that could wake the loop */
    uv_close((uv_handle_t *)&wake, NULL);
    uv_run(loop, UV_RUN_DEFAULT); /* closes it */
    uv_loop_close(loop);
    return err;
}
