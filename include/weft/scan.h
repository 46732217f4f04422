/* SPDX-License-Identifier: MIT */
/*
 * Prefix sums and reductions for one type, with the operation inlined. Define four macros and include this header, once
 * for each operation:
 *
 *     #define WEFT_SCAN_NAME sum
 *     #define WEFT_SCAN_TYPE double
 *     #define WEFT_SCAN_IDENTITY 0
 *     #define WEFT_SCAN_OPERATION(a, b, arg) ((a) + (b))
 *     #include <weft/scan.h>
 *
 * That defines three static functions, here named after sum:
 *
 *     int sum_inclusive(double *out, const double *in, size_t n, void *arg);
 *     int sum_exclusive(double *out, const double *in, size_t n, void *arg);
 *     int sum_reduce(double *value, const double *in, size_t n, void *arg);
 *
 * The first two do what weft_scan_inclusive and weft_scan_exclusive do, several times as fast for numbers; out may be
 * in. The third sets *value to *value op in[0] op ... op in[n - 1]. In the operation, a and b are values and arg is the
 * argument of the function. The operation must be associative; it need not be commutative. Values are copied byte by
 * byte: in C++ the type must be trivially copyable.
 *
 * Errors: -EINVAL if a pointer is NULL and n is not 0, or n is too large; others as weft_scan and weft_reduce.
 * [fiber thread; parks, cancel]
 */
#include <weft.h>

#ifndef WEFT_SCAN_H
#define WEFT_SCAN_H
#define WEFT_SCAN_PASTE_(a, b) a##_##b
#define WEFT_SCAN_PASTE(a, b) WEFT_SCAN_PASTE_(a, b)
#define WEFT_SCAN_(part) WEFT_SCAN_PASTE(WEFT_SCAN_NAME, part)
#define WEFT_SCAN_FN __attribute__((unused)) static
#endif

#if !defined WEFT_SCAN_NAME || !defined WEFT_SCAN_TYPE || !defined WEFT_SCAN_IDENTITY || !defined WEFT_SCAN_OPERATION
#error "define WEFT_SCAN_NAME, _TYPE, _IDENTITY and _OPERATION before <weft/scan.h>: see its first lines"
#endif

typedef WEFT_SCAN_TYPE WEFT_SCAN_(element);
#ifdef __cplusplus
static_assert(__is_trivially_copyable(WEFT_SCAN_TYPE), "weft/scan.h moves values by copying their bytes");
#endif

struct WEFT_SCAN_(arrays) {
    WEFT_SCAN_(element) * out;
    const WEFT_SCAN_(element) * in;
    void *arg;
};

/* Folds four runs of 32 elements at once: four independent chains of operations. */
WEFT_SCAN_FN int WEFT_SCAN_(fold)(size_t begin, size_t end, void *value, void *p) {
    const WEFT_SCAN_(element) *at = ((const struct WEFT_SCAN_(arrays) *)p)->in + begin, *to = at + (end - begin);
    void *arg = ((const struct WEFT_SCAN_(arrays) *)p)->arg;
    WEFT_SCAN_(element) a = *(WEFT_SCAN_(element) *)value;
    (void)arg;
    for (; to - at >= 128; at += 128) {
        WEFT_SCAN_(element) b = at[32], c = at[64], d = at[96];
        a = WEFT_SCAN_OPERATION(a, at[0], arg);
        for (int i = 1; i < 32; i++) {
            a = WEFT_SCAN_OPERATION(a, at[i], arg);
            b = WEFT_SCAN_OPERATION(b, at[i + 32], arg);
            c = WEFT_SCAN_OPERATION(c, at[i + 64], arg);
            d = WEFT_SCAN_OPERATION(d, at[i + 96], arg);
        }
        a = WEFT_SCAN_OPERATION(a, b, arg);
        c = WEFT_SCAN_OPERATION(c, d, arg);
        a = WEFT_SCAN_OPERATION(a, c, arg);
    }
    for (; at < to; at++) a = WEFT_SCAN_OPERATION(a, *at, arg);
    *(WEFT_SCAN_(element) *)value = a;
    return 0;
}

WEFT_SCAN_FN void WEFT_SCAN_(combine)(void *left, const void *right, void *p) {
    WEFT_SCAN_(element) *a = (WEFT_SCAN_(element) *)left;
    const WEFT_SCAN_(element) *b = (const WEFT_SCAN_(element) *)right;
    void *arg = ((const struct WEFT_SCAN_(arrays) *)p)->arg;
    (void)arg;
    *a = WEFT_SCAN_OPERATION(*a, *b, arg);
}

WEFT_SCAN_FN int WEFT_SCAN_(scan_inclusive)(size_t begin, size_t end, void *value, void *p) {
    struct WEFT_SCAN_(arrays) arrays = *(const struct WEFT_SCAN_(arrays) *)p;
    WEFT_SCAN_(element) a = *(WEFT_SCAN_(element) *)value;
    for (size_t i = begin; i < end; i++) arrays.out[i] = a = WEFT_SCAN_OPERATION(a, arrays.in[i], arrays.arg);
    *(WEFT_SCAN_(element) *)value = a;
    return 0;
}

WEFT_SCAN_FN int WEFT_SCAN_(scan_exclusive)(size_t begin, size_t end, void *value, void *p) {
    struct WEFT_SCAN_(arrays) arrays = *(const struct WEFT_SCAN_(arrays) *)p;
    WEFT_SCAN_(element) a = *(WEFT_SCAN_(element) *)value;
    for (size_t i = begin; i < end; i++) {
        WEFT_SCAN_(element) x = arrays.in[i]; /* out may be in: read before writing */
        arrays.out[i] = a;
        a = WEFT_SCAN_OPERATION(a, x, arrays.arg);
    }
    *(WEFT_SCAN_(element) *)value = a;
    return 0;
}

WEFT_SCAN_FN int WEFT_SCAN_(scan)(WEFT_SCAN_(element) * out, const WEFT_SCAN_(element) * in, size_t n, void *arg,
                                  int (*scan)(size_t, size_t, void *, void *)) {
    WEFT_SCAN_(element) value = WEFT_SCAN_IDENTITY, identity = WEFT_SCAN_IDENTITY;
    struct WEFT_SCAN_(arrays) arrays = {out, in, arg};
    struct weft_prefix how = {{sizeof value, &identity, WEFT_SCAN_(fold), WEFT_SCAN_(combine)}, scan};
    struct weft_for_options options = WEFT_FOR_INIT;
    options.element = sizeof value;
    if (n && (!out || !in || n > SIZE_MAX / sizeof value)) return -EINVAL;
    return weft_scan(0, n, &value, &how, &arrays, &options);
}

WEFT_MUST_USE WEFT_SCAN_FN int WEFT_SCAN_(inclusive)(WEFT_SCAN_(element) * out, const WEFT_SCAN_(element) * in,
                                                     size_t n, void *arg) {
    return WEFT_SCAN_(scan)(out, in, n, arg, WEFT_SCAN_(scan_inclusive));
}

WEFT_MUST_USE WEFT_SCAN_FN int WEFT_SCAN_(exclusive)(WEFT_SCAN_(element) * out, const WEFT_SCAN_(element) * in,
                                                     size_t n, void *arg) {
    return WEFT_SCAN_(scan)(out, in, n, arg, WEFT_SCAN_(scan_exclusive));
}

WEFT_MUST_USE WEFT_SCAN_FN int WEFT_SCAN_(reduce)(WEFT_SCAN_(element) * value, const WEFT_SCAN_(element) * in, size_t n,
                                                  void *arg) {
    WEFT_SCAN_(element) identity = WEFT_SCAN_IDENTITY;
    struct WEFT_SCAN_(arrays) arrays = {NULL, in, arg};
    struct weft_reduction how = {sizeof identity, &identity, WEFT_SCAN_(fold), WEFT_SCAN_(combine)};
    if (!value || (n && !in) || n > SIZE_MAX / sizeof identity) return -EINVAL;
    return weft_reduce(0, n, value, &how, &arrays, NULL);
}

#undef WEFT_SCAN_NAME
#undef WEFT_SCAN_TYPE
#undef WEFT_SCAN_IDENTITY
#undef WEFT_SCAN_OPERATION
