/* SPDX-License-Identifier: MIT */
/*
 * chan-trip: two fibers and two channels without a buffer; a number goes there and comes back larger.
 * Metric: ns per round trip.
 *
 * chan-stream: senders send numbers into one channel, and receivers take them out, until the alarm rings and the last
 * sender closes the channel.
 *
 *   pairs=  senders, and as many receivers     capacity=  of the channel
 *
 * Each sender sends its numbers in order. So the number of sent items determines the sum that all receivers must get.
 * Metrics: million items a second, least served sender over mean, least served receiver over mean.
 */
#include "benches.h"
#include "system.h"

#include <stdlib.h>

struct trip {
    struct alarm_clock alarm;
    APART struct sys_chan there;
    APART struct sys_chan back;
    APART uint64_t served, began, ended;
    bool right;
    APART uint64_t returned;
};

static void *serve(void *p) {
    struct trip *trip = (struct trip *)p;
    uint64_t count = 0, answer = 0;
    bool right = true;
    trip->began = clock_ns();
    do {
        sys_chan_send(&trip->there, count);
        right &= sys_chan_recv(&trip->back, &answer) && answer == ++count;
    } while (!alarm_rung(&trip->alarm));
    trip->ended = clock_ns();
    sys_chan_close(&trip->there);
    trip->served = count;
    trip->right = right;
    return NULL;
}

static void *answer(void *p) {
    struct trip *trip = (struct trip *)p;
    uint64_t count = 0, number;
    while (sys_chan_recv(&trip->there, &number)) {
        count++;
        sys_chan_send(&trip->back, number + 1);
    }
    trip->returned = count;
    return NULL;
}

void bench_chan_trip(const struct args *args, struct result *result) {
    struct trip trip;
    struct sys_fiber server, answerer;
    sys_chan_init(&trip.there, 0);
    sys_chan_init(&trip.back, 0);
    alarm_start(&trip.alarm, arg(args, "ms"));
    sys_spawn(&answerer, answer, &trip);
    sys_spawn(&server, serve, &trip);
    sys_join(&server);
    sys_join(&answerer);
    alarm_join(&trip.alarm);
    sys_chan_end(&trip.there);
    sys_chan_end(&trip.back);
    result->values[0] = (double)(trip.ended - trip.began) / (double)trip.served;
    result->right = trip.right && trip.served == trip.returned;
}

#define PAIRS_MOST 64

struct stream {
    struct alarm_clock alarm;
    APART struct sys_chan chan;
    APART uint64_t senders; /* senders that have not ended */
};

struct end {
    APART struct stream *stream;
    struct sys_fiber fiber;
    uint64_t count, sum;
};

static void *send_all_the_time(void *p) {
    struct end *end = (struct end *)p;
    struct stream *stream = end->stream;
    uint64_t count = 0, sum = 0;
    do {
        sys_chan_send(&stream->chan, ++count);
        sum += count;
    } while (!alarm_rung(&stream->alarm));
    end->count = count;
    end->sum = sum;
    if (__atomic_sub_fetch(&stream->senders, 1, __ATOMIC_ACQ_REL) == 0) sys_chan_close(&stream->chan);
    return NULL;
}

static void *receive_all_the_time(void *p) {
    struct end *end = (struct end *)p;
    uint64_t count = 0, sum = 0, number;
    while (sys_chan_recv(&end->stream->chan, &number)) {
        count++;
        sum += number;
    }
    end->count = count;
    end->sum = sum;
    return NULL;
}

void bench_chan_stream(const struct args *args, struct result *result) {
    size_t pairs = arg(args, "pairs");
    struct stream stream;
    struct end *senders = (struct end *)allocate(2 * pairs, sizeof *senders), *receivers = senders + pairs;
    uint64_t sent = 0, received = 0, balance = 0, of_senders[PAIRS_MOST], of_receivers[PAIRS_MOST];
    if (pairs < 1 || pairs > PAIRS_MOST) fail("pairs", EINVAL);
    stream.senders = pairs;
    sys_chan_init(&stream.chan, arg(args, "capacity"));
    alarm_start(&stream.alarm, arg(args, "ms"));
    uint64_t began = clock_ns();
    for (size_t i = 0; i < pairs; i++) {
        senders[i].stream = receivers[i].stream = &stream;
        sys_spawn(&receivers[i].fiber, receive_all_the_time, &receivers[i]);
        sys_spawn(&senders[i].fiber, send_all_the_time, &senders[i]);
    }
    for (size_t i = 0; i < pairs; i++) {
        sys_join(&senders[i].fiber);
        sys_join(&receivers[i].fiber);
    }
    uint64_t ended = clock_ns();
    alarm_join(&stream.alarm);
    sys_chan_end(&stream.chan);
    for (size_t i = 0; i < pairs; i++) {
        sent += of_senders[i] = senders[i].count;
        received += of_receivers[i] = receivers[i].count;
        balance += senders[i].sum - receivers[i].sum;
    }
    result->values[0] = (double)received * 1e3 / (double)(ended - began);
    result->values[1] = least_over_mean(of_senders, pairs);
    result->values[2] = least_over_mean(of_receivers, pairs);
    result->right = sent == received && balance == 0;
    free(senders);
}
