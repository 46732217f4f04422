/* SPDX-License-Identifier: MIT */
/* See stacks.h. */
#include "sched/record/stacks.h"
#include "sched/record/record.h"

struct walk {
    uintptr_t pc, sp, fp; /* of the present frame */
    uintptr_t fp_at;      /* the address where fp was saved */
    uintptr_t low, top;   /* the limits of the stack */
    uintptr_t begin;      /* sp of the first frame */
    struct weft__walk made;
};

/* Reads a word of the stack. Not checked by sanitizers: they would complain about the bytes between variables. */
static inline __attribute__((no_sanitize("address"))) WEFT_MAY_RACE uintptr_t word_at(uintptr_t at) {
    return *(const volatile uintptr_t *)at;
}

static inline bool is_within(const struct walk *w, uintptr_t at) {
    return at >= w->low && at <= w->top - sizeof(uintptr_t) && !(at % sizeof(uintptr_t));
}

static inline const struct weft__stack_rule *rule_of(struct weft__stack_rules *rules, uint64_t pc) {
    for (unsigned i = 0; i < WEFT_RULE_ATTEMPTS; i++) {
        const struct weft__stack_rule *r = &rules->rule[weft__rule_slot(pc, i)];
        uint64_t there = load_acq(&r->pc); /* pairs with the reader: the rule is written */
        if (likely(there == pc)) return r;
        if (!there) break;
    }
    store_rlx(&rules->wanted[weft__rule_slot(pc, 0) % WEFT_RULES_WANTED], pc);
    return NULL;
}

/* The stack pointer of the caller of the present frame. If the rule needs the frame pointer, the walk remembers its
 * value. */
static inline uintptr_t walk_base(struct walk *w, const struct weft__stack_rule *r) {
    struct weft__walk *m = &w->made;
    if (likely(r->base == WEFT_RULE_BY_SP)) return w->sp + (uintptr_t)(intptr_t)r->cfa;
    m->pointer_at[m->pointers] = (int32_t)(w->fp_at - w->begin);
    m->pointer[m->pointers++] = (intptr_t)(w->fp - w->begin);
    return w->fp + (uintptr_t)(intptr_t)r->cfa;
}

/* One step outward, to the caller. False: the walk ends here; *cut: because no rule is known. */
static inline __attribute__((no_sanitize("address"))) bool walk_step(struct walk *w, struct weft__stack_rules *rules,
                                                                     bool *cut) {
    const struct weft__stack_rule *r =
        rule_of(rules, w->pc - 1); /* pc - 1 is in the call; pc may be in the next function */
    struct weft__walk *m = &w->made;
    if (unlikely(!r)) return *cut = true, false;
    if (r->base == WEFT_RULE_STOPS) return false;
    uintptr_t cfa = walk_base(w, r);
    if (unlikely(cfa <= w->sp || cfa > w->top)) return false;
    uintptr_t ra = cfa + (uintptr_t)(intptr_t)r->ra, fp = cfa + (uintptr_t)(intptr_t)r->fp;
    if (unlikely(!is_within(w, ra) || (r->fp_saved && !is_within(w, fp)))) return false;
    w->pc = word_at(ra);
    m->at[m->steps] = (int32_t)(ra - w->begin);
    m->returns[m->steps++] = w->pc;
#if defined(__aarch64__)
    w->pc &= (UINT64_C(1) << 48) - 1; /* removes the signature of pointer authentication, if there is one */
#endif
    if (r->fp_saved) w->fp = word_at(fp), w->fp_at = fp;
    w->sp = cfa;
    return w->pc != 0;
}

/* Would a walk that starts at `begin` go through the same frames as the known walk? */
static inline __attribute__((no_sanitize("address"))) bool leads_the_same_way(const struct weft__walk *k,
                                                                              uintptr_t begin) {
    for (unsigned i = 0; i < k->steps; i++)
        if (word_at(begin + (uintptr_t)(intptr_t)k->at[i]) != k->returns[i]) return false;
    for (unsigned i = 0; i < k->pointers; i++)
        if ((intptr_t)(word_at(begin + (uintptr_t)(intptr_t)k->pointer_at[i]) - begin) != k->pointer[i]) return false;
    return true;
}

static inline struct weft__walk *walks_of(struct weft__walks *known, uint64_t below) {
    return known->walk[below / 16 % WEFT_WALK_SETS];
}

static inline uint32_t walk_known(struct weft__walks *known, uintptr_t begin, uint64_t below) {
    struct weft__walk *k = walks_of(known, below);
    for (unsigned i = 0; i < WEFT_WALK_WAYS; i++)
        if (k[i].below == below && leads_the_same_way(&k[i], begin)) return k[i].number;
    return 0;
}

/* The number of the stack with these frames; 0: the table is full. */
static uint32_t stack_number(const uint64_t *frame, unsigned n, bool cut) {
    struct weft__known_stack *all = weft__recorder.stacks;
    uint64_t hash = cut + UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned i = 0; i < n; i++) hash = (hash ^ frame[i]) * UINT64_C(0xff51afd7ed558ccd), hash ^= hash >> 32;
    if (!hash) hash = 1;
    for (unsigned i = 0; i < 16; i++) {
        uint32_t number = (uint32_t)((hash + i) % (WEFT_STACKS_MOST - 1)) + 1;
        struct weft__known_stack *s = &all[number];
        uint64_t there = load_rlx(&s->hash);
        if (likely(there == hash)) return number;
        if (there) continue;
        if (!cas_ar(&s->hash, &there, hash)) { /* claims the entry; no other thread writes it then */
            if (there == hash) return number;
            continue;
        }
        for (unsigned k = 0; k < n; k++) s->frame[k] = frame[k];
        store_rel(&s->depth, n | (cut ? WEFT_STACK_IS_CUT : 0)); /* pairs with readers: the frames are written */
        add_rlx(&weft__recorder.known_stacks, 1);
        return number;
    }
    add_rlx(&weft__recorder.lost_stacks, 1);
    return 0;
}

static WEFT_NOINLINE __attribute__((no_sanitize("address"))) uint32_t walk_up(struct walk *w,
                                                                              struct weft__walks *known) {
    uint64_t frame[WEFT_STACK_FRAMES];
    unsigned n = 0;
    bool cut = false;
    w->made.below = w->top - w->begin;
    w->made.steps = w->made.pointers = 0;
    bool goes_on =
        walk_step(w, weft__recorder.rules, &cut); /* skips the frame of the dispatch, which is in every stack */
    while (goes_on && n < WEFT_STACK_FRAMES && (goes_on = walk_step(w, weft__recorder.rules, &cut))) frame[n++] = w->pc;
    w->made.number = stack_number(frame, n, cut);
    if (!cut && w->made.number) walks_of(known, w->made.below)[known->turn++ % WEFT_WALK_WAYS] = w->made;
    return w->made.number;
}

/* Not inlined: the walk starts at this function's frame pointer, which leads to that of its caller. */
WEFT_NOINLINE __attribute__((no_sanitize("address"))) uint32_t weft__record_stack(const struct weft__fiber *f,
                                                                                  struct weft__walks *known) {
    const uintptr_t *own = __builtin_frame_address(0);
    const struct weft__stack *s = f->stack;
    if (unlikely(!s || !weft__recorder.rules)) return 0;
    uintptr_t begin = (uintptr_t)own + 2 * sizeof *own, top = (uintptr_t)weft__stack_top(s);
#if defined(__aarch64__)
    begin = (uintptr_t)__builtin_dwarf_cfa();
#endif
    uint32_t number = walk_known(known, begin, top - begin);
    if (likely(number)) return number;
    struct walk w;
    w.pc = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
    w.sp = w.begin = begin;
    w.fp = own[0];
    w.fp_at = (uintptr_t)own;
    w.low = (uintptr_t)s->low;
    w.top = top;
    return walk_up(&w, known);
}
