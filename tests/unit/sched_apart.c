/* SPDX-License-Identifier: MIT */
/* A worker offers its short queue to a thief, and learns whether that pays. The thief returns the fibers if it does
 * not. */
#include "../test.h"

#include "sched/balance/balance.h"
#include "sched/wake/idle.h"

#include <string.h>

#define MS WEFT_MILLISECOND

static struct weft__cluster cluster;
static struct weft__worker owner, thief;
static struct weft__fiber fibers[64];
static uint64_t now;

static void begin(uint64_t turn_ns, unsigned length) {
    memset(&cluster, 0, sizeof cluster);
    memset(&owner, 0, sizeof owner);
    memset(&thief, 0, sizeof thief);
    cluster.stealing = true;
    store_rlx(&cluster.wanted, 2);
    store_rlx(&cluster.running, true);
    owner.cluster = thief.cluster = &cluster;
    thief.index = 1;
    CHECK(!weft__ready_init(&owner.ready, 64, 0) && !weft__ready_init(&thief.ready, 64, 0));
    for (unsigned i = 0; i < length; i++) CHECK(!weft__ready_push(&owner.ready, &fibers[i]));
    owner.pace.mean_turn = 16 * turn_ns;
    now = 1000 * MS;
    store_rlx(&cluster.idle.state, WEFT_IDLE_SLEEPER); /* there is a worker to wake, but no sleeper */
}

static void end(void) {
    weft__ready_destroy(&owner.ready);
    weft__ready_destroy(&thief.ready);
}

static bool offers(void) {
    weft__split_trial_tick(&owner, now);
    return load_rlx(&owner.age.offered);
}

static void take_one(void) {
    void *f = weft__ready_pop(&owner.ready);
    CHECK(f && !weft__ready_push(&thief.ready, f));
    weft__split_trial_note_taken(&thief, &owner, now);
    thief.pace.mean_turn = owner.pace.mean_turn;
}

TEST(only_short_queues_that_move_are_offered) {
    begin(30, 2);
    CHECK(offers());
    end();
    begin(30, 1);
    CHECK(!offers());
    end();
    begin(30, 40);
    CHECK(!offers()); /* takes more than WEFT_CARRY: thieves take from it anyway */
    end();
    begin(2000, 2);
    CHECK(!offers());
    end();
    begin(30, 2);
    store_rlx(&cluster.idle.state, 0);
    CHECK(!offers()); /* none sleeps */
    end();
}

TEST(what_pays_is_kept_and_offered_again) {
    begin(30, 4);
    CHECK(offers());
    take_one();
    now += MS;
    CHECK(!offers());
    CHECK(!load_rlx(&owner.age.recalls) && owner.split_trial.vain == 0);
    now += 2 * MS;
    CHECK(offers());
    end();
}

/* A thief has taken a fiber, and the turns have become longer. So the owner recalls the fiber. */
static void begin_slower(void) {
    begin(30, 2);
    CHECK(offers());
    take_one();
    owner.pace.mean_turn = 16 * 90;
    now += MS;
    store_rlx(&owner.progress.polled_at, now);
    CHECK(!offers() && load_rlx(&owner.age.recalls));
}

TEST(what_is_slower_is_recalled_and_returned) {
    begin_slower();
    thief.split_trial.taken_at = now; /* the trial was just judged */
    weft__split_trial_tick(&thief, now);
    CHECK(!weft__ready_length(&thief.ready) && !weft__mailbox_is_empty(&owner.mailbox) && !thief.split_trial.owner);
    end();
}

TEST(an_owner_that_computes_gets_nothing_back) {
    begin_slower();
    now += MS;
    thief.split_trial.taken_at = now;
    weft__split_trial_tick(&thief, now);
    CHECK(weft__ready_length(&thief.ready) == 1 && weft__mailbox_is_empty(&owner.mailbox));
    end();
}

TEST(trials_in_vain_become_rare) {
    begin(30, 2);
    uint64_t pause = 0;
    for (unsigned i = 0; i < 12; i++) {
        CHECK(offers()); /* and no thief comes */
        now += MS;
        CHECK(!offers());
        uint64_t next = owner.split_trial.next - now;
        CHECK(next >= 2 * pause || next == 256 * MS);
        pause = next;
        now = owner.split_trial.next;
    }
    CHECK(pause == 256 * MS);
    end();
}
