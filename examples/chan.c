/* SPDX-License-Identifier: MIT */
/* Channels: a pipeline of fibers that pass numbers on, and end when there are no more. */
#include <stdio.h>
#include <weft.h>

/* A stage receives from one channel and sends to the next. */
struct stage {
    struct weft_chan *in, *out;
};

static void *squares(void *arg) {
    struct stage *s = (struct stage *)arg;
    /* The loop ends when the channel is closed and empty: weft_chan_recv then returns -EPIPE. */
    for (long x; weft_chan_recv(s->in, &x) == 0;) {
        x *= x;
        if (weft_chan_send(s->out, &x)) break;
    }
    weft_chan_close(s->out); /* only this stage sends there */
    return NULL;
}

static int run(void *unused) {
    (void)unused;
    /* No buffer: the sender waits until a receiver takes its number. */
    struct weft_chan numbers = WEFT_CHAN_INIT(sizeof(long));
    /* A buffer for eight: the sender waits only while it is full. */
    long room[8];
    struct weft_chan results = WEFT_CHAN_BUFFERED(room);

    struct stage stage = {&numbers, &results};
    struct weft_fiber f;
    if (weft_spawn(&f, NULL, squares, &stage)) return 1;
    for (long i = 1; i <= 5; i++)
        if (weft_chan_send(&numbers, &i)) return 1;
    weft_chan_close(&numbers);

    long sum = 0;
    for (long x; weft_chan_recv(&results, &x) == 0; sum += x) printf("%ld ", x);
    printf("= %ld\n", sum);
    if (weft_join(f, NULL)) return 1;
    return sum == 55 ? 0 : 1;
}

int main(void) { return weft_run(run, NULL, NULL); }
