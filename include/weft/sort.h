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
 * A merge sort between the array and a buffer of the same size. Both halves are sorted at once. A merge is cut in two,
 * where the middle of the longer run would stand in the other run, and both parts go on at once. The merge works from
 * both ends towards the middle: two chains of comparisons that do not wait for each other. It moves elements without
 * branches, because a processor cannot predict the comparisons of random keys.
 *
 * The sort uses order that is there already:
 *
 *   rising runs    a block that is in order stays in the array. Two neighbours that are in order, and lie in the same
 *                  place, are left as they are: a sorted array costs one comparison an element, and no move.
 *   falling runs   a block in reverse order stays as it is until it meets a neighbour that is not, and is then turned
 *                  round as a whole. Elements that are neither less nor greater stay in order.
 *   few values     a sample tells how many different values there are. If there are few, each element goes to the place
 *                  of its value in one pass (sort_few.h).
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
    WEFT_SORT_AHEAD = 8,    /* a merge of pointers loads what they point to so many elements ahead, */
    WEFT_SORT_FAR = 1024,   /* if there are so many: what a few of them point to is in the cache */
};
/* Where the elements of a part are when it is sorted. */
enum {
    WEFT_SORT_IN_ARRAY,
    WEFT_SORT_IN_BUFFER,
    WEFT_SORT_FALLING, /* in the array, in reverse order */
};
/* Comparisons of pointers wait for what these point to. 5: the class of pointers, of gcc and of clang. */
#define WEFT_SORT_IS_POINTER(type) (__builtin_classify_type(*(type *)0) == 5 && sizeof(type) == sizeof(void *))
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

/* One step from the front, one from the back. Each takes one element of either run. ahead: not 0 if elements are
 * pointers; then what the one points to that stands so many elements further on in the same run is prefetched. */
#define WEFT_SORT_STEP_FRONT(l, r, to, ahead) \
    do { \
        bool right_ = WEFT_SORT_LESS(r, l, arg); \
        const WEFT_SORT_(element) *from_ = WEFT_SORT_(pick)(right_, l, r); \
        if ((ahead) > 0) __builtin_prefetch(*(void *const *)(const void *)(from_ + (ahead))); \
        *(to)++ = *from_; \
        (r) += right_; \
        (l) += !right_; \
    } while (0)
#define WEFT_SORT_STEP_BACK(l, r, to, ahead) /* l, r: the last of each */ \
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

/* Moves a run into `to`; large ones in parallel. */
WEFT_SORT_FN void WEFT_SORT_(move)(const WEFT_SORT_(element) * from, size_t n, WEFT_SORT_(element) * to, int *result) {
    struct WEFT_SORT_(runs) runs = {from, from + n, from, from, to, NULL, result};
    WEFT_SORT_(merge)(&runs);
}

/* --- falling runs --------------------------------------------------------------------------------- */

/* Where a falling run can be cut: between two elements that differ, near the middle. 0: there is no such place. */
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

/* Moves the falling run [l, l_end) to `to`, turned round; elements that do not differ stay in order. */
WEFT_SORT_FN void WEFT_SORT_(turn_round)(void *p) {
    struct WEFT_SORT_(runs) left = *(struct WEFT_SORT_(runs) *)p, right = left;
    size_t n = (size_t)(left.l_end - left.l), cut = 0;
    if (n > WEFT_SORT_MERGE) cut = WEFT_SORT_(cut_falling)(left.l, n, left.arg);
    if (cut) {
        struct weft_task task;
        left.l_end = right.l = left.l + cut;
        left.to += n - cut;
        weft_fork(&task, WEFT_SORT_(turn_round), &right);
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
    bool into_buffer; /* where the result should be, so that it need not be moved */
    void *arg;
    int *result;
    unsigned at; /* where it is: WEFT_SORT_IN_ARRAY ... */
};

/* Cuts *left in two. */
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

/* Sorts a block that is not worth a task; returns where it is then. */
WEFT_SORT_FN unsigned WEFT_SORT_(sort_block)(const struct WEFT_SORT_(part) * part) {
    if (weft__sort_turn(part->result) || WEFT_SORT_(is_rising)(part->v, part->n, part->arg)) return WEFT_SORT_IN_ARRAY;
    if (WEFT_SORT_(is_falling)(part->v, part->n, part->arg)) return WEFT_SORT_FALLING;
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

/* From the array into the buffer, or back. */
WEFT_SORT_FN void WEFT_SORT_(move_over)(struct WEFT_SORT_(part) * part) {
    bool back = part->at == WEFT_SORT_IN_BUFFER;
    WEFT_SORT_(move)(back ? part->buffer : part->v, part->n, back ? part->v : part->buffer, part->result);
    part->at = back ? WEFT_SORT_IN_ARRAY : WEFT_SORT_IN_BUFFER;
}

/* Makes one part of two neighbours that are sorted; returns where it is then. In a sort that stops, their elements are
 * only brought to the same place. */
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
    weft_fork(&task, WEFT_SORT_(sort_part), &right);
    WEFT_SORT_(sort_part)(&left);
    weft_task_join(&task);
    whole->at = WEFT_SORT_(unite)(&left, &right);
}

/* The same, and the result is in the array. */
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

WEFT_SORT_FN int WEFT_SORT_NAME(WEFT_SORT_(element) * base, size_t n, void *arg) {
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
