/* SPDX-License-Identifier: MIT */
/*
 * Explores the real channels, select and futures (weak.h). Every item is sent and received equally often, a call that
 * returns an error has done nothing, no chain holds a waiter at the end, and no thread that could continue waits for
 * ever.
 */
#include <stdbool.h>
#include <stdint.h>

#include "weft.h"

#define ITEMS 8
#define CHANS 3

struct shared {
    struct weft_chan chan[CHANS];
    uint64_t room[CHANS][2];
    struct weft_future future[2];
    _Atomic uint64_t clock; /* 0; 1 when the time has come; 2 when no fiber waits for it any more */
    /* The actions of the threads, recorded after each call. */
    uint8_t sent[ITEMS], received[ITEMS], refused[ITEMS];
    int result[3][4];
    uint8_t n_order, last_of[3], first, second;
};

#include "waits.h"

#include "sched/wait/wait_queue.c"
#include "sync/chan.c"
#include "sync/future.c"
#include "sync/select.c"

WEFT_PUBLIC void weft__free(void *p) { (void)p; }
void *weft__alloc(size_t n) { return (void)n, NULL; }
/* No case here waits for a descriptor. */
int weft__readiness_poll(int fd, short events) { return (void)fd, (void)events, -EBADF; }
bool weft__readiness_is_valid(short events) { return (void)events, false; }
int weft__readiness_enter(struct weft__descriptor *d) { return (void)d, -EBADF; }
bool weft__readiness_leave(struct weft__descriptor *d) { return (void)d, true; }
int weft__poll_thread_hold(const struct weft__fiber *me) { return (void)me, -EBADF; }
void weft__poll_thread_release(const struct weft__fiber *me) { (void)me; }
uint64_t weft__clock(void) { return load_rlx(&S->clock); }

/* --- what a thread does ------------------------------------------------------------------------ */

static GHOST void note_received(uint64_t item) {
    claim(item < ITEMS, "an item that nobody sent");
    if (item >= ITEMS) return;
    S->received[item]++;
    S->last_of[current] = (uint8_t)item;
    S->n_order++;
}

static int send_item(unsigned c, uint64_t item) {
    int err = weft_chan_send(&S->chan[c], &item);
    (err ? S->refused : S->sent)[item]++;
    return err;
}

static int receive_item(unsigned c) {
    uint64_t item = 99;
    int err = weft_chan_recv(&S->chan[c], &item);
    if (err)
        claim(item == 99, "an error, and an item");
    else
        note_received(item);
    return err;
}

/* Makes two cases: +c+1 sends the item on channel c, -c-1 receives from it, 0 waits for future 0, 100 is NULL, 101 is
 * time 1. */
static int select_of(bool tries, int a, int b, uint64_t item_a, uint64_t item_b) {
    int what[2] = {a, b};
    uint64_t item[2] = {item_a, item_b};
    struct weft_case cases[2];
    for (int i = 0; i < 2; i++) {
        struct weft_chan *c = &S->chan[what[i] > 0 ? what[i] - 1 : -what[i] - 1];
        if (what[i] < 0) item[i] = 99;
        struct weft_case sends = WEFT_CASE_SEND(c, &item[i]), receives = WEFT_CASE_RECV(c, &item[i]),
                         awaits = WEFT_CASE_FUTURE(&S->future[0], NULL), none = WEFT_ZERO, time = WEFT_CASE_TIME(1);
        cases[i] = what[i] == 100   ? none
                   : what[i] == 101 ? time
                   : what[i] > 0    ? sends
                   : what[i] < 0    ? receives
                                    : awaits;
    }
    int which = tries ? weft_case_select_try(cases, 2) : weft_case_select(cases, 2);
    for (int i = 0; i < 2; i++) {
        bool chosen = which == i && !cases[i].result;
        if (what[i] > 0 && what[i] < 100) (chosen ? S->sent : S->refused)[item[i]]++;
        if (what[i] < 0 && chosen)
            note_received(item[i]);
        else if (what[i] < 0)
            claim(item[i] == 99, "received for a case that was not chosen");
    }
    return which >= 0 && cases[which].result ? cases[which].result : which;
}

/* The time comes. A timer that is armed late fires at once, so this repeats until no timer is left. */
static void time_comes(unsigned t) {
    struct weft__fiber *f = &all.record[t];
    store_rlx(&S->clock, 1);
    while (load_rlx(&S->clock) == 1) {
        uint64_t word = load_acq(&f->wait);
        if (!(word & WEFT_WAIT_WAITING) || !weft__wait_win(f, word & WEFT_WAIT_EPOCH, WEFT_WON_DEADLINE)) continue;
        waits_ready(f);
        return;
    }
}

/* --- what must hold in the end ------------------------------------------------------------------- */

static void account(void) {
    for (unsigned c = 0; c < CHANS; c++) {
        struct weft_chan *ch = &S->chan[c];
        uint32_t at = ch->first;
        for (uint64_t n = weft__chan_items(ch->word); n; n--) { /* the rest of the buffer */
            uint64_t item = S->room[c][at / 8];
            claim(item < ITEMS, "garbage in the buffer");
            if (item < ITEMS) S->received[item]++;
            at = weft__chan_next_offset(ch, at);
        }
    }
    for (unsigned i = 0; i < ITEMS; i++) {
        claim(S->sent[i] == S->received[i], "sent and received are not the same");
        claim(S->sent[i] + S->refused[i] <= 1, "sent twice");
    }
}

static void all_ended(void) {
    for (unsigned t = 0; t < n_threads; t++) claim(weak_has_ended(t), "waits for ever");
    for (unsigned c = 0; c < CHANS; c++) {
        uint64_t w = S->chan[c].word;
        claim(!(w & (WEFT_CHAN_LOCKED | WEFT_CHAN_RECEIVERS | WEFT_CHAN_SENDERS)),
              "the word says that somebody is there");
        claim(!S->chan[c].receivers && !S->chan[c].senders, "somebody is left in a chain");
    }
    for (unsigned f = 0; f < 2; f++) claim(!S->future[f].queue.first, "somebody is left in a future's chain");
    if (!wrong) account();
}

/* --- the programs ---------------------------------------------------------------------------------- */

static unsigned program;
static unsigned capacities[CHANS];

static void set_up(void) {
    for (unsigned c = 0; c < CHANS; c++) {
        struct weft_chan with = WEFT_CHAN_OVER(S->room[c], sizeof(uint64_t), capacities[c]);
        S->chan[c] = with;
        memset(S->room[c], 0xff, sizeof S->room[c]);
    }
}

static void set_up_one_there(void) {
    set_up();
    S->room[0][0] = 0;
    S->chan[0].word = WEFT_CHAN_ITEM;
    S->chan[0].next = weft__chan_next_offset(&S->chan[0], 0);
    S->sent[0] = 1;
}

enum {
    MEET,
    STREAM,
    CANCELLED,
    CLOSED,
    BOTH,
    ITSELF,
    CROSSED,
    CHOICE,
    SNAPSHOT,
    AWAITS,
    SENDS_EITHER,
    THREE,
    ROOM_LEFT,
    FUTURES,
    TIME
};

void run_thread(unsigned t) {
    int *r = S->result[t];
    switch (program) {
    case MEET: /* two threads send, one receives twice */
        if (t < 2)
            r[0] = send_item(0, t);
        else
            r[0] = receive_item(0), r[1] = receive_item(0);
        break;
    case STREAM: /* one thread sends three items, two receive */
        if (t == 0)
            for (uint64_t i = 0; i < 3; i++) r[i] = send_item(0, i);
        else
            for (unsigned i = 0; i < (t == 1 ? 2 : 1); i++) {
                r[i] = receive_item(0);
                if (t == 1) *(i ? &S->second : &S->first) = S->last_of[t];
            }
        break;
    case CANCELLED: /* the receiver is cancelled; then the channel is closed */
        if (t == 0)
            r[0] = receive_item(0);
        else if (t == 1)
            r[0] = send_item(0, 0), r[1] = send_item(0, 1);
        else
            cancel(0), weft_chan_close(&S->chan[0]);
        break;
    case CLOSED:
        if (t == 0)
            r[0] = receive_item(0), r[1] = receive_item(0);
        else if (t == 1)
            r[0] = send_item(0, 0);
        else
            r[0] = weft_chan_close(&S->chan[0]), r[1] = weft_chan_close(&S->chan[0]), r[2] = send_item(0, 5);
        break;
    case BOTH: /* a select receives from two channels */
        if (t < 2)
            r[0] = send_item(t, t);
        else
            r[0] = select_of(false, -1, -2, 0, 0), r[1] = select_of(false, -2, -1, 0, 0);
        break;
    case ITSELF: /* two that send and receive on one channel */ r[0] = select_of(false, 1, -1, t, 0); break;
    case CROSSED: /* each is the partner of the other on two channels */
        r[0] = t ? select_of(false, -1, 2, 0, 1) : select_of(false, 1, -2, 0, 0);
        break;
    case CHOICE: /* a select that is cancelled, and a thread that sends and closes */
        if (t == 0)
            r[0] = select_of(false, -1, -2, 0, 0);
        else if (t == 1)
            r[0] = send_item(0, 0);
        else
            cancel(0), weft_chan_close(&S->chan[0]);
        break;
    case SNAPSHOT: /* of two channels at least one always holds an item */
        if (t == 0) {
            r[0] = select_of(true, -2, -1, 0, 0);
            claim(r[0] >= 0, "found nothing, although something was there at every moment");
        } else {
            uint64_t item = 1, got = 99;
            S->sent[1] += !weft_chan_send_try(&S->chan[1], &item);
            if (!weft_chan_recv_try(&S->chan[0], &got)) note_received(got);
        }
        break;
    case AWAITS: /* a future and a channel */
        if (t == 0)
            r[0] = select_of(false, 0, -1, 0, 0);
        else if (t == 1)
            r[0] = weft_future_set(&S->future[0], &S->room), r[1] = weft_chan_close(&S->chan[0]);
        else
            r[0] = send_item(0, 0), r[1] = weft_future_wait(&S->future[0], NULL);
        break;
    case THREE: /* each could be the partner of the other two: two find each other, one is left over */
        r[0] = select_of(false, (int)t + 1, -(int)(t + 2) % 3 - 1, t, 0);
        break;
    case ROOM_LEFT: /* two items are sent, one is received: there is room for the other */
        if (t == 0)
            r[0] = send_item(0, 0), r[1] = send_item(0, 1);
        else
            r[0] = receive_item(0);
        break;
    case FUTURES: /* nothing else to wait for */
        if (t == 0)
            r[0] = select_of(false, 0, 100, 0, 0);
        else if (t == 1)
            r[0] = weft_future_set(&S->future[0], &S->room);
        else
            r[0] = weft_future_wait(&S->future[0], NULL);
        break;
    case TIME: /* an item or a time, whichever comes first */
        if (t == 0) {
            r[0] = select_of(false, -1, 101, 0, 0);
            store_rlx(&S->clock, 2);
            weft_chan_close(&S->chan[0]);
        } else if (t == 1)
            r[0] = send_item(0, 0);
        else
            time_comes(0);
        break;
    case SENDS_EITHER: /* a select sends to one of two receivers; the other gets nothing */
        if (t == 0)
            r[0] = select_of(false, 1, 2, 0, 1), weft_chan_close(&S->chan[0]), weft_chan_close(&S->chan[1]);
        else
            r[0] = receive_item(t - 1);
        break;
    }
}

/* Thread 1 receives two items, in the order of sending. */
static void in_order(void) {
    all_ended();
    claim(S->n_order == 3, "an item is missing");
    claim(S->first < S->second, "out of order");
}

static void one_of_two(void) {
    all_ended();
    claim(S->sent[0] + S->sent[1] == 1, "not exactly one was sent");
    claim(S->result[0][0] >= 0, "a select failed");
}

static void two_of_three(void) {
    unsigned ended = 0;
    for (unsigned t = 0; t < 3; t++) ended += weak_has_ended(t);
    claim(ended == 2, "not exactly two have found each other");
    account();
}

static void cancelled_or_done(void) {
    all_ended();
    claim(S->result[0][0] == -ECANCELED || S->result[0][0] == -EPIPE || S->result[0][0] >= 0, "another outcome");
    if (S->result[0][0] == -ECANCELED) claim(!S->n_order, "cancelled, and received");
}

static void item_or_time(void) {
    all_ended();
    int which = S->result[0][0];
    claim(which == 0 || which == 1, "neither the item nor the time");
    claim(S->n_order == (which == 0), "the time was chosen, and an item received, or none of both");
}

static void closed_once(void) {
    all_ended();
    claim(S->result[2][0] == 0 && S->result[2][1] == -EALREADY, "closed twice");
    claim(S->result[2][2] == -EPIPE, "sent to a closed channel");
    claim(S->result[1][0] == (S->received[0] ? 0 : -EPIPE), "sent, and not received");
}

static bool one(const char *name, unsigned what, unsigned n, unsigned a, unsigned b, void (*begin)(void),
                void (*end)(void), bool large) {
    char full[100];
    snprintf(full, sizeof full, "chan, %s, room for %u", name, a);
    program = what;
    most_waits = what == THREE ? 1 : 3;
    capacities[0] = a, capacities[1] = b, capacities[2] = 0;
    bool well = explore_all(&(struct weak_scene){full, n, begin, end, large});
    if (!cut || what == THREE || what == CROSSED) return well; /* see select.c */
    printf("%s: goes on for ever\n", full);
    return false;
}

static bool all_scenes(void) {
    bool well = true;
    for (unsigned room = 0; well && room < 3; room++)
        well = one("two senders, a receiver", MEET, 3, room, 0, set_up, all_ended, room > 1) &&
               one("a stream for two", STREAM, 3, room, 0, set_up, in_order, true) &&
               one("a receive that is cancelled", CANCELLED, 3, room, 0, set_up, cancelled_or_done, true) &&
               one("closing", CLOSED, 3, room, 0, set_up, closed_once, room != 1) &&
               one("select of two", BOTH, 3, room, room, set_up, all_ended, true) &&
               one("select of a future and a channel", AWAITS, 3, room, 0, set_up, all_ended, true) &&
               one("select of a channel and a time", TIME, 3, room, 0, set_up, item_or_time, true);
    return well && one("room is left", ROOM_LEFT, 2, 1, 0, set_up, all_ended, false) &&
           one("futures", FUTURES, 3, 0, 0, set_up, all_ended, false) &&
           one("select, both ways on one channel", ITSELF, 2, 0, 0, set_up, one_of_two, false) &&
           one("select, crossed", CROSSED, 2, 0, 0, set_up, one_of_two, false) &&
           one("select, three of which two meet", THREE, 3, 0, 0, set_up, two_of_three, true) &&
           one("select that is cancelled", CHOICE, 3, 0, 0, set_up, cancelled_or_done, true) &&
           one("select that is cancelled", CHOICE, 3, 1, 0, set_up, cancelled_or_done, true) &&
           one("select that sends to either", SENDS_EITHER, 3, 0, 0, set_up, all_ended, true) &&
           one("select that sends to either", SENDS_EITHER, 3, 1, 1, set_up, all_ended, true) &&
           one("select, a try that must succeed", SNAPSHOT, 2, 1, 1, set_up_one_there, all_ended, false);
}

int main(int argc, char **argv) { return weak_main(argc, argv, all_scenes); }
