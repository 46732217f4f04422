/*
 * The split deque: queue/split.c, the inline halves in weft/task.h, collect() in task/fork.c.
 *
 * An owner that forks and joins, the youngest first, in any pattern; a thief that takes what is public, and
 * asks for more at any time; a thief of last resort that moves the split. Every call runs once, and its join
 * returns after that.
 *
 * Weak memory: what the owner stores without a fence (calls, the head) stands in its buffer, in order,
 * until the machine, a locked instruction of its own, or the thief's heavy fence empties it. What is
 * done under the lock, or by a swap, is seen at once.
 */
#ifndef PLACES
#define PLACES 3
#endif
#ifndef CALLS
#define CALLS 4
#endif

chan buffer = [3] of { byte, byte }; /* 0: the head becomes; n + 1: the call in place n becomes */
byte head;
byte call[PLACES];
byte bound;       /* in.split */
byte tail, split; /* `public` */
bool asked;
bool locked;
bool done[PLACES];
byte ran[CALLS + 1];
bool over;

inline apply(what, value) {
    if
    :: what == 0 -> head = value
    :: else -> call[what - 1] = value
    fi
}
inline drain() { /* a full fence, as others see it */
    atomic {
        do
        :: nempty(buffer) -> buffer ? w, v; apply(w, v)
        :: empty(buffer) -> break
        od;
        w = 0;
        v = 0
    }
}
inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

/* The machine. */
active proctype memory() {
    byte w, v;
end:
    do
    :: atomic { buffer ? w, v -> apply(w, v); w = 0; v = 0 }
    od
}

byte mine; /* the owner's own head: it sees its stores at once */
byte own[PLACES];
byte forked;
bool lags;

inline give(h) { /* locked */
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
    buffer ! 0, c + 1;
    done[c]; /* waits */
    assert(ran[own[c]] == 1);
    done[c] = false;
    buffer ! 0, c;
    lags = true /* split_forget */
}

inline settle(c) {
    lock();
    drain();
#ifdef MUT_SETTLES_ABOVE
    atomic { tail = c; split = c + 1 };
#else
    atomic { tail = c; split = c };
#endif
    bound = c;
    lags = false;
    unlock()
}

inline pop(c) { /* split_pop; the first look is without the lock */
    if
    :: c < tail -> taken_back = false; goto popped
    :: else
    fi;
    lock();
    drain();
#ifdef MUT_POP_STORES
    seen = tail;
    if
    :: c < split && c >= seen -> atomic { split = seen + (c - seen) / 2; tail = seen }
    :: else
    fi;
#endif
    atomic { /* the swap; the owner goes on if no thief came between */
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
    byte w, v, seen;
    bool taken_back;
    do
    :: forked < CALLS && mine < PLACES -> /* fork */
        forked++;
        own[mine] = forked;
        buffer ! mine + 1, forked;
        mine++;
        buffer ! 0, mine;
        if
        :: lags -> settle(mine - 1)
        :: else
        fi;
        if
        :: true -> /* asked, or there are twice as many as the last time */
            asked = false;
            lock();
            drain();
            give(mine);
            unlock()
        :: !asked
        fi
    :: mine > 0 -> /* join */
#ifdef MUT_LOOKS_BEFORE_HEAD
        seen = bound;
#endif
        mine--;
        buffer ! 0, mine;
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
        n = call[place];
        ran[n]++;
        assert(n > 0 && ran[n] == 1);
        n = 0;
        done[place] = true
    od
}

/* move_split. */
proctype last_resort() {
    byte new, old, h, w, v;
end:
    do
    :: over -> break
    :: !over ->
        atomic { !locked -> locked = true };
        if
        :: tail == split ->
            h = head;
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
            drain();
#endif
#ifndef MUT_HEAD_ONCE
            h = head;
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
    over && empty(buffer);
    byte i;
    for (i : 1 .. CALLS) { assert(ran[i] == 1) }
}
