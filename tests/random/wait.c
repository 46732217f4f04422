/* SPDX-License-Identifier: MIT */
/* How a party waits: with deadlines and cancellations, and at last until the wait succeeds. See random.h. */
#include "random.h"

/* p->random belongs to the party itself, which may use it meanwhile. */
struct party party_for(struct party *p, uint64_t number) {
    uint64_t random = (p->op->seed + p->role) ^ (number + 1) * UINT64_C(0xd6e8feb86659fd93);
    return (struct party){p->program, p->op, p->actor, p->role, random, p->told};
}

uint64_t soon(struct party *p) { return weft_now() + below(p, 30 * WEFT_MICROSECOND); }

bool may_be_told(const struct party *p) { return p->actor->told || p->told; }

/* The caller was cancelled: is there a reason? */
static void must_be_told(struct party *p) {
    SO(weft_cancelled());
    SO(may_be_told(p));
}

/* Did the attempt end without success? *told: it was cancelled. */
static bool gave_up(struct party *p, int err, uint64_t deadline, bool shielded, bool *told) {
    *told = false;
    if (err == -EAGAIN || err == -EBUSY) {
        WANT(deadline, AT_ONCE);
        return true;
    }
    if (err == -ETIMEDOUT && deadline != WEFT_FOREVER && weft_now() >= deadline) return true;
    if (err != -ETIMEDOUT && err != -ECANCELED) return false;
    SO(!shielded);
    must_be_told(p);
    return *told = true;
}

int insist(struct party *p, int (*attempt)(void *, uint64_t), void *context) {
    struct weft_shield shield;
    bool shielded = false, told = false;
    int err;
    for (uint64_t tries = below(p, 4);; tries -= tries > 0) {
        uint64_t deadline = !tries ? WEFT_FOREVER : one_in(p, 2) ? AT_ONCE : soon(p);
        err = attempt(context, deadline);
        if (!gave_up(p, err, deadline, shielded, &told)) break;
        if (told && !tries) {
            OK(weft_shield_begin(&shield));
            shielded = true;
            WANT(weft_cancelled(), 0);
        }
    }
    if (shielded) OK(weft_shield_end(&shield));
    return err;
}

bool done_or_told(struct party *p, int err) {
    if (!err) return true;
    SO(err == -ECANCELED || err == -ETIMEDOUT);
    must_be_told(p);
    return false;
}

void pause_a_bit(struct party *p) {
    switch (below(p, 8)) {
    case 0:
    case 1: weft_yield(); break;
    case 2: done_or_told(p, weft_sleep_for(below(p, 20 * WEFT_MICROSECOND))); break;
    case 3:
        for (uint64_t n = below(p, 500); n; n--) __asm__ volatile("" ::: "memory");
        break;
    default: break;
    }
}

/* --- attempts --------------------------------------------------------------------------------- */

int wait_for_latch(void *latch, uint64_t deadline) {
    return deadline == AT_ONCE        ? weft_latch_try(latch)
           : deadline == WEFT_FOREVER ? weft_latch_wait(latch)
                                      : weft_latch_wait_until(latch, deadline);
}

int wait_for_counter(void *counter, uint64_t deadline) {
    return deadline == WEFT_FOREVER ? weft_counter_wait(counter, 0) : weft_counter_wait_until(counter, 0, deadline);
}

int wait_for_sem(void *sem, uint64_t deadline) {
    return deadline == AT_ONCE        ? weft_sem_try(sem)
           : deadline == WEFT_FOREVER ? weft_sem_wait(sem)
                                      : weft_sem_wait_until(sem, deadline);
}

int wait_for_mutex(void *mutex, uint64_t deadline) {
    return deadline == AT_ONCE        ? weft_mutex_try(mutex)
           : deadline == WEFT_FOREVER ? weft_mutex_lock(mutex)
                                      : weft_mutex_lock_cancellable(mutex, deadline);
}
