/* SPDX-License-Identifier: MIT */
/*
 * Finds out what a parked fiber waits for. Parking calls do not record it, because that would slow down every park. But
 * the fiber's stack shows it:
 *
 *   - Everything that can end a wait has a ticket: the address of the fiber's record, followed by the number of the
 *     wait. For a wait in a queue the ticket is in a waiter, which also has the kind of the object. For a deadline it
 *     is in a timer. Waiters and timers are on the fiber's own stack. So a search of the innermost frames for the
 *     ticket finds them.
 *   - A waiter does not have the address of its object, but the parking call needs that address when it continues. A
 *     switch saves only one register, the frame pointer. So the address is in the frame pointer or on the stack. The
 *     search tries each word: it is the address of the object if the first waiter there is of the right kind. The
 *     position of the word is remembered for all fibers that wait at the same address in the code.
 *   - A fiber that joins is named in the record of the fiber that it joins (fibers.c).
 *   - A waiter in the lot of libweft-threads says what it waits for, and where the owner is (lot_waiter.h).
 */
#include "base/sys.h"
#include "look/look.h"
#include "look/lot_waiter.h"

#include "sched/wait/cancel.h"
#include "sched/wait/wait_queue.h"
#include "sync/chan.h"

#define WEFT_OBJECT 64     /* bytes of an object that are looked at */
#define WEFT_CANDIDATES 96 /* words of the stack that may be its address */
#define WEFT_CASES_MOST 64

const char *weft__waits_name(unsigned on) {
    static const char *const names[] = {
        [WEFT_ON_NOTHING] = "nothing",
        [WEFT_ON_MUTEX] = "mutex",
        [WEFT_ON_COND] = "condition",
        [WEFT_ON_SEM] = "semaphore",
        [WEFT_ON_COUNTER] = "counter",
        [WEFT_ON_BARRIER] = "barrier",
        [WEFT_ON_ONCE] = "once",
        [WEFT_ON_FUTURE] = "future",
        [WEFT_ON_READ] = "rwlock to read",
        [WEFT_ON_WRITE] = "rwlock to write",
        [WEFT_ON_RECEIVE] = "channel to receive",
        [WEFT_ON_SEND] = "channel to send",
        [WEFT_ON_DESCRIPTOR] = "descriptor",
        [WEFT_ON_SIGNAL] = "signal",
        [WEFT_ON_FIBER_GROUP] = "loop",
        [WEFT_ON_JOB] = "job",
        [WEFT_WAITS_JOIN] = "end of a fiber",
        [WEFT_WAITS_PARK] = "unpark",
        [WEFT_WAITS_SLEEP] = "time",
        [WEFT_WAITS_SCOPE] = "children of a scope",
        [WEFT_WAITS_SELECT] = "select",
        [WEFT_WAITS_STACK] = "memory for a stack",
        [WEFT_WAITS_IO] = "request to the kernel",
        [WEFT_WAITS_CALL] = "end of a forked call",
        [WEFT_WAITS_OTHER] = "something unknown",
        [WEFT_WAITS_FUTEX] = "futex",
    };
    const char *name = on < sizeof names / sizeof *names ? names[on] : NULL;
    return name ? name : "something unknown";
}

/* For objects of this kind: the offset of the pointer to the first waiter, and the bit of the object's first word that
 * says that there are waiters. False: objects of this kind are not searched for. */
static bool first_of(const struct weft__layout *l, unsigned on, size_t *at, uint64_t *bit) {
    *bit = WEFT_QUEUE_WAITERS;
    switch (on) {
    case WEFT_ON_READ: *at = l->rwlock_readers; return true;
    case WEFT_ON_WRITE: *at = l->rwlock_writers; return true;
    case WEFT_ON_RECEIVE:
        *at = l->chan_receivers;
        *bit = WEFT_CHAN_RECEIVERS;
        return true;
    case WEFT_ON_SEND:
        *at = l->chan_senders;
        *bit = WEFT_CHAN_SENDERS;
        return true;
    case WEFT_ON_DESCRIPTOR:
    case WEFT_ON_SIGNAL:
    case WEFT_ON_JOB: return false;
    default: *at = l->queue_first; return true;
    }
}

static uint64_t owner_in(const struct weft__layout *l, unsigned on, const char *object) {
    switch (on) {
    case WEFT_ON_MUTEX: return weft__u64(object, l->mutex_owner);
    case WEFT_ON_ONCE: return weft__u64(object, l->once_runner);
    case WEFT_ON_READ:
    case WEFT_ON_WRITE: return weft__u64(object, l->rwlock_owner);
    default: return 0;
    }
}

/* --- the object ------------------------------------------------------------------------------------- */

/* Is there a waiter of this kind at this address, and is its fiber still in that wait? */
static bool is_waiter(struct weft__look *look, uint64_t at, unsigned on) {
    const struct weft__layout *l = &look->layout;
    char waiter[64];
    if (l->waiter_size > sizeof waiter || !weft__peek(look->memory, at, waiter, l->waiter_size)) return false;
    if (weft__u8(waiter, l->waiter_on) != on) return false;
    uint64_t word, ticket = weft__u64(waiter, l->waiter_ticket);
    if (!weft__peek(look->memory, weft__u64(waiter, l->waiter_fiber) + l->fiber_wait, &word, sizeof word)) return false;
    return (word & WEFT_WAIT_EPOCH) == ticket;
}

/* Is the waiter's object at this address? Every object begins with a word that says whether it has waiters. The first
 * of them must be this waiter, or another waiter of the same kind. */
static bool is_object(struct weft__look *look, uint64_t address, unsigned on, uint64_t waiter, char *object) {
    size_t at;
    uint64_t bit;
    if (!first_of(&look->layout, on, &at, &bit) || at + 8 > WEFT_OBJECT) return false;
    if (!weft__peek(look->memory, address, object, WEFT_OBJECT) || !(weft__u64(object, 0) & bit)) return false;
    uint64_t first = weft__u64(object, at);
    return first == waiter || (first && first % 8 == 0 && is_waiter(look, first, on));
}

static bool may_be_address(uint64_t v) { return v % 8 == 0 && v >= 4096 && v < UINT64_C(1) << 47; }

#define IN_REGISTER 0xffff /* the number that stands for the frame pointer, which a switch saves in the record */

/*
 * Tries word i of the window as the address of the object. With `chain`, tries it as the address of the object's chain,
 * because a compiler may have kept only that. Addresses between the stack pointer and the end of the waiter belong to
 * the innermost frame, so no object is there.
 */
static bool try_word(struct weft__look *look, struct weft__seen *f, const struct weft__window *w, size_t i, bool chain,
                     uint64_t waiter) {
    char object[WEFT_OBJECT];
    size_t at = 0;
    uint64_t bit, v = i == IN_REGISTER ? f->at.fp : weft__u64(w->bytes, 8 * i);
    if (!may_be_address(v) || v == f->record) return false;
    if (chain && !first_of(&look->layout, f->on, &at, &bit)) return false;
    v -= at;
    if (v >= f->at.sp && v < waiter + look->layout.waiter_size) return false;
    struct weft__hint *last = weft__hint_of(look, f->at.pc);
    if (last->known && last->object == v && last->on == f->on) {
        f->object = v;
        f->owner = last->owner;
        return true;
    }
    if (!is_object(look, v, f->on, waiter, object)) return false;
    f->object = v;
    f->owner = owner_in(&look->layout, f->on, object);
    return true;
}

/* Tries the position of the last time first, and then all words, the innermost first. */
static void find_object(struct weft__look *look, struct weft__seen *f, const struct weft__window *w, uint64_t waiter) {
    size_t words = w->size / 8;
    struct weft__hint *known = weft__hint_of(look, f->at.pc);
    if (words > WEFT_CANDIDATES) words = WEFT_CANDIDATES;
    if (known->known && (known->word < words || known->word == IN_REGISTER) &&
        try_word(look, f, w, known->word, known->chain, waiter)) {
        known->on = (uint8_t)f->on;
        known->object = f->object;
        known->owner = f->owner;
        return;
    }
    for (unsigned chain = 0; chain < 2; chain++)
        for (size_t k = 0; k <= words; k++) {
            size_t i = k ? k - 1 : IN_REGISTER;
            if (try_word(look, f, w, i, chain, waiter)) {
                *known = (struct weft__hint){f->at.pc, (uint16_t)i, chain, (uint8_t)f->on, f->object, f->owner, true};
                return;
            }
        }
}

/* --- tickets ---------------------------------------------------------------------------------------- */

static bool is_wheel(const struct weft__look *look, uint64_t at) {
    for (unsigned i = 0; i < look->workers; i++)
        if (look->worker[i].address + look->layout.worker_wheel == at) return true;
    return false;
}

static bool is_ring(const struct weft__look *look, uint64_t at) {
    for (unsigned i = 0; i < look->workers; i++)
        if (look->worker[i].address + look->layout.worker_ring == at) return true;
    return false;
}

/* Is the ticket at byte i of the window part of a request to a ring? */
static bool is_request(const struct weft__look *look, const struct weft__window *w, size_t i) {
    const struct weft__layout *l = &look->layout;
    if (i < l->request_fiber || i - l->request_fiber + l->request_fd + 4 > w->size) return false;
    return is_ring(look, weft__u64(w->bytes, i - l->request_fiber + l->request_ring));
}

/* Is this a waiter for a descriptor or a signal? There is no object to confirm it, so the waiter before it in the chain
 * must be of the same kind. The first waiter has the last one before it. */
static bool is_chained(struct weft__look *look, const struct weft__window *w, size_t at, unsigned on) {
    uint64_t before = weft__u64(w->bytes, at + look->layout.waiter_before);
    uint8_t other;
    if (before == w->begin + at) return true;
    return may_be_address(before) && weft__peek(look->memory, before + look->layout.waiter_on, &other, 1) &&
           other == on;
}

/* Is this waiter part of a case of a select? */
static bool is_case(const struct weft__look *look, const struct weft__window *w, size_t waiter, unsigned on) {
    static const uint8_t kinds[WEFT_ONS] = {[WEFT_ON_SEND] = WEFT_CASE_SENDS,
                                            [WEFT_ON_RECEIVE] = WEFT_CASE_RECEIVES,
                                            [WEFT_ON_FUTURE] = WEFT_CASE_AWAITS,
                                            [WEFT_ON_DESCRIPTOR] = WEFT_CASE_POLLS};
    size_t head = look->layout.case_party;
    if (waiter < head || !kinds[on]) return false;
    return weft__u32(w->bytes, waiter - head + offsetof(struct weft_case, kind)) == kinds[on] &&
           weft__u64(w->bytes, waiter - head) != 0;
}

static void add_case(struct weft__seen *f, unsigned on, uint64_t object) {
    if (f->cases < WEFT_LOOK_CASES) {
        f->select[f->cases].on = (uint8_t)on;
        f->select[f->cases].object = object;
    }
    f->cases++;
}

/* The owner of a lock of libweft-threads, whose name is at this address. */
static void take_lock_owner(struct weft__look *look, struct weft__seen *f, uint64_t at) {
    struct weft__first_thread first = {0};
    uint64_t name = at ? weft__peek64(look->memory, at) : 0;
    if (!name) return;
    weft__peek(look->memory, (uintptr_t)look->layout.first_thread, &first, sizeof first);
    if (name == first.name)
        f->owner = first.life;
    else if (weft__lock_owner_is_fiber(name))
        f->owner = weft__lock_owner_life(name);
    else
        f->held_outside = true;
}

/* Is the ticket at byte i of the window that of a waiter in the lot? Such a waiter says what it waits for. Its fiber
 * waits for other threads of the program, and so for nothing outside of it, unless it waits for a signal. */
static bool take_lot_waiter(struct weft__look *look, struct weft__seen *f, const struct weft__window *w, size_t i,
                            uint64_t *waiter) {
    const struct weft__layout *l = &look->layout;
    if (i < l->lot_waiter_fiber || i - l->lot_waiter_fiber + l->lot_waiter_size > w->size) return false;
    size_t at = i - l->lot_waiter_fiber;
    if (weft__u64(w->bytes, at + l->lot_waiter_mark) != WEFT_LOT_MARK) return false;
    f->on = weft__u32(w->bytes, at + l->lot_waiter_on);
    if (f->state != WEFT_SEEN_THREAD) f->state = f->on == WEFT_ON_SIGNAL ? WEFT_SEEN_OUTSIDE : WEFT_SEEN_WAITING;
    f->object = weft__u64(w->bytes, at + l->lot_waiter_object);
    f->cases = 0;
    f->in_lot = true;
    *waiter = 0;
    uint64_t readers = weft__u64(w->bytes, at + l->lot_waiter_readers);
    if (readers) f->readers = (uint32_t)weft__peek64(look->memory, readers);
    take_lock_owner(look, f, weft__u64(w->bytes, at + l->lot_waiter_owner));
    return true;
}

/* Takes a ticket of this wait, at byte i of the window. It is part of a timer, a request, a waiter or a case. */
static void take_ticket(struct weft__look *look, struct weft__seen *f, const struct weft__window *w, size_t i,
                        uint64_t *waiter) {
    const struct weft__layout *l = &look->layout;
    if (take_lot_waiter(look, f, w, i, waiter)) return;
    if (i >= l->timer_fiber && i - l->timer_fiber + l->timer_size <= w->size) {
        size_t timer = i - l->timer_fiber;
        if (is_wheel(look, weft__u64(w->bytes, timer + l->timer_wheel))) {
            f->deadline = weft__u64(w->bytes, timer + l->timer_tick) << l->tick_log;
            return;
        }
    }
    if (f->state == WEFT_SEEN_OUTSIDE && is_request(look, w, i)) {
        f->on = WEFT_WAITS_IO;
        f->fd = (int)weft__u32(w->bytes, i - l->request_fiber + l->request_fd);
        return;
    }
    if (i < l->waiter_fiber || i - l->waiter_fiber + l->waiter_size > w->size) return;
    size_t at = i - l->waiter_fiber;
    unsigned on = weft__u8(w->bytes, at + l->waiter_on);
    if (on == WEFT_ON_NOTHING || on >= WEFT_ONS) return;
    bool is_outside = on == WEFT_ON_DESCRIPTOR || on == WEFT_ON_SIGNAL;
    if (is_outside && !is_chained(look, w, at, on)) return;
    if (on == WEFT_ON_DESCRIPTOR && at + l->descriptor_events + 4 <= w->size) {
        f->fd = (int)weft__u32(w->bytes, at + l->descriptor_fd);
        f->events = (int)weft__u32(w->bytes, at + l->descriptor_events);
    }
    if (is_case(look, w, at, on)) {
        add_case(f, on, weft__u64(w->bytes, at - l->case_party));
        f->on = WEFT_WAITS_SELECT;
    } else if (f->on == WEFT_ON_NOTHING && is_outside == (f->state == WEFT_SEEN_OUTSIDE)) {
        f->on = on;
        *waiter = w->begin + at;
    }
}

static void find_tickets(struct weft__look *look, struct weft__seen *f, const struct weft__window *w,
                         uint64_t *waiter) {
    uint64_t ticket = f->wait & WEFT_WAIT_EPOCH;
    for (size_t i = 0; i + 16 <= w->size; i += 8)
        if (weft__u64(w->bytes, i) == f->record && weft__u64(w->bytes, i + 8) == ticket)
            take_ticket(look, f, w, i, waiter);
}

/* Finds the cases of a select outside of the window: in an outer frame, or on the heap. */
static void find_cases(struct weft__look *look, struct weft__seen *f, const struct weft__window *w) {
    const struct weft__layout *l = &look->layout;
    char bytes[256];
    uint64_t waiter;
    size_t words = w->size / 8, ticket = l->case_party + l->waiter_fiber;
    if (l->case_size > sizeof bytes || ticket + 16 > l->case_size) return;
    if (words > WEFT_CANDIDATES) words = WEFT_CANDIDATES;
    for (size_t i = 0; i < words && f->on == WEFT_ON_NOTHING; i++) {
        uint64_t v = weft__u64(w->bytes, 8 * i);
        if (!may_be_address(v) || v == f->record) continue;
        for (unsigned k = 0; k < WEFT_CASES_MOST; k++) {
            struct weft__window one = {v + (uint64_t)k * l->case_size, l->case_size, bytes};
            if (!weft__peek(look->memory, one.begin, bytes, l->case_size)) break;
            if (weft__u64(bytes, ticket) != f->record) break;
            if (weft__u64(bytes, ticket + 8) == (f->wait & WEFT_WAIT_EPOCH))
                take_ticket(look, f, &one, ticket, &waiter);
        }
    }
}

/* Finds a join that began after the joins were collected: a word of the stack is the address of the joined fiber's
 * record, or of the joined call. */
static void find_joined(struct weft__look *look, struct weft__seen *f, const struct weft__window *w) {
    const struct weft__layout *l = &look->layout;
    uint64_t by = weft__join_by(weft__life_index(f->id), f->wait & WEFT_WAIT_EPOCH);
    size_t words = w->size / 8;
    if (words > WEFT_CANDIDATES) words = WEFT_CANDIDATES;
    for (size_t k = 0; k <= words; k++) {
        uint64_t v = k ? weft__u64(w->bytes, 8 * (k - 1)) : f->at.fp, join, life;
        if (!may_be_address(v) || v == f->record) continue;
        if (weft__peek64(look->memory, v + l->call_state) == by) {
            f->on = WEFT_WAITS_CALL;
            f->object = v;
            return;
        }
        if (!weft__peek(look->memory, v + l->fiber_join, &join, sizeof join) || join != by) continue;
        if (!weft__peek(look->memory, v + l->fiber_life, &life, sizeof life)) continue;
        f->on = WEFT_WAITS_JOIN;
        f->owner = life;
        return;
    }
}

/* --- together --------------------------------------------------------------------------------------- */

static bool ends_a_scope(const struct weft__look *look, const struct weft__seen *f) {
    if (f->on != WEFT_ON_COUNTER || !(f->frames_word & WEFT_FRAMES_TAG)) return false;
    return (f->frames_word & ~(uint64_t)WEFT_FRAMES_BITS) + look->layout.scope_outstanding == f->object;
}

static unsigned without_a_waiter(const struct weft__seen *f) {
    if (f->wait & WEFT_WAIT_BY_PERMIT) return WEFT_WAITS_PARK;
    if (f->state == WEFT_SEEN_OUTSIDE) return WEFT_WAITS_IO;
    if (f->on_stack == WEFT_FRESH) return WEFT_WAITS_STACK;
    return f->deadline ? WEFT_WAITS_SLEEP : WEFT_WAITS_OTHER;
}

/* Finds the object of this waiter. The words beside the ticket of a deadline may look like a waiter. Then no object is
 * found, and the fiber only sleeps. */
static void look_at_waiter(struct weft__look *look, struct weft__seen *f, const struct weft__window *w,
                           uint64_t waiter) {
    size_t at;
    uint64_t bit;
    find_object(look, f, w, waiter);
    if (!f->object && f->deadline && first_of(&look->layout, f->on, &at, &bit)) f->on = WEFT_WAITS_SLEEP;
}

void weft__look_waits(struct weft__look *look, struct weft__seen *f, const struct weft__window *window) {
    uint64_t waiter = 0;
    find_tickets(look, f, window, &waiter);
    if (f->on == WEFT_ON_NOTHING && f->state != WEFT_SEEN_OUTSIDE) weft__look_join(look, f);
    if (f->on == WEFT_ON_NOTHING && !(f->wait & WEFT_WAIT_BY_PERMIT)) find_cases(look, f, window);
    if (f->on == WEFT_ON_NOTHING) f->on = without_a_waiter(f);
    if (f->on == WEFT_WAITS_OTHER) find_joined(look, f, window);
    if (waiter) look_at_waiter(look, f, window, waiter);
    if (ends_a_scope(look, f)) f->on = WEFT_WAITS_SCOPE;
}
