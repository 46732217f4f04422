/* SPDX-License-Identifier: MIT */
/*
 * The generations of a descriptor (io/fd_generation.h): fibers wait on a number while it is closed and soon belongs to
 * another file. Without RING, the engine without rings: waiters are in a queue, under its lock (readiness.c). With
 * RING: a request is filled under the ring's lock, and the kernel looks up the file of the number only at the
 * submission, perhaps much later (engine_uring.c, sched/rings/rings.c, driver/uring.c).
 *
 * Shown: each fiber waits only on the file that had the number when the fiber began; when a close has returned, no
 * fiber waits on the closed file; and a fiber that began after the close is not disturbed.
 */
#define WAITERS 3

byte file = 1; /* the file that has the number; 0: none */
byte life, closers; /* two parts of one word */
bool locked;

byte began[WAITERS]; /* the file at the beginning of the wait */
byte on[WAITERS];    /* the file on which the kernel waits for it; 0: none */
bool ended[WAITERS];
#ifdef RING
bool filled[WAITERS]; /* its entry is filled but not submitted */
bool retries[WAITERS]; /* the kernel is about to try again, so a cancellation does not find the request */
byte count; /* requests under way for this number */
bool decided; /* the engine is chosen: the first waiter has done that (engine.c) */
#endif

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

/* The kernel waits on the file of the beginning, or on none. */
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

/* A thread that submits, for any reason, and the kernel, which tries again at any time. */
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
    /* 2. An attempt, which finds nothing. */
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
    /* The fiber waits until the wait is ended or something has arrived. */
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
    :: file = 2 /* another file is opened and gets the same number */
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
