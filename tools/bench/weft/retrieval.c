/* SPDX-License-Identifier: MIT */
/*
 * retrieval: how long it takes to get an item that another thread has left.
 *
 *   box=        where items are: a worker's mailbox, or a deque from which the receiver steals
 *   contended=  0: the sender leaves an item in each of a thousand boxes, and rests while the receiver takes them
 *               1: there is one box, and both threads work all the time
 *   ms=         the duration
 *
 * Metric: ns for each item; without contention only the time of the receiver. Each item must come once. Sample
 * "retrieval": quantiles of the rounds' means.
 */
#include "own.h"

#include "queue/list.h"

#include "deques.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS 1000
#define ROOM 2048     /* of a deque for all items: a power of two */
#define ROUNDS 200000 /* the most rounds */
#define PATIENT 1000  /* looks before the receiver yields the processor */

struct item {
    APART struct weft__link link;
    _Atomic bool left; /* the item is in a box, or was just taken from it */
};

struct retrieval {
    const struct deque_sort *sort; /* NULL: mailboxes */
    struct weft__mailbox *mailboxes;
    void **deques;
    size_t boxes;
    struct item *items;
    uint64_t left, came; /* items that the sender has left and that have come */
    APART _Atomic bool ended;
    pthread_barrier_t turn;
};

/* The abp deque has room again only after its owner has found it empty. */
static void push(const struct deque_sort *sort, void *deque, struct item *item) {
    while (!sort->push(deque, item)) {
        void *youngest = sort->pop(deque);
        if (youngest && !sort->push(deque, youngest)) fail("a deque refused an item", ENOBUFS);
        sched_yield();
    }
}

static void leave(struct retrieval *r, size_t i) {
    struct item *item = &r->items[i];
    store_rlx(&item->left, true);
    if (!r->sort)
        weft__mailbox_put(&r->mailboxes[i % r->boxes], &item->link);
    else
        push(r->sort, r->deques[i % r->boxes], item);
    r->left++;
}

/* Notes an item that has come. Then the sender may leave it again. */
static void receive(struct retrieval *r, struct item *item) {
    r->came++;
    store_rel(&item->left, false); /* pairs with the sender that waits for it */
}

/* Takes items from the box: all items of a mailbox, one item of a deque. */
static void retrieve(struct retrieval *r, size_t box) {
    if (r->sort) {
        struct item *item = r->sort->steal(r->deques[box]);
        if (item) receive(r, item);
        return;
    }
    struct weft__list mail = {NULL, NULL};
    weft__mailbox_take_all(&r->mailboxes[box], &mail);
    for (struct weft__link *link; (link = weft__list_take(&mail));) receive(r, container_of(link, struct item, link));
}

static void *send_in_turn(void *p) {
    struct retrieval *r = p;
    while (!load_acq(&r->ended)) { /* pairs with the end */
        for (size_t i = 0; i < ITEMS; i++) leave(r, i);
        pthread_barrier_wait(&r->turn); /* waits until the items are there */
        pthread_barrier_wait(&r->turn); /* the items have been taken */
    }
    return NULL;
}

static void *send_always(void *p) {
    struct retrieval *r = p;
    for (size_t i = 0; !load_acq(&r->ended); i = (i + 1) % ITEMS) {                    /* pairs with the end */
        for (unsigned looks = 0; load_acq(&r->items[i].left) && !load_rlx(&r->ended);) /* pairs with receive */
            if (++looks % PATIENT == 0) sched_yield();
        if (!load_acq(&r->items[i].left)) leave(r, i);
    }
    return NULL;
}

static void begin(struct retrieval *r, const struct args *args) {
    const char *box = arg_text(args, "box", "mailbox");
    bool mailbox = !strcmp(box, "mailbox");
    char name[64];
    snprintf(name, sizeof name, "%s queue", box);
    *r = (struct retrieval){.sort = mailbox ? NULL : deque_sorts, .boxes = arg(args, "contended") ? 1 : ITEMS};
    while (!mailbox && r->sort->name && strcmp(r->sort->name, name)) r->sort++;
    if (!mailbox && !r->sort->name) fail(box, EINVAL);
    deques_prepare();
    r->items = allocate(ITEMS, sizeof *r->items);
    r->mailboxes = allocate(r->boxes, sizeof *r->mailboxes);
    r->deques = allocate(r->boxes, sizeof *r->deques);
    for (size_t i = 0; !mailbox && i < r->boxes; i++)
        if (!(r->deques[i] = r->sort->make(r->boxes == 1 ? ROOM : 2, 0))) fail("no memory for a deque", ENOMEM);
    pthread_barrier_init(&r->turn, NULL, 2);
}

static void finish(struct retrieval *r) {
    for (size_t i = 0; r->sort && i < r->boxes; i++) r->sort->destroy(r->deques[i]);
    free(r->items);
    free(r->mailboxes);
    free(r->deques);
    pthread_barrier_destroy(&r->turn);
}

static double in_turn(struct retrieval *r, uint64_t until) {
    double *means = allocate(ROUNDS, sizeof *means);
    uint64_t sum = 0;
    size_t rounds = 0;
    for (bool more = true; more; rounds++) {
        pthread_barrier_wait(&r->turn);
        uint64_t began = clock_ns();
        for (size_t i = 0; i < ITEMS; i++) retrieve(r, i);
        uint64_t took = clock_ns() - began;
        sum += took;
        means[rounds] = (double)took / ITEMS;
        more = clock_ns() < until && rounds + 1 < ROUNDS;
        if (!more) store_rel(&r->ended, true); /* pairs with the sender */
        pthread_barrier_wait(&r->turn);
    }
    double mean = (double)sum / (double)rounds / ITEMS;
    percentile(means, rounds, 50); /* sorts them */
    measure_quantiles("retrieval", means, rounds);
    free(means);
    return mean;
}

static double always(struct retrieval *r, uint64_t until) {
    uint64_t began = clock_ns(), now = began, came = 0;
    while (now < until) {
        for (int i = 0; i < ITEMS; i++) retrieve(r, 0);
        now = clock_ns();
        if (r->came == came) sched_yield();
        came = r->came;
    }
    store_rel(&r->ended, true); /* pairs with the sender */
    return (double)(now - began) / (double)(came ? came : 1);
}

void own_retrieval(const struct args *args, struct result *result) {
    struct retrieval r;
    pthread_t sender;
    bool contended = arg(args, "contended");
    begin(&r, args);
    int error = pthread_create(&sender, NULL, contended ? send_always : send_in_turn, &r);
    if (error) fail("pthread_create", error);
    keep_apart();
    result->values[0] = (contended ? always : in_turn)(&r, clock_ns() + arg(args, "ms") * 1000000);
    pthread_join(sender, NULL);
    for (size_t i = 0; i < ITEMS; i++) retrieve(&r, i % r.boxes);
    result->right = r.came == r.left && r.came >= ITEMS;
    finish(&r);
}
