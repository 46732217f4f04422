/* SPDX-License-Identifier: MIT */
/*
 * The stop that waits: wait_for_end and nothing_will_happen of runtime.c, with the last worker that goes to sleep
 * (idle.c). There are two workers. The model assumes that a ready fiber is taken, which sleep.pml shows.
 *
 *   LIVE    X sleeps twice, then asks Z and waits for the answer, and all end: the stop must report that
 *   STUCK   Z waits for ever: the stop must say -EBUSY, and only when really nothing can happen
 *
 * In both cases a thread may cancel a timer (TIMER), or fail to hand in a fiber (SPAWN). Then no worker wakes, but the
 * stop must still be notified.
 */
#define W 2
#define X 0
#define Z 1
#ifdef STUCK
#define NAPS 0
#else
#define NAPS 1
#endif
#define T 2 /* the fiber that a thread tries to hand in */

byte sleepers, wakes, all_asleep;
bool stop_waits, stop_sleeps;
bool waiting[3], alive[3];
bool armed, due, user_timer; /* X's timer is armed; it is due; a timer of the program is armed */
byte naps; /* how often X has slept again */
byte spurious; /* sleeps that ended by themselves: for the trim of memory */
byte pc[2], signals[2]; /* where each fiber is; how many signals it has received */
chan ready = [2] of { byte };
byte ended, running;
byte spawned = 2;
byte verdict; /* 1: all ended, 2: -EBUSY */

inline tell_stop() {
    if
#ifdef MUT_TELLS_NOBODY
    :: stop_waits -> all_asleep++
#else
    :: stop_waits -> all_asleep++; stop_sleeps = false
#endif
    :: else
    fi
}

/* The semaphore of a fiber. */
inline post(f) {
    atomic {
        if
        :: waiting[f] && pc[f] != 1 -> waiting[f] = false; ready!f
        :: else -> signals[f]++
        fi
    }
}
inline wait_signal(f) {
    atomic {
        if
        :: signals[f] > 0 -> signals[f]--; yes = true
        :: else -> waiting[f] = true; yes = false
        fi
    }
}

/* Runs fiber f until it waits or has ended. pc: 0 begins, 1 in the sleep, 2 asks, 3 has got the answer. */
inline run_it(f) {
    do
    :: f == X && pc[X] == 0 -> atomic { pc[X] = 1; waiting[X] = true; armed = true; break }
    :: f == X && pc[X] == 1 && naps < NAPS -> atomic { naps++; waiting[X] = true; armed = true; break }
    :: f == X && pc[X] == 1 && naps == NAPS -> post(Z); pc[X] = 2
#ifdef STUCK
    :: f == X && pc[X] == 2 -> pc[X] = 3
    :: f == Z && pc[Z] < 3 -> atomic { pc[Z]++; if :: pc[Z] < 3 -> wait_signal(Z); if :: yes :: else -> break fi :: else -> waiting[Z] = true; break fi }
#else
    :: f == X && pc[X] == 2 -> atomic { pc[X] = 3; wait_signal(X); if :: yes :: else -> break fi }
    :: f == Z && pc[Z] == 0 -> atomic { pc[Z] = 2; wait_signal(Z); if :: yes :: else -> break fi }
    :: f == Z && pc[Z] == 2 -> post(X); pc[Z] = 3
    :: f == Z && pc[Z] == 3 -> alive[Z] = false; ended++; break
#endif
    :: f == X && pc[X] == 3 -> alive[X] = false; ended++; break
    od;
    yes = false
}

proctype worker() {
    byte f;
    bool yes, last;
end:
    do
    :: len(ready) > 0 -> atomic { if :: len(ready) > 0 -> ready?f; running++; yes = true :: else fi };
        if :: yes -> yes = false; run_it(f); atomic { running--; f = 0 } :: else fi
    :: atomic { due -> due = false; armed = false; running++ };
        atomic { waiting[X] = false; ready!X };
        running--
    :: atomic { len(ready) == 0 && !due -> sleepers++; last = sleepers == W };
        if
        :: len(ready) > 0 -> skip
        :: else ->
            if
#ifdef MUT_LAST_DOES_NOT_TELL
            :: last -> skip
#else
            :: last -> tell_stop()
#endif
            :: else
            fi;
            last = false;
end_asleep:
            if
            :: len(ready) > 0 || due
            :: atomic { spurious < 1 -> spurious++ }
            fi
        fi;
#ifdef MUT_WAKES_NOT_COUNTED
        atomic { sleepers--; last = false }
#else
        atomic { sleepers--; wakes++; last = false }
#endif
    od
}

proctype time() {
end:
    do :: atomic { armed && !due -> due = true } od
}

proctype thread() {
#ifdef TIMER
    /* weft_timer_cancel by a thread */
    user_timer = false;
#ifndef MUT_CANCEL_TELLS_NOBODY
    tell_stop();
#endif
#endif
#ifdef SPAWN
    /* weft_spawn by a thread while the injector is closed: a record comes and goes */
    alive[T] = true;
    alive[T] = false;
#ifndef MUT_SPAWN_TELLS_NOBODY
    tell_stop();
#endif
#endif
    skip
}

/* nothing_will_happen: one check after the other. */
inline nothing_will_happen() {
    before = wakes;
    nothing = sleepers == W;
    if :: nothing -> nothing = !armed && !user_timer && len(ready) == 0 :: else fi;
    i = 0;
    do
    :: nothing && i < 3 -> atomic { nothing = !alive[i] || waiting[i]; i++ }
    :: else -> break
    od;
    i = 0;
#ifndef MUT_ONE_LOOK
    if :: nothing -> atomic { nothing = wakes == before && sleepers == W } :: else fi;
#endif
    before = 0
}

proctype stopper() {
    byte seen, before, i;
    bool nothing;
#ifndef MUT_STOP_DOES_NOT_SAY
    stop_waits = true;
#endif
    do
    :: seen = all_asleep;
        if :: ended == spawned -> verdict = 1; break :: else fi;
        nothing_will_happen();
        if
        :: nothing && ended != spawned -> verdict = 2; break
        :: else -> nothing = false
        fi;
        /* The kernel compares and goes to sleep in one step. */
        atomic {
            if
#ifdef MUT_STOP_SLEEPS_BLINDLY
            :: true -> stop_sleeps = true
#else
            :: all_asleep == seen -> stop_sleeps = true
            :: else
#endif
            fi
        }
        !stop_sleeps
    od;
    if
    :: verdict == 1 -> assert(ended == spawned && !alive[X] && !alive[Z])
    :: else ->
        /* Nothing can happen: no fiber runs or is ready, there is no timer, and a fiber is left. */
        assert(running == 0 && len(ready) == 0 && !armed && ended != spawned);
#ifndef STUCK
        assert(false)
#endif
    fi
}

/* When nothing moves any more, the stop has ended. */
proctype judge() { timeout -> assert(verdict != 0) }

init {
    atomic {
        alive[X] = true;
        alive[Z] = true;
        ready!X;
        ready!Z;
#ifdef TIMER
        user_timer = true;
#endif
        run worker();
        run worker();
        run time();
        run thread();
        run stopper();
        run judge()
    }
}
