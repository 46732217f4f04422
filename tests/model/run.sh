#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks all models, and that each planted weakening is noticed. See README.md.
#   run.sh [PART...]         everything, or these parts of it: about half an hour
#   run.sh quick [PART...]   one configuration a model, and the mutants: about half
#   run.sh brief [PART...]   the explorations, and a few configurations of each model: about a minute of CPU time
#   run.sh list              the parts
# A part is an exploration or a model; planted-orders: every memory order weakened; planted-...: mistakes in the source.
set -u
here=$(cd "$(dirname "$0")" && pwd)
src=$here/../../src
include=$here/../../include
: "${CC:=gcc}"
case ${1:-} in quick | brief) quick=$1 && shift ;; *) quick= ;; esac
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
passed=0
failed=0
skipped=

pass() {
    passed=$((passed + 1))
    echo "$1"
}
fail() {
    failed=$((failed + 1))
    echo "FAILED $1"
}

# --- spin ---------------------------------------------------------------------------------------

# Optimizing a checker takes seconds, which is more than a small search saves.
[ "$quick" = brief ] && optimize=-O0 || optimize=-O2

# build MODEL FLAGS...: builds the checker of a model, $dir/pan
build() {
    model=$1
    shift
    find "$dir" -maxdepth 1 -type f ! -name weak.o ! -name mutants -delete
    cp "$here/$model.pml" "$here/weak.h" "$dir" &&
        (cd "$dir" && spin -a "$@" "$model.pml" >spin.out 2>&1 && $CC $optimize -w -DSAFETY -DCOLLAPSE -DMEMLIM=1900 -o pan pan.c >cc.out 2>&1)
}

# The models check their valid ends themselves; only in sleep.pml spin does.
search() {
    ends=-E
    [ "$model" = sleep ] && ends=
    (cd "$dir" && timeout 300 ./pan $ends -m200000 -w23 >pan.out 2>&1)
}

# check name model flags...
check() {
    name=$1
    shift
    if ! build "$@"; then
        cat "$dir"/*.out
        fail "$name: does not build"
        return
    fi
    search
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$dir/pan.out")
    if grep -q 'errors: 0' "$dir/pan.out" && ! grep -Eq 'not completed|too small|out of memory' "$dir/pan.out"; then
        pass "$name: $states states, ok"
    else
        fail "$name: $(grep -E '^(pan|error)' "$dir/pan.out" | head -1)"
    fi
}
more() {
    [ "$quick" = quick ] || check "$@"
}

# mutant MODEL MACRO FLAGS...: the search must find an error
mutant() {
    m=$2
    model=$1
    shift 2
    if build "$model" "-DMUT_$m" "$@" && search && grep -q 'errors: 1' "$dir/pan.out"; then
        pass "$model: mutant $m: found"
    else
        fail "$model: mutant $m: NOT found"
    fi
}

# limit TITLE MODEL FLAGS...: a known, documented limitation. The model must show it as long as it exists
limit() {
    what=$1
    shift
    if build "$@" && search && grep -q 'errors: 1' "$dir/pan.out"; then
        pass "known limit, shown: $what"
    else
        fail "known limit is gone: $what: make it a check"
    fi
}

sleep_models() {
    two="-DN=2 -DCOARSE"
    rest="-DCOARSE -DAT_REST -DEARLY=0"
    for scene in 1 2 3 4 8 11; do check "sleep, one worker, scene $scene" sleep -DN=1 -DSCENE=$scene; done
    check "sleep, one worker, stop" sleep -DN=1 -DSCENE=1 -DSTOP
    for scene in 1 3 4 5 6 8 9 11 12 15 16; do check "sleep, two workers, scene $scene" sleep $two -DSCENE=$scene; done
    check "sleep, two workers, stop" sleep -DN=2 -DSCENE=0 -DSTOP
    check "sleep, two workers, scene 14, prompt" sleep -DN=2 -DSCENE=14 -DPROMPT
    check "sleep, no stealing, scene 12" sleep $two -DSCENE=12 -DNO_STEALING
    for scene in 2 4 5 7 9 10 12; do check "sleep, three workers, scene $scene" sleep -DN=3 $rest -DSCENE=$scene; done
    check "sleep, three workers, stop" sleep -DN=3 $rest -DSCENE=1 -DSTOP
    check "sleep, four workers, scene 7" sleep -DN=4 $rest -DSCENE=7
    more "sleep, two workers, scene 2" sleep $two -DSCENE=2
    more "sleep, two workers, fine steps, scene 4" sleep -DN=2 -DSCENE=4
    more "sleep, two workers, fine steps, scene 5" sleep -DN=2 -DSCENE=5
    more "sleep, two workers, fine steps, scene 8" sleep -DN=2 -DSCENE=8
    more "sleep, two workers, a real fence for the light one" sleep $two -DSCENE=4 -DSYMMETRIC
    more "sleep, two workers, long searches" sleep $two -DSCENE=5 -DLONG_SEARCH
    more "sleep, two workers, stop after work" sleep $two -DSCENE=1 -DSTOP
    more "sleep, three workers, scene 7, one more timeout" sleep -DN=3 -DCOARSE -DAT_REST -DEARLY=1 -DSCENE=7
    more "sleep, three workers, fine steps, scene 7" sleep -DN=3 -DAT_REST -DEARLY=0 -DSCENE=7
    more "sleep, three workers from the start, scene 5" sleep -DN=3 -DCOARSE -DEARLY=0 -DSCENE=5
    more "sleep, three workers from the start, scene 6" sleep -DN=3 -DCOARSE -DEARLY=0 -DSCENE=6

    limit "a timer armed on a worker that computes, while the others sleep unwatched, is late" sleep $two -DSCENE=13

    for m in ALWAYS_LEFT_TO_WATCHMAN INJECT_NO_FENCE NEVER_STALE NO_FENCE_OF_SLEEPER NO_FUTEX_WAKE NO_LOOK_AT_INJECTOR \
        NO_SECOND_LOOK SLEEP_NO_CAS STAYS_ON_STACK WAKE_NO_XCHG WAKE_ONLY_ASLEEP; do
        mutant sleep $m -DN=2 -DSCENE=6
    done
    mutant sleep LAST_DOES_NOT_LOOK $two -DSCENE=5
    for m in MAIL_NO_FENCE WAKE_ONLY_IF_ASLEEP; do mutant sleep $m $two -DSCENE=3; done
    mutant sleep ARM_WAKES_NOBODY $two -DSCENE=8
    mutant sleep NO_LOOK_AT_OWN $two -DSCENE=16
    for m in NO_WATCHMAN TIMERS_ARE_LEFT; do mutant sleep $m $two -DSCENE=9; done
    mutant sleep FULL_FENCE_OF_SLEEPER -DN=2 -DSCENE=14 -DPROMPT
    mutant sleep POLL_NOTIFIES_NOBODY $two -DSCENE=15
    mutant sleep NO_LOOK_WITHOUT_STEALING $two -DSCENE=12 -DNO_STEALING
    for m in FULL_FENCE_AT_END NO_LOOK_AT_QUEUES QUEUES_OF_ONE_ARE_LEFT; do mutant sleep $m -DN=3 $rest -DSCENE=7; done
    for m in NO_LOOK_AT_STOPPING STOP_NO_FENCE STOP_WAKES_NOBODY; do mutant sleep $m -DN=2 -DSTOP -DSCENE=0; done
}

share_models() {
    check "share, taking alone or not, one change" share -DTURNS=1
    [ "$quick" = brief ] || more "share, taking alone or not, two changes" share -DTURNS=2
    for m in CHOOSES_RELAXED COMES_BACK_WITHOUT_FENCE GOES_ON_RELAXED LOOKS_ONCE NO_CURRENT NO_HEAVY NO_LOOK NO_SECOND_LOOK \
        TAKES_ANYWAY; do
        mutant share $m -DTURNS=1
    done
}

split_models() {
    check "split, three places, four calls" split -DPLACES=3 -DCALLS=4
    [ "$quick" = brief ] || more "split, four places, five calls" split -DPLACES=4 -DCALLS=5
    for m in ASK_LOWERS BOUND_AFTER_FENCE HEAD_ONCE LOOKS_BEFORE_HEAD NO_FENCE POP_STORES PUSHES_RELAXED \
        SETTLES_ABOVE; do
        mutant split $m -DPLACES=3 -DCALLS=4
    done
}

wait_models() {
    check "wait, park, permits, cancellation, deadlines" wait -DSCENE=1
    more "wait, semaphore, posts, cancellation, deadlines" wait -DSCENE=2
    check "wait, everything, one after the other" wait -DSCENE=3
    check "wait, two fibers, each other's stack" wait -DSCENE=4
    check "wait, two fibers at one semaphore" wait -DSCENE=5
    check "wait, a semaphore that dies with the wait" wait -DSCENE=6
    check "wait, the same with a thread" wait -DSCENE=7
    check "wait, a thread that waits again and again" wait -DSCENE=8
    check "wait, two fibers won while they leave" wait -DSCENE=9
    for m in NO_LEAVE POST_ONE_TRY READY_BEFORE_UNLOCK SAME_EPOCH THREAD_LOOKS_AT_WORD UNLOCK_FORGETS_WAITERS WIN_STORES; do
        mutant wait $m -DSCENE=7
    done
    for m in ENTERS_UNSEEN LETS_GO_FIRST TIMER_STAYS; do mutant wait $m -DSCENE=6; done
    for m in BEGIN_STORES PERMIT_STAYS POKE_STORES; do mutant wait $m -DSCENE=4; done
    mutant wait WIN_ANY_EPOCH -DSCENE=1
    mutant wait BEGIN_FORGETS -DSCENE=2
    mutant wait WAITS_IN_PLACE -DSCENE=9
}

join_models() {
    check "join, one joiner, a detacher, a late canceller" join -DJOINERS=1
    check "join, two joiners" join -DJOINERS=2 -DNO_CANCELLER -DNO_DETACHER
    more "join, two joiners and a detacher" join -DJOINERS=2 -DNO_CANCELLER
    for m in ANEW_SAME_EPOCH COLLECT_WITHOUT_SWAP END_FORGETS_JOINER END_STORES LEAVE_STORES NO_LIFE_IN_WORD \
        POKE_LOOKS_ONCE TOUCHES_AFTER_END WAKES_WHOEVER_WAITS; do
        mutant join $m -DJOINERS=1
    done
}

stop_models() {
    check "stop, all end" stop -DLIVE
    check "stop, one is stuck" stop -DSTUCK
    check "stop, one is stuck, a timer is cancelled" stop -DSTUCK -DTIMER
    check "stop, one is stuck, a spawn is refused" stop -DSTUCK -DSPAWN
    for m in LAST_DOES_NOT_TELL ONE_LOOK STOP_DOES_NOT_SAY STOP_SLEEPS_BLINDLY TELLS_NOBODY WAKES_NOT_COUNTED; do
        mutant stop $m -DLIVE
    done
    mutant stop CANCEL_TELLS_NOBODY -DSTUCK -DTIMER
    mutant stop SPAWN_TELLS_NOBODY -DSTUCK -DSPAWN
}

close_models() {
    check "close, three who wait" close
    check "close, three who wait, in a ring" close -DRING
    for m in ENDS_BEFORE_THE_LIFE ENTERS_WHILE_CLOSING NO_LOOK; do mutant close $m; done
    for m in ASKS_ONCE ENGINE_BEFORE_THE_LIFE ENTERS_WHILE_CLOSING LOOKS_BEFORE_IT_COUNTS NO_LOOK; do mutant close $m -DRING; done
}

bell_models() {
    check "bell, a worker asleep in its ring" bell
    for m in ARMS_ONCE SLEEPS_ELSEWHERE; do mutant bell $m; done
    check "bell, the same with an event descriptor" bell -DEVENTFD
    for m in ARMS_ONCE COUNTS_LATE CLOSES_AT_ONCE; do mutant bell $m -DEVENTFD; done
}

# --- the explorer, over the real source ------------------------------------------------------------

# explorer name [folder with other source]
explorer() {
    $CC -O2 -w -std=gnu11 -ffunction-sections -Wl,--gc-sections -I"$here/explore/$(dirname "$1")" ${2:+-I"$2"} -I"$src" -I"$include" \
        -o "$dir/explorer" "$here/explore/$1.c" >"$dir/cc.out" 2>&1
}

# Prints its own lines: states and "ok", or a mutant. Mutants that are not found need a written argument.
explore() {
    if ! explorer "$1"; then
        cat "$dir/cc.out"
        fail "explore $1: does not build"
        return
    fi
    timeout 900 "$dir/explorer" >"$dir/out" 2>&1 || fail "explore $1: $(tail -1 "$dir/out")"
    while IFS= read -r line; do
        case $line in
        *', ok') pass "$line" ;;
        *': NOT found')
            what=${line#mutant }
            what=${what%: NOT found}
            if grep -qF "$what | " "$here/explore/argued"; then
                pass "mutant $what: not found, argued"
            else
                fail "$line"
            fi
            ;;
        *': found')
            what=${line#mutant }
            what=${what%: found}
            if grep -qF "$what | " "$here/explore/argued"; then
                fail "$line, although argued: strike it out there"
            else
                pass "$line"
            fi
            ;;
        esac
    done <"$dir/out"
}

# planted PROGRAM NAME FILE EXPRESSION: the exploration must notice the mistake in the source
planted() {
    rm -rf "$dir/queue"
    mkdir "$dir/queue"
    cp "$src/queue/${3%.*}.h" "$src/queue/${3%.*}.c" "$dir/queue"
    sed -i "$4" "$dir/queue/$3"
    if cmp -s "$src/queue/$3" "$dir/queue/$3"; then
        fail "$1: mutant $2: the source has changed, plant it anew"
    elif explorer "$1" "$dir" && ! timeout 100 "$dir/explorer" >/dev/null 2>&1; then
        pass "$1: mutant $2: found"
    else
        fail "$1: mutant $2: NOT found"
    fi
    rm -rf "$dir/queue"
}

# --- the explorer of whole sources, weak/ ---------------------------------------------------------------

# Which stand-ins an exploration is built with.
stand_ins() {
    case $1 in
    chan | counts | locks) echo waits ;;
    scope) echo scope ;;
    continue | join | split) echo tasks ;;
    *) echo sched ;;
    esac
}

# Builds the engine of the explorations into $dir/weak.o.
weak_engine() {
    for file in "$here"/weak/engine/*.c; do
        $CC -O2 -w -std=gnu11 -fno-pie -I"$src" -I"$include" -c -o "$dir/engine_$(basename "$file" .c).o" "$file" || return 1
    done
    $CC -r -nostdlib -o "$dir/weak.o" "$dir"/engine_*.o
}

# weak_build NAME FOLDER SANITIZER: builds into $dir/explorer, with other source from FOLDER. Functions that an
# exploration does not reach need not exist: calling such a function crashes, which counts as a failure.
weak_build() {
    [ -f "$dir/weak.o" ] || weak_engine || return 1
    # shellcheck disable=SC2086
    $CC $3 -U__SANITIZE_THREAD__ -O2 -w -std=gnu11 -D_GNU_SOURCE -fno-pie -ffunction-sections -I"$here/weak/$(stand_ins "$1")" \
        -I"$here/weak/sched" -I"$here/weak" ${2:+-I"$2"} -I"$src" -I"$include" -c -o "$dir/explorer.o" "$here/weak/$1.c" >"$dir/cc.out" 2>&1 &&
        $CC -no-pie -Wl,--gc-sections -Wl,--unresolved-symbols=ignore-all -o "$dir/explorer" "$dir/explorer.o" "$dir/weak.o" >>"$dir/cc.out" 2>&1
}

# weak NAME MODE [SANITIZER]: every line of a scene has the number of states, and "ok". With -fsanitize=thread data
# races count as errors, too. There are more states then, because remains on the stacks differ more.
weak() {
    if ! weak_build "$1" "" "${3:-}"; then
        cat "$dir/cc.out"
        fail "weak $1: does not build"
        return
    fi
    timeout 900 "$dir/explorer" "$2" >"$dir/out" 2>&1 || fail "weak $1: $(tail -1 "$dir/out")"
    while IFS= read -r line; do
        case $line in
        *', ok') pass "$line${3:+ (and no race)}" ;;
        esac
    done <"$dir/out"
}

# weak_mutants NAME...: weakens each order. An exploration must notice the orders that weak/needed lists.
weak_mutants() {
    : >"$dir/mutants"
    for name in "$@"; do
        weak_build "$name" "" -fsanitize=thread || fail "weak $name: does not build"
        timeout 1800 "$dir/explorer" mutants >>"$dir/mutants" 2>&1 || fail "weak $name: mutants: $(tail -1 "$dir/mutants")"
    done
    while IFS= read -r what; do
        case $what in
        '#'* | '') continue ;;
        esac
        if grep -qxF "mutant $what: found" "$dir/mutants"; then
            pass "mutant $what: found"
        else
            fail "mutant $what: NOT found"
        fi
    done <"$here/weak/needed"
}

# sanitizer MODE: the mode in_order has no races to find
sanitizer() {
    [ "$1" = in_order ] || echo -fsanitize=thread
}

# weak_planted EXPLORATION MODE NAME FILE EXPRESSION: the exploration must notice the mistake in the source. FILE is
# below src.
weak_planted() {
    rm -rf "$dir/other"
    mkdir -p "$dir/other/$(dirname "$4")"
    cp "$src/$(dirname "$4")"/*.[ch] "$dir/other/$(dirname "$4")"
    sed -i "$5" "$dir/other/$4"
    if cmp -s "$src/$4" "$dir/other/$4"; then
        fail "$1: mutant $3: the source has changed, plant it anew"
    elif ! weak_build "$1" "$dir/other" "$(sanitizer "$2")"; then
        fail "$1: mutant $3: does not build, plant it anew"
    elif ! timeout 900 "$dir/explorer" "$2" >/dev/null 2>&1; then
        pass "$1: mutant $3: found"
    else
        fail "$1: mutant $3: NOT found"
    fi
    rm -rf "$dir/other"
}
planted_chan() {
    weak_planted chan in_order "$1" "sync/$2" "$3"
}
planted_lock() {
    weak_planted locks in_order "$1" "sync/$2" "$3"
}
planted_whole() {
    weak_planted "$1" brief "$2" "$3" "$4"
}
planted_scope() {
    weak_planted scope in_order "$1" "sched/wait/$2" "$3"
}

locks() {
    planted_lock "unlock leaves the lock of the queue out" mutex.c 's/        if (w & WEFT_QUEUE_LOCKED) {/        if (false) {/'
    planted_lock "takes without looking for the lock" mutex.c 's/!(w & (WEFT_MUTEX_HELD | WEFT_QUEUE_LOCKED))/!(w \& WEFT_MUTEX_HELD)/'
    planted_lock "anybody takes what is the heir's" mutex.c 's/(heir || w < WEFT_MUTEX_FULL)/(heir || w)/'
    planted_lock "passes are not counted" mutex.c 's/(w | WEFT_MUTEX_HELD) + WEFT_MUTEX_PASS : WEFT_MUTEX_HELD/w | WEFT_MUTEX_HELD : WEFT_MUTEX_HELD/'
    planted_lock "an heir that waits again stays the heir" mutex.c 's/if (heir) w = (w & ~WEFT_MUTEX_HEIR) | WEFT_MUTEX_FULL;//'
    planted_lock "an unlock wakes nobody" mutex.c 's/^    if (heir) weft__make_ready(heir);//'
    planted_lock "an unlock with an heir forgets him" mutex.c 's/w & WEFT_MUTEX_HEIR ? w & ~WEFT_MUTEX_HELD : 0/0/'
    planted_lock "the heir takes and forgets who waits" mutex.c 's/return (w & WEFT_QUEUE_WAITERS) | WEFT_MUTEX_HELD;/return WEFT_MUTEX_HELD;/'
    planted_lock "the mutex is free before the chain was looked at" mutex.c 's/heir ? (w & ~WEFT_MUTEX_HELD) | WEFT_MUTEX_HEIR : 0/0/'
    planted_lock "who gives up stays in the chain" mutex.c 's/^            weft__wait_queue_leave(q, &waiter);//'
    planted_lock "a signal before the waiter is in the chain" cond.c 's/    if (!err) weft__wait_queue_append(q, &waiter, WEFT_ON_COND);//; s/    err = weft__wait_block_for(/    weft__wait_queue_lock(q); weft__wait_queue_append(q, \&waiter, WEFT_ON_COND); weft__wait_queue_unlock(q, 0); err = weft__wait_block_for(/'
    planted_lock "a reader comes in past a writer that waits" rwlock.c 's/if (readers_first) w = let_readers_in(l, w, &won);/w = let_readers_in(l, w, \&won) | WEFT_RW_WRITER;/'
    planted_lock "a writer that gives up leaves the readers waiting" rwlock.c 's/^    if (!(w & WEFT_RW_WRITER) && weft__chain_is_empty(&l->writers)) w = let_readers_in(l, w, &won);//'
    planted_lock "the last reader hands over to nobody" rwlock.c 's/^    rwlock_pass_on(rwlock, w - WEFT_RW_READER, false);/    rwlock_unlock(rwlock, w - WEFT_RW_READER);/'
    planted_lock "a reader leaves while others hold the word" rwlock.c 's/if (unlikely(w & WEFT_QUEUE_LOCKED)) {/if (false) {/'
    planted_lock "readers that are let in are not counted" rwlock.c 's/; w += WEFT_RW_READER)/;)/'
    planted_lock "who gives up has still arrived" barrier.c 's/waits ? w - WEFT_QUEUE_ONE : w/w/'
    planted_lock "who was counted says that it gave up" barrier.c 's/unlikely(err) && barrier_take_back(q, &waiter) ? err : 0/(barrier_take_back(q, \&waiter), err)/'
}

channels() {
    planted_chan "a party is taken as won" chan.h 's/if (likely(weft__wait_win(w->fiber, w->ticket, WEFT_WON_DONE)))/weft__wait_win(w->fiber, w->ticket, WEFT_WON_DONE);/'
    planted_chan "is its own partner" select.c 's/if (w->fiber == me) continue;//'
    planted_chan "the word forgets senders" chan.h 's/if (c->senders) word |= WEFT_CHAN_SENDERS;//'
    planted_chan "the word forgets receivers" chan.h 's/if (c->receivers) word |= WEFT_CHAN_RECEIVERS;//'
    planted_chan "a place is freed, and the sender not told" chan.h 's/struct weft__party \*p = weft__chan_win(&c->senders);/struct weft__party *p = buffered ? NULL : weft__chan_win(\&c->senders);/'
    planted_chan "a sender's item goes before those in the buffer" chan.h 's/if (buffered) weft__chan_take(c, item);/if (buffered \&\& !c->senders) weft__chan_take(c, item);/; s/        if (buffered)$/        if (false)/'
    planted_chan "the item is not moved" chan.h 's/if (likely(p->item != NULL)) weft__chan_copy(p->item, item, c->size);//'
    planted_chan "who leaves stays in the chain" chan.h 's/^    weft__chain_take_out.*$//'
    planted_chan "puts without looking for the lock" chan.c 's/WEFT_CHAN_LOCKED | WEFT_CHAN_RECEIVERS | WEFT_CHAN_CLOSED/WEFT_CHAN_RECEIVERS | WEFT_CHAN_CLOSED/'
    planted_chan "puts past who waits" chan.c 's/WEFT_CHAN_LOCKED | WEFT_CHAN_RECEIVERS | WEFT_CHAN_CLOSED/WEFT_CHAN_LOCKED | WEFT_CHAN_CLOSED/'
    planted_chan "puts into what is closed" chan.c 's/WEFT_CHAN_LOCKED | WEFT_CHAN_RECEIVERS | WEFT_CHAN_CLOSED/WEFT_CHAN_LOCKED | WEFT_CHAN_RECEIVERS/'
    planted_chan "takes past who waits" chan.c 's/word & (WEFT_CHAN_LOCKED | WEFT_CHAN_SENDERS)/word \& WEFT_CHAN_LOCKED/'
    planted_chan "closing forgets receivers" chan.c 's/turn_away(&chan->receivers, &won);//'
    planted_chan "closing forgets senders" chan.c 's/turn_away(&chan->senders, &won);//'
    planted_chan "enters without a second look" select.c 's/if (likely(!can_be_done_locked(c, word, me))) {/if (true) {/'
    planted_chan "does a case without taking its wait back" select.c 's/} else if (!weft__wait_win(me, p->waiter.ticket, WEFT_WON_DONE)) {/} else if (false) {/'
    planted_chan "does two cases" select.c 's/        what = LOST;/        what = DONE, c->result = weft__chan_transfer_locked(chan, \&word, c->item, case_sends(c), \&won);/'
    planted_chan "a try looks once" select.c 's/while (which == -EAGAIN && !cases_unchanged(cases, n));/while (0);/'
    planted_chan "a future that is done is waited for" select.c 's/    if (!done) weft__wait_queue_append/    weft__wait_queue_append/; s/    if (!done) return WAITS;/    return WAITS;/'
    planted_chan "a time that has come is late" select.c 's/in_time = time <= deadline && weft__wait_was_late(me);/in_time = false;/'
    planted_chan "a time is chosen without leaving" select.c 's/        int done = select_leave(&r, k);/        int done = in_time ? -1 : select_leave(\&r, k);/'
    planted_chan "a future wakes one" future.c 's/for (struct weft__party \*p; (p = weft__chan_win(&q->first));) {/for (struct weft__party *p = weft__chan_win(\&q->first); p; p = NULL) {/'
}

scope_explorations() {
    planted_scope "a member does not look" cancel.c '/if (cause) weft__cancel_fiber(m->fiber, cause);/d'
    planted_scope "an end does not look again" cancel.c 's/weft__counter_at_rest(&container_of(r, struct weft__scope, region)->outstanding)/true/'
    planted_scope "a scope begins as if nothing were" cancel.c 's/uint64_t cause = inherited_region(me, r, s);/uint64_t cause = (inherited_region(me, r, s), 0);/'
    planted_scope "a scope leaves as if nothing were" cancel.c 's/set_cancelled(me, cause, !r->frame.was_cancelled);/set_cancelled(me, 0, false);/'
    planted_scope "a request is forgotten" cancel.c '/r->frame.requested = true;/d'
    planted_scope "a request holds nothing" cancel.c '/if (s) weft_counter_add/d; /weft_counter_complete(&s->outstanding);/d'
    planted_scope "a request without the lock" cancel.c 's/uint8_t open = weft__frames_lock(f);/uint8_t open = load_rlx(\&f->context.open);/; s/    weft__frames_unlock(f, open);//'
    planted_scope "a root begins as if nothing were" cancel_root.c 's/else if (is_asked(owner, open))/else if (false)/'
    planted_scope "a root stands in no chain" cancel_root.c '/weft__circle_insert(&around->chain/d; /if (around) weft__circle_remove/d'
    planted_scope "a root is not held" cancel_root.c '/weft_counter_add(&s->outstanding, 1);/d'
    planted_scope "a root closes without a second look" cancel_root.c 's/bool over = weft__counter_at_rest(&s->outstanding);/bool over = true;/'
    planted_scope "a root is opened without the lock" cancel_root.c 's/uint8_t open = weft__frames_lock(owner);/uint8_t open = load_rlx(\&owner->context.open);/'
    planted_scope "a request forgets the root" cancel.c 's/if (!err) root = weft__root_hold(f, open);//'
    planted_scope "cancelling counts for nobody" scope.c '/for who goes over it/d; /if (done) weft_counter_complete/d'
    planted_scope "cancelling lets go too early" scope.c 's/^    struct weft__scope \*next = s;/&\n    weft_counter_complete(\&s->outstanding);/; s/^    if (done) weft_counter_complete(&s->outstanding);$//'
    planted_scope "the timer is not counted" scope.c '/^static void deadline_passed/,/^}/ s/weft_counter_complete(&s->outstanding);//; /^static int arm/,/^}/ s/weft_counter_add(&s->outstanding, 1);//; /^static void disarm/,/^}/ s/if (taken_back.*//'
    planted_scope "a timer that was called is taken for taken back" scope.c 's/bool is_passing = s->timed \&\& weft_timer_cancel(&s->timer);/bool is_passing = s->timed \&\& weft_timer_cancel(\&s->timer) \&\& false;/'
    planted_scope "the covered are told" scope.c 's/if (!r->frame.covered \&\& weft__cancel_fiber/if (weft__cancel_fiber/'
    planted_scope "inner scopes are left out" scope.c 's/if (!load_rlx(&inner->cause)) {/if (false) {/'
    planted_scope "the body is not told" scope.c 's/if (!s->region.frame.covered \&\& weft__cancel_fiber(f, cause))/if (false)/'
    planted_scope "cancelled twice" scope.c 's/bool first = !load_rlx(&s->cause);/bool first = true;/'
    planted_scope "the reserve is not given back" scope.c '/weft__counter_lower(&s->outstanding, s->reserve);/d'
    planted_scope "what is owed is forgotten" scope.c 's/me->owes = w->owed;/me->owes = 0;/'
}

# Further mistakes in the source: one or more for each exploration.
protocols() {
    planted_whole monitor "looks without saying so" sched/elastic/monitor.c 's/    store_rlx(&watched, c);//'
    planted_whole monitor "an end does not wait for it" sched/elastic/monitor.c 's/while (load_acq(&watched) == c) weft__backoff(&turn);//'
    planted_whole monitor "rests without a look" sched/elastic/monitor.c 's/ && !monitor_tick(weft__clock()))/)/'
    planted_whole summons "a count forgets it" sched/dispatch/priority.c 's/store_rlx(&a->state, load_rlx(&a->state) + n);/store_rlx(\&a->state, (load_rlx(\&a->state) \& ~WEFT_ASIDE_SUMMONED) + n);/'
    planted_whole summons "without the lock" sched/dispatch/priority.c '/^static void set_state/,/^}/ s/weft__\(un\)\{0,1\}lock(&a->lock);//'
    planted_whole summons "nothing heeds it" sched/dispatch/priority.c 's/if (unlikely(load_rlx(&w->aside.state) & WEFT_ASIDE_SUMMONED)) {/if (false) {/'
    planted_whole spares "one that sleeps passes nothing on" sched/loop/sleep.c 's/if (unlikely(may_have_left_calls(w, takes_calls))) weft__idle_wake_for_calls(w);//'
    planted_whole spares "one that finds a fiber passes nothing on" sched/loop/sleep.c 's/if (unlikely(may_have_left_calls(w, took_calls))) weft__idle_wake_for_calls(w);//'
    planted_whole spares "patience without a watchman" sched/tasks/tasks.c 's/ && calls_are_watched(c)) {/) {/'
    planted_whole spares "becomes busy and does not ask" sched/loop/sleep.c 's/if (w->cluster->stealing) weft__tasks_ask(w->cluster);//'
    planted_whole spares "a spare watches while a worker sleeps" sched/wake/idle.c 's/return !idle->watchman \&\& !sleeper_for_calls(idle);/return !idle->watchman;/'
    planted_whole trimmer "a stop wakes nothing" sched/elastic/trim.c 's/    weft__trimmer_wake(true);//'
    planted_whole trimmer "those that wait until a period ends are left alone" sched/wake/helpers.c 's/ \&\& !(at_once \&\& how == WEFT_TRIMMER_RESTS)//'
    planted_whole lot "looks at the word before it is counted" threads/lot.c 's/^    fence_sc();\(.*of a waker\)/    ;\1/'
    weak_planted spares in_order "asks before its look only" sched/loop/sleep.c 's/return !took_calls || !weft__takes_calls(w);/return !took_calls;/'
    planted_whole spares "asks after its look only" sched/loop/sleep.c 's/return !took_calls || !weft__takes_calls(w);/return !weft__takes_calls(w);/'
    planted_whole stuck "is not said" sched/elastic/rescue.c 's/store_rel(&w->rescue.is_stuck, true);//'
    planted_whole stuck "wakes no other" sched/elastic/rescue.c '/^static void rescue/,/^}/ s/weft__idle_wake_one(w->cluster);//'
    planted_whole stuck "is no reason to stay awake" sched/balance/work.c 's/if (load_rlx(&other->rescue.is_stuck) &&/if (false \&\&/'
    planted_whole continue "takes a parent for its own" sched/tasks/continuation.c 's/if (likely(c >= load_rlx(weft__deque_split_pointer(p))) || p->variant->pop(p, c))/if (true)/'
    planted_whole continue "a child wakes no parent" sched/tasks/continuation.c 's/    if (joiner) weft__make_ready(joiner);//'
    planted_whole timers "cancels in a wheel that it has left" driver/wheel.c 's/if (load_rlx(&t->wheel) == w) return w;/return w;/'
    planted_whole timers "arms what another thread has just armed" driver/wheel.c 's/cas_ar(&t->wheel, &was, w)/(store_rlx(\&t->wheel, w), true)/'
    planted_whole place "mail for a cluster that has ended stays there" sched/dispatch/make_ready.c 's/^        weft__mailbox_hand_on(to);.*/        ;/'
    planted_whole place "a closed injector takes it" sched/dispatch/make_ready.c 's/c->injector.closed == WEFT_CLOSED && c != /false \&\& c != /'
    planted_whole close "tries without a look at the life" io/fd_generation.c 's/if (likely(!weft__fd_generation_is_stale(fd, generation))) return true;/return true;/'
    planted_whole close "begins while it is closed" io/fd_generation.h 's/return likely(!(word & WEFT_FD_CLOSERS)) ? word | 1 : weft__fd_generation_read_slow(fd);/return word | 1;/'
    planted_whole counts "a post finds nobody and is lost" sync/sem.c 's/f ? w : w + WEFT_QUEUE_ONE/w/'
    planted_whole counts "what failed counts as done" sync/once.c 's/attempt->result ? 0 : WEFT_ONCE_DONE/WEFT_ONCE_DONE/'
    planted_whole combinable "a value stays where it is taken from" par/combinable.c 's/xchg_ar(&t->slot\[slot_here()\].value, NULL)/load_acq(\&t->slot[slot_here()].value)/'
    planted_whole poll_thread "no fence before the look at the runtime" io/poll_thread.c 's/^    fence_sc();/    ;/'
    planted_whole poll_thread "closes the poller while a worker fetches" io/poll_thread.c 's/load_sc(&fetching) || load_sc(&dozing)/false/'
    planted_whole poll_thread "closes the poller while a worker sleeps there" io/poll_thread.c 's/ || load_sc(&dozing)//'
    planted_whole sleep "the thread holds back, whatever sleeps" sched/wake/io_backpressure.c 's/if (weft__each_cluster(is_busy, &busy) && busy)/busy = true;/'
    planted_whole sleep "a worker leaves the poller to a thread that holds back" sched/wake/io_backpressure.c 's/if (is != WEFT_POLL_DUTY_DOZED) weft__poll_duty_notify();//'
    planted_whole async "no fence before the look at the cancellation" io/async.c 's/^    fence_sc();.*pairs with weft_io_cancel.*//'
    planted_whole thread_pool "calls without waking" io/thread_pool.c 's/^    if (called) pool_wake(called);//'
    planted_whole backtrace "two handlers have one request" sched/observe/backtrace.c 's/    if (!cas_ar(&request.state, &asked, asked + TAKEN - ASKED)) return;//'
    planted_whole keys "any version will do" sched/core/local.c 's/load_rlx(&keys\[i\].version) != v.version || //'
    planted_whole scope "a request without its cause" sched/wait/cancel.c 's/uint64_t word = load_acq(&me->wait);/uint64_t word = load_rlx(\&me->wait);/'
    planted_whole quiet "looks once" sched/control/quiescence.c 's/return load_acq(&c->idle.wakes) == wakes && all_rest(c);/return true;/'
    planted_whole sleep "sleeps without a second look" sched/loop/sleep.c 's/^    if (stays) {/    if (false) {/'
    planted_whole share "takes the owner for inside" sched/dispatch/sharing.c 's/bool inside = load_acq(&w->current) != NULL;/bool inside = true;/'
    planted_whole share "a thief is not counted" sched/dispatch/sharing.c 's/sharing + WEFT_SHARING_THIEF)) return true;/sharing)) return true;/; s/^    add_ar(&from->sharing, -WEFT_SHARING_THIEF);.*//'
    planted_whole share "keeps beside a thief" sched/dispatch/sharing.c 's/if (!begin_change(w, WEFT_SHARED)) return;//'
    planted_whole signals "a full pipe is written to once" io/signals.c 's/ssize_t n = write(to, &nothing, sizeof nothing);/ssize_t n = 0;/'
}

wholes="async backtrace chan close combinable continue counts join keys locks lot monitor place poll_thread quiet scope share \
signals sleep spares split stuck summons thread_pool timers trimmer"

# Explores a whole source: in sequentially consistent order, and with races, which has more states.
whole_part() { # name
    if [ "$quick" = brief ]; then
        weak "$1" brief -fsanitize=thread
    elif [ "$1" = litmus ]; then
        weak litmus order -fsanitize=thread
    else
        weak "$1" order
        weak "$1" brief -fsanitize=thread
    fi
}

mistakes_in_ready() {
    planted ready "tail before the item" make_ready.h '/store_rlx(&ring->slot\[t & ring->mask\], item);/d; s/store_rel(&q->tail, t + 1);/store_rel(\&q->tail, t + 1); store_rlx(\&ring->slot[t \& ring->mask], item);/'
    planted ready "one too many before growth" make_ready.h 's/t - q->head_seen > ring->mask/t - q->head_seen > ring->mask + 1/'
    planted ready "growth forgets the oldest" make_ready.c 's/for (uint64_t i = h; i != t; i++)/for (uint64_t i = h + 1; i != t; i++)/'
    planted ready "takes more than there is" make_ready.h 's/(uint64_t)there < n ? (uint64_t)there : n/n/'
    planted ready "takes without a swap" make_ready.h 's/likely(cas_ar(&q->head, &h, h + k))/(store_rlx(\&q->head, h + k), true)/'
    planted ready "pops without a swap" make_ready.h 's/likely(load_rlx(&q->alone))/true/'
    planted ready "swaps before it reads" make_ready.h 's/load_rlx(&ring->slot\[(h + i) & ring->mask\]);/NULL;/; s/if (likely(cas_ar(&q->head, &h, h + k))) return k;/if (cas_ar(\&q->head, \&h, h + k)) { for (uint64_t i = 0; i < k; i++) items[i] = load_rlx(\&ring->slot[(h + i) \& ring->mask]); return k; }/'
}

mistakes_in_chase_lev() {
    planted chase_lev "bottom before the item" chase_lev.c '/store_rlx(&slots->slot\[b & slots->mask\], item);/d; s/store_rel(&q->bottom, b + 1);/store_rel(\&q->bottom, b + 1); store_rlx(\&slots->slot[b \& slots->mask], item);/'
    planted chase_lev "pops the last without a swap" chase_lev.c 's/if (!cas_ar(&q->top, &t, t + 1)) item = NULL;/store_rlx(\&q->top, t + 1);/'
    planted chase_lev "takes the last for one of many" chase_lev.c 's/if (left > 0) {/if (left >= 0) {/'
    planted chase_lev "bottom stays low when empty" chase_lev.c 's/store_rlx(&q->bottom, b + 1); .*empty.*/;/'
    planted chase_lev "one too many before growth" chase_lev.c 's/b - q->top_seen > slots->mask/b - q->top_seen > slots->mask + 1/'
    planted chase_lev "growth forgets the oldest" chase_lev.c 's/for (uint64_t i = t; i != b; i++)/for (uint64_t i = t + 1; i != b; i++)/'
    planted chase_lev "takes nothing for an item" chase_lev.c 's/return item && cas_ar/return cas_ar/'
    planted chase_lev "looks at the ring before bottom" chase_lev.c 's/uint64_t t = load_acq(&q->top); .*/struct weft__chase_lev_slots *slots = load_acq(\&q->slots); uint64_t t = load_acq(\&q->top);/; s/struct weft__chase_lev_slots \*slots = load_acq(&q->slots); .*pairs with move.*//'
}

mistakes_in_abp() {
    planted abp "the tag stays" abp.c 's/((age >> 32) + 1) << 32/(age >> 32) << 32/'
    planted abp "age before bottom" abp.c '/^static void begin_anew/,/^}/{/store_rlx(&q->bottom, 0);/d; s/store_rel(&q->age, next_tag(age));/store_rel(\&q->age, next_tag(age)); store_rlx(\&q->bottom, 0);/}'
    planted abp "pops the last without a swap" abp.c 's/if (cas_ar(&q->age, &seen, next_tag(age))) return item;/store_rel(\&q->age, next_tag(age)); return item;/'
    planted abp "one beyond the bound" abp.c 's/if (top_of(age) < b) return -ENOSPC;/if (top_of(age) + 1 < b) return -ENOSPC;/'
}

queue_part() { # name
    explore "$1"
    [ "$quick" = brief ] || [ "$1" = wait ] || "mistakes_in_$1"
}

# In brief: the most important configurations, and one mutant each, which shows that the model can fail.
sleep_briefly() {
    check "sleep, one worker, stop" sleep -DN=1 -DSCENE=1 -DSTOP
    check "sleep, two workers, scene 1" sleep -DN=2 -DCOARSE -DSCENE=1
    check "sleep, two workers, stop" sleep -DN=2 -DSCENE=0 -DSTOP
    mutant sleep NO_SECOND_LOOK -DN=2 -DSCENE=6
}
wait_briefly() { check "wait, two fibers at one semaphore" wait -DSCENE=5; }
join_briefly() { check "join, two joiners" join -DJOINERS=2 -DNO_CANCELLER -DNO_DETACHER; }
stop_briefly() { check "stop, one is stuck" stop -DSTUCK; }
share_briefly() {
    check "share, taking alone or not, one change" share -DTURNS=1
    mutant share NO_HEAVY -DTURNS=1
}
split_briefly() {
    check "split, three places, four calls" split -DPLACES=3 -DCALLS=4
    mutant split NO_FENCE -DPLACES=3 -DCALLS=4
}
close_briefly() {
    check "close, three who wait" close
    check "close, three who wait, in a ring" close -DRING
    mutant close NO_LOOK -DRING
}
bell_briefly() {
    check "bell, a worker asleep in its ring" bell
    check "bell, the same with an event descriptor" bell -DEVENTFD
    mutant bell ARMS_ONCE
}

spin_part() { # name
    if ! command -v spin >/dev/null 2>&1; then
        echo "spin is not installed: $1.pml is skipped"
        skipped=yes
    elif [ "$quick" = brief ] && command -v "$1_briefly" >/dev/null; then
        "$1_briefly"
    else
        "$1_models"
    fi
}

queues="wait ready chase_lev abp"
models="sleep wait join stop share split close bell"

list() {
    for name in litmus $wholes; do echo "$name"; done
    for name in $queues; do echo "queue-$name"; done
    for name in $models; do echo "spin-$name"; done
    [ "$quick" = brief ] || printf '%s\n' planted-orders planted-channels planted-scopes planted-locks planted-protocols
}

# shellcheck disable=SC2086
every_order() { weak_mutants $wholes; }

part() { # name
    case $1 in
    queue-*) queue_part "${1#queue-}" ;;
    spin-*) spin_part "${1#spin-}" ;;
    planted-orders) every_order ;;
    planted-channels) channels ;;
    planted-scopes) scope_explorations ;;
    planted-locks) locks ;;
    planted-protocols) protocols ;;
    *) whole_part "$1" ;;
    esac
}

[ "${1:-}" != list ] || { list && exit; }
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(list)
for name in "$@"; do
    if list | grep -qx -e "$name"; then part "$name"; else fail "$name: there is no such part"; fi
done
[ "$passed" -gt 0 ] || [ -n "$skipped" ] || fail "nothing was checked"
echo "model: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
