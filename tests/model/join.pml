/* SPDX-License-Identifier: MIT */
/*
 * One record and its lives: spawn, end, join, detach (fiber.c), and calls with a stale handle (poke in wait.c). Joiners
 * may give up at their deadline, and then wait for something else.
 *
 * The generation of the record identifies a life: 1 is the first life, 3 the second; even generations are free. JOINERS
 * joiners, a detacher and a canceller use the handle of the first life, at the same time and as late as they like. The
 * second life is joined by its owner, which must find it undisturbed.
 */
#ifndef JOINERS
#define JOINERS 1
#endif
#define OWNER JOINERS /* the joiner of the second life */
#define WAITERS_ALL (JOINERS + 1)

/* The join word: a tag, and the generation or the joiner. */
#define NOBODY 0
#define DETACHED 1
#define ENDED 2
#define COLLECTED 3
#define BY 4
#define ENDED_BY 5
#define TAG 7
#ifdef MUT_NO_LIFE_IN_WORD
#define of_life(h, tag) (tag)
#else
#define of_life(h, tag) ((h) << 3 | (tag))
#endif
#define by_whom(i, t) ((t) << 3 | (i) << 3 | BY) /* the ticket's low eight bits are free: the index fits */

/* The wait word, as in wait.pml. */
#define CANCEL 2
#define WAITING 4
#define REASON 224
#define DONE 32
#define DEADLINE 64
#define ONE 256
#define EPOCH (~255)

byte generation;
int join_word, wait_word; /* of the record */
byte result;
byte frees[4]; /* how often the record of each life was returned */

int wait_of[WAITERS_ALL]; /* the wait words of the joiners */
bool is_ready[WAITERS_ALL], has_deadline[WAITERS_ALL];
byte joined[4], finished;
bool second; /* the second life exists, and its handle is known */
bool detached;

inline slab_put(h) {
    atomic { assert(generation == h); frees[h]++; assert(frees[h] == 1); generation++ }
}

/* --- the joiners' waits ---------------------------------------------------------------------- */

inline begin(i) { atomic { wait_of[i] = (wait_of[i] & EPOCH) + ONE + WAITING; ticket = wait_of[i] & EPOCH } }

inline win(i, t, reason) {
    d_step {
        if
        :: (wait_of[i] & (EPOCH | WAITING)) == (t | WAITING) -> wait_of[i] = (t) | reason; yes = true
        :: else -> yes = false
        fi
    }
}
inline make_ready(i) { atomic { assert(!is_ready[i]); is_ready[i] = true } }

/* Blocks. The wait may end by its deadline only if `until`. */
inline block(i, until) {
    has_deadline[i] = until;
    atomic { is_ready[i] -> is_ready[i] = false; has_deadline[i] = false; reason = wait_of[i] & REASON }
}

/* --- fiber.c --------------------------------------------------------------------------------- */

inline collect(h) {
    atomic { assert(generation == h && result == h); joined[h]++; assert(joined[h] == 1) };
    slab_put(h)
}

inline join_at_once(h) {
    if
    :: word == of_life(h, ENDED) ->
#ifdef MUT_COLLECT_WITHOUT_SWAP
        yes = true;
#else
        atomic {
            yes = join_word == word;
            if :: yes -> join_word = of_life(h, COLLECTED) :: else fi
        }
#endif
        if :: yes -> yes = false; collect(h) :: else fi
    :: else /* -EINVAL, -EBUSY, -ESRCH */
    fi
}

inline join(i, h, until) {
    if
    :: generation == h ->
        word = join_word;
        if
        :: word == of_life(h, NOBODY) ->
            begin(i);
            atomic {
                yes = join_word == of_life(h, NOBODY);
                word = join_word;
                if :: yes -> assert(generation == h); join_word = by_whom(i, ticket) :: else fi
            }
            if
            :: !yes ->
                /* weft__wait_withdraw: no other thread has the ticket, except a deadline that does not exist. */
                win(i, ticket, DONE);
                assert(yes);
                yes = false;
                join_at_once(h)
            :: else ->
                yes = false;
                block(i, until);
                if
                :: reason == DONE -> collect(h)
                :: else ->
                    gave_up = true;
#ifdef MUT_LEAVE_STORES
                    yes = true; join_word = of_life(h, NOBODY);
#else
                    atomic {
                        yes = join_word == by_whom(i, ticket);
                        if :: yes -> join_word = of_life(h, NOBODY) :: else fi
                    }
#endif
                    if :: !yes -> collect(h) :: else fi;
                    yes = false
                fi
            fi
        :: else -> join_at_once(h)
        fi
    :: else
    fi
}

inline wake_joiner() {
#ifdef MUT_WAKES_WHOEVER_WAITS
    who = (word >> 3) & 7;
    ticket = wait_of[who] & EPOCH;
    yes = true;
#else
    atomic {
        who = (word >> 3) & 7;
        ticket = wait_of[who] & EPOCH;
        yes = by_whom(who, ticket) == word
    }
#endif
    if :: yes -> win(who, ticket, DONE) :: else fi;
    if :: yes -> yes = false; make_ready(who) :: else fi
}

/* The carrier of the fiber ends its life. */
inline end_life(h) {
    result = h;
    word = join_word;
    do
    :: (word & TAG) != DETACHED ->
        atomic {
            assert(generation == h);
#ifndef MUT_END_STORES
            yes = join_word == word;
            if
            :: !yes -> word = join_word
            :: else ->
#endif
                if
                :: word == of_life(h, NOBODY) -> join_word = of_life(h, ENDED)
#ifdef MUT_END_FORGETS_JOINER
                :: else -> join_word = of_life(h, ENDED)
#else
                :: else -> join_word = word | ENDED_BY
#endif
                fi;
                break
#ifndef MUT_END_STORES
            fi
#endif
        }
    :: else -> break
    od;
    yes = false;
    if
    :: (word & TAG) == DETACHED -> slab_put(h)
    :: (word & TAG) == BY ->
#ifdef MUT_TOUCHES_AFTER_END
        assert(generation == h);
#endif
        wake_joiner()
    :: else
    fi
}

proctype joiner(byte i; byte h) {
    int word, ticket, reason;
    bool yes, until, gave_up;
    if
    :: h == 1 && i == 0 -> if :: until = false :: until = true fi
    :: h == 1 && i != 0 -> skip
    :: else -> second
    fi;
    join(i, h, until);
    /* A joiner that gave up now waits for something else. The end of the fiber must not end that wait. */
    if
    :: gave_up ->
        begin(i);
        block(i, true);
        assert(reason == DEADLINE)
    :: else
    fi;
    finished++
}

/* Deadlines: a deadline reads the ticket while the wait exists, and tries to win at any later time. */
/* Only the first joiner has a deadline. */
#define due(i) atomic { has_deadline[i] && (wait_of[i] & WAITING) -> who = i; ticket = wait_of[i] & EPOCH }
proctype expirer() {
    int ticket;
    byte who;
    bool yes;
end:
    do
    :: due(0);
        win(who, ticket, DEADLINE);
        if :: yes -> yes = false; make_ready(who) :: else fi;
        atomic { ticket = 0; who = 0 }
    od
}

proctype detacher() {
    int word;
    bool yes;
    if
    :: generation == 1 ->
        atomic {
            yes = join_word == of_life(1, NOBODY);
            word = join_word;
            if :: yes -> assert(generation == 1); detached = true; join_word = of_life(1, DETACHED) :: else fi
        }
        if :: !yes -> join_at_once(1) :: else fi
    :: else
    fi;
    finished++
}

/* weft_cancel, with the handle of the first life. */
proctype canceller() {
    int word;
    if
    :: generation == 1 ->
        word = wait_word;
        do
        ::
#ifndef MUT_POKE_LOOKS_ONCE
            if :: generation != 1 -> break :: else fi;
#endif
            atomic {
                if :: wait_word == word -> wait_word = word | CANCEL; break :: else -> word = wait_word fi
            }
        od
    :: else
    fi;
    finished++
}

/* Spawns and runs the two lives, one after the other. */
proctype world() {
    byte who;
    int word, ticket;
    bool yes;
    end_life(1);
    /* When the record is free, it is spawned again. */
    if
    :: atomic { generation == 2 -> skip };
        generation = 3;
#ifdef MUT_ANEW_SAME_EPOCH
        wait_word = wait_word & EPOCH;
#else
        wait_word = (wait_word & EPOCH) + ONE;
#endif
        join_word = of_life(3, NOBODY);
        second = true;
        /* The second life runs. A cancellation would belong to the first life. */
        assert(!(wait_word & CANCEL));
        end_life(3);
        assert(!(wait_word & CANCEL) || generation != 3)
    :: timeout
    fi;
    finished++
}

/* Judges when nothing moves any more. */
proctype judge() {
    atomic {
        timeout ->
        if
        :: generation == 1 ->
            /* No joiner took the result: the fiber can still be joined. */
            assert(join_word == of_life(1, ENDED) && joined[1] == 0 && frees[1] == 0 && !detached);
            assert(finished == JOINERS + 2 || finished == JOINERS + 3)
        :: else ->
            assert(generation == 4 && finished == JOINERS + 4);
            assert(frees[1] == 1 && frees[3] == 1 && joined[3] == 1);
            assert(joined[1] + detached == 1)
        fi
    }
}

init {
    byte i;
    atomic {
        generation = 1;
        wait_word = ONE;
        join_word = of_life(1, NOBODY);
        for (i : 0 .. JOINERS - 1) { run joiner(i, 1) }
        i = 0;
        run joiner(OWNER, 3);
        run expirer();
#ifndef NO_DETACHER
        run detacher();
#else
        finished++;
#endif
#ifndef NO_CANCELLER
        run canceller();
#else
        finished++;
#endif
        run world();
        run judge()
    }
}
