/*
 * Taking from a queue alone, or shared: elastic.c (weft__share, weft__share_by_force),
 * the pop of queue/ready.h, and the order in dispatch.h in which `current` is written.
 *
 * One owner, who takes without a swap while it is alone; one other worker, that retires and comes
 * back; the monitor, that shares by force. Nobody may get what another got.
 *
 * Weak memory: what the owner stores stands in its buffer, in order, until the machine, its own full
 * fence, or the monitor's heavy fence empties it. It sees its own stores at once. The others' stores
 * are each followed by a full fence, or a locked instruction, before the loads that matter.
 */
#define ITEMS 2
#define BUFFER 4
#ifndef TURNS
#define TURNS 1 /* of the monitor and the other worker */
#endif

#define CURRENT 0
#define HEAD 1
#define ALONE 2
#define SHARING 3
#define WORDS 4

#define IS_ALONE 0
#define CLAIMED 1
#define SHARED 2
#define CHANGING 3

byte memory[WORDS];
byte kept_word[BUFFER];
byte kept_value[BUFFER];
byte kept; /* in the owner's buffer */

bool rests = true; /* the other worker is retired */
byte taken[ITEMS];
bool over; /* the owner has done with it */

/* The oldest store becomes visible. */
inline drain_one() {
    d_step {
        memory[kept_word[0]] = kept_value[0];
        drained = 1;
        do
        :: drained < kept -> kept_word[drained - 1] = kept_word[drained]; kept_value[drained - 1] = kept_value[drained]; drained++
        :: else -> break
        od;
        kept--;
        drained = 0
    }
}
byte drained;
inline drain() {
    atomic {
        do
        :: kept > 0 -> drain_one()
        :: else -> break
        od
    }
}

/* By the owner. */
inline keep(word, value) {
    atomic {
        if
        :: kept == BUFFER -> drain_one()
        :: else
        fi;
        kept_word[kept] = word;
        kept_value[kept] = value;
        kept++
    }
}
inline see(word, to) {
    d_step {
        to = memory[word];
        at = 0;
        do
        :: at < kept ->
            if
            :: kept_word[at] == word -> to = kept_value[at]
            :: else
            fi;
            at++
        :: else -> break
        od;
        at = 0
    }
}
byte at;

inline take(item) {
    taken[item]++;
    assert(taken[item] == 1)
}

/* A locked instruction: it empties the buffer. */
inline begin_change(from) {
    atomic {
        drain();
        mine = (memory[SHARING] == from);
        if
        :: mine -> memory[SHARING] = CHANGING
        :: else
        fi
    }
}

inline try_alone(from) {
    begin_change(from);
    if
    :: mine ->
        /* The swap has emptied the buffer: that is the fence, too. */
#ifdef MUT_NO_SECOND_LOOK
        resting = true;
#else
        resting = rests;
#endif
        if
        :: resting -> keep(ALONE, 1); keep(SHARING, IS_ALONE)
        :: else -> keep(SHARING, from)
        fi
    :: else
    fi
}

inline share() {
    begin_change(IS_ALONE);
    if
    :: mine ->
        keep(ALONE, 0); keep(SHARING, SHARED) /* only the owner looks at ALONE: their order does not matter */
    :: else
    fi
}

/* At home. */
inline look() {
    keep(CURRENT, 0);
    see(SHARING, sharing);
    see(ALONE, alone);
    resting = rests;
    if
    :: !resting && sharing == IS_ALONE -> share()
    :: resting && (sharing == SHARED || (sharing == IS_ALONE && !alone)) ->
#ifdef MUT_LOOKS_ONCE
        keep(ALONE, 1); keep(SHARING, IS_ALONE)
#else
        try_alone(sharing)
#endif
    :: else
    fi
}

proctype owner() {
    byte head, alone, sharing;
    bool resting, got, mine;
    do
    :: true -> look()
    :: true ->
#ifndef MUT_NO_CURRENT
        keep(CURRENT, 0);
#endif
        see(ALONE, alone);
        got = false;
        if
        :: alone ->
            see(HEAD, head);
            if
            :: head < ITEMS -> keep(HEAD, head + 1); got = true
            :: else
            fi
        :: else ->
            atomic { /* a locked instruction empties the buffer */
                drain();
                head = memory[HEAD];
                if
                :: head < ITEMS -> memory[HEAD] = head + 1; got = true
                :: else
                fi
            }
        fi;
        if
        :: got ->
            take(head);
            keep(CURRENT, 1);
            skip /* runs the fiber; meanwhile everything else may happen */
        :: else -> break
        fi
    od;
    drain();
    over = true
}

proctype machine() {
end:
    do
    :: atomic { kept > 0 -> drain_one() }
    od
}

proctype monitor() {
    bool claimed, inside;
    byte turns;
    do
    :: turns < TURNS && !over ->
        turns++;
        atomic {
            claimed = (memory[SHARING] == IS_ALONE);
            if
            :: claimed -> memory[SHARING] = CLAIMED
            :: else
            fi
        }
        if
        :: claimed ->
            memory[ALONE] = 0;
#ifndef MUT_NO_HEAVY
            drain();
#endif
#ifdef MUT_NO_LOOK
            inside = true;
#else
            inside = memory[CURRENT];
#endif
            memory[SHARING] = (inside -> SHARED : IS_ALONE)
        :: else
        fi
    :: else -> break
    od
}

proctype other() {
    byte head, turns;
    bool may;
    do
    :: turns < TURNS ->
        turns++;
        rests = false; /* and a full fence */
        may = (memory[SHARING] == SHARED);
#ifdef MUT_TAKES_ANYWAY
        may = true;
#endif
        if
        :: may ->
            head = memory[HEAD];
            atomic {
                if
                :: head < ITEMS && memory[HEAD] == head -> memory[HEAD] = head + 1; take(head)
                :: else
                fi
            }
        :: else
        fi;
        rests = true
    :: else -> break
    od
}

init {
    atomic {
        memory[SHARING] = SHARED; /* a worker is made shared, and not alone */
        run owner();
        run machine();
        run monitor();
        run other()
    }
}
