/* SPDX-License-Identifier: MIT */
/*
 * Prefix sums. The caller first scans alone for WEFT_SCAN_ALONE, a few elements at a time: a scan that is over by then
 * has woken no other worker. The rest of the range is cut into blocks, and each participating worker asks for the next
 * step:
 *
 *   1. the first untouched block, if the value before it is known: scan it in one pass;
 *   2. else a block that was folded, if the value before it is known by now: scan it;
 *   3. else the first untouched block: fold it, so that the front can pass it without waiting.
 *
 * The value before a block is known when all blocks before it were folded or scanned. So a single worker scans every
 * block by rule 1, as in a plain loop. With two workers, one scans the front while the other folds the next block and
 * then scans it: three blocks in the time of two, which is optimal. A block is small enough to stay in the cache
 * between folding and scanning. A lock protects the choice of the next step, once for each block.
 *
 *      touched: no worker has started the blocks from here on      known: values are known up to here
 */
#include "par/loop.h"
#include "sched/tasks/tasks.h"

#include <string.h>

#define WEFT_SCAN_BLOCKS 32         /* for each worker, at least, if there are enough elements */
#define WEFT_SCAN_LEAST 256         /* elements of a block, unless the options ask for more */
#define WEFT_SCAN_MOST (128 * 1024) /* bytes of a block; elements count as 8 bytes if the options do not say */
#define WEFT_SCAN_FIRST 8           /* elements that the caller starts with */
#define WEFT_SCAN_ALONE (40 * WEFT_MICROSECOND)

enum { UNTOUCHED, FOLDING, FOLDED, SCANNING, SCANNED };

struct scan {
    const struct weft_prefix *how;
    void *arg;
    size_t begin, end, each;    /* elements, and elements of a block */
    size_t blocks, size, apart; /* bytes of a value, and bytes between two values */
    size_t touched, known;
    size_t pending; /* the first block that may be folded and not scanned */
    uint8_t *state;
    char *values; /* for each block: its sum; below `known`: the value before it */
    void *value;  /* the value before block `known` */
    bool advancing;
    struct weft__lock lock;
    _Atomic int result;
};

static void *scan_value_of(struct scan *s, size_t block) { return s->values + block * s->apart; }

/* The next block, or `blocks` for none. *scanning: scan it, else fold it. Locked. */
static size_t scan_pick_block(struct scan *s, bool *scanning) {
    *scanning = true;
    if (s->touched == s->known && s->known < s->blocks) return s->touched++;
    for (; s->pending < s->known && s->state[s->pending] >= SCANNING; s->pending++) {
    }
    for (size_t i = s->pending; i < s->known; i++)
        if (s->state[i] == FOLDED) return i;
    *scanning = false;
    return s->touched < s->blocks ? s->touched++ : s->blocks;
}

/* The same, but none if the scan is over or cancelled. */
static size_t scan_choose(struct scan *s, bool *scanning) {
    size_t block = scan_pick_block(s, scanning);
    return block < s->blocks && weft__par_is_over(&s->result) ? s->blocks : block;
}

/*
 * Passes folded blocks at `known`: computes the value after each, and stores the value before it for its scan. The
 * user's function is called without the lock. One worker does this at a time; workers that fold meanwhile leave it to
 * that worker. s->value belongs to it: no other worker starts at `known` while the block there is folded.
 */
static void scan_advance(struct scan *s, void *swap) {
    if (s->advancing) return;
    s->advancing = true;
    while (s->known < s->blocks && s->state[s->known] == FOLDED) {
        size_t block = s->known;
        weft__unlock(&s->lock);
        memcpy(swap, s->value, s->size);
        s->how->reduction.combine(s->value, scan_value_of(s, block), s->arg);
        memcpy(scan_value_of(s, block), swap, s->size);
        weft__lock(&s->lock);
        s->known++;
    }
    s->advancing = false;
}

/* The block at `known` was scanned; value is the value after it. Locked. */
static void scanned_in_front(struct scan *s, size_t block, const void *value, void *swap) {
    memcpy(s->value, value, s->size);
    s->state[block] = SCANNED;
    s->known++;
    scan_advance(s, swap);
}

/* mine: two values for this worker. */
static bool scan_next_block(struct scan *s, char *mine) {
    bool scanning;
    void *value = mine, *swap = mine + s->apart;
    weft__lock(&s->lock);
    size_t block = scan_choose(s, &scanning);
    bool in_front = scanning && block == s->known;
    if (block < s->blocks) {
        s->state[block] = scanning ? SCANNING : FOLDING;
        memcpy(value, !scanning ? s->how->reduction.identity : in_front ? s->value : scan_value_of(s, block), s->size);
    }
    weft__unlock(&s->lock);
    if (block == s->blocks) return false;

    size_t begin = s->begin + block * s->each, end = block + 1 < s->blocks ? begin + s->each : s->end;
    WEFT_BARRIER(barrier, "weft_scan");
    int result = (scanning ? s->how->scan : s->how->reduction.fold)(begin, end, value, s->arg);
    barrier = NULL;
    weft__par_set_result(&s->result, result);

    weft__lock(&s->lock);
    if (in_front)
        scanned_in_front(s, block, value, swap);
    else if (scanning)
        s->state[block] = SCANNED;
    else {
        s->state[block] = FOLDED;
        memcpy(scan_value_of(s, block), value, s->size);
        scan_advance(s, swap);
    }
    weft__unlock(&s->lock);
    weft__par_yield();
    return true;
}

/* A participant. Any participant may use any of the values. */
struct part {
    struct weft_task task;
    struct scan *scan;
    char *mine;
};

static void take_part(void *p) {
    struct part *part = p;
    while (scan_next_block(part->scan, part->mine)) {
    }
}

static void scan_run_parts(struct part *part, size_t n) {
    if (n > 1) weft_task_fork(&part[1].task, take_part, &part[1]);
    for (size_t i = 2; i < n; i++) weft_task_fork(&part[i].task, take_part, &part[i]);
    take_part(&part[0]);
    for (size_t i = n; --i > 0;) weft_task_join(&part[i].task);
}

/* Blocks of equal size that start at cache lines. Also for a single worker, which yields between them. */
static void scan_cut(struct scan *s, const struct weft__loop *options, unsigned workers) {
    size_t n = s->end - s->begin, unit = options->unit ? options->unit : 1;
    size_t least = options->grain > 1 ? options->grain : WEFT_SCAN_LEAST;
    size_t each = n / workers / WEFT_SCAN_BLOCKS + 1, most = WEFT_SCAN_MOST / (options->element ? options->element : 8);
    if (each > most) each = most;
    s->each = each > least ? each : least;
    if (s->each <= SIZE_MAX - unit) s->each = weft__round_up(s->each, unit);
    s->blocks = n / s->each + (n % s->each != 0);
}

static int scan_piece(struct scan *s, size_t begin, size_t end) {
    WEFT_BARRIER(barrier, "weft_scan");
    int result = s->how->scan(begin, end, s->value, s->arg);
    barrier = NULL;
    weft__par_yield();
    return result;
}

/* The caller scans from the front until a time: n elements first, twice as many each time, at most `most`. */
static int scan_until(struct scan *s, uint64_t until, size_t n, size_t most) {
    while (s->begin < s->end && weft__clock() < until) {
        if (weft__par_is_over(&s->result)) return load_rlx(&s->result);
        size_t piece = n < s->end - s->begin ? n : s->end - s->begin;
        int result = scan_piece(s, s->begin, s->begin + piece);
        if (result) return result;
        s->begin += piece;
        if (n <= most / 2) n *= 2;
    }
    return 0;
}

struct call {
    struct scan scan;
    struct weft__loop options;
};

/* Allocates parts, values and states. False: no memory. */
static bool scan_allocate(struct scan *s, struct part **part, size_t parts) {
    s->apart = weft__par_stride(s->size);
    if (s->apart < s->size || s->apart > SIZE_MAX / 2 / (s->blocks + 2 * parts)) return false;
    *part = weft__alloc(parts * sizeof **part);
    s->values = weft__alloc((s->blocks + 2 * parts) * s->apart);
    s->state = weft__alloc(s->blocks);
    return *part && s->values && s->state;
}

/* All workers scan the rest; without memory, the caller alone. */
static int scan_rest(struct scan *s, unsigned workers) {
    struct part *part = NULL;
    size_t parts = workers < s->blocks ? workers : s->blocks;
    int err;
    if (scan_allocate(s, &part, parts)) {
        for (size_t i = 0; i < parts; i++)
            part[i] = (struct part){.scan = s, .mine = scan_value_of(s, s->blocks + 2 * i)};
        scan_run_parts(part, parts);
        err = load_rlx(&s->result); /* the joins have ordered it */
    } else
        err = scan_until(s, UINT64_MAX, s->each, s->each);
    weft__free(s->state);
    weft__free(s->values);
    weft__free(part);
    return err;
}

static int scan_run(void *p) {
    struct call *c = p;
    struct scan *s = &c->scan;
    const struct weft__loop *options = &c->options;
    unsigned workers = weft__par_count_workers();
    size_t unit = options->unit ? options->unit : 1, first = options->grain > 1 ? options->grain : WEFT_SCAN_FIRST;
    if (first <= SIZE_MAX - unit) first = weft__round_up(first, unit);
    int err = workers > 1 ? scan_until(s, weft__clock() + WEFT_SCAN_ALONE, first, SIZE_MAX) : 0;
    if (err || s->begin == s->end) return err;
    scan_cut(s, options, workers);
    return scan_rest(s, workers);
}

WEFT_PUBLIC int weft_scan(size_t begin, size_t end, void *value, const struct weft_prefix *how, void *arg,
                          const struct weft_for_options *options) {
    if (!value || !how || !how->scan || end < begin) return -EINVAL;
    const struct weft_reduction *r = &how->reduction;
    if (!r->size || !r->identity || !r->fold || !r->combine) return -EINVAL;
    struct call c = {.scan = {.how = how, .arg = arg, .begin = begin, .end = end, .size = r->size, .value = value}};
    int err = weft__loop_set_options(&c.options, options);
    return err ? err : weft__par_enter(scan_run, &c, "weft_scan");
}

/* --- arrays ------------------------------------------------------------------------------------- */

#define WEFT_SCAN_ELEMENT 4096

struct array {
    char *out;
    const char *in;
    size_t size;
    void (*combine)(void *left, const void *right, void *arg);
    void *arg;
};

static void scan_combine(void *left, const void *right, void *p) {
    struct array *a = p;
    a->combine(left, right, a->arg);
}
static int scan_fold(size_t begin, size_t end, void *value, void *p) {
    struct array a = *(struct array *)p; /* a copy that the user's function cannot change */
    for (size_t i = begin; i < end; i++) a.combine(value, a.in + i * a.size, a.arg);
    return 0;
}

/* Elements of common sizes are copied by an instruction, because the compiler knows the size. */
#define FOR_SIZE(scan, begin, end, value, array) \
    ((array)->size == 4    ? scan(begin, end, value, array, 4) \
     : (array)->size == 8  ? scan(begin, end, value, array, 8) \
     : (array)->size == 16 ? scan(begin, end, value, array, 16) \
                           : scan(begin, end, value, array, (array)->size))

static inline __attribute__((always_inline)) int sized_inclusive(size_t begin, size_t end, void *value,
                                                                 const struct array *array, size_t size) {
    struct array a = *array;
    for (size_t i = begin; i < end; i++) {
        a.combine(value, a.in + i * size, a.arg);
        memcpy(a.out + i * size, value, size);
    }
    return 0;
}
static int scan_inclusive(size_t begin, size_t end, void *value, void *p) {
    struct array *array = p;
    return FOR_SIZE(sized_inclusive, begin, end, value, array);
}
static inline __attribute__((always_inline)) int sized_exclusive(size_t begin, size_t end, void *value,
                                                                 const struct array *array, size_t size) {
    struct array a = *array;
    max_align_t element[a.size / sizeof(max_align_t) + 1]; /* the result may overwrite it */
    for (size_t i = begin; i < end; i++) {
        memcpy(element, a.in + i * size, size);
        memcpy(a.out + i * size, value, size);
        a.combine(value, element, a.arg);
    }
    return 0;
}
static int scan_exclusive(size_t begin, size_t end, void *value, void *p) {
    struct array *array = p;
    return FOR_SIZE(sized_exclusive, begin, end, value, array);
}

static int scan_array(void *out, const void *in, size_t n, const struct weft_prefix *how, struct array *array) {
    size_t size = how->reduction.size;
    if (!size || size > WEFT_SCAN_ELEMENT || !how->reduction.identity || !array->combine) return -EINVAL;
    if (!n) return 0;
    if (!out || !in || n > SIZE_MAX / size) return -EINVAL;
    max_align_t value[size / sizeof(max_align_t) + 1];
    memcpy(value, how->reduction.identity, size);
    return weft_scan(0, n, value, how, array, &(struct weft_for_options){.element = size});
}

WEFT_PUBLIC int weft_scan_inclusive(void *out, const void *in, size_t n, size_t size, const void *identity,
                                    void (*op)(void *left, const void *right, void *arg), void *arg) {
    struct array array = {out, in, size, op, arg};
    struct weft_prefix how = {{size, identity, scan_fold, scan_combine}, scan_inclusive};
    return scan_array(out, in, n, &how, &array);
}

WEFT_PUBLIC int weft_scan_exclusive(void *out, const void *in, size_t n, size_t size, const void *identity,
                                    void (*op)(void *left, const void *right, void *arg), void *arg) {
    struct array array = {out, in, size, op, arg};
    struct weft_prefix how = {{size, identity, scan_fold, scan_combine}, scan_exclusive};
    return scan_array(out, in, n, &how, &array);
}
