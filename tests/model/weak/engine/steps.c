/* SPDX-License-Identifier: MIT */
/* The memory model: the outcomes of each kind of step. */
#include "engine.h"

static void fence(struct thread *t) {
    engine_view_join(&t->now, &t->pending);
    engine_view_join(&t->now, &engine.fenced);
    for (unsigned i = 0; i < n_atoms; i++)
        if (engine.strong.at[i] > t->now.at[i]) t->now.at[i] = engine.strong.at[i];
    engine.fenced = t->pending = t->released = t->now;
}

static void strengthen(struct thread *t, unsigned atom) {
    if (engine.strong.at[atom] > t->now.at[atom]) t->now.at[atom] = engine.strong.at[atom];
    if (engine.fenced.at[atom] > t->now.at[atom]) t->now.at[atom] = engine.fenced.at[atom];
}

static uint64_t read_message(struct thread *t, const struct step *s, unsigned which) {
    struct message *m = &engine.atom[s->atom].message[which];
    t->now.at[s->atom] = (uint8_t)which;
    if (t->pending.at[s->atom] < which) t->pending.at[s->atom] = (uint8_t)which;
    engine_view_join(s->order & ORDER_ACQUIRE ? &t->now : &t->pending, &m->view);
    engine_view_join(&t->pending, &t->now);
    return m->value;
}

void engine_message_write(struct thread *t, const struct step *s, unsigned at, uint64_t value,
                          const struct view *before) {
    struct atom *p = &engine.atom[s->atom];
    struct view carried = {{0}, {0}};
    if (p->count == MESSAGES) {
        engine_fail("too many messages of one atom");
        return;
    }
    if (before) carried = *before;
    memmove(&p->message[at + 1], &p->message[at], (p->count - at) * sizeof *p->message);
    p->count++;
    engine_each_view(engine_view_shift, s->atom, at);
    if (before && carried.at[s->atom] >= at) carried.at[s->atom]++;
    t->now.at[s->atom] = (uint8_t)at;
    if (t->pending.at[s->atom] < at) t->pending.at[s->atom] = (uint8_t)at;
    engine_view_join(&carried, s->order & ORDER_RELEASE ? &t->now : &t->released);
    carried.at[s->atom] = (uint8_t)at;
    p->message[at] = (struct message){.value = value, .view = carried};
    if (s->order & ORDER_FULL) engine.strong.at[s->atom] = (uint8_t)at;
    if (at + 1u == p->count) engine_put(atom_of[s->atom]->at, atom_of[s->atom]->size, value);
}

static bool choose_load(struct thread *t, struct step *s, unsigned c) {
    if (s->order & ORDER_FULL) strengthen(t, s->atom);
    unsigned which = t->now.at[s->atom] + c, last = engine.atom[s->atom].count - 1u;
    if (mode.in_order) which = c ? last + 1 : last;
    if (which > last) return false;
    s->result.read = read_message(t, s, which);
    return true;
}

static bool choose_store(struct thread *t, struct step *s, unsigned c) {
    struct atom *p = &engine.atom[s->atom];
    unsigned first = t->now.at[s->atom] + 1u, at;
    if (mode.in_order) first = p->count;
    for (at = first; at <= p->count; at++) {
        if (at < p->count && p->message[at - 1].is_swapped) continue;
        if (!c--) break;
    }
    if (at > p->count) return false;
    engine_message_write(t, s, at, s->value, NULL);
    return true;
}

static bool changes(const struct step *s, uint64_t seen) { return s->kind != STEP_SWAP || seen == s->expected; }

uint64_t engine_changed(enum step_kind kind, uint64_t before, uint64_t value) {
    return kind == STEP_ADD ? before + value : kind == STEP_OR ? before | value : value;
}

static bool choose_change(struct thread *t, struct step *s, unsigned c) {
    struct atom *p = &engine.atom[s->atom];
    if (s->order & ORDER_FULL) strengthen(t, s->atom);
    unsigned which = mode.in_order ? p->count - 1u : t->now.at[s->atom], last = p->count - 1u;
    /* It acts on any message that it may read and that no other swap has read; a swap that fails reads the
     * newest.
     */
    for (; which <= last; which++) {
        const struct message *m = &p->message[which];
        if (m->is_swapped || (s->kind == STEP_LOCK && m->value)) continue;
        if (!changes(s, m->value) && which != last) continue;
        if (!c--) break;
    }
    if (which > last) return false;
    struct view before = p->message[which].view;
    uint64_t read = read_message(t, s, which);
    s->result = (struct weak_result){read, changes(s, read)};
    if (!s->result.done) return true;
    unsigned bits = 8u * atom_of[s->atom]->size;
    uint64_t value = engine_changed(s->kind, read, s->value);
    if (bits < 64) value &= (UINT64_C(1) << bits) - 1;
    p->message[which].is_swapped = true;
    engine_message_write(t, s, which + 1, value, &before);
    return true;
}

static bool choose_fence(struct thread *t, struct step *s, unsigned c) {
    if (c) return false;
    if (s->kind == STEP_FENCE_ON) {
        fence(&engine.thread[s->expected]); /* also if it has ended: what it stored is seen */
    } else if (s->order & (ORDER_FULL | ORDER_HEAVY))
        fence(t);
    else if (s->order & ORDER_ACQUIRE)
        engine_view_join(&t->now, &t->pending);
    else
        t->released = t->now;
    return true;
}

/* The kernel compares, and sleeps, in one step; both calls are full fences. */
static bool choose_futex(struct thread *t, struct step *s, unsigned c) {
    fence(t);
    struct atom *p = &engine.atom[s->atom];
    if (s->kind == STEP_FUTEX_WAIT) {
        if (c > 1) return false;
        if (c == 1 && !s->expected) return false; /* no deadline, which could have passed */
        t->now.at[s->atom] = (uint8_t)(p->count - 1u);
        bool same = (uint32_t)p->message[p->count - 1u].value == (uint32_t)s->value;
        s->result.read = c;
        if (c) return true;
        if (!same) return true;
        t->state = BLOCKED;
        t->sleeps_on = (int8_t)s->atom;
        return true;
    }
    if (c) return false;
    for (unsigned i = 0; i < THREADS; i++)
        if (engine.thread[i].state == BLOCKED && engine.thread[i].sleeps_on == (int)s->atom) {
            engine.thread[i].state = READY;
            engine.thread[i].sleeps_on = -1;
            engine.thread[i].step.kind = STEP_PAUSE;
        }
    return true;
}

bool engine_choose(struct thread *t, unsigned c) {
    struct step *s = &t->step;
    switch (s->kind) {
    case STEP_LOAD: return choose_load(t, s, c);
    case STEP_STORE: return choose_store(t, s, c);
    case STEP_SWAP:
    case STEP_XCHG:
    case STEP_ADD:
    case STEP_OR:
    case STEP_LOCK: return choose_change(t, s, c);
    case STEP_FENCE:
    case STEP_FENCE_ON: return choose_fence(t, s, c);
    case STEP_CHOICE: return (s->result.read = c) < s->value;
    case STEP_FUTEX_WAIT:
    case STEP_FUTEX_WAKE: return choose_futex(t, s, c);
    case STEP_BLOCK:
        if (c) return false;
        engine_view_join(&t->now, &t->wake);
        t->is_released = false;
        return true;
    case STEP_PAUSE: return !c;
    }
    return false;
}

bool engine_can_go_on(const struct thread *t) {
    if (t->state != READY) return false;
    if (t->step.kind == STEP_BLOCK) return t->is_released;
    if (t->step.kind == STEP_LOCK) {
        const struct atom *p = &engine.atom[t->step.atom];
        return !p->message[p->count - 1u].value;
    }
    return true;
}
