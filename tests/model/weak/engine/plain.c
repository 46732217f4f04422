/* SPDX-License-Identifier: MIT */
/* Memory that is not atomic, as -fsanitize=thread reports it; and atomic operations without base/atomic.h. */
#include "engine.h"

/* Atomic words that the thread has written without an atomic operation, since its last step: it alone may have them. */
static uint64_t initialised;

void engine_note_initialised(struct thread *t) {
    for (; initialised; initialised &= initialised - 1) {
        struct step s = {.atom = (unsigned)__builtin_ctzll(initialised), .order = ORDER_RELAXED};
        struct atom *p = &engine.atom[s.atom];
        uint64_t value = engine_get(atom_of[s.atom]->at, atom_of[s.atom]->size);
        if (t->now.at[s.atom] + 1u != p->count && !mode.in_order)
            engine_fail("a data race: an atomic word is written as if it were not");
        engine_message_write(t, &s, p->count, value, NULL);
    }
}

void engine_forget_initialised(void) { initialised = 0; }

static void race(const volatile void *at, const char *how) {
    static char text[100];
    if (wrong) return;
    snprintf(text, sizeof text, "a data race: thread %u uses what another thread has %s, at %p", current, how,
             (void *)(uintptr_t)at);
    wrong = text;
}

static void plain(const volatile void *at, bool writes) {
    if (current == THREADS || anew) return;
    engine_check_gone(at);
    struct used *u = engine_used_find(at, ATOMIC);
    if (u->at) {
        if (u->is_shared && writes) initialised |= UINT64_C(1) << u->number;
        return;
    }
    u = engine_used_find(at, PLAIN);
    engine_used_note(u, at, PLAIN, writes);
    if (anew || !u->is_shared || mode.in_order) return;
    unsigned w = u->number;
    struct view *now = &engine.thread[current].now;
    if (!(now->word[w] & WRITTEN)) race(at, "written");
    if (writes) {
        uint8_t others = ALL_READS & (uint8_t)~READ_BY(current);
        if ((now->word[w] & others) != others) race(at, "read");
        engine_each_view(engine_view_written, w, 0);
        now->word[w] |= WRITTEN;
        engine.thread[current].pending.word[w] |= WRITTEN;
    } else {
        engine_each_view(engine_view_forget, w, READ_BY(current));
        now->word[w] |= (uint8_t)READ_BY(current);
        engine.thread[current].pending.word[w] |= (uint8_t)READ_BY(current);
    }
}

static void plain_range(const volatile void *at, size_t n, bool writes) {
    for (size_t i = 0; i < n; i += 8) plain((const volatile char *)at + i, writes);
}

void *weak_memcpy(void *to, const void *from, size_t n) {
    plain_range(from, n, false);
    plain_range(to, n, true);
    return memcpy(to, from, n);
}
void *weak_memset(void *to, int byte, size_t n) {
    plain_range(to, n, true);
    return memset(to, byte, n);
}

#define TSAN_PLAIN(n) \
    void __tsan_read##n(void *p) { plain_range(p, n, false); } \
    void __tsan_write##n(void *p) { plain_range(p, n, true); } \
    void __tsan_unaligned_read##n(void *p) { plain_range(p, n, false); } \
    void __tsan_unaligned_write##n(void *p) { plain_range(p, n, true); }
TSAN_PLAIN(1) TSAN_PLAIN(2) TSAN_PLAIN(4) TSAN_PLAIN(8) TSAN_PLAIN(16) void __tsan_read_range(void *p, size_t n) {
    plain_range(p, n, false);
}
void __tsan_write_range(void *p, size_t n) { plain_range(p, n, true); }
void __tsan_func_entry(void *p) { (void)p; }
void __tsan_func_exit(void) {}
void __tsan_init(void) {}

/* Atomics that the source writes without base/atomic.h: by their order. */
static unsigned order_of(int order) {
    static const uint8_t of[] = {ORDER_RELAXED, ORDER_ACQUIRE, ORDER_ACQUIRE,
                                 ORDER_RELEASE, ORDER_BOTH,    ORDER_FULL | ORDER_BOTH};
    return of[order];
}
static struct weak_result direct(enum step_kind kind, const volatile void *at, unsigned size, unsigned order,
                                 uint64_t value, uint64_t expected) {
    static struct weak_site of[9][8]; /* by size and order */
    struct weak_site *site = &of[size][order];
    *site = (struct weak_site){"", "", "an atomic operation of the language", size, order};
    return weak_step(kind, at, value, expected, site);
}
#define TSAN_ATOMIC(bits, type) \
    type __tsan_atomic##bits##_load(const volatile type *p, int o) { \
        return (type)direct(STEP_LOAD, p, sizeof *p, order_of(o) & ~(unsigned)ORDER_RELEASE, 0, 0).read; \
    } \
    void __tsan_atomic##bits##_store(volatile type *p, type v, int o) { \
        direct(STEP_STORE, p, sizeof *p, order_of(o) & ~(unsigned)ORDER_ACQUIRE, v, 0); \
    } \
    type __tsan_atomic##bits##_exchange(volatile type *p, type v, int o) { \
        return (type)direct(STEP_XCHG, p, sizeof *p, order_of(o), v, 0).read; \
    } \
    type __tsan_atomic##bits##_fetch_add(volatile type *p, type v, int o) { \
        return (type)direct(STEP_ADD, p, sizeof *p, order_of(o), v, 0).read; \
    } \
    type __tsan_atomic##bits##_fetch_sub(volatile type *p, type v, int o) { \
        return (type)direct(STEP_ADD, p, sizeof *p, order_of(o), (type)-v, 0).read; \
    } \
    type __tsan_atomic##bits##_fetch_or(volatile type *p, type v, int o) { \
        return (type)direct(STEP_OR, p, sizeof *p, order_of(o), v, 0).read; \
    } \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *e, type v, int o, int fo) { \
        struct weak_result r = direct(STEP_SWAP, p, sizeof *p, order_of(o), v, *e); \
        (void)fo; \
        if (!r.done) *e = (type)r.read; \
        return r.done; \
    } \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *e, type v, int o, int fo) { \
        return __tsan_atomic##bits##_compare_exchange_strong(p, e, v, o, fo); \
    }
TSAN_ATOMIC(8, uint8_t)
TSAN_ATOMIC(16, uint16_t) TSAN_ATOMIC(32, uint32_t) TSAN_ATOMIC(64, uint64_t) void __tsan_atomic_thread_fence(int o) {
    direct(STEP_FENCE, NULL, 0, order_of(o) & ORDER_FULL, 0, 0);
}
void __tsan_atomic_signal_fence(int o) { (void)o; }
