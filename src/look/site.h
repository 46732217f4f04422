/* SPDX-License-Identifier: MIT */
/* The call site of a fiber: the innermost frame outside of weft, and the function of weft that it has called. */
#ifndef WEFT_LOOK_SITE_H
#define WEFT_LOOK_SITE_H

#include "look/report.h"

struct weft__site {
    char function[96], file[160]; /* "": unknown. Without a symbol the function is "program+0x1234" */
    unsigned frame;               /* its number in the backtrace */
    int line;
    char call[48]; /* "weft_read"; "": unknown */
    bool found;
};

void weft__site_of(struct weft__names *names, const struct weft__seen *f, struct weft__site *to);

#endif
