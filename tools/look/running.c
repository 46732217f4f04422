/* SPDX-License-Identifier: MIT */
/* The stack of a fiber that runs. Its registers are in a thread (glimpse.c), or in the notes of a core file. */
#include "target.h"

#include <string.h>

/* A thread of an unmodified program that was entered on a stack that is not weft's: it is near that place now. */
static void use_foreign_stack(struct weft__seen *f, uint64_t sp) {
    f->low = sp > WEFT_LOOK_FOREIGN ? sp - WEFT_LOOK_FOREIGN : 0;
    f->top = sp + WEFT_LOOK_FOREIGN;
}

/* Reads the limits of the fiber's stack, and the registers with which it was entered. False: the worker no longer runs
 * this fiber. */
static bool find_stack(struct weft__look *look, struct weft__seen *f, struct weft__registers *entered) {
    const struct weft__layout *l = &look->layout;
    const struct weft__worker_seen *w = &look->worker[f->worker - 1];
    uint64_t stack = weft__peek64(look->memory, f->record + l->fiber_stack);
    uint8_t class = 255;
    if (weft__peek64(look->memory, w->address + l->worker_current) != f->record) return false;
    if (weft__peek64(look->memory, f->record + l->fiber_life) != f->id || !stack) return false;
    if (!weft__peek(look->memory, stack + l->stack_class, &class, 1) || class > 26) return false;
    entered->pc = weft__peek64(look->memory, f->record + l->fiber_pc);
    entered->sp = weft__peek64(look->memory, f->record + l->fiber_sp);
    entered->fp = weft__peek64(look->memory, f->record + l->fiber_fp);
    entered->link = 0;
    f->low = weft__peek64(look->memory, stack + l->stack_low);
    f->top = f->low + (UINT64_C(1) << (class + l->stack_min_log));
    if (entered->sp < f->low || entered->sp >= f->top) use_foreign_stack(f, entered->sp);
    return true;
}

/*
 * May the thread be in the middle of a switch to this fiber? Then it already has the fiber's stack pointer, but still
 * the program counter of the fiber that it leaves, and the walk from there finds wrong callers. Its stack pointer is
 * then the one of the entry. That can also be so at other times. So this walks from the entry as well, and compares the
 * callers. If they differ, one of the walks is wrong. If neither finds a caller, either may be wrong.
 */
static bool is_entered(struct weft__look *look, const struct weft__seen *f, const struct weft__window *window,
                       struct weft__registers entered) {
    uint64_t frame[WEFT_LOOK_FRAMES];
    if (f->at.sp != entered.sp || f->at.pc == entered.pc) return false;
    unsigned depth = weft__unwind(look->unwinder, entered, window, f->low, f->top, frame);
    return depth != f->depth || depth == 1 || memcmp(frame + 1, f->frame + 1, (depth - 1) * sizeof *frame) != 0;
}

static void unwind(struct weft__look *look, struct weft__seen *f, const struct weft__window *window,
                   struct weft__registers at, struct weft__registers entered) {
    if (at.sp < f->low || at.sp >= f->top) return;
    f->at = at;
    f->depth = weft__unwind(look->unwinder, at, window, f->low, f->top, f->frame);
    f->torn = is_entered(look, f, window, entered);
}

void running_core(struct weft__look *look, struct weft__seen *f) {
    struct target *t = look->data;
    struct weft__registers at, entered;
    struct weft__window none = {0, 0, NULL};
    if (core_registers(t->core, look->worker[f->worker - 1].tid, &at) && find_stack(look, f, &entered))
        unwind(look, f, &none, at, entered);
}

struct stopped {
    struct weft__look *look;
    struct weft__seen *f;
    struct weft__registers entered;
};

static bool check_stopped(void *arg) {
    struct stopped *s = arg;
    return find_stack(s->look, s->f, &s->entered);
}

void running_process(struct weft__look *look, struct weft__seen *f) {
    static struct glimpse g;
    struct stopped s = {.look = look, .f = f};
    if (!glimpse_thread(look->memory, look->worker[f->worker - 1].tid, &g, check_stopped, &s)) return;
    struct weft__window window = {g.at.sp, g.size, g.bytes};
    unwind(look, f, &window, g.at, s.entered);
}
