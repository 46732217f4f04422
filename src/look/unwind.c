/* SPDX-License-Identifier: MIT */
/*
 * Unwinds by the tables that compilers write for exceptions (.eh_frame), read from the memory of the target process.
 * Little of them is needed: how to find the caller of an address in the code, with the stack pointer and the frame
 * pointer. That is a rule of a few words. Rules are remembered by address, because a million fibers wait at a few
 * hundred addresses.
 *
 * Garbage cannot cause endless work: tables and entries have a largest size, and the stack pointer only grows.
 */
#include "base/sys.h"
#include "look/trace.h"

#include <stdlib.h>

#define WEFT_ENTRY_MOST 65536 /* bytes of an entry of the table */
#define WEFT_RULES_FIRST 1024
#define WEFT_ENTRY_LEAST 16 /* bytes of the smallest entry of a function */
#define WEFT_INDEXED_MOST (UINT64_C(1) << 26)

#if defined(__x86_64__)
enum { LINK = 2, FP = 6, SP = 7, RA = 16 }; /* LINK: rcx, which __x86_return_thunk returns by */
#else
enum { LINK = 30, FP = 29, SP = 31, RA = 30 };
#endif

/* How to find the caller. */
enum { STOPS, BY_SP, BY_FP, BY_FP_DEREF };
struct rule {
    uint64_t pc; /* 0: free */
    int32_t cfa, ra, fp;
    uint8_t base; /* STOPS ... */
    bool fp_saved;
    bool by_link; /* the return address is in a register, not on the stack */
};

struct indexed_function {
    uint64_t begin, entry; /* of the function; in .eh_frame */
};

struct weft__unwinder {
    struct weft__memory *memory;
    const struct weft__modules *modules;
    struct rule *rules; /* a hash table, a power of two */
    size_t size, used;
    struct indexed_function *function; /* those of a module without a sorted table, by address */
    size_t functions;
    const struct weft__module *indexed; /* that module; NULL: none yet */
    char *entry; /* two buffers of WEFT_ENTRY_MOST bytes: an entry, and the part that it shares with others */
};

/* --- reading an entry ------------------------------------------------------------------------------- */

struct cursor {
    const uint8_t *at, *end;
    uint64_t address; /* of `at`, in the process */
};

static uint64_t unwind_take(struct cursor *c, unsigned bytes) {
    uint64_t v = 0;
    if ((size_t)(c->end - c->at) < bytes) {
        c->at = c->end;
        return 0;
    }
    memcpy(&v, c->at, bytes);
    c->at += bytes;
    c->address += bytes;
    return v;
}

static uint64_t take_uleb(struct cursor *c) {
    uint64_t v = 0;
    for (unsigned shift = 0; c->at < c->end; shift += 7) {
        uint8_t byte = (uint8_t)unwind_take(c, 1);
        if (shift < 64) v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) break;
    }
    return v;
}

static int64_t take_sleb(struct cursor *c) {
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t byte = 0;
    while (c->at < c->end) {
        byte = (uint8_t)unwind_take(c, 1);
        if (shift < 64) v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80)) break;
    }
    if (shift < 64 && (byte & 0x40)) v |= ~UINT64_C(0) << shift;
    return (int64_t)v;
}

/* Takes an address in one of the usual encodings: absolute, or relative to its own address. */
static uint64_t take_encoded(struct cursor *c, uint8_t encoding) {
    uint64_t at = c->address, v;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c: v = unwind_take(c, 8); break;
    case 0x02: v = unwind_take(c, 2); break;
    case 0x03: v = unwind_take(c, 4); break;
    case 0x0a: v = (uint64_t)(int16_t)unwind_take(c, 2); break;
    case 0x0b: v = (uint64_t)(int32_t)unwind_take(c, 4); break;
    case 0x01: v = take_uleb(c); break;
    case 0x09: v = (uint64_t)take_sleb(c); break;
    default: v = 0;
    }
    return (encoding & 0x70) == 0x10 ? at + v : v;
}

static void skip_field(struct cursor *c, uint64_t bytes) {
    uint64_t left = (uint64_t)(c->end - c->at);
    if (bytes > left) bytes = left;
    c->at += bytes;
    c->address += bytes;
}

/* Reads an entry with its length in front. */
static bool open_entry(struct weft__unwinder *u, uint64_t at, char *to, struct cursor *c) {
    uint32_t length;
    if (!weft__peek(u->memory, at, &length, sizeof length) || !length || length > WEFT_ENTRY_MOST) return false;
    if (!weft__peek(u->memory, at + 4, to, length)) return false;
    *c = (struct cursor){(const uint8_t *)to, (const uint8_t *)to + length, at + 4};
    return true;
}

/* The part that several entries share. */
struct common {
    uint64_t code_step;
    int64_t data_step;
    uint8_t encoding;
    bool augmented;
    struct cursor program;
};

static bool read_common(struct weft__unwinder *u, uint64_t at, struct common *to) {
    struct cursor c;
    if (!open_entry(u, at, u->entry + WEFT_ENTRY_MOST, &c) || unwind_take(&c, 4)) return false;
    unsigned version = (unsigned)unwind_take(&c, 1);
    const char *letters = (const char *)c.at;
    size_t n = strnlen(letters, (size_t)(c.end - c.at));
    skip_field(&c, n + 1);
    *to = (struct common){.code_step = take_uleb(&c), .data_step = take_sleb(&c)};
    if (version == 1)
        unwind_take(&c, 1);
    else
        take_uleb(&c);
    if (letters[0] == 'z') {
        uint64_t size = take_uleb(&c);
        struct cursor after = c;
        skip_field(&after, size);
        to->augmented = true;
        for (size_t i = 1; i < n; i++) {
            if (letters[i] == 'R')
                to->encoding = (uint8_t)unwind_take(&c, 1);
            else if (letters[i] == 'P') {
                uint8_t e = (uint8_t)unwind_take(&c, 1);
                take_encoded(&c, e);
            } else if (letters[i] == 'L')
                unwind_take(&c, 1);
        }
        c = after;
    }
    to->program = c;
    return true;
}

/* --- the program of an entry ------------------------------------------------------------------------ */

struct row {
    uint64_t cfa_register;
    int64_t cfa_offset;
    bool cfa_deref; /* the word at that address is the address of the frame */
    bool ra_known, fp_known, ra_undefined, by_link;
    int64_t ra, fp; /* from the frame */
};

static void set_register(struct row *r, uint64_t reg, int64_t offset, bool saved) {
    if (reg == RA) {
        r->ra = offset;
        r->ra_known = saved;
        r->ra_undefined = r->by_link = false;
    }
    if (reg == FP) {
        r->fp = offset;
        r->fp_known = saved;
    }
}

/* DW_OP_bregN offset, DW_OP_deref: what gcc writes where it aligns the stack. */
static void frame_expression(struct row *r, struct cursor *c) {
    uint64_t size = take_uleb(c);
    struct cursor e = *c, after = *c;
    skip_field(&after, size);
    e.end = after.at;
    uint8_t op = (uint8_t)unwind_take(&e, 1);
    r->cfa_register = UINT64_MAX;
    if (op >= 0x70 && op <= 0x8f) {
        r->cfa_register = op - 0x70u;
        r->cfa_offset = take_sleb(&e);
        r->cfa_deref = e.at < e.end && unwind_take(&e, 1) == 0x06;
        if (e.at < e.end) r->cfa_register = UINT64_MAX;
    }
    *c = after;
}

/* Skips an expression for the address of a saved register. The register then counts as not saved. */
static void saved_by_expression(struct row *r, struct cursor *c) {
    uint64_t reg = take_uleb(c), size = take_uleb(c);
    skip_field(c, size);
    set_register(r, reg, 0, false);
}

static void run_instruction(struct row *r, const struct row *initial, struct row *kept, unsigned *depth,
                            struct cursor *c, const struct common *k, uint8_t op) {
    uint64_t reg;
    switch (op) {
    case 0x00: break; /* nop */
    case 0x05:
        reg = take_uleb(c);
        set_register(r, reg, (int64_t)take_uleb(c) * k->data_step, true);
        break;
    case 0x06:
        reg = take_uleb(c);
        if (reg == RA) r->ra = initial->ra, r->ra_known = initial->ra_known, r->by_link = false;
        if (reg == FP) r->fp_known = initial->fp_known, r->fp = initial->fp;
        break;
    case 0x07:
        reg = take_uleb(c);
        if (reg == RA) r->ra_undefined = true;
        if (reg == FP) r->fp_known = false;
        break;
    case 0x08: set_register(r, take_uleb(c), 0, false); break; /* same value */
    case 0x09:
        reg = take_uleb(c);
        set_register(r, reg, 0, false);
        if (take_uleb(c) == LINK && reg == RA) r->by_link = true;
        break; /* in a register */
    case 0x0a:
        if (*depth < 8) kept[(*depth)++] = *r;
        break; /* remember */
    case 0x0b:
        if (*depth) *r = kept[--*depth];
        break; /* restore */
    case 0x0c:
        r->cfa_register = take_uleb(c);
        r->cfa_offset = (int64_t)take_uleb(c);
        r->cfa_deref = false;
        break;
    case 0x0d:
        r->cfa_register = take_uleb(c);
        r->cfa_deref = false;
        break;
    case 0x0e: r->cfa_offset = (int64_t)take_uleb(c); break;
    case 0x0f: frame_expression(r, c); break;
    case 0x10:
    case 0x16: saved_by_expression(r, c); break;
    case 0x11:
        reg = take_uleb(c);
        set_register(r, reg, take_sleb(c) * k->data_step, true);
        break;
    case 0x12:
        r->cfa_register = take_uleb(c);
        r->cfa_offset = take_sleb(c) * k->data_step;
        r->cfa_deref = false;
        break;
    case 0x13: r->cfa_offset = take_sleb(c) * k->data_step; break;
    case 0x2d: break; /* aarch64: the return address is signed from here on */
    case 0x2e: take_uleb(c); break;
    default: c->at = c->end;
    }
}

/* Runs the instructions for addresses up to pc. */
static void unwind_run(struct row *r, const struct row *initial, struct cursor c, const struct common *k, uint64_t at,
                       uint64_t pc) {
    struct row kept[8];
    unsigned depth = 0;
    while (c.at < c.end && at <= pc) {
        uint8_t op = (uint8_t)unwind_take(&c, 1), low = op & 0x3f;
        switch (op >> 6) {
        case 1: at += low * k->code_step; continue;
        case 2: set_register(r, low, (int64_t)take_uleb(&c) * k->data_step, true); continue;
        case 3:
            if (low == RA) r->ra = initial->ra, r->ra_known = initial->ra_known, r->by_link = false;
            if (low == FP) r->fp = initial->fp, r->fp_known = initial->fp_known;
            continue;
        }
        switch (op) {
        case 0x01: at = take_encoded(&c, k->encoding); break;
        case 0x02: at += unwind_take(&c, 1) * k->code_step; break;
        case 0x03: at += unwind_take(&c, 2) * k->code_step; break;
        case 0x04: at += unwind_take(&c, 4) * k->code_step; break;
        default: run_instruction(r, initial, kept, &depth, &c, k, op);
        }
    }
}

/* --- finding the entry ------------------------------------------------------------------------------ */

/* The table that is sorted by address: pairs of (code, entry), both relative to the table's head, 4 bytes each. */
static uint64_t find_entry(struct weft__unwinder *u, const struct weft__module *module, uint64_t pc) {
    enum { COUNT_ENCODING = 0x03, PAIR_ENCODING = 0x3b };
    uint64_t head = module->unwind;
    uint8_t h[12];
    if (!head || !weft__peek(u->memory, head, h, sizeof h)) return 0;
    if (h[0] != 1 || h[2] != COUNT_ENCODING || h[3] != PAIR_ENCODING) return 0;
    uint32_t low = 0, high = weft__u32(h, 8), pair[2];
    if ((uint64_t)high * 8 > module->end - head) return 0;
    uint64_t table = head + sizeof h;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (!weft__peek(u->memory, table + middle * UINT64_C(8), pair, sizeof pair)) return 0;
        if (head + (uint64_t)(int32_t)pair[0] <= pc)
            low = middle;
        else
            high = middle;
    }
    if (!weft__peek(u->memory, table + low * UINT64_C(8), pair, sizeof pair)) return 0;
    return head + (uint64_t)(int32_t)pair[0] <= pc ? head + (uint64_t)(int32_t)pair[1] : 0;
}

/* Opens the entry of a function. Leaves the cursor behind the function's length. */
static bool open_function(struct weft__unwinder *u, uint64_t at, struct cursor *c, struct common *k, uint64_t *begin,
                          uint64_t *length) {
    if (!at || !open_entry(u, at, u->entry, c)) return false;
    uint64_t here = c->address, back = unwind_take(c, 4);
    if (!back || !read_common(u, here - back, k)) return false;
    *begin = take_encoded(c, k->encoding);
    *length = take_encoded(c, k->encoding & 0x0f);
    return true;
}

static int compare_functions(const void *a, const void *b) {
    uint64_t x = ((const struct indexed_function *)a)->begin, y = ((const struct indexed_function *)b)->begin;
    return x < y ? -1 : x > y;
}

/* Makes a sorted table for a module that has none. Static programs have none. */
static void index_functions(struct weft__unwinder *u, const struct weft__module *module) {
    uint64_t end = module->frames + module->frames_size, begin, code;
    struct cursor c;
    struct common k;
    u->indexed = module;
    if (module->frames_size > WEFT_INDEXED_MOST) return;
    u->function = weft__alloc((module->frames_size / WEFT_ENTRY_LEAST + 1) * sizeof *u->function);
    for (uint64_t at = module->frames; u->function && at + WEFT_ENTRY_LEAST <= end;) {
        uint32_t length;
        if (!weft__peek(u->memory, at, &length, sizeof length)) break;
        if (length && open_function(u, at, &c, &k, &begin, &code))
            u->function[u->functions++] = (struct indexed_function){begin, at};
        at += 4 + (uint64_t)length;
    }
    if (u->functions) qsort(u->function, u->functions, sizeof *u->function, compare_functions);
}

static uint64_t find_indexed(struct weft__unwinder *u, const struct weft__module *module, uint64_t pc) {
    if (!u->indexed && module->frames) index_functions(u, module);
    size_t low = 0, high = u->indexed == module ? u->functions : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (u->function[middle].begin <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? u->function[low - 1].entry : 0;
}

static struct rule rule_of_row(const struct row *r, uint64_t pc) {
    struct rule rule = {.pc = pc, .cfa = (int32_t)r->cfa_offset, .base = STOPS};
    bool by_link = r->by_link || (LINK == RA && !r->ra_known); /* the link register still has the return address */
    if (r->ra_undefined || (!r->ra_known && !by_link)) return rule;
    if (r->cfa_register == SP && !r->cfa_deref) rule.base = BY_SP;
    if (r->cfa_register == FP) rule.base = r->cfa_deref ? BY_FP_DEREF : BY_FP;
    rule.ra = (int32_t)r->ra;
    rule.fp = (int32_t)r->fp;
    rule.fp_saved = r->fp_known;
    rule.by_link = by_link;
    return rule;
}

static struct rule make_rule(struct weft__unwinder *u, uint64_t pc) {
    struct rule none = {.pc = pc, .base = STOPS};
    const struct weft__module *module = weft__module_at(u->modules, pc);
    uint64_t at = 0, begin, length;
    struct cursor c;
    struct common k;
    if (module) at = module->unwind ? find_entry(u, module, pc) : find_indexed(u, module, pc);
    if (!open_function(u, at, &c, &k, &begin, &length) || pc < begin || pc - begin >= length) return none;
    if (k.augmented) {
        uint64_t size = take_uleb(&c);
        skip_field(&c, size);
    }
    struct row initial = {.cfa_register = UINT64_MAX}, row;
    unwind_run(&initial, &initial, k.program, &k, 0, UINT64_MAX);
    row = initial;
    unwind_run(&row, &initial, c, &k, begin, pc);
    return rule_of_row(&row, pc);
}

/* --- the rules that are known ----------------------------------------------------------------------- */

static size_t unwind_slot_of(const struct weft__unwinder *u, uint64_t pc) {
    size_t i = (size_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (u->size - 1);
    while (u->rules[i].pc && u->rules[i].pc != pc) i = (i + 1) & (u->size - 1);
    return i;
}

static bool unwind_grow(struct weft__unwinder *u) {
    struct rule *old = u->rules;
    size_t size = u->size;
    struct rule *rules = weft__alloc(2 * size * sizeof *rules);
    if (!rules) return false;
    memset(rules, 0, 2 * size * sizeof *rules);
    u->rules = rules;
    u->size = 2 * size;
    for (size_t i = 0; i < size; i++)
        if (old[i].pc) u->rules[unwind_slot_of(u, old[i].pc)] = old[i];
    weft__free(old);
    return true;
}

static struct rule rule_at(struct weft__unwinder *u, uint64_t pc) {
    size_t i = unwind_slot_of(u, pc);
    if (u->rules[i].pc) return u->rules[i];
    struct rule rule = make_rule(u, pc);
    if (2 * u->used >= u->size && !unwind_grow(u)) return rule;
    u->rules[unwind_slot_of(u, pc)] = rule;
    u->used++;
    return rule;
}

struct weft__unwinder *weft__unwinder_make(struct weft__memory *m, const struct weft__modules *modules) {
    struct weft__unwinder *u = weft__alloc(sizeof *u);
    if (!u) return NULL;
    *u = (struct weft__unwinder){.memory = m, .modules = modules, .size = WEFT_RULES_FIRST};
    u->rules = weft__alloc(u->size * sizeof *u->rules);
    u->entry = weft__alloc(2 * WEFT_ENTRY_MOST);
    if (!u->rules || !u->entry) {
        weft__unwinder_free(u);
        return NULL;
    }
    memset(u->rules, 0, u->size * sizeof *u->rules);
    return u;
}

void weft__unwinder_free(struct weft__unwinder *u) {
    if (!u) return;
    weft__free(u->rules);
    weft__free(u->function);
    weft__free(u->entry);
    weft__free(u);
}

void weft__unwind_rule(struct weft__unwinder *u, uint64_t pc, struct weft__stack_rule *to) {
    struct rule rule = rule_at(u, pc);
    bool fits = rule.ra == (int16_t)rule.ra && rule.fp == (int16_t)rule.fp && !rule.by_link;
    to->base = !fits || rule.base == BY_FP_DEREF ? WEFT_RULE_STOPS
               : rule.base == BY_SP              ? WEFT_RULE_BY_SP
               : rule.base == BY_FP              ? WEFT_RULE_BY_FP
                                                 : WEFT_RULE_STOPS;
    to->cfa = rule.cfa;
    to->ra = (int16_t)rule.ra;
    to->fp = (int16_t)rule.fp;
    to->fp_saved = rule.fp_saved;
}

/* --- a walk ----------------------------------------------------------------------------------------- */

static bool stack_word(struct weft__unwinder *u, const struct weft__window *w, uint64_t at, uint64_t *to) {
    if (at >= w->begin && at + sizeof *to <= w->begin + w->size) {
        memcpy(to, w->bytes + (at - w->begin), sizeof *to);
        return true;
    }
    return weft__peek(u->memory, at, to, sizeof *to);
}

/* Steps one frame outward. The new frame must be within the stack, and above the last. It may be equal to the last only
 * if the function keeps its return address in a register, because such a function may have nothing on the stack. */
static bool step_frame(struct weft__unwinder *u, const struct weft__window *w, struct weft__registers *r, uint64_t pc,
                       uint64_t low, uint64_t top) {
    struct rule rule = rule_at(u, pc);
    uint64_t cfa = (rule.base == BY_SP ? r->sp : r->fp) + (uint64_t)(int64_t)rule.cfa, fp = r->fp;
    if (rule.base == STOPS) return false;
    if (rule.base == BY_FP_DEREF && !stack_word(u, w, cfa, &cfa)) return false;
    if (cfa < r->sp || (cfa == r->sp && !rule.by_link) || cfa < low || cfa > top) return false;
    if (rule.fp_saved && !stack_word(u, w, cfa + (uint64_t)(int64_t)rule.fp, &fp)) return false;
    if (rule.by_link)
        r->pc = r->link;
    else if (!stack_word(u, w, cfa + (uint64_t)(int64_t)rule.ra, &r->pc))
        return false;
#if defined(__aarch64__)
    r->pc &= (UINT64_C(1) << 48) - 1; /* without the signature that it may have */
#endif
    r->sp = cfa;
    r->fp = fp;
    r->link = 0;
    return r->pc != 0;
}

unsigned weft__unwind(struct weft__unwinder *u, struct weft__registers at, const struct weft__window *window,
                      uint64_t low, uint64_t top, uint64_t *frames) {
    unsigned n = 0;
    frames[n++] = at.pc;
    /* A return address may be the first of the next function: look at the call before it. */
    while (n < WEFT_LOOK_FRAMES && step_frame(u, window, &at, n == 1 ? at.pc : at.pc - 1, low, top))
        frames[n++] = at.pc;
    return n;
}
