/* SPDX-License-Identifier: MIT */
/*
 * What `weft top` shows: one frame of numbers about a process, made of what was seen since the last frame. The process
 * is not interrupted: its memory is read, and /proc says how long its threads have run.
 *
 *   sample    which fiber each worker runs, many times between two frames
 *   frame     all fibers, compared with the last frame; counters, converted to rates
 */
#ifndef TOOLS_LOOK_VIEW_H
#define TOOLS_LOOK_VIEW_H

#include "target.h"
#include "threads.h"

#include "look/interned.h"
#include "look/track.h"

enum { VIEW_RATES = 6, VIEW_IO_MOST = 16 };

struct view_worker {
    struct weft__worker_seen seen;
    double busy, cpu;           /* shares of the time: it ran a fiber, its thread ran */
    double rates[VIEW_RATES];   /* a second: see view_rate_name */
    uint64_t runs;              /* the fiber that it runs; 0: none */
    uint64_t hog_ns;            /* how long its hog has had it; 0: no hog */
    uint64_t samples, was_busy; /* since the last frame */
};

/* Fibers at the same call site, or spawned at the same place. */
struct view_row {
    bool is_busy;     /* of the busiest; else of those that wait */
    double share;     /* busy: of one worker's time */
    uint64_t count;   /* fibers */
    uint64_t longest; /* ns that the longest has waited, as far as was seen */
    bool at_least;    /* it was there when the first look was made */
    double arrivals;  /* waits that began, a second */
    uint64_t fiber;   /* the longest waiting, or the busiest */
    char what[48];    /* "mutex" */
    char where[200];  /* "parse at shop.c:40" */
    uint64_t key;     /* rows with the same key are one */
};

struct view {
    struct target *target;
    struct weft__track track;
    struct threads threads;
    struct weft__interned labels; /* of groups */
    struct view_worker *worker;
    unsigned workers;
    struct view_row *row;
    unsigned rows, room;
    struct view_busy *busy; /* samples by fiber */
    unsigned busy_count, busy_room;
    struct {
        char name[48];
        uint64_t count;
    } io[VIEW_IO_MOST];
    unsigned io_kinds;
    double rates[VIEW_RATES]; /* of all workers */
    double delay[4];          /* seconds: half, nine of ten, 99 of 100, all of the fibers that were timed */
    uint64_t delays;          /* so many were timed since the last frame */
    uint32_t *delay_before;   /* the histograms of the last frame */
    uint64_t began, at, before;
    double cost; /* seconds that the look at all fibers took */
};

extern const char *const view_rate_name[VIEW_RATES];

/* 0 or -errno. */
int view_begin(struct view *v, struct target *t);
void view_end(struct view *v);
void view_sample(struct view *v);
int view_frame(struct view *v);

#endif
