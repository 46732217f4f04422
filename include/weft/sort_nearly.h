/* SPDX-License-Identifier: MIT */
/*
 * A part of <weft/sort.h>, which includes it once for each type. It handles arrays that are sorted except for a few
 * elements.
 *
 * A block is sorted by insertion. The place of an element that is out of order is searched from the end of the sorted
 * part, in steps that double. If too many elements move, the merge sort takes over the block.
 *
 * A merge of a long run and a short one searches the place of each element of the short run and copies what lies
 * between two of them. Runs that are nearly in order lead to such merges when they are split.
 *
 * Both methods move one element at a time to a free place, whatever the comparison answers, so no element is lost.
 */
#ifndef WEFT_SORT_NEARLY_H
#define WEFT_SORT_NEARLY_H
enum {
    WEFT_SORT_LOOKS = 32,    /* pairs of neighbours compared to see whether a block is nearly sorted */
    WEFT_SORT_MOVES = 4,     /* moves for each element, on average; with more, the merge sort is faster */
    WEFT_SORT_LOPSIDED = 16, /* ratio of the lengths of two runs from which a merge is lopsided */
};
#endif

/* Is at most one of the sampled pairs of neighbours out of order? */
WEFT_SORT_FN bool WEFT_SORT_(seems_rising)(const WEFT_SORT_(element) * v, size_t n, void *arg) {
    unsigned falls = 0;
    (void)arg;
    for (size_t look = 0, each = n / WEFT_SORT_LOOKS; look < WEFT_SORT_LOOKS && falls < 2; look++)
        falls += !!WEFT_SORT_LESS(v + look * each + 1, v + look * each, arg);
    return falls < 2;
}

/* Counts the elements of a sorted run that are not greater than x; usually all but a few. */
WEFT_SORT_FN size_t WEFT_SORT_(place_from_end)(const WEFT_SORT_(element) * v, size_t n, const WEFT_SORT_(element) * x,
                                               void *arg) {
    size_t high = n, step = 1; /* the elements from `high` on are greater than x */
    (void)arg;
    while (step <= high && WEFT_SORT_LESS(x, v + high - step, arg)) {
        high -= step;
        step *= 2;
    }
    size_t low = step <= high ? high - step + 1 : 0;
    return low + WEFT_SORT_(before)(v + low, high - low, x, true, arg);
}

/* Sorts a block in place. Returns false, with the elements in some order, if too many would have to move. */
WEFT_SORT_FN bool WEFT_SORT_(insert_few)(WEFT_SORT_(element) * v, size_t n, void *arg) {
    size_t moves = n * WEFT_SORT_MOVES;
    (void)arg;
    for (size_t i = 1; i < n; i++) {
        if (!WEFT_SORT_LESS(v + i, v + i - 1, arg)) continue;
        WEFT_SORT_(element) x = v[i];
        size_t at = WEFT_SORT_(place_from_end)(v, i, &x, arg);
        if (i - at > moves) return false;
        moves -= i - at;
        memmove((void *)(v + at + 1), (const void *)(v + at), (i - at) * sizeof *v);
        v[at] = x;
    }
    return true;
}

/* Merges a long run and a short one. Among equal elements, those of the left run come first. */
WEFT_SORT_FN void WEFT_SORT_(merge_lopsided)(const struct WEFT_SORT_(runs) * runs) {
    bool left_is_short = runs->l_end - runs->l < runs->r_end - runs->r;
    const WEFT_SORT_(element) *few = left_is_short ? runs->l : runs->r,
                              *few_end = left_is_short ? runs->l_end : runs->r_end;
    const WEFT_SORT_(element) *many = left_is_short ? runs->r : runs->l;
    size_t left = (size_t)((left_is_short ? runs->r_end : runs->l_end) - many);
    WEFT_SORT_(element) *to = runs->to;
    for (; few < few_end; few++) {
        size_t n = WEFT_SORT_(before)(many, left, few, !left_is_short, runs->arg);
        memcpy((void *)to, (const void *)many, n * sizeof *to);
        to[n] = *few;
        to += n + 1;
        many += n;
        left -= n;
    }
    memcpy((void *)to, (const void *)many, left * sizeof *to);
}

WEFT_SORT_FN bool WEFT_SORT_(is_lopsided)(const struct WEFT_SORT_(runs) * runs) {
    size_t nl = (size_t)(runs->l_end - runs->l), nr = (size_t)(runs->r_end - runs->r);
    return nl > WEFT_SORT_LOPSIDED * nr || nr > WEFT_SORT_LOPSIDED * nl;
}
