/* SPDX-License-Identifier: MIT */
/* A frame of `weft top` as text: lines that are cut off at the width, for a terminal or for a file. */
#ifndef TOOLS_LOOK_SCREEN_H
#define TOOLS_LOOK_SCREEN_H

#include "view.h"

enum screen_sort { BY_COUNT, BY_LONGEST, BY_ARRIVALS, SORTS };

struct screen {
    unsigned width, height; /* height 0: as long as it gets */
    bool styled;            /* a terminal: bold, inverse, and each line erased to its end */
    enum screen_sort sort;
    char filter[64]; /* rows without this text are left out */
    bool typing;     /* the filter is being typed */
    bool frozen;
    unsigned selected; /* row */
    double interval;
    /* Of the last frame that was drawn: */
    unsigned lines, shown; /* rows that passed the filter */
    uint64_t fiber;        /* of the selected row; 0: none */
    struct weft__bytes text;
};

/* Each appends to `text`. */
void screen_frame(struct screen *s, struct view *v);
/* One fiber: its state and its stack. */
void screen_fiber(struct screen *s, struct view *v, uint64_t id, unsigned first_line);
void screen_help(struct screen *s);
/* One line of JSON. */
void view_json(const struct view *v, struct weft__out *o);

#endif
