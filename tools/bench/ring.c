/* SPDX-License-Identifier: MIT */
/*
 * ring: a token goes round through many fibers. Each receives it from the previous fiber and sends it to the next, over
 * channels without a buffer.
 *
 *   count=  fibers
 *
 * The clock starts after the first round. The token is the number of hops so far, so every fiber can check it. A token
 * of 0 ends the fiber that gets it. Metric: ns per hop.
 */
#include "benches.h"
#include "system.h"

#include <stdlib.h>

struct ring {
    struct alarm_clock alarm;
    size_t count;
    uint64_t milliseconds;
    struct link *links;
    APART uint64_t hops, began, ended;
};

struct link {
    struct sys_chan chan; /* from the previous fiber */
    struct sys_fiber fiber;
    struct ring *ring;
    bool right;
};

static void *pass(void *p) {
    struct link *link = (struct link *)p;
    struct ring *ring = link->ring;
    size_t me = (size_t)(link - ring->links);
    struct sys_chan *next = &ring->links[(me + 1) % ring->count].chan;
    uint64_t token, expected = me + 1;
    while (sys_chan_recv(&link->chan, &token) && token) {
        link->right &= token == expected;
        expected += ring->count;
        if (me == 0 && token == ring->count + 1) { /* after the first round all fibers have begun */
            alarm_start(&ring->alarm, ring->milliseconds);
            ring->began = clock_ns();
        } else if (me == 0 && token > 1 && alarm_rung(&ring->alarm)) {
            ring->ended = clock_ns();
            ring->hops = token - 1 - ring->count;
            break;
        }
        sys_chan_send(next, token + 1);
    }
    if (me + 1 < ring->count) sys_chan_send(next, 0);
    return NULL;
}

void bench_ring(const struct args *args, struct result *result) {
    struct ring ring;
    ring.count = arg(args, "count");
    ring.milliseconds = arg(args, "ms");
    ring.links = (struct link *)allocate(ring.count, sizeof *ring.links);
    for (size_t i = 0; i < ring.count; i++) {
        ring.links[i].ring = &ring;
        ring.links[i].right = true;
        sys_chan_init(&ring.links[i].chan, 0);
    }
    for (size_t i = 0; i < ring.count; i++) sys_spawn(&ring.links[i].fiber, pass, &ring.links[i]);
    sys_chan_send(&ring.links[0].chan, 1);
    result->right = true;
    for (size_t i = 0; i < ring.count; i++) {
        sys_join(&ring.links[i].fiber);
        result->right &= ring.links[i].right;
    }
    alarm_join(&ring.alarm);
    result->values[0] = (double)(ring.ended - ring.began) / (double)ring.hops;
    for (size_t i = 0; i < ring.count; i++) sys_chan_end(&ring.links[i].chan);
    free(ring.links);
}
