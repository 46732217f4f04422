/* SPDX-License-Identifier: MIT */
/*
 * Exclusive and shared taking from a queue: resize.c (weft__sharing_update, weft__sharing_end_by_force), the pop of
 * queue/ready_queue.h, and the order in which dispatch.h writes `current`.
 *
 * One owner, which takes without a swap while it is alone; another worker, which retires and returns; the monitor,
 * which forces sharing. No item may be taken twice.
 *
 * Weak memory: each of the three has a store buffer that drains out of order (weak.h). The heavy fence empties the
 * owner's buffer, at any point of what the owner does.
 */
#define ITEMS 2
#ifndef TURNS
#define TURNS 1 /* turns of the monitor and of the other worker */
#endif

#define CURRENT 0
#define HEAD 1
#define ALONE 2
#define SHARING 3
#define RESTS 4 /* the other worker is retired */
#define WORDS 5

#define OWNER 0
#define MONITOR 1
#define OTHER 2
#define BUFFERS 3
#define KEPT 4
#include "weak.h"

#define IS_ALONE 0
#define CLAIMED 1
#define SHARED 2
#define CHANGING 3

byte taken[ITEMS];
bool over; /* the owner has ended */

inline take(item) {
    taken[item]++;
    assert(taken[item] == 1)
}

/* A swap with acquire and release. */
inline swap(b, word, from, to_value) {
    atomic {
        fence(b);
        mine = (memory[word] == from);
        if
        :: mine -> memory[word] = to_value
        :: else
        fi
    }
}
#define begin_change(from) swap(OWNER, SHARING, from, CHANGING)

inline try_alone(from) {
    begin_change(from);
    if
    :: mine ->
        fence(OWNER);
#ifdef MUT_NO_SECOND_LOOK
        resting = true;
#else
        load(OWNER, RESTS, resting);
#endif
        if
        :: resting -> store(OWNER, ALONE, 1); store_release(OWNER, SHARING, IS_ALONE)
        :: else -> store_release(OWNER, SHARING, from)
        fi
    :: else
    fi
}

inline share() {
    begin_change(IS_ALONE);
    if
    :: mine ->
        store(OWNER, ALONE, 0); store_release(OWNER, SHARING, SHARED)
    :: else
    fi
}

/* The owner's check at home. */
inline look() {
    store(OWNER, CURRENT, 0);
    load(OWNER, SHARING, sharing);
    load(OWNER, ALONE, alone);
    load(OWNER, RESTS, resting);
    if
    :: !resting && sharing == IS_ALONE -> share()
    :: resting && (sharing == SHARED || (sharing == IS_ALONE && !alone)) ->
#ifdef MUT_LOOKS_ONCE
        store(OWNER, ALONE, 1); store_release(OWNER, SHARING, IS_ALONE)
#else
        try_alone(sharing)
#endif
    :: else
    fi
}

/* weft__choose, and weft__suspend_plain, which may find that the fiber is ready again. */
#ifdef MUT_CHOOSES_RELAXED
#define CHOOSE store(OWNER, CURRENT, 1)
#else
#define CHOOSE store_release(OWNER, CURRENT, 1)
#endif
#ifdef MUT_GOES_ON_RELAXED
#define GO_ON store(OWNER, CURRENT, 1)
#else
#define GO_ON store_release(OWNER, CURRENT, 1)
#endif

proctype owner() {
    byte head, alone, sharing;
    bool resting, got, mine;
    do
    :: true -> look()
    :: true ->
#ifndef MUT_NO_CURRENT
        store(OWNER, CURRENT, 0);
#endif
        load(OWNER, ALONE, alone);
        got = false;
        if
        :: alone ->
            load(OWNER, HEAD, head);
            if
            :: head < ITEMS -> store(OWNER, HEAD, head + 1); got = true
            :: else
            fi
        :: else ->
            load(OWNER, HEAD, head);
            if
            :: head < ITEMS -> swap(OWNER, HEAD, head, head + 1); got = mine
            :: else
            fi
        fi;
        if
        :: got ->
            take(head);
            if
            :: CHOOSE
            :: GO_ON
            fi;
            skip /* runs the fiber; meanwhile anything else may happen */
        :: else -> if :: head == ITEMS -> break :: else fi
        fi
    od;
    over = true
}

proctype monitor() {
    bool mine, inside;
    byte turns;
    do
    :: turns < TURNS && !over ->
        turns++;
        swap(MONITOR, SHARING, IS_ALONE, CLAIMED);
        if
        :: mine ->
            store(MONITOR, ALONE, 0);
            fence(MONITOR);
#ifndef MUT_NO_HEAVY
            fence(OWNER);
#endif
#ifdef MUT_NO_LOOK
            inside = true;
#else
            load(MONITOR, CURRENT, inside);
#endif
            store_release(MONITOR, SHARING, (inside -> SHARED : IS_ALONE))
        :: else
        fi
    :: else -> break
    od
}

proctype other() {
    byte head, sharing, turns;
    bool mine;
    do
    :: turns < TURNS ->
        turns++;
        store(OTHER, RESTS, 0); /* under the lock of the sleepers */
#ifndef MUT_COMES_BACK_WITHOUT_FENCE
        fence(OTHER);
#endif
        load(OTHER, SHARING, sharing);
#ifdef MUT_TAKES_ANYWAY
        sharing = SHARED;
#endif
        if
        :: sharing == SHARED ->
            load(OTHER, HEAD, head);
            if
            :: head < ITEMS ->
                swap(OTHER, HEAD, head, head + 1);
                if
                :: mine -> take(head)
                :: else
                fi
            :: else
            fi
        :: else
        fi;
        store_release(OTHER, RESTS, 1)
    :: else -> break
    od
}

init {
    atomic {
        memory[SHARING] = SHARED; /* a worker begins as shared, not as alone */
        memory[RESTS] = 1;
        run owner();
        run monitor();
        run other();
        run machine(OWNER);
        run machine(MONITOR);
        run machine(OTHER)
    }
}
