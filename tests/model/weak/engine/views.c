/* SPDX-License-Identifier: MIT */
/* Views: what the threads know. */
#include "engine.h"

void engine_view_join(struct view *v, const struct view *with) {
    for (unsigned i = 0; i < n_atoms; i++)
        if (with->at[i] > v->at[i]) v->at[i] = with->at[i];
    for (unsigned i = 0; i < n_words; i++) v->word[i] |= with->word[i];
}

void engine_each_view(void (*fn)(struct view *, unsigned, unsigned), unsigned a, unsigned b) {
    for (unsigned t = 0; t < THREADS; t++) {
        fn(&engine.thread[t].now, a, b);
        fn(&engine.thread[t].pending, a, b);
        fn(&engine.thread[t].released, a, b);
        fn(&engine.thread[t].wake, a, b);
    }
    for (unsigned p = 0; p < n_atoms; p++)
        for (unsigned i = 0; i < engine.atom[p].count; i++) fn(&engine.atom[p].message[i].view, a, b);
    fn(&engine.fenced, a, b);
    fn(&engine.strong, a, b);
}

void engine_view_shift(struct view *v, unsigned atom, unsigned at) {
    if (v->at[atom] >= at) v->at[atom]++;
}
void engine_view_drop(struct view *v, unsigned atom, unsigned n) {
    v->at[atom] = (uint8_t)(v->at[atom] > n ? v->at[atom] - n : 0);
}
void engine_view_forget(struct view *v, unsigned word, unsigned mask) { v->word[word] &= (uint8_t)~mask; }
void engine_view_written(struct view *v, unsigned word, unsigned unused) {
    (void)unused;
    v->word[word] = ALL_READS; /* reads before it need not be known any more, the write does */
}

void engine_forget_old(void) {
    for (unsigned p = 0; p < n_atoms; p++) {
        struct atom *pl = &engine.atom[p];
        unsigned least = pl->count - 1u;
        for (unsigned t = 0; t < THREADS; t++)
            if ((engine.thread[t].state == READY || engine.thread[t].state == BLOCKED) &&
                engine.thread[t].now.at[p] < least)
                least = engine.thread[t].now.at[p];
        if (mode.in_order) least = pl->count - 1u;
        if (pl->count > mode.stale + 1 && least < pl->count - mode.stale - 1) least = pl->count - mode.stale - 1;
        if (!least) continue;
        memmove(pl->message, pl->message + least, (pl->count - least) * sizeof *pl->message);
        pl->count = (uint8_t)(pl->count - least);
        memset(pl->message + pl->count, 0, least * sizeof *pl->message);
        engine_each_view(engine_view_drop, p, least);
    }
}
