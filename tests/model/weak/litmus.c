/* SPDX-License-Identifier: MIT */
/* Tests the explorer itself: it finds outcomes that C11 and the fences allow, and no forbidden outcomes. */
#include "base/atomic.h"

#include <stdio.h>

static struct {
    _Atomic uint64_t x, y, z;
    uint64_t plain, r[4];
} s;

void weak_entering(unsigned t) { (void)t; }
bool weak_goes_too_far(void) { return false; }

static unsigned test;
static bool met; /* the outcome that the test looks for */

void run_thread(unsigned t) {
    switch (test) {
    case 0: /* store buffering, relaxed */
        if (t == 0)
            store_rlx(&s.x, 1), s.r[0] = load_rlx(&s.y);
        else
            store_rlx(&s.y, 1), s.r[1] = load_rlx(&s.x);
        break;
    case 1: /* with fences */
        if (t == 0) {
            store_rlx(&s.x, 1);
            fence_sc();
            s.r[0] = load_rlx(&s.y);
        } else {
            store_rlx(&s.y, 1);
            fence_sc();
            s.r[1] = load_rlx(&s.x);
        }
        break;
    case 2: /* one light fence, one heavy fence */
        if (t == 0) {
            store_rlx(&s.x, 1);
            s.r[0] = load_rlx(&s.y);
        } else {
            store_rlx(&s.y, 1);
            WEAK_FENCE_ALL("heavy");
            s.r[1] = load_rlx(&s.x);
        }
        break;
    case 3: /* message passing, relaxed */
        if (t == 0) {
            store_rlx(&s.x, 1);
            store_rlx(&s.y, 1);
        } else {
            s.r[0] = !load_rlx(&s.y);
            s.r[1] = load_rlx(&s.x);
        }
        break;
    case 4: /* with release and acquire */
        if (t == 0) {
            store_rlx(&s.x, 1);
            store_rel(&s.y, 1);
        } else {
            s.r[0] = !load_acq(&s.y);
            s.r[1] = load_rlx(&s.x);
        }
        break;
    case 5: /* a fence on one side, relaxed on the other */
        if (t == 0) {
            store_rlx(&s.x, 1);
            fence_sc();
            store_rlx(&s.y, 1);
        } else {
            s.r[0] = !load_rlx(&s.y);
            s.r[1] = load_rlx(&s.x);
        }
        break;
    case 6: /* fences on both sides */
        if (t == 0) {
            store_rlx(&s.x, 1);
            fence_sc();
            store_rlx(&s.y, 1);
        } else {
            s.r[0] = !load_rlx(&s.y);
            fence_sc();
            s.r[1] = load_rlx(&s.x);
        }
        break;
    case 7: /* 2+2W: stores of two threads in two orders */
        if (t == 0) {
            store_rlx(&s.x, 1);
            store_rlx(&s.y, 2);
        } else {
            store_rlx(&s.y, 1);
            store_rlx(&s.x, 2);
        }
        break;
    case 8: /* the same with releases: C11 still allows it, and so do machines without a fence */
        if (t == 0) {
            store_rel(&s.x, 1);
            fence_sc();
            store_rel(&s.y, 2);
        } else {
            store_rel(&s.y, 1);
            fence_sc();
            store_rel(&s.x, 2);
        }
        break;
    case 9: /* store buffering, sequentially consistent */
        if (t == 0) {
            add_sc(&s.x, 1);
            s.r[0] = load_sc(&s.y);
        } else {
            add_sc(&s.y, 1);
            s.r[1] = load_sc(&s.x);
        }
        break;
    case 10: /* swaps of acquire and release are no fences */
        if (t == 0) {
            add_ar(&s.x, 1);
            s.r[0] = load_rlx(&s.y);
        } else {
            add_ar(&s.y, 1);
            s.r[1] = load_rlx(&s.x);
        }
        break;
    case 11: /* a swap passes on a release */
        if (t == 0) {
            store_rlx(&s.x, 1);
            store_rel(&s.y, 1);
        } else if (t == 1)
            add_rlx(&s.y, 1);
        else {
            s.r[0] = load_acq(&s.y) != 2;
            s.r[1] = load_rlx(&s.x);
        }
        break;
    case 12: /* two adds are two */ add_rlx(&s.x, 1); break;
    case 13: /* independent reads of independent writes */
        if (t == 0)
            store_rel(&s.x, 1);
        else if (t == 1)
            store_rel(&s.y, 1);
        else if (t == 2) {
            s.r[0] = load_acq(&s.x) != 1;
            s.r[1] = load_acq(&s.y);
        } else {
            s.r[2] = load_acq(&s.y) != 1;
            s.r[3] = load_acq(&s.x);
        }
        break;
    case 14: /* plain memory, published by a release */
        if (t == 0) {
            s.plain = 1;
            store_rel(&s.y, 1);
        } else if (load_acq(&s.y))
            claim(s.plain == 1, "not published");
        break;
    case 15: /* the same without a release */
        if (t == 0) {
            s.plain = 1;
            store_rlx(&s.y, 1);
        } else if (load_acq(&s.y))
            claim(s.plain == 1, "not published");
        break;
    case 16: /* a read that has not ended when the word is written again */
        if (t == 0) {
            if (load_rlx(&s.y)) s.plain = 2;
        } else {
            s.r[0] = s.plain;
            store_rlx(&s.y, 1);
        }
        break;
    }
}

static void set_up(void) {}
static void look(void) {
    if (test == 7 || test == 8)
        met |= load_rlx(&s.x) == 1 && load_rlx(&s.y) == 1;
    else if (test == 12)
        met |= load_rlx(&s.x) != 2;
    else
        met |= !s.r[0] && !s.r[1] && !s.r[2] && !s.r[3];
}

static const struct {
    const char *name;
    unsigned threads;
    bool allowed, races;
} tests[] = {
    {"store buffering, relaxed", 2, true},
    {"store buffering, fences", 2, false},
    {"store buffering, one heavy fence", 2, false},
    {"message passing, relaxed", 2, true},
    {"message passing, released", 2, false},
    {"message passing, one fence", 2, true},
    {"message passing, two fences", 2, false},
    {"two stores each", 2, true},
    {"two stores each, fences", 2, false},
    {"store buffering, strong", 2, false},
    {"store buffering, swaps", 2, true},
    {"a release passed on", 3, false},
    {"two adds", 2, false},
    {"reads in two orders", 4, true},
    {"published", 2, true, false},
    {"not published", 2, true, true},
    {"overwritten while it is read", 2, true, true},
};

int main(void) {
    int bad = 0;
    weak_quiet();
    weak_share(&s, sizeof s);
    for (test = 0; test < sizeof tests / sizeof *tests; test++) {
        met = false;
        bool well = weak_explore(&(struct weak_scene){tests[test].name, tests[test].threads, set_up, look});
        bool ok = tests[test].races ? !well : well && (test >= 14 || met == tests[test].allowed);
        printf("litmus, %s: %llu states, %s\n", tests[test].name, (unsigned long long)states, ok ? "ok" : "WRONG");
        bad += !ok;
    }
    return bad != 0;
}
