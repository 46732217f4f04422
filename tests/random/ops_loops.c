/* SPDX-License-Identifier: MIT */
/* Loops, reductions, prefix sums, sorts, weft_invoke, values for each worker. */
#include "random.h"

#include <stdlib.h>

#define WEFT_SORT_NAME sort_keys
#define WEFT_SORT_TYPE uint64_t
#define WEFT_SORT_LESS(a, b, arg) ((*(a) >> 32) < (*(b) >> 32))
#include "weft/sort.h"

enum { MOST = 4000 };
static size_t any_size(struct party *p) { return below(p, one_in(p, 3) ? MOST : 200); }

static struct weft_affinity affinity; /* for loops that use it one at a time */
static struct weft_mutex affinity_mutex;

/* --- loops ------------------------------------------------------------------------------------ */

static struct weft_for_options any_options(struct party *p) {
    static const size_t elements[] = {0, 1, 8, 24};
    struct weft_for_options o = {.partition = (unsigned)below(p, 4), .spread = (unsigned)below(p, 3)};
    o.grain = below(p, 3) ? 0 : 1 + below(p, 100);
    o.element = elements[below(p, 4)];
    o.budget = one_in(p, 4) ? 1 + below(p, 100000) : 0;
    return o;
}

struct loop {
    struct party *party;
    size_t begin, end, stop; /* at `stop` the loop is ended */
    _Atomic unsigned char *count;
};

static int loop_body(size_t begin, size_t end, void *arg) {
    struct loop *l = arg;
    struct party own = party_for(l->party, begin);
    SO(begin < end && begin >= l->begin && end <= l->end);
    for (size_t i = begin; i < end; i++) WANT(atomic_fetch_add(&l->count[i - l->begin], 1), 0);
    if (one_in(&own, 8)) pause_a_bit(&own);
    return begin <= l->stop && l->stop < end ? 6000 : 0;
}

static void run_for(struct party *p) {
    size_t n = any_size(p), from = below(p, 1000);
    struct weft_for_options options = any_options(p);
    struct loop l = {p, from, from + n, SIZE_MAX, calloc(n + 1, 1)};
    SO(l.count);
    if (n && one_in(p, 6)) l.stop = from + below(p, n);
    bool remembers = one_in(p, 4);
    if (remembers) {
        OK(insist(p, wait_for_mutex, &affinity_mutex));
        options.affinity = &affinity;
    }
    int result = weft_for(l.begin, l.end, loop_body, &l, one_in(p, 8) ? NULL : &options);
    bool all = l.stop == SIZE_MAX && done_or_told(p, result);
    if (l.stop < SIZE_MAX && result != 6000) SO(!done_or_told(p, result));
    if (remembers) OK(weft_mutex_unlock(&affinity_mutex));
    for (size_t i = 0; i < n && all; i++) WANT(l.count[i], 1);
    free(l.count);
}

/* --- reductions: the parts of the range are put together in their order ----------------------- */

struct part {
    uint64_t first, next; /* of the numbers [first, next); equal: none */
    uint64_t sum;
};

static int fold_part(size_t begin, size_t end, void *value, void *arg) {
    struct part *v = value;
    struct party own = party_for(arg, begin);
    if (v->first == v->next) v->first = v->next = begin;
    WANT(v->next, begin);
    for (size_t i = begin; i < end; i++) v->sum += i;
    v->next = end;
    if (one_in(&own, 16)) pause_a_bit(&own);
    return 0;
}

static void combine_parts(void *left, const void *right, void *arg) {
    struct part *l = left;
    const struct part *r = right;
    if (r->first == r->next) return;
    if (l->first == l->next) {
        *l = *r;
        return;
    }
    SO(l->next == r->first || (l->next < r->first && may_be_told(arg))); /* told, it leaves some out */
    l->next = r->next;
    l->sum += r->sum;
}

static void run_reduce(struct party *p) {
    static const struct part none;
    struct weft_reduction how = {sizeof(struct part), &none, fold_part, combine_parts};
    struct weft_for_options options = any_options(p);
    size_t from = below(p, 100), n = any_size(p);
    struct part all = none;
    if (!done_or_told(p, weft_reduce(from, from + n, &all, &how, p, &options))) return;
    WANT(all.next - all.first, n);
    WANT(all.sum, n ? (2 * from + n - 1) * n / 2 : 0);
}

/* --- prefix sums ------------------------------------------------------------------------------ */

static void add_numbers(void *left, const void *right, void *arg) {
    (void)arg;
    *(uint64_t *)left += *(const uint64_t *)right;
}

static void run_scan(struct party *p) {
    size_t n = any_size(p);
    bool inclusive = one_in(p, 2), in_place = one_in(p, 2);
    uint64_t zero = 0, sum = 0, *in = calloc(n + 1, sizeof *in), *room = calloc(n + 1, sizeof *in);
    uint64_t *out = in_place ? in : room;
    SO(in && room);
    for (size_t i = 0; i < n; i++) in[i] = i + 1;
    bool all = done_or_told(
        p, (inclusive ? weft_scan_inclusive : weft_scan_exclusive)(out, in, n, sizeof *in, &zero, add_numbers, NULL));
    for (size_t i = 0; i < n && all; i++) {
        WANT(out[i], inclusive ? sum + i + 1 : sum);
        sum += i + 1;
    }
    free(in);
    free(room);
}

/* --- sorts: stable, by the upper half of the number; the lower is the place where it was ------ */

static int compare_keys(const void *a, const void *b, void *arg) {
    uint64_t x = *(const uint64_t *)a >> 32, y = *(const uint64_t *)b >> 32;
    (void)arg;
    return x < y ? -1 : x > y;
}

struct wide {
    uint64_t key;
    char rest[21];
};

static int sort_wide(uint64_t *keys, size_t n) {
    struct wide *w = calloc(n + 1, sizeof *w);
    SO(w);
    for (size_t i = 0; i < n; i++) w[i].key = keys[i], w[i].rest[20] = (char)keys[i];
    int result = weft_sort(w, n, sizeof *w, compare_keys, NULL);
    for (size_t i = 0; i < n; i++) {
        WANT(w[i].rest[20], (char)w[i].key);
        keys[i] = w[i].key;
    }
    free(w);
    return result;
}

static void run_sort(struct party *p) {
    size_t n = one_in(p, 4) ? below(p, 10 * MOST) : any_size(p);
    uint64_t *keys = calloc(n + 1, sizeof *keys), range = 1 + below(p, 2 * n + 1), sum = 0;
    int result = 0;
    SO(keys);
    for (size_t i = 0; i < n; i++) sum += keys[i] = below(p, range) << 32 | i;
    switch (below(p, 3)) {
    case 0: result = weft_sort(keys, n, sizeof *keys, compare_keys, NULL); break;
    case 1: result = sort_keys(keys, n, NULL); break;
    case 2: result = sort_wide(keys, n); break;
    }
    bool all = done_or_told(p, result); /* and if not, all elements are there */
    for (size_t i = 0; i < n; i++) {
        SO(!i || !all || keys[i - 1] < keys[i]);
        sum -= keys[i];
    }
    WANT(sum, 0);
    free(keys);
}

/* --- calls side by side, values for each worker ----------------------------------------------- */

struct invoked {
    struct party *party;
    struct weft_combinable *sums;
    unsigned number;
    bool ran; /* plain: the end of weft_invoke orders it */
};
static void add_own_number(void *arg) {
    struct invoked *i = arg;
    struct party own = party_for(i->party, i->number);
    uint64_t *sum = weft_combinable_take(i->sums);
    SO(sum);
    uint64_t before = *sum;
    pause_a_bit(&own);
    *sum = before + i->number;
    OK(weft_combinable_put(i->sums, sum));
    SO(!i->ran);
    i->ran = true;
}

static void run_invoke(struct party *p) {
    enum { BRANCHES = 40 };
    struct weft_combinable sums = WEFT_COMBINABLE_INIT(sizeof(uint64_t), NULL);
    struct weft_branch branches[BRANCHES] = {{NULL, NULL}};
    struct invoked each[BRANCHES];
    unsigned n = (unsigned)below(p, BRANCHES + 1);
    for (unsigned i = 0; i < n; i++) {
        each[i] = (struct invoked){p, &sums, i, false};
        branches[i] = (struct weft_branch){add_own_number, &each[i]};
    }
    bool all = done_or_told(p, weft_invoke(branches, n));
    uint64_t sum = 0, wanted = 0;
    for (unsigned i = 0; i < n; i++) {
        SO(each[i].ran || !all);
        wanted += each[i].ran ? i : 0;
    }
    OK(weft_combinable_each(&sums, &sum, add_numbers, NULL));
    WANT(sum, wanted);
    OK(weft_combinable_clear(&sums));
}

static void begin(struct program *p) {
    (void)p;
    affinity = (struct weft_affinity)WEFT_AFFINITY_INIT;
    OK(weft_mutex_init(&affinity_mutex, 0));
}

static const struct kind kinds[] = {
    {"for", 30, BY_THREADS, 1, 1, 0, NULL, run_for, NULL},
    {"reduce", 15, BY_THREADS, 1, 1, 0, NULL, run_reduce, NULL},
    {"scan", 15, BY_THREADS, 1, 1, 0, NULL, run_scan, NULL},
    {"sort", 15, BY_THREADS, 1, 1, 0, NULL, run_sort, NULL},
    {"invoke", 15, BY_THREADS, 1, 1, 0, NULL, run_invoke, NULL},
    {0},
};
const struct family family_loops = {kinds, begin, NULL};
