/* SPDX-License-Identifier: MIT */
/*
 * See help_rule.h. A queue's delay is what its oldest has waited, or what fibers usually wait there,
 * whichever is more. There are two reasons to help:
 *
 *   - Their delay is longer than ours by a half and WEFT_HELP_SLACK. Takes an eighth of the queue at each look:
 *     the owner may only have been interrupted, and to carry fibers over and back costs more than
 *     they gain. Takes all of it when it is twice as late: then the owner does not come home.
 *   - Their queue is longer by an eighth, and fibers wait there as long as in ours, at least. Fibers stay where they
 *     are woken, so it would stay longer for ever, and its fibers would be served less often. Half of the difference.
 *     Where ours waits longer, because this worker has less of a processor, the first rule has moved fibers away from
 *     here: they must not come back.
 */
#include "sched/balance/help_rule.h"

static uint64_t help_delay(const struct weft__view *v) { return v->waited > v->average ? v->waited : v->average; }

uint64_t weft__help(const struct weft__view *mine, const struct weft__view *theirs) {
    uint64_t ours = help_delay(mine);
    uint64_t limit = ours + ours / 2 + WEFT_HELP_SLACK;
    if (help_delay(theirs) > 2 * limit) return theirs->length;
    if (help_delay(theirs) > limit) return (theirs->length + 7) / 8;
    if (theirs->length > mine->length + mine->length / 8 + 4 && theirs->average >= mine->average)
        return (theirs->length - mine->length) / 2;
    return 0;
}
