/* SPDX-License-Identifier: MIT */
/* See arena.h. */
#include "mem/arena.h"

#include "base/message.h"
#include "base/random.h"

#include <errno.h>

#define WEFT_RANGES 32 /* ranges in one call; the array is on the stack of a fiber */

static _Atomic(struct weft__arena *) arenas; /* all arenas, newest first */
static _Atomic bool guards_wanted = true;
static _Atomic bool has_markers = true;  /* until the kernel refuses: it has guard markers */
static _Atomic bool may_protect = true;  /* until the kernel refuses: mprotect is allowed */
static _Atomic unsigned long used, most; /* mappings: used for guards, and allowed for the process; 0: not asked yet */
_Atomic bool weft__stack_has_bare;

void weft__stack_set_guards(bool wanted) { store_rlx(&guards_wanted, wanted); }

/* --- guards -------------------------------------------------------------------------------------- */

static struct weft__range gap_of(const struct weft__arena *a, char *base, unsigned i) {
    return (struct weft__range){base + i * a->stride, WEFT_STACK_GUARD};
}

static int guard_by_markers(struct weft__arena *a, char *base) {
    struct weft__range r[WEFT_RANGES];
    int err = 0;
    for (unsigned i = 0, n; i < a->count && !err; i += n) {
        for (n = 0; n < WEFT_RANGES && i + n < a->count; n++) r[n] = gap_of(a, base, i + n);
        err = weft__pages_guard(r, n);
    }
    return err;
}

/*
 * How many gaps apart guards are affordable; 0: no guard is. Each guard costs two mappings. Half of the mappings
 * that the kernel allows serve to guard every gap. Some more guard one gap in 16, and then one gap in each
 * arena. The rest stays for the program: without a mapping it can neither load a library nor create a thread.
 */
static unsigned affordable_spacing(void) {
    if (!load_rlx(&most)) store_rlx(&most, weft__mappings_limit());
    unsigned long now = load_rlx(&used), limit = load_rlx(&most);
    return now < limit / 2 ? 1 : now < limit / 4 * 3 ? 16 : now < limit / 8 * 7 ? 256 : 0;
}

static int guard_by_protection(struct weft__arena *a, char *base) {
    int err = 0;
    a->spacing = affordable_spacing();
    for (unsigned i = 0; a->spacing && i < a->count; i += a->spacing, a->guards++) {
        struct weft__range gap = gap_of(a, base, i);
        if ((err = weft__pages_protect(&gap))) break;
    }
    a->mappings = 2 * a->guards;
    add_rlx(&used, a->mappings);
    return err;
}

static void say_bare(int err) {
    if (xchg_ar(&weft__stack_has_bare, true)) return;
    weft__say(
        "not every stack has a guard of its own from now on: %s. An overflow of one that has none is noticed "
        "later, mostly when its fiber ends",
        err ? weft__error_text(err)
            : "each takes two mappings here, and half of vm.max_map_count are used for that (Linux 6.13 needs none)");
}

/* Stacks without guards are checked in another way, so a failure here is no error. */
static void guard_stack(struct weft__arena *a, char *base) {
    a->spacing = a->guards = a->mappings = 0;
    a->bare = false;
    if (!load_rlx(&guards_wanted)) return;
    int err = load_rlx(&has_markers) ? guard_by_markers(a, base) : -EINVAL;
    if (!err) {
        a->spacing = 1;
        a->guards = a->count;
        return;
    }
    if (err != -ENOMEM) store_rlx(&has_markers, false);
    if (load_rlx(&may_protect)) err = guard_by_protection(a, base);
    if (err && err != -ENOMEM) store_rlx(&may_protect, false);
    a->bare = a->guards < a->count;
    if (a->bare) say_bare(err);
}

/* --- making --------------------------------------------------------------------------------------- */

static void init_stack(struct weft__arena *a, char *base, unsigned i) {
    struct weft__stack *s = &a->stack[i];
    s->low = base + i * a->stride + WEFT_STACK_GUARD;
    s->class = a->class;
    s->cache = a->bare ? WEFT_STACK_BARE : a->class;
    s->node = a->node;
    s->state = WEFT_STACK_COLD;
    san_stack_register(&s->san, s->low, weft__stack_top(s));
}

void weft__arena_chain(struct weft__arena *a) {
    a->idle = NULL;
    a->idle_count = 0;
    for (unsigned turn = a->count; turn-- > 0;) {
        struct weft__stack *s = &a->stack[weft__random_permute(turn, (unsigned)__builtin_ctz(a->count))];
        if (s->state == WEFT_STACK_OUT) continue;
        s->link.next = a->idle;
        a->idle = &s->link;
        a->idle_count++;
    }
}

int weft__arena_map(struct weft__arena *a) {
    void *memory;
    int err = weft__pages_map(&memory, a->count * a->stride);
    if (err) return err;
    guard_stack(a, memory);
    for (unsigned i = 0; i < a->count; i++) init_stack(a, memory, i);
    weft__arena_chain(a);
    store_rel(&a->base, memory); /* pairs with stack_at and weft__arenas_sweep: the stacks are initialized */
    return 0;
}

void weft__arena_unmap(struct weft__arena *a) {
    char *base = load_rlx(&a->base);
    atomic_fetch_sub_explicit(&used, a->mappings, memory_order_relaxed);
    store_rlx(&a->base, NULL);
    weft__pages_unmap(base, a->count * a->stride);
}

struct weft__arena *weft__arena_make(unsigned class, uint8_t node, unsigned count, int *err) {
    struct weft__arena *a = weft__alloc(sizeof *a + count * sizeof a->stack[0]);
    *err = -ENOMEM;
    if (!a) return NULL;
    a->stride = weft__stack_size(class) + WEFT_STACK_GUARD;
    a->count = count;
    a->class = (uint8_t) class;
    a->node = node;
    for (unsigned i = 0; i < count; i++) a->stack[i].index = (uint16_t)i;
    fence_sc(); /* pairs with weft__stacks_is_overrun, which may see a stack before its arena is published */
    if ((*err = weft__arena_map(a))) {
        weft__free(a);
        return NULL;
    }
    a->next = load_rlx(&arenas);
    while (!cas_weak_rel(&arenas, &a->next, a)) { /* pairs with stack_at and weft__arenas_sweep */
    }
    return a;
}

/* Adjacent stacks in one range, with the gap between them: no page of a gap has memory, and a guard stays a guard. */
void weft__arena_discard(struct weft__arena *a) {
    struct weft__range r[WEFT_RANGES];
    unsigned n = 0;
    char *end = NULL; /* end of the last range, if an adjacent stack may follow */
    for (unsigned i = 0; i < a->count; i++) {
        struct weft__stack *s = &a->stack[i];
        if (s->state != WEFT_STACK_WARM) {
            end = NULL;
            continue;
        }
        s->state = WEFT_STACK_COLD;
        if (!end && n == WEFT_RANGES) {
            weft__pages_discard(r, n);
            n = 0;
        }
        if (!end) r[n++].start = s->low;
        end = weft__stack_top(s);
        r[n - 1].bytes = (size_t)(end - (char *)r[n - 1].start);
    }
    if (n) weft__pages_discard(r, n);
}

void weft__arenas_forget(unsigned class, uint8_t node, bool bare) {
    for (struct weft__arena *a = load_rlx(&arenas); a; a = a->next)
        if (a->class == class && a->node == node && a->bare == bare) {
            a->has_idle.at = a->has_warm.at = NULL;
            a->idle = NULL;
            a->idle_count = 0;
        }
}

/* --- overflows -------------------------------------------------------------------------------------- */

/* The stack with this address in its gap or usable part. No code uses addresses of an arena that is being unmapped. */
static const struct weft__stack *stack_at(const char *at) {
    for (struct weft__arena *a = load_acq(&arenas); a; a = a->next) { /* pairs with weft__arena_make */
        char *base = load_acq(&a->base);                              /* pairs with weft__arena_map */
        if (base && at >= base && at < base + a->count * a->stride) return &a->stack[(size_t)(at - base) / a->stride];
    }
    return NULL;
}

const struct weft__stack *weft__stack_of_gap(const void *address) {
    const struct weft__stack *s = stack_at(address);
    return s && (const char *)address < s->low ? s : NULL;
}

bool weft__stack_is_below(const struct weft__stack *s, const void *address) {
    const struct weft__arena *a = weft__arena_of(s);
    return (const char *)address >= load_rlx(&a->base) && (const char *)address < s->low;
}

const struct weft__stack *weft__stack_above(const struct weft__stack *s) { return stack_at(weft__stack_top(s)); }

/* A call leaves a return address behind. Pages that were only read, for example by a debugger that dumps all memory,
 * are zero. The owner of the stack may be writing right now. */
static WEFT_MAY_RACE bool is_zero(const char *page) {
    const volatile uint64_t *word = (const volatile uint64_t *)(const volatile void *)page;
    for (unsigned i = 0; i < WEFT_PAGE / sizeof *word; i++)
        if (word[i]) return false;
    return true;
}

static bool has_guard(const struct weft__arena *a, unsigned i) {
    return a->spacing && i % a->spacing == 0 && i / a->spacing < a->guards;
}

bool weft__stack_is_overrun(const struct weft__stack *s) {
    enum { PAGES = WEFT_STACK_GUARD / WEFT_PAGE };
    unsigned char resident[PAGES];
    struct weft__range gap = {s->low - WEFT_STACK_GUARD, WEFT_STACK_GUARD};
    if (likely(s->cache != WEFT_STACK_BARE) || has_guard(weft__arena_of(s), s->index)) return false;
    if (weft__pages_resident(&gap, resident))
        return !is_zero(s->low - WEFT_PAGE); /* reading all pages would take too long */
    for (unsigned i = 0; i < PAGES; i++)
        if ((resident[i] & 1) && !is_zero((char *)gap.start + i * WEFT_PAGE)) return true;
    return false;
}

const struct weft__stack *weft__arenas_sweep(void) {
    enum { LOOKS = 256 }; /* 0.1 ms */
    static struct weft__arena *at;
    static unsigned next; /* the next stack to check in this arena */
    for (unsigned looks = 0; looks < LOOKS; looks++) {
        if (at && load_acq(&at->base) && at->bare && next < at->count) { /* pairs with weft__arena_map */
            if (weft__stack_is_overrun(&at->stack[next++])) return &at->stack[next - 1];
            continue;
        }
        at = at ? at->next : NULL;
        if (!at) at = load_acq(&arenas); /* pairs with weft__arena_make */
        next = 0;
    }
    return NULL;
}
