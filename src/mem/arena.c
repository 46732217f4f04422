/* See arena.h. */
#include "mem/arena.h"

#include "base/random.h"
#include "base/say.h"

#include <errno.h>

#define WEFT_RANGES 32 /* at a time: they stand on the stack of a fiber */

static _Atomic(struct weft__arena *) arenas; /* all of them, newest first */
static _Atomic bool guards_wanted = true;
static _Atomic bool has_markers = true;  /* the kernel has guard markers, as far as we know */
static _Atomic bool may_protect = true;  /* and it lets us change protection */
static _Atomic unsigned long used, most; /* mappings: for guards, and those that a process may have; 0: not asked yet */
_Atomic bool weft__stack_some_bare;

void weft__stack_guards(bool wanted) { store_rlx(&guards_wanted, wanted); }

/* --- guards -------------------------------------------------------------------------------------- */

static struct weft__range gap_of(const struct weft__arena *a, char *base, unsigned i) {
    return (struct weft__range){base + i * a->stride, WEFT_STACK_GUARD};
}

static int guard_by_markers(struct weft__arena *a, char *base) {
    struct weft__range r[WEFT_RANGES];
    int err = 0;
    for (unsigned i = 0, n; i < a->count && !err; i += n) {
        for (n = 0; n < WEFT_RANGES && i + n < a->count; n++) r[n] = gap_of(a, base, i + n);
        err = weft__guard(r, n);
    }
    return err;
}

/*
 * Which gaps can be guards, at two mappings each. Half of the mappings that a process may have are for guards of every
 * gap; some more for one gap in 16, and then for one in an arena. The rest is the program's: without a mapping it can
 * neither load a library nor make a thread.
 */
static unsigned affordable_spacing(void) {
    if (!load_rlx(&most)) store_rlx(&most, weft__mappings_most());
    unsigned long now = load_rlx(&used), limit = load_rlx(&most);
    return now < limit / 2 ? 1 : now < limit / 4 * 3 ? 16 : now < limit / 8 * 7 ? 256 : 0;
}

static int guard_by_protection(struct weft__arena *a, char *base) {
    int err = 0;
    a->spacing = affordable_spacing();
    for (unsigned i = 0; a->spacing && i < a->count; i += a->spacing, a->guards++) {
        struct weft__range gap = gap_of(a, base, i);
        if ((err = weft__protect(&gap))) break;
    }
    a->mappings = 2 * a->guards;
    add_rlx(&used, a->mappings);
    return err;
}

static void say_bare(int err) {
    if (xchg_ar(&weft__stack_some_bare, true)) return;
    weft__say(
        "not every stack has a guard of its own from now on: %s. An overflow of one that has none is noticed "
        "later, mostly when its fiber ends",
        err ? weft__error(err)
            : "each takes two mappings here, and half of vm.max_map_count are used for that (Linux 6.13 needs none)");
}

/* What cannot be guarded is looked after in another way: it is no reason to have no stacks. */
static void guard(struct weft__arena *a, char *base) {
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
        struct weft__stack *s = &a->stack[weft__scatter(turn, (unsigned)__builtin_ctz(a->count))];
        if (s->state == WEFT_STACK_OUT) continue;
        s->link.next = a->idle;
        a->idle = &s->link;
        a->idle_count++;
    }
}

int weft__arena_map(struct weft__arena *a) {
    void *memory;
    int err = weft__map(&memory, a->count * a->stride);
    if (err) return err;
    guard(a, memory);
    for (unsigned i = 0; i < a->count; i++) init_stack(a, memory, i);
    weft__arena_chain(a);
    store_rel(&a->base, memory); /* pairs with those that go over all arenas: its stacks are there */
    return 0;
}

void weft__arena_unmap(struct weft__arena *a) {
    char *base = load_rlx(&a->base);
    atomic_fetch_sub_explicit(&used, a->mappings, memory_order_relaxed);
    store_rlx(&a->base, NULL);
    weft__unmap(base, a->count * a->stride);
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
    fence_sc(); /* pairs with weft__stacks_overrun, which may see a stack before it is told of it */
    if ((*err = weft__arena_map(a))) {
        weft__free(a);
        return NULL;
    }
    a->next = load_rlx(&arenas);
    while (!cas_weak_rel(&arenas, &a->next, a)) { /* pairs with those that go over all */
    }
    return a;
}

/* Neighbours in one piece, with the gap between them: no page of a gap has memory, and a guard stays one. */
void weft__arena_discard(struct weft__arena *a) {
    struct weft__range r[WEFT_RANGES];
    unsigned n = 0;
    char *end = NULL; /* of the last range, if a neighbour may follow */
    for (unsigned i = 0; i < a->count; i++) {
        struct weft__stack *s = &a->stack[i];
        if (s->state != WEFT_STACK_WARM) {
            end = NULL;
            continue;
        }
        s->state = WEFT_STACK_COLD;
        if (!end && n == WEFT_RANGES) {
            weft__discard(r, n);
            n = 0;
        }
        if (!end) r[n++].start = s->low;
        end = weft__stack_top(s);
        r[n - 1].bytes = (size_t)(end - (char *)r[n - 1].start);
    }
    if (n) weft__discard(r, n);
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

/* The stack whose gap or usable part the address lies in. One that is just being unmapped has no address that
 * anything still uses. */
static const struct weft__stack *stack_at(const char *at) {
    for (struct weft__arena *a = load_acq(&arenas); a; a = a->next) { /* pairs with the making */
        char *base = load_acq(&a->base);                              /* pairs with the mapping */
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

/* A call leaves a return address behind; what was only read, by a debugger that dumps all memory for instance, is
 * zero. The stack's owner may be writing just now. */
static WEFT_MAY_RACE bool is_zero(const char *page) {
    const volatile uint64_t *word = (const volatile uint64_t *)(const volatile void *)page;
    for (unsigned i = 0; i < WEFT_PAGE / sizeof *word; i++)
        if (word[i]) return false;
    return true;
}

static bool has_guard(const struct weft__arena *a, unsigned i) {
    return a->spacing && i % a->spacing == 0 && i / a->spacing < a->guards;
}

bool weft__stack_overrun(const struct weft__stack *s) {
    enum { PAGES = WEFT_STACK_GUARD / WEFT_PAGE };
    unsigned char resident[PAGES];
    struct weft__range gap = {s->low - WEFT_STACK_GUARD, WEFT_STACK_GUARD};
    if (likely(s->cache != WEFT_STACK_BARE) || has_guard(weft__arena_of(s), s->index)) return false;
    if (weft__resident(&gap, resident)) return !is_zero(s->low - WEFT_PAGE); /* to read them all would take long */
    for (unsigned i = 0; i < PAGES; i++)
        if ((resident[i] & 1) && !is_zero((char *)gap.start + i * WEFT_PAGE)) return true;
    return false;
}

const struct weft__stack *weft__arenas_sweep(void) {
    enum { LOOKS = 256 }; /* 0.1 ms */
    static struct weft__arena *at;
    static unsigned next; /* of its stacks */
    for (unsigned looks = 0; looks < LOOKS; looks++) {
        if (at && load_acq(&at->base) && at->bare && next < at->count) { /* pairs with the mapping */
            if (weft__stack_overrun(&at->stack[next++])) return &at->stack[next - 1];
            continue;
        }
        at = at ? at->next : NULL;
        if (!at) at = load_acq(&arenas); /* pairs with the making */
        next = 0;
    }
    return NULL;
}
