/* SPDX-License-Identifier: MIT */
/* The wait word: exactly one waker ends a wait, late tickets fail, permit and cancellation stay. */
#include "../test.h"

#include "sched/wait/wait.h"

#include <pthread.h>
#include <stdlib.h>

#define PARK (WEFT_WAIT_BY_PERMIT | WEFT_WAIT_BY_CANCEL)

/* A record that no worker runs, outside of any slab and runtime. */
static struct weft__fiber *new_record(void) {
    struct weft__fiber *f = aligned_alloc(128, sizeof *f);
    CHECK(f);
    *f = (struct weft__fiber){.where = NULL};
    return f;
}

TEST(each_wait_has_its_ticket) {
    struct weft__fiber *f = new_record();
    uint64_t before = 0, ticket;
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(weft__wait_begin(f, PARK, &ticket), 0);
        CHECK(ticket > before);
        CHECK(f->wait & WEFT_WAIT_WAITING);
        CHECK(weft__wait_win(f, ticket, WEFT_WON_DONE));
        CHECK(!(f->wait & WEFT_WAIT_WAITING));
        CHECK_EQ(f->wait & WEFT_WAIT_REASON, WEFT_WON_DONE);
        before = ticket;
    }
    free(f);
}

TEST(only_the_first_wins_and_the_reason_is_its) {
    static const uint64_t reasons[] = {WEFT_WON_DONE, WEFT_WON_DEADLINE, WEFT_WON_CANCEL};
    struct weft__fiber *f = new_record();
    uint64_t ticket;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < 3; k++) {
            CHECK_EQ(weft__wait_begin(f, PARK, &ticket), 0);
            CHECK(weft__wait_win(f, ticket, reasons[i]));
            CHECK(!weft__wait_win(f, ticket, reasons[k]));
            CHECK_EQ(f->wait & WEFT_WAIT_REASON, reasons[i]);
        }
    free(f);
}

TEST(a_late_ticket_fails) {
    struct weft__fiber *f = new_record();
    uint64_t first, second;
    CHECK(!weft__wait_win(f, 0, WEFT_WON_DONE)); /* runs, and never waited */
    CHECK_EQ(weft__wait_begin(f, PARK, &first), 0);
    CHECK(weft__wait_win(f, first, WEFT_WON_DONE));
    CHECK_EQ(weft__wait_begin(f, PARK, &second), 0);
    CHECK(!weft__wait_win(f, first, WEFT_WON_DEADLINE));
    CHECK(f->wait & WEFT_WAIT_WAITING);
    CHECK(weft__wait_win(f, second, WEFT_WON_DONE));
    free(f);
}

TEST(a_permit_saves_the_wait_and_is_used_up) {
    struct weft__fiber *f = new_record();
    uint64_t ticket = 0;
    f->wait = WEFT_WAIT_PERMIT;
    CHECK_EQ(weft__wait_begin(f, PARK, &ticket), 1);
    CHECK_EQ(f->wait & WEFT_WAIT_PERMIT, 0);
    CHECK_EQ(weft__wait_begin(f, PARK, &ticket), 0);
    free(f);
}

TEST(other_waits_leave_the_permit) {
    struct weft__fiber *f = new_record();
    uint64_t ticket;
    f->wait = WEFT_WAIT_PERMIT;
    CHECK_EQ(weft__wait_begin(f, WEFT_WAIT_BY_CANCEL, &ticket), 0);
    CHECK(weft__wait_win(f, ticket, WEFT_WON_DONE));
    CHECK_EQ(f->wait & WEFT_WAIT_STICKY, WEFT_WAIT_PERMIT);
    CHECK_EQ(weft__wait_begin(f, PARK, &ticket), 1);
    free(f);
}

TEST(a_request_ends_every_wait_that_it_may) {
    struct weft__fiber *f = new_record();
    uint64_t ticket;
    f->wait = WEFT_WAIT_CANCEL | WEFT_WAIT_PERMIT;
    CHECK_EQ(weft__wait_begin(f, PARK, &ticket), 1); /* need not wait */
    for (int i = 0; i < 3; i++) CHECK_EQ(weft__wait_begin(f, PARK, &ticket), -ECANCELED);
    CHECK_EQ(weft__wait_begin(f, WEFT_WAIT_BY_CANCEL, &ticket), -ECANCELED);
    CHECK_EQ(f->wait & WEFT_WAIT_STICKY, WEFT_WAIT_CANCEL);
    CHECK_EQ(weft__wait_begin(f, 0, &ticket), 0); /* a wait that must return something */
    CHECK(weft__wait_win(f, ticket, WEFT_WON_DONE));
    CHECK_EQ(f->wait & WEFT_WAIT_STICKY, WEFT_WAIT_CANCEL);
    free(f);
}

TEST(withdrawn_is_as_if_never_begun) {
    struct weft__fiber *f = new_record();
    uint64_t ticket;
    CHECK_EQ(weft__wait_begin(f, WEFT_WAIT_BY_CANCEL, &ticket), 0);
    CHECK_EQ(weft__wait_withdraw(f, ticket), 0);
    CHECK(!weft__wait_win(f, ticket, WEFT_WON_DONE));
    free(f);
}

/* --- a race for every ticket ------------------------------------------------------------------------ */

enum { RACERS = 3 };
static struct weft__fiber *racing;
static _Atomic uint64_t on_offer; /* a ticket; 1: the end */
static _Atomic uint64_t won;

static void *race(void *arg) {
    uint64_t reason = (uint64_t)(uintptr_t)arg, ticket;
    while ((ticket = load_acq(&on_offer)) != 1)
        if (ticket && weft__wait_win(racing, ticket, reason))
            add_ar(&won, 1);
        else
            weft__cpu_yield(); /* fewer processors than racers */
    return NULL;
}

TEST_WITHIN(exactly_one_of_several_wins, 60) {
    pthread_t thread[RACERS];
    size_t rounds = 0, most = test_size(300000);
    uint64_t end = weft_now() + 10 * WEFT_SECOND; /* beside others each yield may cost milliseconds: then fewer */
    racing = new_record();
    for (uintptr_t i = 0; i < RACERS; i++) CHECK(!pthread_create(&thread[i], NULL, race, (void *)((i + 1) * 0x20)));
    while (rounds < most && (rounds < 100 || weft_now() < end)) {
        uint64_t ticket;
        rounds++;
        CHECK_EQ(weft__wait_begin(racing, PARK, &ticket), 0);
        store_rel(&on_offer, ticket);
        /* The word shows the end a moment before the winner has counted itself. */
        while (load_acq(&racing->wait) & WEFT_WAIT_WAITING) weft__cpu_yield();
        while (load_acq(&won) < rounds) weft__cpu_yield();
        CHECK_EQ(load_acq(&won), rounds);
    }
    store_rel(&on_offer, 1);
    for (unsigned i = 0; i < RACERS; i++) CHECK(!pthread_join(thread[i], NULL));
    CHECK_EQ(won, rounds);
    free(racing);
}
