/* SPDX-License-Identifier: MIT */
/*
 * Choices of a scheduler that experiments can change. Each choice is read once from the environment when a cluster
 * begins (control/policy.c), and only cold paths look at it. All zeros is weft's own choice.
 */
#ifndef WEFT_SCHED_CORE_POLICY_H
#define WEFT_SCHED_CORE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* In which order an idle worker visits the others. */
enum { WEFT_VICTIMS_NEAR, WEFT_VICTIMS_RANDOM, WEFT_VICTIMS_ROUND };
/* How much of a queue it takes. */
enum { WEFT_AMOUNT_HALF, WEFT_AMOUNT_ONE, WEFT_AMOUNT_ALL };
/* Where fibers that become ready wait: at the worker that made them ready, in one queue behind one lock, or at the
 * next worker in turn. */
enum { WEFT_QUEUE_OWN, WEFT_QUEUE_GLOBAL, WEFT_QUEUE_SHARED };

struct weft__policy {
    uint8_t victims, amount, queue;
    bool no_backoff; /* an idle worker looks again at once */
};

static inline uint64_t weft__policy_amount(const struct weft__policy *p, uint64_t length) {
    if (p->amount == WEFT_AMOUNT_HALF) return (length + 1) / 2;
    return p->amount == WEFT_AMOUNT_ONE ? 1 : length;
}

#endif
