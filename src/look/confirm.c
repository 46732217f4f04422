/* SPDX-License-Identifier: MIT */
/* See confirm.h. */
#include "look/confirm.h"

#include "sched/core/wait_word.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#define WEFT_CONFIRM_AFTER 100000000 /* ns */

void weft__confirm_pause(struct weft__report *report) {
    struct timespec pause = {0, WEFT_CONFIRM_AFTER};
    if (report->has_stopped || report->look->memory->pid == getpid()) return;
    while (nanosleep(&pause, &pause) && errno == EINTR) {
    }
}

/* Looks at the fiber again, without its stack. An owner that was remembered for other fibers would be old. */
static bool confirm_look(struct weft__report *report, uint64_t id, struct weft__seen *again) {
    struct weft__look *look = report->look;
    bool stacks = look->stacks;
    weft__look_forget(look);
    look->stacks = false;
    bool exists = weft__look_fiber(look, id, again);
    look->stacks = stacks;
    return exists;
}

bool weft__confirm_wait(struct weft__report *report, const struct weft__seen *f) {
    struct weft__seen again;
    if (!confirm_look(report, f->id, &again) || again.torn || again.wait != f->wait) return false;
    return again.on == f->on && again.object == f->object && again.owner == f->owner &&
           again.held_outside == f->held_outside;
}

bool weft__confirm_state(struct weft__report *report, const struct weft__seen *f) {
    struct weft__seen again;
    if (!confirm_look(report, f->id, &again) || again.state != f->state) return false;
    return f->state == WEFT_SEEN_RUNNING || again.wait == f->wait;
}

bool weft__confirm_gone(struct weft__report *report, uint64_t id) {
    struct weft__seen again;
    struct weft__look *look = report->look;
    const struct weft__layout *l = &look->layout;
    uint32_t index = weft__life_index(id);
    if (confirm_look(report, id, &again)) return false;
    uint64_t chunk = weft__peek64(look->memory, (uintptr_t)l->fibers + l->slab_chunk + index / l->chunk_records * 8);
    uint64_t at = chunk + (uint64_t)(index % l->chunk_records) * l->record_size;
    return chunk && weft__peek64(look->memory, at + l->fiber_life) != id;
}
