/* SPDX-License-Identifier: MIT */
/*
 * A parallel, stable sort for one type, with the comparison inlined. Define three macros and include this header, once
 * for each type:
 *
 *     #define WEFT_SORT_NAME sort_doubles
 *     #define WEFT_SORT_TYPE double
 *     #define WEFT_SORT_LESS(a, b, arg) (*(a) < *(b))
 *     #include <weft/sort.h>
 *
 * That defines a static function:
 *
 *     int sort_doubles(double *base, size_t n, void *arg);
 *
 * In the comparison, a and b are pointers to const elements and arg is the argument of the function. The sort does what
 * weft_sort does: elements of which neither is less keep their order, and every element survives, even if the
 * comparison contradicts itself. Elements are copied byte by byte: in C++ the type must be trivially copyable.
 *
 * Errors: -EINVAL if base is NULL and n is not 0, or n is too large; -ENOMEM, and nothing has changed; -ESRCH and
 * -EAGAIN as weft_for. After -ECANCELED and -ETIMEDOUT all elements are there, in some order.
 * [fiber thread; parks, cancel]
 */

/*
 * How it works: a merge sort between the array and a buffer of the same size. Both halves are sorted in parallel. A
 * large merge is split where the middle of the longer run falls in the other run, and both parts continue in parallel.
 * A merge works from both ends towards the middle: two independent chains of comparisons. It moves elements without
 * branches, because a processor cannot predict comparisons of random keys.
 *
 * The sort exploits existing order:
 *
 *   rising runs    a block that is in order stays in the array. Two neighbouring runs that are in order and lie in the
 *                  same place are left alone: a sorted array costs one comparison for each element and no move.
 *   falling runs   a block in reverse order stays as it is until it meets a neighbour that is not. Then the whole run
 *                  is reversed. Equal elements keep their order.
 *   nearly sorted  a block in which few elements are out of order is sorted by insertion. A merge of a long run and a
 *                  short one copies what lies between (sort_nearly.h).
 *   few values     a sample tells how many different values there are. If there are few, each element moves to the
 *                  place of its value in one pass (sort_few.h).
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
    WEFT_SORT_SMALL = 8,    /* elements of the smallest block */
    WEFT_SORT_FORK = 2048,  /* least number of elements worth a task */
    WEFT_SORT_MERGE = 8192, /* larger merges are split */
    WEFT_SORT_AHEAD = 8,    /* how many elements ahead a merge of pointers prefetches their targets, */
    WEFT_SORT_FAR = 1024,   /* if there are at least so many: the targets of fewer are in the cache */
};

/* Where the elements of a sorted part are. */
enum {
    WEFT_SORT_IN_ARRAY,
    WEFT_SORT_IN_BUFFER,
    WEFT_SORT_FALLING, /* in the array, in reverse order */
};

/* Comparing pointers usually means loading their targets. 5 is the type class of pointers in gcc and clang. */
#define WEFT_SORT_IS_POINTER(type) (__builtin_classify_type(*(type *)0) == 5 && sizeof(type) == sizeof(void *))
#endif

typedef WEFT_SORT_TYPE WEFT_SORT_(element);
#ifdef __cplusplus
static_assert(__is_trivially_copyable(WEFT_SORT_TYPE),
              "weft/sort.h moves elements by copying their bytes: sort pointers to elements of this type");
#endif

/* Returns b if which, else a, without a branch. */
WEFT_SORT_FN inline const WEFT_SORT_(element) *
    WEFT_SORT_(pick)(bool which, const WEFT_SORT_(element) * a, const WEFT_SORT_(element) * b) {
    return (const WEFT_SORT_(element) *)((uintptr_t)a + (((uintptr_t)b - (uintptr_t)a) & -(uintptr_t)which));
}

/* Sorts four elements in five comparisons: two pairs, then the least and the greatest, then the two between. */
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

/*
 * One step of a merge from the front, and one from the back. Each moves one element of either run. If elements are
 * pointers, `ahead` is not 0, and the step prefetches the target of the pointer that many elements further on in the
 * same run.
 */
#define WEFT_SORT_STEP_FRONT(l, r, to, ahead) \
    do { \
        bool right_ = WEFT_SORT_LESS(r, l, arg); \
        const WEFT_SORT_(element) *from_ = WEFT_SORT_(pick)(right_, l, r); \
        if ((ahead) > 0) __builtin_prefetch(*(void *const *)(const void *)(from_ + (ahead))); \
        *(to)++ = *from_; \
        (r) += right_; \
        (l) += !right_; \
    } while (0)
#define WEFT_SORT_STEP_BACK(l, r, to, ahead) /* l, r: the last element of each run */ \
    do { \
        bool left_ = WEFT_SORT_LESS(r, l, arg); \
        const WEFT_SORT_(element) *from_ = WEFT_SORT_(pick)(left_, r, l); \
        if ((ahead) > 0) __builtin_prefetch(*(void *const *)(const void *)(from_ - (ahead))); \
        *--(to) = *from_; \
        (l) -= left_; \
        (r) -= !left_; \
    } while (0)

struct WEFT_SORT_(runs) {
    const WEFT_SORT_(element) * l, *l_end, *r, *r_end;
    WEFT_SORT_(element) * to;
    void *arg;
    int *result; /* of the whole sort; not 0 if it must stop */
};

/*
 * Merges two runs on this worker. While both runs have two elements, one step from each end cannot overrun, whatever
 * the comparison says. So every element is moved exactly once, even if the comparison contradicts itself.
 */
WEFT_SORT_FN void WEFT_SORT_(merge_alone)(const struct WEFT_SORT_(runs) * runs) {
    const WEFT_SORT_(element) *l = runs->l, *l_end = runs->l_end, *r = runs->r, *r_end = runs->r_end;
    WEFT_SORT_(element) *to = runs->to, *to_end = to + (l_end - l) + (r_end - r);
    void *arg = runs->arg;
    (void)arg;
    if (l < l_end && r < r_end && WEFT_SORT_LESS(r, l_end - 1, arg)) { /* else they are in order as they stand */
        for (;;) {
            size_t nl = (size_t)(l_end - l), nr = (size_t)(r_end - r), least = nl < nr ? nl : nr, steps = least / 2;
            if (!steps) break;
            const WEFT_SORT_(element) *l_last = l_end - 1, *r_last = r_end - 1;
            if (WEFT_SORT_IS_POINTER(WEFT_SORT_(element)) && least >= WEFT_SORT_FAR) {
                for (steps = (least - WEFT_SORT_AHEAD) / 2; steps; steps--) {
                    WEFT_SORT_STEP_FRONT(l, r, to, WEFT_SORT_AHEAD);
                    WEFT_SORT_STEP_BACK(l_last, r_last, to_end, WEFT_SORT_AHEAD);
                }
            } else {
                for (; steps; steps--) {
                    WEFT_SORT_STEP_FRONT(l, r, to, 0);
                    WEFT_SORT_STEP_BACK(l_last, r_last, to_end, 0);
                }
            }
            l_end = l_last + 1;
            r_end = r_last + 1;
        }
        while (l < l_end && r < r_end) WEFT_SORT_STEP_FRONT(l, r, to, 0);
    }
    memcpy((void *)to, (const void *)l, (size_t)(l_end - l) * sizeof *l);
    memcpy((void *)(to + (l_end - l)), (const void *)r, (size_t)(r_end - r) * sizeof *r);
}

/*
 * Sorts up to eight elements from v into `to`, which may be the same. Eight elements are two sorted halves, merged from
 * both ends at once. If the comparison contradicts itself, both ends may take the same element and leave another one
 * out. The two ends then do not meet in the middle, and the merge is repeated in safe steps.
 */
WEFT_SORT_FN void WEFT_SORT_(small)(const WEFT_SORT_(element) * v, WEFT_SORT_(element) * to, size_t n, void *arg) {
    (void)arg;
    if (n == WEFT_SORT_SMALL) {
        WEFT_SORT_(element) half[WEFT_SORT_SMALL], *front = to, *back = to + n;
        WEFT_SORT_(four)(v, half, arg);
        WEFT_SORT_(four)(v + 4, half + 4, arg);
        const WEFT_SORT_(element) *l = half, *r = half + 4, *l_last = half + 3, *r_last = half + 7;
        for (int i = 0; i < 4; i++) {
            WEFT_SORT_STEP_FRONT(l, r, front, 0);
            WEFT_SORT_STEP_BACK(l_last, r_last, back, 0);
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

/* Counts the elements of the run that are less than x, or with `equal_too` not greater than x. */
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

#include <weft/sort_nearly.h>

/*
 * Merges two runs in parallel: splits the longer run in the middle, and the other one where that element belongs. In a
 * sort that must stop, moves the runs unmerged.
 */
WEFT_SORT_FN void WEFT_SORT_(merge)(void *p) {
    struct WEFT_SORT_(runs) left = *(struct WEFT_SORT_(runs) *)p, right = left;
    size_t nl = (size_t)(left.l_end - left.l), nr = (size_t)(left.r_end - left.r);
    if (weft__sort_turn(left.result)) {
        memcpy((void *)left.to, (const void *)left.l, nl * sizeof *left.l);
        memcpy((void *)(left.to + nl), (const void *)left.r, nr * sizeof *left.r);
        return;
    }
    if (nl + nr <= WEFT_SORT_MERGE) {
        (WEFT_SORT_(is_lopsided)(&left) ? WEFT_SORT_(merge_lopsided) : WEFT_SORT_(merge_alone))(&left);
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
    weft_task_fork(&task, WEFT_SORT_(merge), &right);
    WEFT_SORT_(merge)(&left);
    weft_task_join(&task);
}

/* Moves a run into `to`, in parallel if it is large. */
WEFT_SORT_FN void WEFT_SORT_(move)(const WEFT_SORT_(element) * from, size_t n, WEFT_SORT_(element) * to, int *result) {
    struct WEFT_SORT_(runs) runs = {from, from + n, from, from, to, NULL, result};
    WEFT_SORT_(merge)(&runs);
}

/* --- falling runs --------------------------------------------------------------------------------- */

/*
 * Finds where a falling run can be split: near the middle, between two elements that differ. 0 if there is no such
 * place.
 */
WEFT_SORT_FN size_t WEFT_SORT_(cut_falling)(const WEFT_SORT_(element) * run, size_t n, void *arg) {
    (void)arg;
    size_t mid = n / 2, low = mid + 1, high = n;
    while (low < high) {
        size_t half = (low + high) / 2;
        if (WEFT_SORT_LESS(run + half, run + mid, arg))
            high = half;
        else
            low = half + 1;
    }
    if (low < n) return low;
    for (low = 0, high = mid; low < high;) {
        size_t half = (low + high) / 2;
        if (WEFT_SORT_LESS(run + mid, run + half, arg))
            low = half + 1;
        else
            high = half;
    }
    return low;
}

/* Moves the falling run [l, l_end) to `to` in reverse; equal elements keep their order. */
WEFT_SORT_FN void WEFT_SORT_(turn_round)(void *p) {
    struct WEFT_SORT_(runs) left = *(struct WEFT_SORT_(runs) *)p, right = left;
    size_t n = (size_t)(left.l_end - left.l), cut = 0;
    if (n > WEFT_SORT_MERGE) cut = WEFT_SORT_(cut_falling)(left.l, n, left.arg);
    if (cut) {
        struct weft_task task;
        left.l_end = right.l = left.l + cut;
        left.to += n - cut;
        weft_task_fork(&task, WEFT_SORT_(turn_round), &right);
        WEFT_SORT_(turn_round)(&left);
        weft_task_join(&task);
        return;
    }
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !WEFT_SORT_LESS(left.l + end, left.l + i, left.arg); end++) {
        }
        if (end == i + 1)
            left.to[n - end] = left.l[i];
        else
            memcpy((void *)(left.to + n - end), (const void *)(left.l + i), (end - i) * sizeof *left.l);
    }
}

/* --- the sort ------------------------------------------------------------------------------------- */

struct WEFT_SORT_(part) {
    WEFT_SORT_(element) * v, *buffer;
    size_t n;
    bool into_buffer; /* whether the caller prefers the result in the buffer */
    void *arg;
    int *result;
    unsigned at; /* where the result is: WEFT_SORT_IN_ARRAY and so on */
};

/* Splits *left into *left and *right. */
WEFT_SORT_FN void WEFT_SORT_(cut)(struct WEFT_SORT_(part) * left, struct WEFT_SORT_(part) * right) {
    size_t n = left->n, half = (n / 2 + WEFT_SORT_SMALL - 1) / WEFT_SORT_SMALL * WEFT_SORT_SMALL;
    left->into_buffer = !left->into_buffer;
    *right = *left;
    left->n = half;
    right->n = n - half;
    right->v += half;
    right->buffer += half;
}

WEFT_SORT_FN void WEFT_SORT_(sort_alone)(const struct WEFT_SORT_(part) * part) {
    WEFT_SORT_(element) *to = part->into_buffer ? part->buffer : part->v;
    WEFT_SORT_(element) *from = part->into_buffer ? part->v : part->buffer;
    if (part->n <= WEFT_SORT_SMALL) {
        WEFT_SORT_(small)(part->v, to, part->n, part->arg);
        return;
    }
    struct WEFT_SORT_(part) left = *part, right;
    WEFT_SORT_(cut)(&left, &right);
    WEFT_SORT_(sort_alone)(&left);
    WEFT_SORT_(sort_alone)(&right);
    struct WEFT_SORT_(runs) runs = {from, from + left.n, from + left.n, from + part->n, to, part->arg, part->result};
    WEFT_SORT_(merge_alone)(&runs);
}

WEFT_SORT_FN bool WEFT_SORT_(is_rising)(const WEFT_SORT_(element) * v, size_t n, void *arg) {
    (void)arg;
    for (size_t i = 1; i < n; i++)
        if (WEFT_SORT_LESS(v + i, v + i - 1, arg)) return false;
    return true;
}

WEFT_SORT_FN bool WEFT_SORT_(is_falling)(const WEFT_SORT_(element) * v, size_t n, void *arg) {
    (void)arg;
    for (size_t i = 1; i < n; i++)
        if (WEFT_SORT_LESS(v + i - 1, v + i, arg)) return false;
    return true;
}

/* Sorts a block that is too small for tasks. Returns where the result is. */
WEFT_SORT_FN unsigned WEFT_SORT_(sort_block)(const struct WEFT_SORT_(part) * part) {
    if (weft__sort_turn(part->result) || WEFT_SORT_(is_rising)(part->v, part->n, part->arg)) return WEFT_SORT_IN_ARRAY;
    if (WEFT_SORT_(is_falling)(part->v, part->n, part->arg)) return WEFT_SORT_FALLING;
    if (part->n >= WEFT_SORT_FORK / 2 && WEFT_SORT_(seems_rising)(part->v, part->n, part->arg) &&
        WEFT_SORT_(insert_few)(part->v, part->n, part->arg))
        return WEFT_SORT_IN_ARRAY;
    WEFT_SORT_(sort_alone)(part);
    return part->into_buffer ? WEFT_SORT_IN_BUFFER : WEFT_SORT_IN_ARRAY;
}

WEFT_SORT_FN void WEFT_SORT_(turn_if_falling)(struct WEFT_SORT_(part) * part) {
    if (part->at != WEFT_SORT_FALLING) return;
    struct WEFT_SORT_(runs)
        runs = {part->v, part->v + part->n, part->v, part->v, part->buffer, part->arg, part->result};
    WEFT_SORT_(turn_round)(&runs);
    part->at = WEFT_SORT_IN_BUFFER;
}

/* Moves a part from the array into the buffer, or back. */
WEFT_SORT_FN void WEFT_SORT_(move_over)(struct WEFT_SORT_(part) * part) {
    bool back = part->at == WEFT_SORT_IN_BUFFER;
    WEFT_SORT_(move)(back ? part->buffer : part->v, part->n, back ? part->v : part->buffer, part->result);
    part->at = back ? WEFT_SORT_IN_ARRAY : WEFT_SORT_IN_BUFFER;
}

/*
 * Merges two sorted neighbouring parts. Returns where the result is. In a sort that must stop, only brings their
 * elements to the same place.
 */
WEFT_SORT_FN unsigned WEFT_SORT_(unite)(struct WEFT_SORT_(part) * left, struct WEFT_SORT_(part) * right) {
    void *arg = left->arg;
    size_t nl = left->n, nr = right->n;
    (void)arg;
    bool stops = weft__sort_turn(left->result);
    if (left->at == WEFT_SORT_FALLING && right->at == WEFT_SORT_FALLING &&
        (stops || !WEFT_SORT_LESS(left->v + nl - 1, right->v, arg)))
        return WEFT_SORT_FALLING;
    WEFT_SORT_(turn_if_falling)(left);
    WEFT_SORT_(turn_if_falling)(right);
    WEFT_SORT_(element) *l = left->at == WEFT_SORT_IN_BUFFER ? left->buffer : left->v;
    WEFT_SORT_(element) *r = right->at == WEFT_SORT_IN_BUFFER ? right->buffer : right->v;
    bool in_order = stops || !WEFT_SORT_LESS(r, l + nl - 1, arg);
    if (left->at != right->at) WEFT_SORT_(move_over)(!in_order && left->at == WEFT_SORT_IN_ARRAY ? left : right);
    if (in_order) return left->at;
    bool back = left->at == WEFT_SORT_IN_BUFFER;
    l = back ? left->buffer : left->v;
    struct WEFT_SORT_(runs) runs = {l, l + nl, l + nl, l + nl + nr, back ? left->v : left->buffer, arg, left->result};
    WEFT_SORT_(merge)(&runs);
    return back ? WEFT_SORT_IN_ARRAY : WEFT_SORT_IN_BUFFER;
}

WEFT_SORT_FN void WEFT_SORT_(sort_part)(void *p) {
    struct WEFT_SORT_(part) *whole = (struct WEFT_SORT_(part) *)p, left = *whole, right;
    if (whole->n < WEFT_SORT_FORK) {
        whole->at = WEFT_SORT_(sort_block)(whole);
        return;
    }
    struct weft_task task;
    WEFT_SORT_(cut)(&left, &right);
    weft_task_fork(&task, WEFT_SORT_(sort_part), &right);
    WEFT_SORT_(sort_part)(&left);
    weft_task_join(&task);
    whole->at = WEFT_SORT_(unite)(&left, &right);
}

/* Sorts a part and leaves the result in the array. */
WEFT_SORT_FN void WEFT_SORT_(sort_in_place)(struct WEFT_SORT_(part) * part) {
    part->into_buffer = false;
    WEFT_SORT_(sort_part)(part);
    WEFT_SORT_(turn_if_falling)(part);
    if (part->at == WEFT_SORT_IN_BUFFER) WEFT_SORT_(move_over)(part);
}

#include <weft/sort_few.h>

WEFT_SORT_FN void WEFT_SORT_(sort)(void *p) {
    struct WEFT_SORT_(part) *all = (struct WEFT_SORT_(part) *)p;
    if (all->n < WEFT_SORT_SAMPLED || !WEFT_SORT_(sort_few)(all)) WEFT_SORT_(sort_in_place)(all);
}

WEFT_MUST_USE WEFT_SORT_FN int WEFT_SORT_NAME(WEFT_SORT_(element) * base, size_t n, void *arg) {
    if ((!base && n) || n > SIZE_MAX / 2 / sizeof *base) return -EINVAL;
    if (n < 2) return 0;
    WEFT_SORT_(element) *buffer = (WEFT_SORT_(element) *)malloc(n * sizeof *base);
    if (!buffer) return -ENOMEM;
    int result = 0;
    struct WEFT_SORT_(part) all = {base, buffer, n, false, arg, &result, WEFT_SORT_IN_ARRAY};
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
