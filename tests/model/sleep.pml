/* SPDX-License-Identifier: MIT */
/*
 * Sleeping and waking: idle.c, the search of steal.c and worker.c, the driver's flag, and all code that makes work
 * visible (make_ready.c, time.c, the stop of runtime.c).
 *
 * Weak memory: an item that a worker pushes to its own queue stays in its store buffer (pend) until the machine, the
 * worker's own full fence, or the heavy fence of another worker empties the buffer. Every other store is followed by a
 * full fence before the loads that matter, so it is visible at once in this model. Mutants without such a fence do the
 * load before the store, which the machine may then do.
 *
 * "Computes": such a fiber (HOG) does not end before every fiber that may run elsewhere has begun. So if a ready fiber
 * stays behind a computing fiber while a worker sleeps and nothing will wake it, nothing moves any more, and the clock
 * reports that.
 *
 * Time: a sleep with a timeout may end at any moment, EARLY times in a run. When nothing else can happen, all sleeps
 * with a timeout end. After QUIET such rounds without any work begun, the model reports that the ticks lead nowhere.
 */
#ifndef N
#define N 2 /* workers */
#endif
#ifndef EARLY
#define EARLY 1
#endif
#define QUIET 8
#define ROOM 4 /* in each queue */
#define NONE N

/* What a fiber does when it runs. */
#define PLAIN 1  /* ends */
#define PAIR 2   /* spawns two PLAIN, ends */
#define HOG 3    /* computes */
#define PARENT 4 /* spawns a PLAIN, computes */
#define PINNED 5 /* ends; runs on one worker only */
#define TWO_MORE 6 /* spawns two HOG, computes */
#define BREEDER 7 /* spawns two PLAIN, computes */
#define YIELDER 8 /* yields when its worker must check for outside work; then continues as a PLAIN */
#define BOUND_HOG 9 /* computes; runs on one worker only */

/*
 * What two threads do. FREE: the number of fibers that may run anywhere; BOUND: the number of pinned fibers. At most N
 * - 1 of them compute, unless all do.
 */
#ifndef SCENE
#define SCENE 1
#endif
#define THREAD1 skip
#define BOUND 0
#if SCENE == 0 /* nothing */
#define THREAD0 skip
#define FREE 0
#elif SCENE == 1 /* one fiber, by a thread */
#define THREAD0 inject(PLAIN)
#define FREE 1
#elif SCENE == 2 /* two threads at once */
#define THREAD0 inject(PLAIN)
#undef THREAD1
#define THREAD1 inject(PLAIN)
#define FREE 2
#elif SCENE == 3 /* mail for one worker, and a fiber that any worker may run */
#define THREAD0 mail(0)
#undef THREAD1
#define THREAD1 inject(PLAIN)
#define FREE 1
#undef BOUND
#define BOUND 1
#elif SCENE == 4 /* a fiber spawns two */
#define THREAD0 inject(PAIR)
#define FREE 3
#elif SCENE == 5 /* a fiber that computes, and another behind it in the injector */
#define THREAD0 inject(HOG); inject(PLAIN)
#define FREE 2
#elif SCENE == 6 /* a fiber spawns one and computes */
#define THREAD0 inject(PARENT)
#define FREE 2
#elif SCENE == 7 /* a fiber spawns two that compute, and computes */
#define THREAD0 inject(TWO_MORE)
#define FREE 3
#elif SCENE == 8 /* a timer, armed by a thread */
#define TIMERS
#define THREAD0 arm(0)
#define FREE 1
#elif SCENE == 9 /* a timer on the wheel of a worker that computes */
#define TIMERS
#define THREAD0 arm(0); inject(HOG)
#define FREE 2
#elif SCENE == 10 /* the watchman has mail, while another worker computes with a fiber behind it */
#define THREAD0 inject(PARENT)
#undef THREAD1
#define THREAD1 mail(0)
#define FREE 2
#undef BOUND
#define BOUND 1
#elif SCENE == 11 /* mail for two */
#define THREAD0 mail(0)
#undef THREAD1
#define THREAD1 mail(1 % N)
#define FREE 0
#undef BOUND
#define BOUND 2
#elif SCENE == 12 /* more than one worker's share in the injector */
#define THREAD0 inject(HOG); inject(PLAIN); inject(PLAIN)
#define FREE 3
#elif SCENE == 13 /* a timer, armed on a worker that computes */
#define TIMERS
#define THREAD0 inject(HOG); arm(0)
#define FREE 2
#elif SCENE == 14 /* a fiber spawns two and computes */
#define THREAD0 inject(BREEDER)
#define FREE 3
#elif SCENE == 15 /* a fiber that yields, and a pinned fiber that computes comes in between */
#define THREAD0 inject(YIELDER)
#undef THREAD1
#define THREAD1 mail_hog(0)
#define FREE 2
#undef BOUND
#define BOUND 1
#elif SCENE == 16 /* a timer on the first worker's wheel, for a fiber that is pinned to the second */
#define TIMERS
#define THREAD0 arm(0)
#define FREE 0
#undef BOUND
#define BOUND 1
#endif
#ifdef NO_STEALING
#define STEALING 0
#else
#define STEALING 1
#endif

#define AWAKE 0
#define SEARCHING 1
#define ASLEEP 2

/* idle.state: three fields of one word, read together, and written separately under the lock. */
byte sleepers, searchers;
bool watched;
bool idle_lock;
byte top = NONE, below[N], above[N];
bool is_sleeper[N], is_searching[N], is_watching[N];
bool is_last[N]; /* all other workers slept when it became a sleeper */
bool stopping;

byte driver[N];
bool in_kernel[N], has_timeout[N], timed_out[N];

chan ready[N] = [ROOM] of { byte };
byte pend[N]; /* pushes that only the owner sees so far */
byte head[N]; /* how many items were ever taken: a thief remembers this */
chan mailbox[N] = [ROOM] of { byte };
chan pinned[N] = [ROOM] of { byte };
chan injector = [ROOM] of { byte };
bool armed[N]; /* a timer is armed on its wheel; it is due */

typedef row { byte at[N] };
row seen[N]; /* head + 1 of the other queues with a single item; 0: not seen */

byte begun, done, gone, early, quiet;
bool handed_in; /* the first thread has ended */

#define visible(v) (len(ready[v]) > pend[v] -> len(ready[v]) - pend[v] : 0)

/*
 * One step is one read or one change of something that other workers see without the lock. Work under the lock, or on
 * the worker's own data, belongs to such a step.
 */
#ifdef COARSE /* a section under the lock, a search and a last check are one step each */
#define WHOLE atomic {
#define END_WHOLE }
#else
#define WHOLE
#define END_WHOLE
#endif
#define LOCK !idle_lock -> idle_lock = true
#define UNLOCK idle_lock = false

/* --- idle.c, locked parts ------------------------------------------------------------------ */

inline unlink_it(v) {
    is_sleeper[v] = false;
    if :: above[v] != NONE -> below[above[v]] = below[v] :: else -> top = below[v] fi;
    if :: below[v] != NONE -> above[below[v]] = above[v] :: else fi;
    above[v] = 0;
    below[v] = 0;
    assert(sleepers > 0);
    sleepers--
}
inline stop_watching(v) { is_watching[v] = false; assert(watched); watched = false }
inline count_searcher(v) { assert(!is_searching[v]); is_searching[v] = true; searchers++ }
inline discount_searcher(v) { is_searching[v] = false; assert(searchers > 0); searchers-- }

/* appoint and unlock, after unlink_it. */
inline appoint(v) {
    if :: is_watching[v] -> stop_watching(v) :: else fi;
    atomic { count_searcher(v); UNLOCK }
}

inline driver_wake(v) {
    WHOLE
#ifdef MUT_WAKE_NO_XCHG
    was = driver[v];
    driver[v] = AWAKE;
#else
    atomic {
        was = driver[v];
#ifdef MUT_WAKE_ONLY_ASLEEP
        if :: was == ASLEEP -> driver[v] = AWAKE :: else fi
#else
        driver[v] = AWAKE
#endif
    }
#endif
    if
#ifdef MUT_NO_FUTEX_WAKE
    :: was == ASLEEP -> was = 0
#else
    :: was == ASLEEP -> atomic { was = 0; in_kernel[v] = false }
#endif
    :: else -> was = 0
    fi
    END_WHOLE
}

/* weft__idle_wake_one, after its first check. */
inline wake_top() {
    WHOLE
    atomic {
        LOCK;
        who = (searchers -> NONE : top);
        if :: who != NONE -> unlink_it(who) :: else -> UNLOCK fi
    }
    if :: who != NONE -> appoint(who) :: else fi
    END_WHOLE;
    if :: who != NONE -> driver_wake(who) :: else fi;
    who = 0
}
inline wake_one() {
    if :: sleepers && !searchers -> wake_top() :: else fi
}

/* weft__idle_wake: after its first check, and as a whole. */
inline wake_it(v) {
    WHOLE
    atomic {
        LOCK;
        yes = is_sleeper[v];
        if :: yes -> unlink_it(v) :: else -> UNLOCK fi
    }
    if :: yes -> appoint(v) :: else fi
    END_WHOLE;
    if :: yes -> yes = false; driver_wake(v) :: else fi
}
inline wake(v) {
    if
#ifdef MUT_WAKE_ONLY_IF_ASLEEP
    :: driver[v] == ASLEEP -> wake_it(v)
#else
    :: driver[v] != AWAKE -> wake_it(v)
#endif
    :: else
    fi
}

/* --- making work visible ------------------------------------------------------------------- */

inline put(w, k) { assert(nfull(ready[w])); ready[w]!k; pend[w]++ }

#ifdef MUT_ALWAYS_LEFT_TO_WATCHMAN
#define unwatched false
#else
#define unwatched !watched
#endif
#ifdef SYMMETRIC
#define fence_light(w) pend[w] = 0
#else
#define fence_light(w) skip
#endif

/* weft__push; weft__notify and weft__idle_consider. */
inline push(w, k) {
    d_step { put(w, k) };
    notify(w)
}
inline notify(w) {
    atomic {
        fence_light(w);
        if
        :: STEALING && sleepers && !searchers && (unwatched || len(ready[w]) >= 2) -> yes = true
#ifndef PROMPT /* that is about fibers that may take long */
        /* they will come to these fibers at once */
        :: STEALING && sleepers && !searchers && !(unwatched) && len(ready[w]) >= 2 -> skip
#endif
        :: else
        fi
    }
    if :: yes -> yes = false; wake_one() :: else fi
}

inline inject(k) {
#ifdef MUT_INJECT_NO_FENCE
    yes = sleepers && !searchers;
    injector!k;
    if :: yes -> yes = false; wake_top() :: else fi
#else
    injector!k;
    wake_one()
#endif
}

#define mail(v) mail_it(v, PINNED)
#define mail_hog(v) mail_it(v, BOUND_HOG)
inline mail_it(v, k) {
#ifdef MUT_MAIL_NO_FENCE
    yes = driver[v] != AWAKE;
    mailbox[v]!k;
    if :: yes -> yes = false; wake_it(v) :: else fi
#else
    mailbox[v]!k;
    wake(v)
#endif
}

inline arm(v) {
    armed[v] = true;
#ifndef MUT_ARM_WAKES_NOBODY
    wake(v)
#endif
}

/* --- a worker: finding --------------------------------------------------------------------- */

inline pop(w) {
    if
    :: len(pinned[w]) > 0 -> pinned[w]?fiber
    :: len(pinned[w]) == 0 && len(ready[w]) > 0 -> ready[w]?fiber; head[w]++
    :: else
    fi
}
inline take_mail(w) {
    do :: len(mailbox[w]) > 0 -> mailbox[w]?fiber; pinned[w]!fiber :: else -> break od;
    fiber = 0
}
inline take_injected(w) {
    share = (len(injector) > 0 -> len(injector) / N + 1 : 0);
    do
    :: share > 0 && len(injector) > 0 -> injector?fiber; put(w, fiber); share--
    :: else -> break
    od;
    share = 0;
    fiber = 0
}

/* weft__next. Events between its checks are modelled as if they came after them. */
inline next(w) {
    d_step {
        pop(w);
        if :: !fiber -> take_mail(w); take_injected(w); pop(w) :: else fi
    }
}

/* weft__poll, from home. */
inline poll(w) {
    d_step { take_mail(w); take_injected(w) };
#ifdef MUT_POLL_NOTIFIES_NOBODY
    skip
#else
    if :: len(ready[w]) > 0 -> notify(w) :: else fi
#endif
}

/* weft__expire, for the worker's own wheel or that of another worker. */
#ifdef TIMERS
#if SCENE == 16
inline now_due(w) {
    if
    :: w == 1 -> pinned[w]!PINNED
    :: else -> mail(1)
    fi
}
#else
#define now_due(w) push(w, PLAIN)
#endif
inline expire(w, v) {
    if
    :: d_step { armed[v] -> armed[v] = false }; now_due(w)
    :: else
    fi
}
/* In look_round: timers found there now belong to the caller. weft__next returns nothing when the worker must check
 * timers, mailbox and injector. */
inline expire_of(w, v) {
    if
    :: d_step { armed[v] -> armed[v] = false }; now_due(w); if :: next(w) :: skip fi
    :: else
    fi
}
#else
#define expire(w, v) skip
#define expire_of(w, v) skip
#endif

/* steal_from. A queue with a single item is taken only if its head has not moved since an earlier visit. */
inline steal(w, v) {
    d_step {
        share = visible(v);
        if
        :: share == 0 -> seen[w].at[v] = 0
        :: share == 1 && seen[w].at[v] != head[v] + 1 -> seen[w].at[v] = head[v] + 1; share = 0
#ifdef MUT_NEVER_STALE
        :: share == 1 && seen[w].at[v] == head[v] + 1 -> share = 0
        :: share >= 2 -> share = (share + 1) / 2
#else
        :: share >= 2 || (share == 1 && seen[w].at[v] == head[v] + 1) -> share = (share + 1) / 2
#endif
        fi;
        if
        :: share > 0 ->
            ready[v]?fiber; head[v]++; share--;
            do
            :: share > 0 -> ready[v]?kind; head[v]++; share--; put(w, kind)
            :: else -> break
            od;
            kind = 0
        :: else
        fi
    }
}

inline look_round(w) {
    WHOLE
    victim = 0;
    do
    :: victim < N && !fiber ->
        if
        :: victim != w ->
            expire_of(w, victim);
            if :: !fiber -> steal(w, victim) :: else fi
        :: else
        fi;
        victim++
    :: else -> break
    od;
    victim = 0
    END_WHOLE
}

/* weft__search; a long search makes several rounds. */
inline search(w) {
    do
    :: expire(w, w);
        next(w);
        if :: STEALING && !fiber -> look_round(w) :: else fi;
        if
        :: fiber || once || stopping -> break
#ifdef LONG_SEARCH
        :: else -> if :: break :: skip fi
#else
        :: else -> break
#endif
        fi
    od
}

inline start_searching(w) {
    if
    :: !is_searching[w] ->
        atomic {
            !idle_lock ->
            if
            :: searchers == 0 || 2 * searchers < N - sleepers -> count_searcher(w)
            :: else
            fi
        }
    :: else
    fi
}

/* --- a worker: the last look, and sleeping -------------------------------------------------- */

inline fence_own(w) { pend[w] = 0 }
inline fence_heavy(w) {
    d_step {
        pend[0] = 0;
        pend[1 % N] = 0;
        pend[2 % N] = 0;
        pend[3 % N] = 0
    }
}

/* weft__work_in_sight, one check after the other. */
inline look(w) {
#ifdef MUT_QUEUES_OF_ONE_ARE_LEFT
    least = 2;
#else
    least = (watched -> 2 : 1);
#endif
    if :: !sight -> sight = len(mailbox[w]) > 0 :: else fi;
#ifndef MUT_NO_LOOK_AT_INJECTOR
    if :: !sight -> sight = len(injector) > 0 :: else fi;
#endif
#ifndef MUT_NO_LOOK_AT_QUEUES
    victim = 0;
    do
    :: STEALING && victim < N && !sight -> atomic { sight = (victim == w -> len(ready[w]) : visible(victim)) >= least; victim++ }
    :: else -> break
    od;
    victim = 0;
#endif
#ifndef MUT_NO_LOOK_AT_STOPPING
    if :: !sight -> sight = stopping :: else fi;
#endif
    least = 0
}

#ifdef MUT_NO_LOOK_WITHOUT_STEALING
#define ENDS_LOOK STEALING
#else
#define ENDS_LOOK true
#endif

/* weft__idle_end: the last searcher looks for pushes that relied on it. A worker that begins to work makes sure that
 * another worker watches the work that it leaves behind. */
inline idle_end(w) {
    if
    :: is_searching[w] -> atomic { !idle_lock -> discount_searcher(w) }
    :: else
    fi;
#ifndef MUT_LAST_DOES_NOT_LOOK
    atomic {
        if
        :: sleepers && !searchers && ENDS_LOOK -> yes = true; soon = !watched && STEALING; heavy = !watched && sleepers + 1 < N
        :: else
        fi
    }
    if
    :: yes ->
        WHOLE
        yes = false;
#ifdef MUT_FULL_FENCE_AT_END
        if :: heavy -> fence_own(w) :: else fi;
#else
        if :: heavy -> fence_heavy(w) :: else fi;
#endif
        heavy = false;
#ifdef MUT_TIMERS_ARE_LEFT
        soon = false;
#endif
        if :: soon -> soon = armed[w] :: else fi;
        if :: !soon -> look(w) :: else fi
        END_WHOLE;
        if :: sight || soon -> atomic { sight = false; soon = false }; wake_one() :: else fi
    :: else
    fi
#else
    skip
#endif
}
inline become_sleeper(w) {
    WHOLE
    atomic {
        LOCK;
        if :: is_searching[w] -> discount_searcher(w) :: else fi
    }
    d_step {
        assert(!is_sleeper[w]);
        is_sleeper[w] = true;
        above[w] = NONE;
        below[w] = top;
        if :: top != NONE -> above[top] = w :: else fi;
        top = w;
        sleepers++
    }
#ifndef MUT_NO_WATCHMAN
    if
    :: STEALING && sleepers < N && !watched -> d_step { is_watching[w] = true; watched = true }
    :: else
    fi;
#endif
    atomic { is_last[w] = sleepers == N; driver[w] = SEARCHING; UNLOCK }
    END_WHOLE
}

inline driver_sleep(w) {
#ifdef MUT_SLEEP_NO_CAS
    yes = driver[w] == SEARCHING;
    if :: yes -> yes = false; driver[w] = ASLEEP :: else fi;
#else
    d_step { if :: driver[w] == SEARCHING -> driver[w] = ASLEEP :: else fi };
#endif
    /* The kernel compares and goes to sleep in one step. */
    do
    :: atomic { driver[w] == ASLEEP && !timed_out[w] -> in_kernel[w] = true };
end_asleep:
        !in_kernel[w]
    :: atomic { else -> break }
    od;
    atomic { once = driver[w] != AWAKE; driver[w] = AWAKE; timed_out[w] = false; has_timeout[w] = false }
}

inline idle_sleep(w) {
#ifdef MUT_NO_FENCE_OF_SLEEPER
    look(w);
    become_sleeper(w);
#else
    become_sleeper(w);
    WHOLE
#ifdef MUT_FULL_FENCE_OF_SLEEPER
    fence_own(w);
#else
    if :: is_last[w] -> fence_own(w) :: else -> fence_heavy(w) fi;
#endif
#ifndef MUT_NO_SECOND_LOOK
#ifndef MUT_NO_LOOK_AT_OWN
    sight = len(ready[w]) > 0 || len(pinned[w]) > 0;
#endif
    if :: !sight -> look(w) :: else fi
#endif
    END_WHOLE;
#endif
    if
    :: sight -> atomic { sight = false; driver[w] = AWAKE; once = false }
    :: else ->
        WHOLE
        has_timeout[w] = is_watching[w] || armed[w];
        driver_sleep(w)
        END_WHOLE
    fi;
#ifndef MUT_STAYS_ON_STACK
    WHOLE
    atomic {
        LOCK;
        if :: is_sleeper[w] -> unlink_it(w) :: else fi
    }
    atomic {
        if :: is_watching[w] -> stop_watching(w) :: else fi;
        UNLOCK
    }
    END_WHOLE
#endif
}

#ifdef NO_STEALING /* then any worker may take only from the injector */
#define compute (handed_in && len(injector) == 0)
#else
#define compute (begun >= FREE)
#endif

proctype worker(byte me) {
    byte fiber, kind, share, victim, least, who, was;
    bool once, yes, sight, soon, heavy, idle;
#ifdef AT_REST
    idle = true;
    goto end_asleep;
#endif
find:
    WHOLE
    next(me);
    if
    :: !fiber -> idle = true; start_searching(me)
    :: else
    fi
    END_WHOLE;
    if
    :: !fiber && is_searching[me] -> search(me)
    :: !fiber && !is_searching[me] -> expire(me, me); next(me)
    :: else
    fi;
    if
    :: fiber || stopping ->
        once = false;
        /* now_busy; a worker that came home only for a check continues as before. */
        if :: idle -> idle = false; idle_end(me) :: else fi;
        if :: fiber -> goto enter :: else -> goto leave fi
    :: else -> idle_sleep(me); goto find
    fi;
enter:
    atomic {
        quiet = 0;
        if
        :: fiber != PINNED && fiber != BOUND_HOG -> begun++
        :: else
        fi;
        kind = fiber;
        fiber = 0
    }
    if
    :: kind == PLAIN || kind == PINNED -> kind = 0
    :: kind == PAIR -> kind = 0; push(me, PLAIN); push(me, PLAIN)
    :: kind == HOG -> kind = 0; compute
    :: kind == PARENT -> kind = 0; push(me, PLAIN); compute
    :: kind == BREEDER -> kind = 0; push(me, PLAIN); push(me, PLAIN); compute
    :: kind == YIELDER -> kind = 0; d_step { put(me, PLAIN) }; poll(me)
    :: kind == BOUND_HOG -> kind = 0; compute
    :: kind == TWO_MORE -> kind = 0; push(me, HOG); push(me, HOG); compute
    fi;
    atomic { done++; next(me) };
    if :: fiber -> goto enter :: else -> goto find fi;
leave:
    gone++
}

/* --- the world around ---------------------------------------------------------------------- */

proctype thread0() {
    byte who, was;
    bool yes;
    THREAD0;
    handed_in = true
}
proctype thread1() {
    byte who, was;
    bool yes;
    THREAD1
}

/* The store buffers drain by themselves at some time. */
proctype machine() {
end:
    do
    :: d_step { pend[0] > 0 -> pend[0]-- }
#if N > 1
    :: d_step { pend[1] > 0 -> pend[1]-- }
#endif
#if N > 2
    :: d_step { pend[2] > 0 -> pend[2]-- }
#endif
#if N > 3
    :: d_step { pend[3] > 0 -> pend[3]-- }
#endif
    od
}

proctype stopper() {
    byte who, was, i;
    bool yes;
    done == FREE + BOUND;
#ifdef MUT_STOP_NO_FENCE
    /* first checks the flags */
    byte mask;
    for (i : 0 .. N - 1) { mask = mask | ((driver[i] != AWAKE) << i) }
    stopping = true;
    for (i : 0 .. N - 1) { if :: mask & (1 << i) -> wake_it(i) :: else fi }
#else
    stopping = true;
#ifndef MUT_STOP_WAKES_NOBODY
    for (i : 0 .. N - 1) { wake(i) }
#endif
#endif
    gone == N
}

#define early_end(w) d_step { early < EARLY && in_kernel[w] -> in_kernel[w] = false; timed_out[w] = true; early++ }

proctype clock() {
    byte i;
    bool some;
end:
    do
    /* Any sleep may end: for the trim of unused memory, or for a timer that is not modelled. */
    :: early_end(0)
#if N > 1
    :: early_end(1)
#endif
#if N > 2
    :: early_end(2)
#endif
#if N > 3
    :: early_end(3)
#endif
    :: timeout ->
#ifdef PROMPT
        for (i : 0 .. N - 1) { assert(!sleepers || len(ready[i]) < 2) }
        i = 0;
#endif
        d_step {
            some = false;
            for (i : 0 .. N - 1) {
                if
                :: in_kernel[i] && has_timeout[i] -> some = true; in_kernel[i] = false; timed_out[i] = true
                :: else
                fi
            }
            i = 0;
            quiet++
        }
        assert(quiet < QUIET);
        if
        :: some -> some = false
        :: else -> break
        fi
    od;
    /* Rest: nothing moves, and no clock will change that. */
    assert(done == FREE + BOUND);
    assert(searchers == 0 && !watched && !idle_lock);
#ifdef STOP
    assert(gone == N && sleepers == 0 && top == NONE)
#else
    assert(sleepers == N);
    i = top;
    byte n = 0;
    do
    :: i != NONE -> n++; assert(n <= N && is_sleeper[i]); i = below[i]
    :: else -> break
    od;
    assert(n == N)
#endif
}

init {
    byte i;
    atomic {
#ifdef AT_REST /* all workers sleep at the beginning: fewer states, and most errors begin there */
        for (i : 0 .. N - 1) {
            is_sleeper[i] = true;
            above[i] = i + 1;
            below[i] = (i -> i - 1 : NONE);
            driver[i] = ASLEEP;
            in_kernel[i] = true
        }
        top = N - 1;
        sleepers = N;
#endif
        for (i : 0 .. N - 1) { run worker(i) }
        i = 0;
        run thread0();
        run thread1();
        run machine();
        run clock();
#ifdef STOP
        run stopper()
#endif
    }
}
