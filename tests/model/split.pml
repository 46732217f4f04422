/* SPDX-License-Identifier: MIT */
/*
 * The split deque: queue/deque_split.c, the inline halves in weft/task.h, collect() in task/fork_join.c.
 *
 * An owner that forks and joins, usually the youngest call first, in any pattern; a thief that takes public calls, and
 * asks for more at any time; a thief of last resort that moves the split. Every call runs once, and its join returns
 * after that.
 *
 * Weak memory (weak.h): stores of the owner without a fence (calls, the head) stay in its buffer. They become visible
 * out of order, until a locked instruction of the owner or the thief's heavy fence empties the buffer. Changes under
 * the lock, or by a swap, are visible at once.
 */
#ifndef PLACES
#define PLACES 3
#endif
#ifndef CALLS
#define CALLS 4
#endif

#define WORDS (PLACES + 1)
#define BUFFERS 1
#define KEPT 3
#include "weak.h"
#define HEAD 0
#define CALL(place) ((place) + 1)
byte bound;       /* the split in the word in.split */
byte tail, split; /* the word `public` */
bool asked;
bool locked;
bool done[PLACES];
byte ran[CALLS + 1];
bool over;

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

byte mine; /* the owner's own head: the owner sees its stores at once */
byte own[PLACES];
byte forked;
bool lags;

inline give(h) { /* called with the lock held */
    seen = tail + (h - tail + 1) / 2; /* the tail may move meanwhile */
    if
    :: seen > split -> bound = seen; split = seen
    :: else -> bound = split
    fi;
    seen = 0
}

inline run_own(c) {
    ran[own[c]]++;
    assert(ran[own[c]] == 1)
}

inline collect(c) {
    store(0, HEAD, c + 1);
    done[c]; /* waits */
    assert(ran[own[c]] == 1);
    done[c] = false;
    store(0, HEAD, c);
    lags = true /* split_forget */
}

inline settle(c) {
    lock();
    fence(0);
#ifdef MUT_SETTLES_ABOVE
    atomic { tail = c; split = c + 1 };
#else
    atomic { tail = c; split = c };
#endif
    bound = c;
    lags = false;
    unlock()
}

inline pop(c) { /* split_pop; the first check is without the lock */
    if
    :: c < tail -> taken_back = false; goto popped
    :: else
    fi;
    lock();
    fence(0);
#ifdef MUT_POP_STORES
    seen = tail;
    if
    :: c < split && c >= seen -> atomic { split = seen + (c - seen) / 2; tail = seen }
    :: else
    fi;
#endif
    atomic { /* the swap; the owner continues if no thief came between */
        if
        :: c >= split -> taken_back = true
        :: c < split && c >= tail ->
            taken_back = true;
            split = tail + (c - tail) / 2
        :: c < tail -> taken_back = false
        fi
    }
    if
    :: taken_back && asked -> give(c)
    :: else -> bound = split
    fi;
    unlock()
}

active proctype owner() {
    byte seen;
    bool taken_back;
    do
    :: forked < CALLS && mine < PLACES -> /* fork */
        forked++;
        own[mine] = forked;
        store(0, CALL(mine), forked);
        mine++;
#ifdef MUT_PUSHES_RELAXED
        store(0, HEAD, mine);
#else
        store_release(0, HEAD, mine);
#endif
        if
        :: lags -> settle(mine - 1)
        :: else
        fi;
        if
        :: true -> /* a thief asks, or there are twice as many calls as the last time */
            asked = false;
            lock();
            fence(0);
            give(mine);
            unlock()
        :: !asked
        fi
    :: mine > 0 -> /* join */
#ifdef MUT_LOOKS_BEFORE_HEAD
        seen = bound;
#endif
        mine--;
        store(0, HEAD, mine);
#ifndef MUT_LOOKS_BEFORE_HEAD
        seen = bound;
#endif
        if
        :: mine >= seen -> run_own(mine)
        :: else ->
            pop(mine);
popped:
            if
            :: taken_back -> run_own(mine)
            :: else -> collect(mine)
            fi
        fi;
        taken_back = false;
        seen = 0
    :: forked == CALLS && mine == 0 -> break
    od;
    over = true
}

proctype thief() {
    byte place, n;
end:
    do
    :: over -> break
    :: !asked ->
        asked = true;
#ifdef MUT_ASK_LOWERS
        bound = 0
#else
        bound = PLACES
#endif
    :: atomic { tail < split -> place = tail; tail++ } /* split_steal */
        n = memory[CALL(place)];
        ran[n]++;
        assert(n > 0 && ran[n] == 1);
        n = 0;
        done[place] = true
    od
}

/* move_split. */
proctype last_resort() {
    byte new, old, h;
end:
    do
    :: over -> break
    :: !over ->
        atomic { !locked -> locked = true };
        if
        :: tail == split ->
            h = memory[HEAD];
            if
            :: h > split -> goto move
            :: else -> goto leave
            fi;
move:
            old = split;
            new = split + (h - split + 1) / 2;
#ifndef MUT_BOUND_AFTER_FENCE
            bound = new;
#endif
#ifndef MUT_NO_FENCE
            fence(0);
#endif
#ifndef MUT_HEAD_ONCE
            h = memory[HEAD];
            if
            :: h < new -> if :: h > old -> new = h :: else -> new = old fi
            :: else
            fi;
#endif
            bound = new;
            split = new
        :: else
        fi;
leave:
        unlock();
        new = 0;
        old = 0;
        h = 0
    od
}

init {
    run thief();
    run last_resort();
    run machine(0);
    over && buffer[0].count == 0;
    byte i;
    for (i : 1 .. CALLS) { assert(ran[i] == 1) }
}
