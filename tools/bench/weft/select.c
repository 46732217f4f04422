/* SPDX-License-Identifier: MIT */
/*
 * select: one fiber receives from any of four channels without a buffer. One or four other fibers send.
 *
 *   senders=  1: three channels stay silent, and each item finds the select waiting; 4: each channel has a sender
 *
 * Metrics: ns per select, least served sender over mean.
 */
#include "own.h"
#include "system.h"

#define CHANNELS 4

struct speaker {
    APART struct weft_chan chan;
    struct sys_fiber fiber;
    uint64_t count, heard, sum;
    struct weft_chan *over; /* the channel on which the end is announced */
    struct alarm_clock *alarm;
};

static void *speak(void *p) {
    struct speaker *s = p;
    do must(weft_chan_send(&s->chan, &(uint64_t){++s->count}), "weft_chan_send");
    while (!alarm_rung(s->alarm));
    must(weft_chan_close(&s->chan), "weft_chan_close");
    return NULL;
}

void own_select(const struct args *args, struct result *result) {
    unsigned senders = (unsigned)arg(args, "senders"), left = senders;
    struct alarm_clock alarm;
    struct speaker speakers[CHANNELS];
    struct weft_case cases[CHANNELS];
    uint64_t number, selects = 0, counts[CHANNELS];
    for (unsigned i = 0; i < CHANNELS; i++) {
        speakers[i] = (struct speaker){.chan = WEFT_CHAN_INIT(8), .alarm = &alarm};
        cases[i] = (struct weft_case)WEFT_CASE_RECV(&speakers[i].chan, &number);
    }
    alarm_start(&alarm, arg(args, "ms"));
    for (unsigned i = 0; i < senders; i++) sys_spawn(&speakers[i].fiber, speak, &speakers[i]);
    result->right = true;
    uint64_t began = clock_ns();
    while (left) {
        int which = weft_case_select(cases, CHANNELS);
        must(which, "weft_case_select");
        if (cases[which].result) {
            cases[which].on = NULL;
            left--;
            continue;
        }
        result->right &= number == ++speakers[which].heard;
        selects++;
    }
    uint64_t ended = clock_ns();
    for (unsigned i = 0; i < senders; i++) {
        sys_join(&speakers[i].fiber);
        result->right &= speakers[i].count == speakers[i].heard;
        counts[i] = speakers[i].heard;
    }
    alarm_join(&alarm);
    result->values[0] = (double)(ended - began) / (double)selects;
    result->values[1] = least_over_mean(counts, senders);
}
