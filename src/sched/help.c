/*
 * See help.h. The rule: a queue's delay is what its oldest has waited, or the average of who ran
 * lately, whichever is more. Theirs must be more than ours by a half, and by WEFT_HELP_SLACK: short
 * bursts, a cache miss or an interrupt, are not worth a migration.
 *
 * How much: half of the difference in length, so that the next look finds both alike; and if the
 * oldest has waited for twice the average and the slack, its owner does not come by: all of it.
 */
#include "sched/help.h"

#define WEFT_HELP_SLACK 5000

static uint64_t delay(const struct weft__view *v) { return v->waited > v->average ? v->waited : v->average; }

uint64_t weft__help(const struct weft__view *mine, const struct weft__view *theirs) {
    uint64_t ours = delay(mine);
    if (!theirs->length || delay(theirs) <= ours + ours / 2 + WEFT_HELP_SLACK) return 0;
    if (theirs->waited > 2 * theirs->average + WEFT_HELP_SLACK) return theirs->length;
    return theirs->length > mine->length + 1 ? (theirs->length - mine->length) / 2 : 1;
}
