/* SPDX-License-Identifier: MIT */
/*
 * Sorting elements of any type. The algorithm is that of weft/sort.h, instantiated for elements of 4, 8 and 16 bytes
 * with a comparison function. Other elements are sorted as pointers, and then moved once.
 */
#include "par/par.h"

/* Any alignment and any type of the user. */
#define ELEMENT(name, type) \
    struct name { \
        type value; \
    } __attribute__((packed, may_alias))
ELEMENT(four_bytes, uint32_t);
ELEMENT(eight_bytes, uint64_t);
struct sixteen_bytes {
    uint64_t value[2];
} __attribute__((packed, may_alias));

struct order {
    int (*compare)(const void *, const void *, void *);
    void *arg;
};
static inline bool is_less(const void *a, const void *b, const struct order *order) {
    return order->compare(a, b, order->arg) < 0;
}

#define WEFT_SORT_NAME sort_fours
#define WEFT_SORT_TYPE struct four_bytes
#define WEFT_SORT_LESS(a, b, arg) is_less(a, b, arg)
#include "weft/sort.h"
#define WEFT_SORT_NAME sort_eights
#define WEFT_SORT_TYPE struct eight_bytes
#define WEFT_SORT_LESS(a, b, arg) is_less(a, b, arg)
#include "weft/sort.h"
#define WEFT_SORT_NAME sort_sixteens
#define WEFT_SORT_TYPE struct sixteen_bytes
#define WEFT_SORT_LESS(a, b, arg) is_less(a, b, arg)
#include "weft/sort.h"
#define WEFT_SORT_NAME sort_pointers
#define WEFT_SORT_TYPE const char *
#define WEFT_SORT_LESS(a, b, arg) is_less(*(a), *(b), arg)
#include "weft/sort.h"

struct request {
    char *base, *buffer;
    size_t n, size;
    const char **pointers; /* n pointers, and n more as a buffer */
    struct order order;
    int result;
};

static int sort_point(size_t begin, size_t end, void *p) {
    struct request *r = p;
    for (size_t i = begin; i < end; i++) r->pointers[i] = r->base + i * r->size;
    return 0;
}
static int sort_gather(size_t begin, size_t end, void *p) {
    struct request *r = p;
    for (size_t i = begin; i < end; i++) memcpy(r->buffer + i * r->size, r->pointers[i], r->size);
    return 0;
}
static int copy_back(size_t begin, size_t end, void *p) {
    struct request *r = p;
    memcpy(r->base + begin * r->size, r->buffer + begin * r->size, (end - begin) * r->size);
    return 0;
}

/* If it is cancelled, the array is unchanged, unless the elements are being moved already. */
static int sort_indirectly(void *p) {
    struct request *r = p;
    struct sort_pointers_part all = {r->pointers, r->pointers + r->n, r->n, false, &r->order, &r->result, 0};
    struct weft_shield shield;
    int err = weft_for(0, r->n, sort_point, r, NULL);
    if (err) return err;
    sort_pointers_sort(&all);
    err = r->result ? r->result : weft_for(0, r->n, sort_gather, r, NULL);
    if (err) return err;
    weft_shield_begin(&shield);
    (void)!weft_for(0, r->n, copy_back, r, NULL); /* in a shield, in a fiber */
    weft_shield_end(&shield);
    return 0;
}

static int sort_directly(void *p) {
    struct request *r = p;
    if (r->size == 4)
        sort_fours_sort(
            &(struct sort_fours_part){(void *)r->base, (void *)r->buffer, r->n, false, &r->order, &r->result, 0});
    else if (r->size == 8)
        sort_eights_sort(
            &(struct sort_eights_part){(void *)r->base, (void *)r->buffer, r->n, false, &r->order, &r->result, 0});
    else
        sort_sixteens_sort(
            &(struct sort_sixteens_part){(void *)r->base, (void *)r->buffer, r->n, false, &r->order, &r->result, 0});
    return r->result;
}

WEFT_PUBLIC int weft__sort_turn(int *result) {
    weft__par_yield();
    return weft__par_is_over((_Atomic int *)result);
}

WEFT_PUBLIC int weft_sort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *arg),
                          void *arg) {
    if ((!base && n) || !compare || !size || n > SIZE_MAX / 2 / (size > sizeof(void *) ? size : sizeof(void *)))
        return -EINVAL;
    if (n < 2) return 0;
    bool directly = size == 4 || size == 8 || size == 16;
    struct request r = {.base = base, .n = n, .size = size, .order = {compare, arg}};
    int err = -ENOMEM;
    r.buffer = weft__alloc(n * size);
    r.pointers = directly ? NULL : weft__alloc(2 * n * sizeof *r.pointers);
    if (r.buffer && (directly || r.pointers))
        err = weft__par_enter(directly ? sort_directly : sort_indirectly, &r, "weft_sort");
    weft__free(r.pointers);
    weft__free(r.buffer);
    return err;
}
