/* SPDX-License-Identifier: MIT */
/* One value out of many elements: a sum, the longest run of heads, and where each word of a text begins. */
#include <stdio.h>
#include <weft.h>

/* --- a sum: pi --------------------------------------------------------------------------------- */

static int add_terms(size_t begin, size_t end, void *sum, void *unused) {
    (void)unused;
    for (size_t i = begin; i < end; i++) *(double *)sum += (i % 2 ? -4.0 : 4.0) / (double)(2 * i + 1);
    return 0;
}
static void add(void *left, const void *right, void *unused) {
    (void)unused;
    *(double *)left += *(const double *)right;
}

/* --- the longest run: an operation that is not commutative -------------------------------------------- */

struct run {
    size_t length, from_left, from_right, longest; /* of a piece of the range */
};
static int toss(uint64_t i) {
    i = (i ^ (i >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    i = (i ^ (i >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (int)(i >> 63);
}

static void join_runs(void *left, const void *right, void *unused) {
    struct run *l = left;
    const struct run *r = right;
    (void)unused;
    size_t across = l->from_right + r->from_left, longest = l->longest > r->longest ? l->longest : r->longest;
    *l = (struct run){l->length + r->length, l->from_left == l->length ? l->length + r->from_left : l->from_left,
                      r->from_right == r->length ? r->length + l->from_right : r->from_right,
                      across > longest ? across : longest};
}
static int find_runs(size_t begin, size_t end, void *run, void *unused) {
    for (size_t i = begin; i < end; i++) {
        size_t head = (size_t)toss(i);
        struct run one = {1, head, head, head};
        join_runs(run, &one, unused);
    }
    return 0;
}

/* --- prefix sums: where each word goes when words of these lengths are written one after the other ------ */

static void add_sizes(void *left, const void *right, void *unused) {
    (void)unused;
    *(size_t *)left += *(const size_t *)right;
}

static int run(void *unused) {
    (void)unused;
    double zero = 0, pi = 0;
    struct weft_reduction sum = {sizeof pi, &zero, add_terms, add};
    if (weft_reduce(0, 2000000, &pi, &sum, NULL, NULL)) return 1;
    printf("pi is about %.5f\n", pi);

    struct run none = {0}, heads = {0};
    struct weft_reduction runs = {sizeof heads, &none, find_runs, join_runs};
    if (weft_reduce(0, 1000000, &heads, &runs, NULL, NULL)) return 1;
    printf("in a million tosses, %zu heads in a row\n", heads.longest);

    size_t lengths[] = {4, 1, 7, 3, 5}, begins[5], nothing = 0;
    if (weft_scan_exclusive(begins, lengths, 5, sizeof *lengths, &nothing, add_sizes, NULL)) return 1;
    printf("words of 4, 1, 7, 3 and 5 letters begin at %zu, %zu, %zu, %zu, %zu\n", begins[0], begins[1], begins[2],
           begins[3], begins[4]);
    return heads.longest > 10 && begins[4] == 15 ? 0 : 1;
}

int main(void) { return weft_run(run, NULL, NULL); }
