/* SPDX-License-Identifier: MIT */
/* Waiting for descriptors: a fiber parks until a pipe can be read, or until something else comes first. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>
#include <weft.h>

static int ends[2];

static void *writer(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) {
        weft_sleep_for(2 * WEFT_MILLISECOND);
        if (write(ends[1], "tick", 4) != 4) break;
    }
    close(ends[1]); /* the reader sees a hang-up */
    return NULL;
}

static int run(void *unused) {
    (void)unused;
    char text[16];
    struct weft_future stop = WEFT_FUTURE_INIT; /* never set in this example */
    if (pipe(ends) || fcntl(ends[0], F_SETFL, O_NONBLOCK)) return 1;
    if (weft_spawn(NULL, NULL, writer, NULL)) return 1;

    /* One descriptor by itself, with a deadline ... */
    int events = weft_ready_until(ends[0], POLLIN, weft_now() + WEFT_SECOND);
    printf("ready: %s\n", events & POLLIN ? "to be read" : "?");

    /* ... or among other things, whichever comes first. */
    for (;;) {
        struct weft_case cases[] = {WEFT_CASE_READY(ends[0], POLLIN), WEFT_CASE_FUTURE(&stop, NULL)};
        if (weft_case_select(cases, 2) != 0) break;
        ssize_t n = read(ends[0], text, sizeof text); /* does not block; EAGAIN if another reader was faster */
        if (n == 0) break;
        if (n > 0) printf("read %d bytes\n", (int)n);
    }
    printf("the other end has hung up\n");
    return 0;
}

int main(void) { return weft_run(run, NULL, NULL); }
