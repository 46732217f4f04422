/*
 * See help.h. A queue's delay is what its oldest has waited, or the average of who ran lately,
 * whichever is more. There are two reasons to help:
 *
 *   - Theirs is more than ours by a half, and by WEFT_HELP_SLACK: bursts shorter than that, a cache
 *     miss or an interrupt, are not worth a migration. If the oldest has waited for twice the average
 *     and the slack, the owner does not come by: then all of it, else half of the difference.
 *   - Their queue is longer by an eighth, and waits no less than ours. Fibers stay where they are
 *     woken, so it would stay longer for ever, and whoever stands in it be served less often.
 */
#include "sched/help.h"

static uint64_t delay(const struct weft__view *v) { return v->waited > v->average ? v->waited : v->average; }

static uint64_t half_of_difference(const struct weft__view *mine, const struct weft__view *theirs) {
    return theirs->length > mine->length + 1 ? (theirs->length - mine->length) / 2 : 1;
}

uint64_t weft__help(const struct weft__view *mine, const struct weft__view *theirs) {
    uint64_t ours = delay(mine);
    if (!theirs->length) return 0;
    if (delay(theirs) > ours + ours / 2 + WEFT_HELP_SLACK)
        return theirs->waited > 2 * theirs->average + WEFT_HELP_SLACK ? theirs->length
                                                                      : half_of_difference(mine, theirs);
    if (theirs->length > mine->length + mine->length / 8 + 4 && theirs->average >= mine->average)
        return half_of_difference(mine, theirs);
    return 0;
}
