/*
 * weft: a sort for one type, with the comparison in line. Say what is to be sorted, and include this, as
 * often as there are types:
 *
 *     #define WEFT_SORT_NAME sort_doubles
 *     #define WEFT_SORT_TYPE double
 *     #define WEFT_SORT_LESS(a, b, arg) (*(a) < *(b))
 *     #include <weft/sort.h>
 *
 *     static int sort_doubles(double *base, size_t n, void *arg);
 *
 * a and b are pointers to const elements, arg is what the function was given. It sorts as weft_sort does:
 * elements neither of which is less stay in order; whatever the comparison answers, all elements are still there.
 * -EINVAL: base NULL and n not 0, or n too large. -ENOMEM: nothing has changed. -ESRCH, -EAGAIN as for weft_for.
 * -ECANCELED, -ETIMEDOUT: it was told to stop, and the elements are in some order.
 * Elements are moved by copying: in C++ the type must be trivially copyable.  [fiber thread; parks, cancel]
 *
 * A merge sort between the array and a buffer of the same size. Both halves are sorted at once, and a merge is
 * itself cut in two that go on at once: where the middle of the longer run would stand in the other. The
 * merge works from both ends towards the middle, two chains of comparisons that do not wait for each other,
 * and moves without branches; with keys at random, a processor could not predict them.
 */
#include <weft.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if !defined WEFT_SORT_NAME || !defined WEFT_SORT_TYPE || !defined WEFT_SORT_LESS
#error "define WEFT_SORT_NAME, WEFT_SORT_TYPE and WEFT_SORT_LESS before <weft/sort.h>: see its first lines"
#endif

#ifndef WEFT_SORT_H
#define WEFT_SORT_H
#define WEFT_SORT_PASTE_(a, b) a##_##b
#define WEFT_SORT_PASTE(a, b) WEFT_SORT_PASTE_(a, b)
#define WEFT_SORT_(part) WEFT_SORT_PASTE(WEFT_SORT_NAME, part)
#define WEFT_SORT_FN __attribute__((unused)) static
enum {
    WEFT_SORT_SMALL = 8,    /* sorted in place, as eights */
    WEFT_SORT_FORK = 2048,  /* elements that are worth a task */
    WEFT_SORT_MERGE = 8192, /* a merge of more is cut */
};
#endif

typedef WEFT_SORT_TYPE WEFT_SORT_(element);
#ifdef __cplusplus
static_assert(__is_trivially_copyable(WEFT_SORT_TYPE),
              "weft/sort.h moves elements by copying their bytes: sort pointers to elements of this type");
#endif

/* b if which, else a; no branch. */
WEFT_SORT_FN inline const WEFT_SORT_(element) *
    WEFT_SORT_(pick)(bool which, const WEFT_SORT_(element) * a, const WEFT_SORT_(element) * b) {
    return (const WEFT_SORT_(element) *)((uintptr_t)a + (((uintptr_t)b - (uintptr_t)a) & -(uintptr_t)which));
}

/* Four elements, in five comparisons: two pairs, the least and the greatest of their ends, the two between. */
WEFT_SORT_FN inline void WEFT_SORT_(four)(const WEFT_SORT_(element) * v, WEFT_SORT_(element) * to, void *arg) {
    (void)arg;
    bool first = WEFT_SORT_LESS(v + 1, v, arg), second = WEFT_SORT_LESS(v + 3, v + 2, arg);
    const WEFT_SORT_(element) *a = v + first, *b = v + !first, *c = v + 2 + second, *d = v + 2 + !second;
    bool swap_low = WEFT_SORT_LESS(c, a, arg), swap_high = WEFT_SORT_LESS(d, b, arg);
    const WEFT_SORT_(element) *low = WEFT_SORT_(pick)(swap_low, a, c), *high = WEFT_SORT_(pick)(swap_high, d, b);
    const WEFT_SORT_(element) *left = WEFT_SORT_(pick)(swap_low, WEFT_SORT_(pick)(swap_high, b, c), a);
    const WEFT_SORT_(element) *right = WEFT_SORT_(pick)(swap_high, WEFT_SORT_(pick)(swap_low, c, b), d);
    bool swap = WEFT_SORT_LESS(right, left, arg);
    to[0] = *low;
    to[1] = *WEFT_SORT_(pick)(swap, left, right);
    to[2] = *WEFT_SORT_(pick)(swap, right, left);
    to[3] = *high;
}

/* One step from the front, one from the back. Each takes one element of either run. */
#define WEFT_SORT_STEP_FRONT(l, r, to) \
    do { \
        bool right_ = WEFT_SORT_LESS(r, l, arg); \
        *(to)++ = *WEFT_SORT_(pick)(right_, l, r); \
        (r) += right_; \
        (l) += !right_; \
    } while (0)
#define WEFT_SORT_STEP_BACK(l, r, to) /* l, r: the last of each */ \
    do { \
        bool left_ = WEFT_SORT_LESS(r, l, arg); \
        *--(to) = *WEFT_SORT_(pick)(left_, r, l); \
        (l) -= left_; \
        (r) -= !left_; \
    } while (0)

struct WEFT_SORT_(runs) {
    const WEFT_SORT_(element) * l, *l_end, *r, *r_end;
    WEFT_SORT_(element) * to;
    void *arg;
    int *result; /* of the whole sort: not 0 if it stops */
};

/* As long as both runs have two, a step from each end cannot run over, whatever the comparison says. So every element
 * is moved once, also if the comparison contradicts itself. */
WEFT_SORT_FN void WEFT_SORT_(merge_alone)(const struct WEFT_SORT_(runs) * runs) {
    const WEFT_SORT_(element) *l = runs->l, *l_end = runs->l_end, *r = runs->r, *r_end = runs->r_end;
    WEFT_SORT_(element) *to = runs->to, *to_end = to + (l_end - l) + (r_end - r);
    void *arg = runs->arg;
    (void)arg;
    if (l < l_end && r < r_end && WEFT_SORT_LESS(r, l_end - 1, arg)) { /* else they are in order as they stand */
        for (;;) {
            size_t nl = (size_t)(l_end - l), nr = (size_t)(r_end - r), steps = (nl < nr ? nl : nr) / 2;
            if (!steps) break;
            const WEFT_SORT_(element) *l_last = l_end - 1, *r_last = r_end - 1;
            do {
                WEFT_SORT_STEP_FRONT(l, r, to);
                WEFT_SORT_STEP_BACK(l_last, r_last, to_end);
            } while (--steps);
            l_end = l_last + 1;
            r_end = r_last + 1;
        }
        while (l < l_end && r < r_end) WEFT_SORT_STEP_FRONT(l, r, to);
    }
    memcpy((void *)to, (const void *)l, (size_t)(l_end - l) * sizeof *l);
    memcpy((void *)(to + (l_end - l)), (const void *)r, (size_t)(r_end - r) * sizeof *r);
}

/*
 * Up to eight elements, from v into to, which may be the same. Eight are two sorted halves that are merged from both
 * ends at once. A comparison that contradicts itself can make both ends take the same element, and leave another one
 * out. They have met in the middle if that did not happen; otherwise the merge is done again, in steps that cannot.
 */
WEFT_SORT_FN void WEFT_SORT_(small)(const WEFT_SORT_(element) * v, WEFT_SORT_(element) * to, size_t n, void *arg) {
    (void)arg;
    if (n == WEFT_SORT_SMALL) {
        WEFT_SORT_(element) half[WEFT_SORT_SMALL], *front = to, *back = to + n;
        WEFT_SORT_(four)(v, half, arg);
        WEFT_SORT_(four)(v + 4, half + 4, arg);
        const WEFT_SORT_(element) *l = half, *r = half + 4, *l_last = half + 3, *r_last = half + 7;
        for (int i = 0; i < 4; i++) {
            WEFT_SORT_STEP_FRONT(l, r, front);
            WEFT_SORT_STEP_BACK(l_last, r_last, back);
        }
        if (__builtin_expect(l != l_last + 1, 0)) {
            struct WEFT_SORT_(runs) runs = {half, half + 4, half + 4, half + 8, to, arg, NULL};
            WEFT_SORT_(merge_alone)(&runs);
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        WEFT_SORT_(element) x = v[i];
        size_t at = i;
        for (; at > 0 && WEFT_SORT_LESS(&x, to + at - 1, arg); at--) to[at] = to[at - 1];
        to[at] = x;
    }
}

/* How many elements of the run come before x: those that are less, or also those that are neither. */
WEFT_SORT_FN size_t WEFT_SORT_(before)(const WEFT_SORT_(element) * run, size_t n, const WEFT_SORT_(element) * x,
                                       bool equal_too, void *arg) {
    (void)arg;
    size_t low = 0;
    while (n) {
        size_t half = n / 2;
        bool is =
            equal_too ? !WEFT_SORT_LESS(x, run + low + half, arg) : (bool)(WEFT_SORT_LESS(run + low + half, x, arg));
        low += is ? half + 1 : 0;
        n = is ? n - half - 1 : half;
    }
    return low;
}

/* Cuts the longer run in the middle, and the other where that element would stand. In a sort that stops, the runs are
 * moved as they stand. */
WEFT_SORT_FN void WEFT_SORT_(merge)(void *p) {
    struct WEFT_SORT_(runs) left = *(struct WEFT_SORT_(runs) *)p, right = left;
    size_t nl = (size_t)(left.l_end - left.l), nr = (size_t)(left.r_end - left.r);
    if (weft__sort_turn(left.result)) {
        memcpy((void *)left.to, (const void *)left.l, nl * sizeof *left.l);
        memcpy((void *)(left.to + nl), (const void *)left.r, nr * sizeof *left.r);
        return;
    }
    if (nl + nr <= WEFT_SORT_MERGE) {
        WEFT_SORT_(merge_alone)(&left);
        return;
    }
    size_t i = nl / 2, j = nr / 2;
    if (nl >= nr)
        j = WEFT_SORT_(before)(left.r, nr, left.l + i, false, left.arg);
    else
        i = WEFT_SORT_(before)(left.l, nl, left.r + j, true, left.arg);
    left.l_end = right.l = left.l + i;
    left.r_end = right.r = left.r + j;
    right.to += i + j;
    struct weft_task task;
    weft_fork(&task, WEFT_SORT_(merge), &right);
    WEFT_SORT_(merge)(&left);
    weft_task_join(&task);
}

struct WEFT_SORT_(part) {
    WEFT_SORT_(element) * v, *buffer;
    size_t n;
    bool into_buffer; /* that is where the result is to be */
    void *arg;
    int *result;
};

/* Cuts *left in two; how the halves are merged when they are sorted. */
WEFT_SORT_FN struct WEFT_SORT_(runs) WEFT_SORT_(cut)(struct WEFT_SORT_(part) * left, struct WEFT_SORT_(part) * right) {
    WEFT_SORT_(element) *to = left->into_buffer ? left->buffer : left->v;
    WEFT_SORT_(element) *from = left->into_buffer ? left->v : left->buffer;
    size_t n = left->n, half = (n / 2 + WEFT_SORT_SMALL - 1) / WEFT_SORT_SMALL * WEFT_SORT_SMALL;
    left->into_buffer = !left->into_buffer;
    *right = *left;
    left->n = half;
    right->n = n - half;
    right->v += half;
    right->buffer += half;
    struct WEFT_SORT_(runs) runs = {from, from + half, from + half, from + n, to, left->arg, left->result};
    return runs;
}

WEFT_SORT_FN void WEFT_SORT_(sort_alone)(const struct WEFT_SORT_(part) * part) {
    if (part->n <= WEFT_SORT_SMALL) {
        WEFT_SORT_(small)(part->v, part->into_buffer ? part->buffer : part->v, part->n, part->arg);
        return;
    }
    struct WEFT_SORT_(part) left = *part, right;
    struct WEFT_SORT_(runs) runs = WEFT_SORT_(cut)(&left, &right);
    WEFT_SORT_(sort_alone)(&left);
    WEFT_SORT_(sort_alone)(&right);
    WEFT_SORT_(merge_alone)(&runs);
}

WEFT_SORT_FN void WEFT_SORT_(sort)(void *p) {
    struct WEFT_SORT_(part) left = *(struct WEFT_SORT_(part) *)p, right;
    if (left.n < WEFT_SORT_FORK) {
        if (!weft__sort_turn(left.result))
            WEFT_SORT_(sort_alone)(&left);
        else if (left.into_buffer)
            memcpy((void *)left.buffer, (const void *)left.v, left.n * sizeof *left.v);
        return;
    }
    struct WEFT_SORT_(runs) runs = WEFT_SORT_(cut)(&left, &right);
    struct weft_task task;
    weft_fork(&task, WEFT_SORT_(sort), &right);
    WEFT_SORT_(sort)(&left);
    weft_task_join(&task);
    WEFT_SORT_(merge)(&runs);
}

WEFT_SORT_FN int WEFT_SORT_NAME(WEFT_SORT_(element) * base, size_t n, void *arg) {
    if ((!base && n) || n > SIZE_MAX / 2 / sizeof *base) return -EINVAL;
    if (n < 2) return 0;
    WEFT_SORT_(element) *buffer = (WEFT_SORT_(element) *)malloc(n * sizeof *base);
    if (!buffer) return -ENOMEM;
    int result = 0;
    struct WEFT_SORT_(part) all = {base, buffer, n, false, arg, &result};
    struct weft_branch all_of_it = {WEFT_SORT_(sort), &all};
    int err = weft_invoke(&all_of_it, 1);
    free(buffer);
    return err ? err : result;
}

#undef WEFT_SORT_STEP_FRONT
#undef WEFT_SORT_STEP_BACK
#undef WEFT_SORT_NAME
#undef WEFT_SORT_TYPE
#undef WEFT_SORT_LESS
