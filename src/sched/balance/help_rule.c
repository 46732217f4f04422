/* SPDX-License-Identifier: MIT */
/*
 * See help_rule.h. The delay of a queue is the wait of its oldest fiber, or the usual wait there, whichever is longer.
 * There are two reasons to help:
 *
 *   - The other queue's delay is longer than ours by a half plus WEFT_HELP_SLACK. The helper takes an eighth of that
 *     queue at each look. It takes no more, because the owner may only have been interrupted, and moving fibers over
 *     and back costs more than they gain. If the delay is twice as long again, the owner does not come home, and the
 *     helper takes all fibers.
 *   - The other queue is longer than ours by an eighth, and fibers wait there at least as long as here. Fibers stay
 *     where they are woken, so that queue would stay longer for ever, and its fibers would run less often. The helper
 *     takes half of the difference. It takes nothing if fibers wait longer here: then this worker has less of a
 *     processor, and the first rule has moved fibers away from here. They must not come back.
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
