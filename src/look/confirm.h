/* SPDX-License-Identifier: MIT */
/*
 * Second looks. The fibers of a process at work are read one after the other, and the owners of locks later. So two
 * waits that are seen need not have gone on at the same time: a circle of such waits is no deadlock. But if each fiber
 * of a circle is found in the same wait once more, all of these waits went on together from the last first look to the
 * first second look. An owner that is read in that time is blocked, and stays the owner.
 */
#ifndef WEFT_LOOK_CONFIRM_H
#define WEFT_LOOK_CONFIRM_H

#include "look/report.h"

/* Waits for a tenth of a second, because locks that are contended, but soon released, are no finding. Not for a core
 * file or the calling process itself. */
void weft__confirm_pause(struct weft__report *report);
/* Is the fiber still in the wait that was seen, and has the object the same owner? */
bool weft__confirm_wait(struct weft__report *report, const struct weft__seen *f);
/* Is the fiber still in the state that was seen: in the same wait, running, ended? */
bool weft__confirm_state(struct weft__report *report, const struct weft__seen *f);
/* Does no fiber or thread with this handle exist any more? */
bool weft__confirm_gone(struct weft__report *report, uint64_t id);

#endif
