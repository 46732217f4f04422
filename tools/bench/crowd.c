/* SPDX-License-Identifier: MIT */
/* See crowd.h. */
#include "crowd.h"

#include <stdlib.h>

void crowd_run_with(struct crowd *crowd, bool bare, size_t size, size_t step, uint64_t milliseconds,
                    void *(*body)(void *)) {
    crowd->size = size;
    crowd->seats = (struct seat *)allocate(size, sizeof *crowd->seats);
    crowd->counts = (uint64_t *)allocate(size, sizeof *crowd->counts);
    for (size_t i = 0; i < size; i++) {
        struct seat *seat = &crowd->seats[i];
        seat->index = i;
        seat->crowd = crowd;
        baton_init(&seat->baton, bare);
        sys_spawn(&seat->fiber, body, seat);
        baton_bind(&seat->baton, &seat->fiber);
    }
    alarm_start(&crowd->alarm, milliseconds);
    for (size_t i = 0; i < size; i += step) baton_give(&crowd->seats[i].baton);
    for (size_t i = 0; i < size; i++) sys_join(&crowd->seats[i].fiber);
    alarm_join(&crowd->alarm);

    crowd->seconds = (double)(crowd->alarm.ended - crowd->alarm.began) / 1e9;
    crowd->right = true;
    crowd->total = 0;
    for (size_t i = 0; i < size; i++) {
        crowd->right &= crowd->seats[i].left == 1;
        crowd->total += crowd->counts[i] = crowd->seats[i].count;
    }
}

void crowd_free(struct crowd *crowd) {
    free(crowd->seats);
    free(crowd->counts);
}
