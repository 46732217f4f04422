/* SPDX-License-Identifier: MIT */
/*
 * A worker that sleeps in its ring (driver/uring.h, uring.c: arm, weft__uring_sleep, weft__uring_reap), and its wakers
 * (driver/futex.c). Wakers change the driver's state and wake the futex. The ring has a request that waits for that
 * futex. The request stays under way when the worker wakes for another reason.
 *
 * With EVENTFD, as on kernels before 6.7, the request is a read of an event descriptor, the bell, and wakers write to
 * it. The worker ends at some time, and then closes the bell.
 *
 * Shown: when nothing moves any more, the worker does not sleep although a waker has notified it of work or a
 * completion has arrived. And no waker writes to the bell after it was closed, when its number may belong to another
 * file.
 */
#define WAKERS 2
#define COMPLETIONS 2

#define AWAKE 0
#define SEARCHING 1
#define ASLEEP 2

byte state = AWAKE;
byte work, done;          /* work that was announced; work that was done */
byte posted, reaped;      /* completions of other requests that arrived; that the worker has taken */
bool asleep;              /* the worker sleeps in the kernel */
bool armed;               /* the worker's own view */
bool entry;               /* a wait for the futex that is filled but not submitted */
bool waits;               /* the kernel has the wait */
bool bell;                /* the completion of the wait */
#ifdef EVENTFD
byte written;             /* the count of the event descriptor */
byte ringing;             /* wakers that may write to it */
bool ended, closed;
#endif
#ifdef MUT_SLEEPS_ELSEWHERE
bool plain;               /* the carrier waits for the futex itself */
#endif

/* Submits: the kernel compares, and completes at once if the value differs. */
inline hand_over() {
    if
    :: entry ->
        entry = false;
        if
#ifdef EVENTFD
        :: !written -> waits = true
        :: else -> written = 0; bell = true
#else
        :: state == ASLEEP -> waits = true
        :: else -> bell = true
#endif
        fi
    :: else
    fi
}

inline futex_wake() {
    d_step {
        if
#ifdef MUT_SLEEPS_ELSEWHERE
        :: plain -> plain = false; asleep = false
#endif
        :: waits -> waits = false; bell = true
        :: else
        fi
    }
}

#ifdef EVENTFD
inline write() {
    d_step {
        assert(!closed);
        if
        :: waits -> waits = false; bell = true
        :: else -> written++
        fi
    }
}

proctype waker() {
    byte was;
    work++;
    do
    :: was = state;
        if
#ifndef MUT_COUNTS_LATE
        :: was == ASLEEP -> /* notify_event_fd */
            ringing++;
            d_step { was = state; state = AWAKE }
            if
            :: was == ASLEEP -> write()
            :: else
            fi;
            ringing--;
            break
#else
        :: was == ASLEEP ->
            d_step { was = state; state = AWAKE }
            ringing++;
            if
            :: was == ASLEEP -> write()
            :: else
            fi;
            ringing--;
            break
#endif
        :: else ->
            if
            :: d_step { state == was -> state = AWAKE } break
            :: d_step { state != was -> skip }
            fi
        fi
    od
}

active proctype closer() {
    ended;
#ifndef MUT_CLOSES_AT_ONCE
    ringing == 0;
#endif
    closed = true
}
#else
proctype waker() {
    byte was;
    work++;
    d_step { was = state; state = AWAKE }
    if
    :: was == ASLEEP -> futex_wake()
    :: else
    fi
}
#endif

/* Other requests complete at any time. */
active proctype device() {
    byte i;
    do
    :: i < COMPLETIONS -> posted++; i++
    :: else -> break
    od
}

inline arm() {
#ifdef MUT_ARMS_ONCE
    if
    :: !ever -> ever = true; entry = true; armed = true
    :: else
    fi
#else
    if
    :: !armed -> entry = true; armed = true
    :: else
    fi
#endif
}

active proctype worker() {
#ifdef MUT_ARMS_ONCE
    bool ever;
#endif
    do
#ifdef EVENTFD
    :: ended = true; break
#endif
    :: true ->
        /* At home: takes completions, and does the work that is there. */
        d_step {
            reaped = posted;
            if
            :: bell -> bell = false; armed = false
            :: else
            fi
        }
        done = work;
        state = SEARCHING;
        if
        :: done != work -> state = AWAKE
        :: else ->
            if
            :: d_step { state == SEARCHING -> state = ASLEEP }
                do
                :: arm();
                    if
                    :: bell || reaped != posted || state != ASLEEP -> break
                    :: else
                    fi;
#ifdef MUT_SLEEPS_ELSEWHERE
                    if
                    :: d_step { waits && state == ASLEEP -> plain = true; asleep = true }
                        !asleep;
                        break
                    :: else
                    fi;
#endif
                    d_step { hand_over(); asleep = true }
                    d_step { bell || reaped != posted -> asleep = false } /* until there is a completion */
                od;
                state = AWAKE
            :: d_step { state != SEARCHING -> skip }
            fi
        fi
    od
}

active proctype judge() {
#ifdef EVENTFD
    timeout -> assert(ended || (done == work && reaped == posted))
#else
    timeout -> assert(done == work && reaped == posted)
#endif
}

init {
    byte i;
    atomic {
        do
        :: i < WAKERS -> run waker(); i++
        :: else -> break
        od
    }
}
