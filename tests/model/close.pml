/* SPDX-License-Identifier: MIT */
/*
 * The lives of a descriptor (io/fd_generation.h): fibers that wait on a number, while it is closed and stands for another file
 * a moment later. Without RING the engine without rings: waiters stand in a queue, under its lock (readiness.c). With
 * RING a ring: a request is filled under the ring's lock, and the kernel asks what file the number is only when it is
 * handed over, perhaps much later (engine_uring.c, sched/rings/rings.c, driver/uring.c).
 *
 * Shown: each fiber waits only on the file that the number meant when it began; when a close has returned, no fiber
 * waits on the closed file; and a fiber that began after that is left alone.
 */
#define WAITERS 3

byte file = 1; /* what the number stands for; 0: nothing */
byte life, closers; /* two parts of one word */
bool locked;

byte began[WAITERS]; /* what it stood for then */
byte on[WAITERS];    /* what the kernel waits on for it; 0: nothing */
bool ended[WAITERS];
#ifdef RING
bool filled[WAITERS]; /* an entry that was not handed over */
bool retries[WAITERS]; /* the kernel is about to try again, and a cancellation does not find it */
byte count; /* under way for this number */
bool decided; /* there are rings: the first waiter has found out (engine.c) */
#endif

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

/* Each of them must be on what it meant, or on nothing. */
inline right(i) { assert(on[i] == 0 || on[i] == began[i]) }

#ifdef RING
inline hand_over(i) {
    if
    :: filled[i] ->
        filled[i] = false;
        on[i] = file;
        right(i);
        if
        :: on[i] == 0 -> ended[i] = true; count-- /* -EBADF */
        :: else
        fi
    :: else
    fi
}

/* A thread that enters the ring, for whatever reason; and the kernel, which tries now and then. */
active proctype kernel() {
    byte i;
    do
    :: atomic { i < WAITERS - 1 -> i++ }
    :: atomic { i > 0 -> i-- }
    :: d_step { filled[i] -> hand_over(i) }
    :: d_step { on[i] && !retries[i] -> retries[i] = true }
    :: d_step { retries[i] -> retries[i] = false }
    od
}
#endif

proctype waiter(byte me) {
    byte mine;
#ifdef RING
    decided = true;
#endif
    /* 1. */
#ifdef MUT_ENTERS_WHILE_CLOSING
    atomic { mine = life; began[me] = file }
#else
    atomic { closers == 0 -> mine = life; began[me] = file }
#endif
    /* 2. An attempt: nothing there. */
    if
    :: file == 0 -> goto out
    :: else
    fi;
    /* 3. */
    lock();
#ifdef RING
#ifdef MUT_LOOKS_BEFORE_IT_COUNTS
    if
    :: life != mine -> unlock(); goto out
    :: else
    fi;
    count++;
#else
    count++;
#ifndef MUT_NO_LOOK
    if
    :: life != mine -> count--; unlock(); goto out
    :: else
    fi;
#endif
#endif
    filled[me] = true;
#else
#ifndef MUT_NO_LOOK
    if
    :: life != mine -> unlock(); goto out
    :: else
    fi;
#endif
    d_step { on[me] = file; right(me) }
#endif
    unlock();
    /* It waits: until it is ended, or something has come, at any time. */
    if
    :: ended[me]
#ifdef RING
    :: d_step { on[me] && !retries[me] -> on[me] = 0; count-- }
#else
    :: d_step { on[me] -> on[me] = 0 }
#endif
    fi;
    assert(!(ended[me] && began[me] == 2)); /* that file is not closed */
out:
    skip
}

inline end_all(i) {
    i = 0;
    do
    :: i < WAITERS ->
        if
#ifdef RING
        :: on[i] && on[i] == file && !retries[i] -> on[i] = 0; ended[i] = true; count--
#else
        :: on[i] -> on[i] = 0; ended[i] = true
#endif
        :: else
        fi;
        i++
    :: else -> break
    od
}

active proctype closer() {
    byte i;
#ifdef RING
    bool rings;
#ifdef MUT_ENGINE_BEFORE_THE_LIFE
    rings = decided;
    d_step { life++; closers++ }
#else
    d_step { life++; closers++ }
    rings = decided;
#endif
#ifdef MUT_ASKS_ONCE
    if
#else
    do
    :: !rings -> break
#endif
    :: rings && count > 0 ->
        d_step {
            i = 0;
            do
            :: i < WAITERS -> hand_over(i); i++
            :: else -> break
            od
        }
        lock();
        d_step { end_all(i) }
        unlock()
#ifdef MUT_ASKS_ONCE
    :: else
    fi;
#else
    :: rings && count == 0 -> break
    od;
#endif
#else
#ifdef MUT_ENDS_BEFORE_THE_LIFE
    lock();
    d_step { end_all(i) }
    unlock();
    lock();
    d_step { life++; closers++ }
    unlock();
#else
    lock();
    d_step { life++; closers++ }
    d_step { end_all(i) }
    unlock();
#endif
#endif
    file = 0;
    if
    :: file = 2 /* another file is opened, and has the same number */
    :: true
    fi;
    closers--;
    d_step {
        i = 0;
        do
        :: i < WAITERS -> assert(on[i] != 1); i++
        :: else -> break
        od
    }
}

init {
    byte i;
    atomic {
        do
        :: i < WAITERS -> run waiter(i); i++
        :: else -> break
        od
    }
}
