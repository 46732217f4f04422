/* SPDX-License-Identifier: MIT */
/* The first program of a user: fibers, a channel, a sleep, a file. Prints "7 49" if all is well. */
#include <stdio.h>
#include <unistd.h>
#include <weft.h>
#include <weft/io.h>

static struct weft_chan squares = WEFT_CHAN_INIT(sizeof(long));

static void *square(void *n) {
    long value = (long)n * (long)n;
    weft_sleep_for(WEFT_MILLISECOND);
    return (void *)(intptr_t)weft_chan_send(&squares, &value);
}

static int run(void *unused) {
    struct weft_fiber fiber;
    long value = 0;
    char byte;
    int ends[2];
    (void)unused;
    if (weft_spawn(&fiber, NULL, square, (void *)7) || weft_chan_recv(&squares, &value) || weft_join(fiber, NULL))
        return 1;
    if (pipe(ends) || weft_write(ends[1], "7", 1) != 1 || weft_read(ends[0], &byte, 1) != 1) return 1;
    printf("%c %ld\n", byte, value);
    return 0;
}

int main(void) { return weft_run(run, NULL, NULL); }
