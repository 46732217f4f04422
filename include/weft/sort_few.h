/* SPDX-License-Identifier: MIT */
/*
 * A part of <weft/sort.h>, which includes it once for each type. It sorts arrays that hold few different values.
 *
 * A sample tells which values there are. Each value is a class, and so is each interval between two values. A first
 * pass finds the class of every element by bisection, stores it in a byte, and counts the elements by block and class.
 * The counts tell where each block puts the elements of each class; a second pass moves them there, into the buffer.
 * Then all go back to the array, and the few elements in the intervals are sorted. Blocks, and elements within a block,
 * keep their order in each class, so the sort is stable.
 *
 * An element moves to where its stored class says, so no element is lost, whatever the comparison answers.
 */
#ifndef WEFT_SORT_FEW_H
#define WEFT_SORT_FEW_H
enum {
    WEFT_SORT_SAMPLED = 1 << 16, /* least number of elements worth a sample */
    WEFT_SORT_SAMPLE = 512,      /* size of a sample */
    WEFT_SORT_VALUES = 63,       /* largest number of different values, 2^n - 1 */
    WEFT_SORT_CLASSES = 2 * WEFT_SORT_VALUES + 1,
    WEFT_SORT_BLOCKS = 128, /* largest number of blocks */
};
#endif

struct WEFT_SORT_(few) {
    const struct WEFT_SORT_(part) * all;
    size_t depth;  /* of the bisection over 2^depth - 1 values, */
    size_t values; /* of which this many differ; the rest repeat the last one */
    size_t each;   /* elements in a block */
    size_t blocks;
    WEFT_SORT_(element) * value;
    unsigned char *class_of;             /* the class of each element */
    size_t (*counts)[WEFT_SORT_CLASSES]; /* for each block and class: the number of elements, then the place of the next
                                            one */
    size_t begins[WEFT_SORT_CLASSES + 1]; /* where each class begins */
};

/* Class 2 i + 1 is value i. Class 2 i is between value i - 1 and value i. */
WEFT_SORT_FN inline size_t WEFT_SORT_(class_of)(const WEFT_SORT_(element) * value, size_t values, size_t depth,
                                                const WEFT_SORT_(element) * x, void *arg) {
    size_t below = 0;
    (void)arg;
    for (size_t step = (size_t)1 << depth >> 1; step; step /= 2)
        below += step & -(size_t) !!WEFT_SORT_LESS(value + below + step - 1, x, arg);
    if (below >= values) return 2 * values;
    return 2 * below + !WEFT_SORT_LESS(x, value + below, arg);
}

WEFT_SORT_FN size_t WEFT_SORT_(block_end)(const struct WEFT_SORT_(few) * few, size_t block) {
    return block + 1 < few->blocks ? (block + 1) * few->each : few->all->n;
}

WEFT_SORT_FN int WEFT_SORT_(classify)(size_t begin, size_t end, void *p) {
    struct WEFT_SORT_(few) *few = (struct WEFT_SORT_(few) *)p;
    /* Local copies: the compiler would reload the members after each store of a class. */
    const WEFT_SORT_(element) *v = few->all->v, *value = few->value;
    size_t values = few->values, depth = few->depth;
    unsigned char *class_of = few->class_of;
    void *arg = few->all->arg;
    for (size_t block = begin; block < end; block++) {
        size_t *counts = few->counts[block], block_end = WEFT_SORT_(block_end)(few, block);
        memset(counts, 0, sizeof few->counts[block]);
        for (size_t i = block * few->each; i < block_end; i++) {
            size_t c = WEFT_SORT_(class_of)(value, values, depth, v + i, arg);
            class_of[i] = (unsigned char)c;
            counts[c]++;
        }
    }
    return 0;
}

WEFT_SORT_FN void WEFT_SORT_(place)(struct WEFT_SORT_(few) * few) {
    size_t at = 0;
    for (size_t c = 0; c < WEFT_SORT_CLASSES; c++) {
        few->begins[c] = at;
        for (size_t block = 0; block < few->blocks; block++) {
            size_t n = few->counts[block][c];
            few->counts[block][c] = at;
            at += n;
        }
    }
    few->begins[WEFT_SORT_CLASSES] = at;
}

WEFT_SORT_FN int WEFT_SORT_(distribute)(size_t begin, size_t end, void *p) {
    struct WEFT_SORT_(few) *few = (struct WEFT_SORT_(few) *)p;
    const WEFT_SORT_(element) *v = few->all->v;
    WEFT_SORT_(element) *to = few->all->buffer;
    const unsigned char *class_of = few->class_of;
    for (size_t block = begin; block < end; block++) {
        size_t *next = few->counts[block], block_end = WEFT_SORT_(block_end)(few, block);
        for (size_t i = block * few->each; i < block_end; i++) to[next[class_of[i]]++] = v[i];
    }
    return 0;
}

WEFT_SORT_FN int WEFT_SORT_(put_back)(size_t begin, size_t end, void *p) {
    struct WEFT_SORT_(few) *few = (struct WEFT_SORT_(few) *)p;
    size_t from = begin * few->each, to = WEFT_SORT_(block_end)(few, end - 1);
    memcpy((void *)(few->all->v + from), (const void *)(few->all->buffer + from), (to - from) * sizeof *few->all->v);
    return 0;
}

/* Elements between two values of the sample. */
WEFT_SORT_FN int WEFT_SORT_(sort_between)(size_t begin, size_t end, void *p) {
    struct WEFT_SORT_(few) *few = (struct WEFT_SORT_(few) *)p;
    for (size_t i = begin; i < end; i++) {
        size_t at = few->begins[2 * i], n = few->begins[2 * i + 1] - at;
        struct WEFT_SORT_(part) part = *few->all;
        part.v += at;
        part.buffer += at;
        part.n = n;
        if (n > 1) WEFT_SORT_(sort_in_place)(&part);
    }
    return 0;
}

/*
 * Writes the values of a sample into the front of the buffer. Returns their number, or 0 if there are many or the
 * sample is already in order.
 */
WEFT_SORT_FN size_t WEFT_SORT_(sample)(const struct WEFT_SORT_(part) * all) {
    WEFT_SORT_(element) *sample = all->buffer, *room = sample + WEFT_SORT_SAMPLE;
    size_t each = all->n / WEFT_SORT_SAMPLE, values = 1;
    uint32_t random = 1;
    for (size_t i = 0; i < WEFT_SORT_SAMPLE; i++) {
        random = random * 1664525 + 1013904223; /* random steps, so that a periodic array does not hide values */
        sample[i] = all->v[i * each + (random >> 8) % each];
    }
    if (WEFT_SORT_(is_rising)(sample, WEFT_SORT_SAMPLE, all->arg) ||
        WEFT_SORT_(is_falling)(sample, WEFT_SORT_SAMPLE, all->arg))
        return 0;
    struct WEFT_SORT_(part) part = {sample, room, WEFT_SORT_SAMPLE, false, all->arg, all->result, 0};
    WEFT_SORT_(sort_alone)(&part);
    for (size_t i = 1; i < WEFT_SORT_SAMPLE; i++) {
        if (!WEFT_SORT_LESS(sample + values - 1, sample + i, all->arg)) continue;
        if (values == WEFT_SORT_VALUES) return 0;
        sample[values++] = sample[i];
    }
    return values;
}

WEFT_SORT_FN int WEFT_SORT_(run_few)(struct WEFT_SORT_(few) * few) {
    struct weft_for_options one = WEFT_FOR_INIT;
    struct weft_shield shield;
    one.partition = WEFT_FOR_GRAIN;
    int err = weft_for(0, few->blocks, WEFT_SORT_(classify), few, &one);
    if (err) return err;
    WEFT_SORT_(place)(few);
    err = weft_for(0, few->blocks, WEFT_SORT_(distribute), few, &one);
    if (err) return err;
    weft_shield_begin(&shield); /* cannot fail in a fiber. All elements must come back to the array */
    (void)!weft_for(0, few->blocks, WEFT_SORT_(put_back), few, &one);
    weft_shield_end(&shield);
    return weft_for(0, few->values + 1, WEFT_SORT_(sort_between), few, &one);
}

/* Returns false, and changes nothing, if the array must be sorted by another method. */
WEFT_SORT_FN bool WEFT_SORT_(sort_few)(const struct WEFT_SORT_(part) * all) {
    struct WEFT_SORT_(few) few;
    few.all = all;
    few.values = WEFT_SORT_(sample)(all);
    if (!few.values) return false;
    few.each = all->n / WEFT_SORT_BLOCKS;
    few.blocks = WEFT_SORT_BLOCKS;
    few.depth = 0;
    while (((size_t)1 << few.depth) - 1 < few.values) few.depth++;
    size_t padded = ((size_t)1 << few.depth) - 1;
    few.value = (WEFT_SORT_(element) *)malloc(padded * sizeof *few.value);
    few.counts = (size_t(*)[WEFT_SORT_CLASSES])malloc(few.blocks * sizeof *few.counts);
    few.class_of = (unsigned char *)malloc(all->n);
    bool possible = few.value && few.counts && few.class_of;
    if (possible) {
        for (size_t i = 0; i < padded; i++) few.value[i] = all->buffer[i < few.values ? i : few.values - 1];
        int err = WEFT_SORT_(run_few)(&few);
        if (err && !*all->result) *all->result = err;
    }
    free(few.class_of);
    free(few.counts);
    free(few.value);
    return possible;
}
