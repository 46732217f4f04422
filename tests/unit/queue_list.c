/* SPDX-License-Identifier: MIT */
/* Chains and mailboxes: order, and every item exactly once. */
#include "../test.h"

#include "queue/list.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

struct item {
    struct weft__link link;
    unsigned from, number;
};

static struct item *item_of(struct weft__link *l) { return container_of(l, struct item, link); }

TEST(list_is_first_in_first_out) {
    struct weft__list l = {NULL, NULL};
    struct item items[10];
    CHECK(!weft__list_take(&l));
    for (unsigned round = 0; round < 3; round++) { /* it works again after it was empty */
        for (unsigned i = 0; i < 10; i++) weft__list_put(&l, &items[i].link);
        for (unsigned i = 0; i < 10; i++) CHECK(weft__list_take(&l) == &items[i].link);
        CHECK(!weft__list_take(&l));
    }
}

TEST(list_put_and_take_alternating) {
    struct weft__list l = {NULL, NULL};
    struct item items[4];
    for (unsigned i = 0; i < 100; i++) {
        weft__list_put(&l, &items[i % 4].link);
        if (i >= 2) CHECK(weft__list_take(&l) == &items[(i - 2) % 4].link);
    }
}

TEST(mailbox_hands_out_oldest_first) {
    struct weft__mailbox m = {NULL};
    struct weft__list l = {NULL, NULL};
    struct item items[10];
    CHECK(weft__mailbox_is_empty(&m));
    weft__mailbox_take_all(&m, &l);
    CHECK(!weft__list_take(&l));
    for (unsigned i = 0; i < 10; i++) weft__mailbox_put(&m, &items[i].link);
    CHECK(!weft__mailbox_is_empty(&m));
    weft__mailbox_take_all(&m, &l);
    CHECK(weft__mailbox_is_empty(&m));
    for (unsigned i = 0; i < 10; i++) CHECK(weft__list_take(&l) == &items[i].link);
    CHECK(!weft__list_take(&l));
}

TEST(mailbox_appends_to_what_is_there) {
    struct weft__mailbox m = {NULL};
    struct weft__list l = {NULL, NULL};
    struct item items[6];
    for (unsigned i = 0; i < 6; i++) {
        weft__mailbox_put(&m, &items[i].link);
        if (i % 2) weft__mailbox_take_all(&m, &l);
    }
    for (unsigned i = 0; i < 6; i++) CHECK(weft__list_take(&l) == &items[i].link);
}

enum { SENDERS = 4 };

struct sender {
    struct weft__mailbox *m;
    struct item *items;
    unsigned from, count;
    pthread_t thread;
};

static void *send_all(void *arg) {
    struct sender *s = arg;
    for (unsigned i = 0; i < s->count; i++) {
        s->items[i] = (struct item){.from = s->from, .number = i};
        weft__mailbox_put(s->m, &s->items[i].link);
        if (i % 1000 == 0) sched_yield();
    }
    return NULL;
}

TEST_WITHIN(mailbox_of_several_senders, 30) {
    struct weft__mailbox m = {NULL};
    struct weft__list l = {NULL, NULL};
    struct sender sender[SENDERS];
    unsigned count = (unsigned)test_size(300000), next[SENDERS] = {0}, got = 0;
    for (unsigned i = 0; i < SENDERS; i++) {
        sender[i] = (struct sender){.m = &m, .from = i, .count = count, .items = calloc(count, sizeof(struct item))};
        CHECK(sender[i].items);
        CHECK(!pthread_create(&sender[i].thread, NULL, send_all, &sender[i]));
    }
    while (got < SENDERS * count) {
        weft__mailbox_take_all(&m, &l);
        struct weft__link *link = weft__list_take(&l);
        if (!link) sched_yield();
        for (; link; link = weft__list_take(&l)) {
            struct item *it = item_of(link);
            CHECK_EQ(it->number, next[it->from]); /* in order, hence each once */
            next[it->from]++;
            got++;
        }
    }
    for (unsigned i = 0; i < SENDERS; i++) {
        CHECK(!pthread_join(sender[i].thread, NULL));
        CHECK_EQ(next[i], count);
        free(sender[i].items);
    }
    CHECK(weft__mailbox_is_empty(&m));
}
