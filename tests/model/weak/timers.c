/* SPDX-License-Identifier: MIT */
/*
 * Explores timers, the real driver/wheel.c: one is cancelled while it expires, while its wheel is handed on to another
 * worker, or while its wheel is closed. It is handed out or taken back, once; and when that is known its memory may go.
 * Two threads arm a timer at the same time, in two wheels: one of them does.
 */
#include "workers.h"

#include "driver/wheel.c"

enum { CANCELS, EXPIRES, MOVES };
enum { ONE_WHEEL, IS_MOVED, IS_CLOSED, IS_ARMED_ANEW, IS_ARMED_TWICE };

static struct {
    struct weft__timer timer;
    uint8_t way, fired, cancelled, taken, armed;
    uint64_t of_owner; /* what the owner of the timer writes before it arms it */
} s;

/* --- what is underneath ---------------------------------------------------------------------------------- */

void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

/* --- what the threads do ----------------------------------------------------------------------------------- */

static struct weft__wheel *const first = &worker[0].wheel, *const second = &worker[1].wheel;

static GHOST void note_fired(void) { s.fired++; }
static GHOST void note_armed(void) { s.armed++; }
static GHOST void note_cancelled(void) { s.cancelled++; }
static void fire(void *arg) {
    claim(arg == &s, "another argument");
    claim(s.of_owner == 1, "what was written before it was armed is not seen");
    note_fired();
}
static void arm(void) {
    s.of_owner = 1;
    weft__wheel_arm(first, &s.timer, 0, (struct weft__due){fire, &s, 0});
}

static void expire(struct weft__wheel *w) {
    struct weft__due due;
    uint64_t left = WEFT_WHEEL_LOOK;
    if (weft__wheel_expire(w, 1, &due, 1, &left)) due.fn(due.arg);
}

static void cancel(void) {
    s.cancelled = weft__wheel_cancel(&s.timer);
    claim(!weft__timer_is_armed(&s.timer), "still armed");
    weak_gone(0, &s.timer, sizeof s.timer);
}

/* Each of two threads arms the timer in its own wheel. The first also cancels it, whichever thread has armed it. */
static void arm_beside_another(unsigned t) {
    int err = weft__wheel_arm(t ? second : first, &s.timer, 0, (struct weft__due){fire, &s, 0});
    claim(err >= 0 || err == -EBUSY, "refused for another reason");
    if (err >= 0) note_armed();
    if (!t && weft__wheel_cancel(&s.timer)) note_cancelled();
}

void run_thread(unsigned t) {
    if (s.way == IS_ARMED_TWICE) {
        arm_beside_another(t);
        return;
    }
    if (t == CANCELS && s.way != IS_ARMED_ANEW) cancel();
    if (t == EXPIRES && s.way != IS_CLOSED && s.way != IS_ARMED_ANEW) expire(s.way == IS_MOVED ? second : first);
    if (t == MOVES && s.way == IS_MOVED) weft__wheel_move(first, second);
    if (t == MOVES && s.way == IS_CLOSED) weft__wheel_close(first);
    /* A thread's scope after a stop: of two that see that the timer was dropped one arms it. */
    if (s.way == IS_ARMED_ANEW && t != MOVES && weft__timer_take_dropped(&s.timer)) {
        s.taken++;
        weft__wheel_arm(second, &s.timer, 0, (struct weft__due){fire, &s, 0});
    }
}

/* --- scenes -------------------------------------------------------------------------------------------------- */

static void set_up_for(unsigned way) {
    set_up_workers(2);
    for (unsigned t = 0; t < 3; t++) driven[t] = NULL;
    for (unsigned i = 0; i < 2; i++) weft__wheel_init(&worker[i].wheel, 1);
    s.way = (uint8_t)way;
    if (way == IS_ARMED_TWICE) {
        s.of_owner = 1;
        return;
    }
    arm();
    if (way == IS_ARMED_ANEW) weft__wheel_close(first);
}
static void expires_meanwhile(void) { set_up_for(ONE_WHEEL); }
static void is_moved(void) { set_up_for(IS_MOVED); }
static void is_closed(void) { set_up_for(IS_CLOSED); }
static void armed_anew(void) { set_up_for(IS_ARMED_ANEW); }
static void armed_twice(void) { set_up_for(IS_ARMED_TWICE); }

static void no_longer_armed(void) {
    for (unsigned t = 0; t < 3; t++) claim(!weak_goes_on(t), "waits for ever");
    claim(s.fired + s.cancelled == 1, "neither cancelled nor handed out, or both");
    claim(!load_rlx(&first->armed) && !load_rlx(&second->armed), "counted as armed");
}
static void armed_once(void) {
    claim(s.taken == 1, "armed anew twice, or not at all");
    expire(second);
    claim(s.fired == 1, "lost");
}

static void armed_by_either(void) {
    for (unsigned t = 0; t < 2; t++) claim(!weak_goes_on(t), "waits for ever");
    expire(first);
    expire(second);
    claim(s.armed == s.fired + s.cancelled, "lost, or fired twice");
    claim(!load_rlx(&first->armed) && !load_rlx(&second->armed), "counted as armed");
}

static bool all_scenes(void) {
    return weak_explore(
               &(struct weak_scene){"timers, one expires and is cancelled", 2, expires_meanwhile, no_longer_armed}) &&
           weak_explore(&(struct weak_scene){"timers, the wheel is handed on", 3, is_moved, no_longer_armed}) &&
           weak_explore(&(struct weak_scene){"timers, the wheel is closed", 3, is_closed, no_longer_armed}) &&
           weak_explore(&(struct weak_scene){"timers, a dropped one is armed anew", 2, armed_anew, armed_once}) &&
           weak_explore(&(struct weak_scene){"timers, two arm it at once", 2, armed_twice, armed_by_either});
}

int main(int argc, char **argv) {
    weak_share(&s, sizeof s);
    for (unsigned i = 0; i < 2; i++) weak_share(&worker[i].wheel, sizeof worker[i].wheel);
    return weak_main(argc, argv, all_scenes);
}
