/* SPDX-License-Identifier: MIT */
/*
 * The wait: the word of wait.h with everything that ends a wait (permit, cancellation, deadline, the chain of
 * wait_queue.h), and the way back onto a carrier (dispatch.h, worker.c, context.h).
 *
 * The fiber is a separate process that moves only while a carrier has entered it. What weft__suspend does on the
 * fiber's stack is done by the carrier's process. The word has the bits of the source. A swap compares the whole word
 * with the value loaded before, in a separate step.
 *
 * Ghost variables: won (how often this wait was won), stands (the carrier on the stack), is_saved (the context can be
 * entered), given and taken (permits), posted and got (tokens), alive (memory that other processes may read).
 */
#ifndef SCENE
#define SCENE 1
#endif
#define FIBERS 1
#define CARRIERS 2
#define WAITS 2
#define UNPARKS 0
#define CANCELS 0
#define POSTS 0
#define ONCE 0 /* the semaphore is freed as soon as the first wait for it has returned */
#if SCENE == 1 /* park, with permits, a cancellation, and deadlines of earlier waits */
#define DO_PARK
#undef WAITS
#define WAITS 3
#undef UNPARKS
#define UNPARKS 2
#undef CANCELS
#define CANCELS 1
#elif SCENE == 2 /* a semaphore, with posts, a cancellation, deadlines */
#define DO_SEM
#undef UNPARKS
#define UNPARKS 1
#undef CANCELS
#define CANCELS 1
#undef POSTS
#define POSTS 2
#elif SCENE == 3 /* all of these, one after the other */
#define DO_PARK
#define DO_SEM
#define DO_SLEEP
#undef WAITS
#define WAITS 2
#undef UNPARKS
#define UNPARKS 1
#undef POSTS
#define POSTS 1
#undef CANCELS
#define CANCELS 1
#elif SCENE == 4 /* two fibers that unpark each other: which carrier uses which stack */
#define DO_TURNS
#undef FIBERS
#define FIBERS 2
#undef WAITS
#define WAITS 2
#elif SCENE == 5 /* two fibers at one semaphore */
#define DO_SEM
#undef CARRIERS
#define CARRIERS 1
#undef FIBERS
#define FIBERS 2
#undef WAITS
#define WAITS 1
#undef POSTS
#define POSTS 2
#undef CANCELS
#define CANCELS 1
#elif SCENE == 6 /* the semaphore is freed after the wait */
#define DO_SEM
#undef ONCE
#define ONCE 1
#undef WAITS
#define WAITS 1
#undef POSTS
#define POSTS 1
#elif SCENE == 7 /* the same with a thread as the waiter: it blocks in the kernel */
#define THREAD
#define DO_SEM
#undef ONCE
#define ONCE 1
#undef CARRIERS
#define CARRIERS 0
#undef WAITS
#define WAITS 1
#undef POSTS
#define POSTS 1
#elif SCENE == 8 /* a thread that waits several times */
#define THREAD
#define DO_SEM
#define DO_SLEEP
#undef CARRIERS
#define CARRIERS 0
#undef WAITS
#define WAITS 3
#undef POSTS
#define POSTS 2
#elif SCENE == 9 /* two fibers are won while they leave their stacks: each carrier may find the other fiber */
#define DO_PARK
#define NO_DEADLINES
#undef FIBERS
#define FIBERS 2
#undef WAITS
#define WAITS 2
#undef UNPARKS
#define UNPARKS 4
#endif

/* The wait word. */
#define PERMIT 1
#define CANCEL 2
#define WAITING 4
#define BY_PERMIT 8
#define BY_CANCEL 16
#define REASON 224
#define DONE 32
#define DEADLINE 64
#define CANCELLED 96
#define STICKY 3
#define ONE 256
#define EPOCH (~255)

int word[FIBERS];
byte won[FIBERS];
int given, taken; /* permits */

/* Stacks. */
#define NOBODY 255
bool running[FIBERS], ended[FIBERS], on_stack[FIBERS], is_saved[FIBERS], queued[FIBERS];
byte stands[FIBERS];
chan ready = [FIBERS] of { byte };

/* Timers: the fiber and the ticket. A fiber has at most one armed timer. */
chan wheel = [FIBERS] of { byte, int };

/* Releases a thread. */
int released;
bool in_kernel, timed_out, has_timeout;

/* The semaphore: value << 2 | WAITERS | LOCKED, and its chain. */
#define LOCKED 1
#define WAITERS 2
#define BUSY 3
#define SEM_ONE 4
int sem;
bool sem_alive = true;
chan chain = [FIBERS] of { byte };
bool chained[FIBERS], waiter_alive[FIBERS];
int waiter_ticket[FIBERS];
byte posted, got;

byte finished; /* enders that have finished */

/* --- the word ------------------------------------------------------------------------------ */

/* weft__wait_begin: 0 it waits, 1 the permit was there, 2 it is cancelled. */
inline begin(id, ways) {
    w = word[id];
    do
    :: w & PERMIT & ((ways) >> 3) ->
        atomic {
            if
            :: word[id] == w -> word[id] = w & ~PERMIT; result = 1; break
            :: else -> w = word[id]
            fi
        }
    :: !(w & PERMIT & ((ways) >> 3)) && (w & CANCEL & ((ways) >> 3)) -> result = 2; break
    :: else ->
#ifdef MUT_BEGIN_STORES
        word[id] = ((w & EPOCH) + ONE) | (w & STICKY) | WAITING | (ways);
        ticket = (w & EPOCH) + ONE; result = 0; break
#else
        atomic {
            if
            :: word[id] == w ->
#ifdef MUT_SAME_EPOCH
                word[id] = (w & EPOCH) | (w & STICKY) | WAITING | (ways);
                ticket = w & EPOCH;
#else
#ifdef MUT_BEGIN_FORGETS
                word[id] = ((w & EPOCH) + ONE) | WAITING | (ways);
#else
                word[id] = ((w & EPOCH) + ONE) | (w & STICKY) | WAITING | (ways);
#endif
                ticket = (w & EPOCH) + ONE;
#endif
                result = 0; break
            :: else -> w = word[id]
            fi
        }
#endif
    od;
    w = 0
}

inline count_win(id) { assert(won[id] == 0); won[id]++ }

/* weft__wait_win */
#ifdef MUT_WIN_ANY_EPOCH
#define fits(w, t) (w & WAITING)
#else
#define fits(w, t) ((w & (EPOCH | WAITING)) == (t | WAITING))
#endif
inline win(id, t, reason) {
    w = word[id];
    do
    :: !fits(w, t) -> yes = false; break
    :: else ->
#ifdef MUT_WIN_STORES
        atomic { word[id] = (w & EPOCH) | (w & STICKY) | reason; count_win(id); yes = true; break }
#else
        atomic {
            if
            :: word[id] == w -> word[id] = (w & EPOCH) | (w & STICKY) | reason; count_win(id); yes = true; break
            :: else -> w = word[id]
            fi
        }
#endif
    od;
    w = 0
}

/* weft__make_ready; for a thread, weft__wait_thread_release. */
inline make_ready(id) {
#ifdef THREAD
    released = word[id] & EPOCH;
    in_kernel = false
#else
    atomic { assert(!queued[id]); queued[id] = true; ready!id }
#endif
}

/* poke */
inline poke(id, mask, way, reason) {
    w = word[id];
    do
    :: (w & (WAITING | way)) == (WAITING | way) ->
        atomic {
            if
            :: word[id] == w ->
#ifdef MUT_PERMIT_STAYS
                word[id] = (w & (EPOCH | STICKY)) | reason | mask;
#else
                word[id] = (w & (EPOCH | STICKY)) | reason | (mask & CANCEL);
#endif
                count_win(id); given = given + (mask == PERMIT); yes = true; break
            :: else -> w = word[id]
            fi
        }
    :: else ->
#ifdef MUT_POKE_STORES
        atomic { given = given + (mask == PERMIT && !(w & PERMIT)); word[id] = w | mask; yes = false; break }
#else
        atomic {
            if
            :: word[id] == w ->
                given = given + (mask == PERMIT && !(w & PERMIT)); word[id] = w | mask; yes = false; break
            :: else -> w = word[id]
            fi
        }
#endif
    od;
    w = 0;
    if :: yes -> yes = false; make_ready(id) :: else fi
}

/* --- blocking ------------------------------------------------------------------------------ */

#ifdef THREAD
/* thread_block. The kernel compares and goes to sleep in one step. */
inline block(id, until) {
#ifdef MUT_THREAD_LOOKS_AT_WORD
    do
    :: word[id] & WAITING ->
        atomic { if :: word[id] & WAITING -> in_kernel = true; has_timeout = until :: else fi };
#else
    do
    :: atomic { released != ticket -> w = released };
        atomic { if :: released == w -> in_kernel = true; has_timeout = until :: else fi };
        w = 0;
#endif
        !in_kernel;
        if
        :: timed_out ->
            atomic { timed_out = false; until = false };
            win(id, ticket, DEADLINE);
            if :: yes -> yes = false; break :: else fi
        :: else
        fi
    :: else -> break
    od;
    atomic { has_timeout = false; result = (word[id] & REASON); assert(won[id] == 1); won[id] = 0 }
}
#else
/* weft__wait_block, and its slow path if there is a deadline. */
inline block(id, until) {
    if :: until -> wheel!id, ticket :: else fi;
    running[id] = false;
    running[id];
    atomic { result = (word[id] & REASON); assert(won[id] == 1); won[id] = 0 };
    if
    :: until && result != DEADLINE ->
#ifdef MUT_TIMER_STAYS
        skip
#else
        atomic { if :: wheel??[eval(id), _] -> wheel??eval(id), _ :: else fi }
#endif
    :: else
    fi;
    /* The timer was on this stack. */
    assert(!(wheel??[eval(id), _]))
}
#endif

/* --- the semaphore: wait_queue.h, sem.c ----------------------------------------------------- */

inline lock_sem() {
    atomic { assert(sem_alive); !(sem & LOCKED) -> w = sem; sem = sem | LOCKED }
}
inline unlock_sem(value) {
    atomic { assert(sem_alive); sem = ((value) & ~BUSY) | (len(chain) > 0) * WAITERS; w = 0 }
}

inline sem_wait(id, until) {
    atomic {
        if
        :: sem >= SEM_ONE && !(sem & BUSY) -> sem = sem - SEM_ONE; result = DONE
        :: else -> result = 0
        fi
    }
    if
    :: result == DONE -> got++
    :: else ->
        lock_sem();
        if
        :: w >= SEM_ONE -> unlock_sem(w - SEM_ONE); got++; result = DONE
        :: else ->
            save = w;
            begin(id, BY_CANCEL);
            if
            :: result == 2 -> unlock_sem(save); result = CANCELLED
            :: else ->
                atomic {
                    waiter_alive[id] = true; waiter_ticket[id] = ticket; chained[id] = true; chain!id
                }
#ifdef MUT_UNLOCK_FORGETS_WAITERS
                atomic { sem = save & ~BUSY; w = 0 };
#else
                unlock_sem(save);
#endif
                block(id, until);
                if
                :: result == DONE -> got++
                :: else ->
#ifndef MUT_NO_LEAVE
                    lock_sem();
                    atomic { if :: chained[id] -> chained[id] = false; chain??eval(id) :: else fi };
                    unlock_sem(w)
#endif
                fi;
                waiter_alive[id] = false
            fi;
            save = 0
        fi
    fi;
#if ONCE
    if :: result == DONE -> sem_alive = false :: else fi
#endif
}

/* weft_sem_post: wins the first waiter that still waits, or adds a unit. */
inline sem_post() {
    atomic {
        assert(sem_alive);
        if
        :: !(sem & BUSY) -> sem = sem + SEM_ONE; posted++; save = 1
        :: else -> save = 0
        fi
    }
    if
    :: save == 1 -> save = 0
    :: else ->
        lock_sem();
        save = w;
        who = FIBERS;
        do
        :: len(chain) > 0 ->
            atomic { chain?who; assert(waiter_alive[who]); chained[who] = false };
            atomic { assert(waiter_alive[who]); ticket = waiter_ticket[who] };
            win(who, ticket, DONE);
            if
            :: yes -> break
#ifdef MUT_POST_ONE_TRY
            :: else -> break
#else
            :: else -> who = FIBERS
#endif
            fi
        :: else -> break
        od;
        ticket = 0;
#ifdef MUT_READY_BEFORE_UNLOCK
        if :: yes -> make_ready(who) :: else fi;
        unlock_sem(save + (!yes) * SEM_ONE);
#else
#ifdef MUT_POST_ONE_TRY
        unlock_sem(save + (who == FIBERS) * SEM_ONE);
#else
        unlock_sem(save + (!yes) * SEM_ONE);
#endif
        if :: yes -> make_ready(who) :: else fi;
#endif
        atomic { posted++; yes = false; who = 0; save = 0 }
    fi
}

/* --- the fiber, or thread ------------------------------------------------------------------- */

inline park(id, until) {
    begin(id, BY_PERMIT | BY_CANCEL);
    if
    :: result == 1 -> taken++; result = DONE
    :: result == 2 -> result = CANCELLED
    :: else ->
        block(id, until);
        if :: result == DONE -> taken++ :: else fi
    fi
}

proctype fiber(byte me) {
    byte n, who;
    int w, ticket, save, result;
    bool yes, until;
#ifndef THREAD
    running[me];
#endif
    do
    :: n < WAITS ->
        n++;
#ifndef NO_DEADLINES
        if :: until = false :: until = true fi;
#endif
        if
#ifdef DO_PARK
        :: park(me, until)
#endif
#ifdef DO_SEM
        :: sem_wait(me, until)
#endif
#ifdef DO_SLEEP
        :: until = true;
            begin(me, BY_CANCEL);
            if
            :: result == 0 -> block(me, until)
            :: else
            fi
#endif
#ifdef DO_TURNS /* the fiber that has the turn first gives it, the other first takes it */
        :: until = false;
            if
            :: me == 0 -> poke(1, PERMIT, BY_PERMIT, DONE); park(0, until)
            :: else -> park(1, until); poke(0, PERMIT, BY_PERMIT, DONE)
            fi
#endif
        fi;
        atomic { result = 0; ticket = 0; until = false }
    :: else -> break
    od;
    atomic { ended[me] = true; running[me] = false }
}

/* --- carriers ------------------------------------------------------------------------------- */

inline take(c, f) { d_step { ready?f; queued[f] = false } }

inline enter(c, f) {
    atomic { assert(stands[f] == NOBODY && is_saved[f]); stands[f] = c; is_saved[f] = false; running[f] = true }
}

/* weft__switch, the half that leaves the stack. */
inline leave(f) {
#ifdef MUT_LETS_GO_FIRST
    on_stack[f] = false;
    is_saved[f] = true;
    stands[f] = NOBODY
#else
    is_saved[f] = true;
    stands[f] = NOBODY;
    on_stack[f] = false
#endif
}

/* weft__prepare. */
inline prepare(f) {
#ifdef MUT_ENTERS_UNSEEN
    ok = true;
#else
    ok = !on_stack[f];
#endif
    if :: ok -> on_stack[f] = true :: else fi
}

proctype carrier(byte me) {
    byte f, self;
    bool ok;
home:
    take(me, f);
again:
    prepare(f);
    if
    :: ok -> skip
    :: else -> /* a carrier may wait for another carrier's stack only here: the fiber goes back into the queue */
        atomic { assert(!queued[f]); queued[f] = true; ready!f; f = 0 };
        goto home
    fi;
    ok = false;
    enter(me, f);
away:
    self = f;
    f = 0;
    !running[self];
    if
    :: ended[self] -> atomic { stands[self] = NOBODY; self = 0 }; goto home
    :: else
    fi;
    /* weft__suspend_plain */
    if
    :: len(ready) > 0 -> atomic { if :: len(ready) > 0 -> take(me, f) :: else -> f = NOBODY fi }
    :: else -> f = NOBODY
    fi;
    if
    :: f == self -> atomic { running[self] = true; self = 0 }; goto away
    :: f == NOBODY -> leave(self); atomic { self = 0; f = 0 }; goto home
    :: else ->
        prepare(f);
#ifdef MUT_WAITS_IN_PLACE
        do :: ok -> break :: else -> !on_stack[f]; on_stack[f] = true; ok = true od;
#endif
        leave(self);
        self = 0;
        if
        :: ok -> ok = false; enter(me, f); goto away
        :: else -> goto again /* passed to the home context */
        fi
    fi
}

/* --- what ends waits ------------------------------------------------------------------------ */

proctype unparker() {
    byte n;
    int w;
    bool yes;
    do :: n < UNPARKS -> n++; poke((n % FIBERS), PERMIT, BY_PERMIT, DONE) :: else -> break od;
    finished++
}

proctype canceller() {
    int w;
    bool yes;
#if CANCELS
    if
    :: poke(0, CANCEL, BY_CANCEL, CANCELLED)
    :: skip
    fi;
#endif
    finished++
}

proctype poster() {
    byte n, who;
    int w, ticket, save;
    bool yes;
    do :: n < POSTS -> n++; sem_post() :: else -> break od;
    finished++
}

/* weft__expire: copies the ticket, and tries to win at any later time. */
proctype expirer() {
    byte who;
    int w, ticket;
    bool yes;
end:
    do
    :: wheel?who, ticket;
        win(who, ticket, DEADLINE);
        if :: yes -> yes = false; make_ready(who) :: else fi;
        atomic { who = 0; ticket = 0 }
#ifdef THREAD
    :: atomic { in_kernel && has_timeout -> in_kernel = false; timed_out = true }
#endif
    od
}

/* When nothing moves any more: is that right? Then it helps a fiber that waits for something that will not come. */
proctype judge() {
    byte i, who, n;
    int w, ticket, save;
    bool yes;
end:
    do
    :: timeout ->
        assert(finished == 3);
        assert(given - taken == (word[0] & PERMIT) + (FIBERS > 1 && word[FIBERS - 1] & PERMIT));
        assert(posted == got + (sem >> 2) || !sem_alive);
        n = 0;
        for (i : 0 .. FIBERS - 1) { if :: ended[i] -> n++ :: else fi };
        if :: n == FIBERS -> break :: else fi;
        for (i : 0 .. FIBERS - 1) {
            if
            :: !ended[i] ->
                /* The fiber waits, its wait was not won, and what it waits for is not available. */
                assert(word[i] & WAITING);
                assert(won[i] == 0 && !queued[i] && !running[i] || CARRIERS == 0);
                if
                :: word[i] & BY_PERMIT -> assert(!(word[i] & PERMIT)); poke(i, PERMIT, BY_PERMIT, DONE)
                :: else -> assert(sem >> 2 == 0 && chained[i]); sem_post()
                fi;
                break
            :: else
            fi
        }
    od;
    assert(sem == 0 || !sem_alive || sem >= SEM_ONE);
    assert(len(chain) == 0 && len(wheel) == 0 && len(ready) == 0)
}

init {
    byte i;
    atomic {
        for (i : 0 .. FIBERS - 1) {
            stands[i] = NOBODY;
            is_saved[i] = true;
#ifndef THREAD
            queued[i] = true;
            ready!i;
#endif
            run fiber(i)
        }
#if CARRIERS
        for (i : 0 .. CARRIERS - 1) { run carrier(i) }
#endif
        i = 0;
        run unparker();
        run canceller();
        run poster();
        run expirer();
        run judge()
    }
}
