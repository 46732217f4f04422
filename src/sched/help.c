/*
 * See help.h. A queue's delay is what its oldest has waited, or the average of who ran lately,
 * whichever is more. There are two reasons to help:
 *
 *   - Theirs is more than ours by a half, and by WEFT_HELP_SLACK. Half of the queue, then; and if the
 *     owner still does not come by, half of the rest at the next look, and so on.
 *   - Their queue is longer by an eighth, and waits no less than ours. Fibers stay where they are
 *     woken, so it would stay longer for ever, and whoever stands in it be served less often. Half of
 *     the difference.
 */
#include "sched/help.h"

static uint64_t delay(const struct weft__view *v) { return v->waited > v->average ? v->waited : v->average; }

uint64_t weft__help(const struct weft__view *mine, const struct weft__view *theirs) {
    uint64_t ours = delay(mine);
    if (delay(theirs) > ours + ours / 2 + WEFT_HELP_SLACK) return (theirs->length + 1) / 2;
    if (theirs->length > mine->length + mine->length / 8 + 4 && theirs->average >= mine->average)
        return (theirs->length - mine->length) / 2;
    return 0;
}
