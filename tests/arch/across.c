/* SPDX-License-Identifier: MIT */
/*
 * Values of every kind live across a context switch, more of each kind than there are registers. The other side of the
 * switch overwrites all registers and switches back. run.sh builds this for several machines, runs the builds that this
 * processor can run, and inspects the code of all (inspect.py).
 */
#include "arch/switch.h"

#include <stdio.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_SVE)
#include <arm_sve.h>
#endif

#undef WEFT_SWITCHES /* the thunk that it returns through is not here */
#define WEFT_SWITCHES __attribute__((noinline))

static struct weft__context main_flow, other_flow;
static char other_stack[16384] __attribute__((aligned(64)));

/* --- the other side ------------------------------------------------------------------------------ */

#define ALL_16(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12) x(13) x(14) x(15)
#define UPPER_16(x) x(16) x(17) x(18) x(19) x(20) x(21) x(22) x(23) x(24) x(25) x(26) x(27) x(28) x(29) x(30) x(31)
#define MASKS_8(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7)

static WEFT_SWITCHES void fill_registers(void) {
#if defined(__x86_64__)
#define FILL_XMM(n) "pcmpeqd %%xmm" #n ", %%xmm" #n "\n\t"
#define FILL_ZMM(n) "vpternlogd $255, %%zmm" #n ", %%zmm" #n ", %%zmm" #n "\n\t"
#define FILL_K(n) "kxnorw %%k" #n ", %%k" #n ", %%k" #n "\n\t"
    __asm__ volatile("fninit\n\t" ALL_16(FILL_XMM)::: "memory");
    __asm__ volatile("movq $-1, %%rbx\n\tmovq %%rbx, %%r12\n\tmovq %%rbx, %%r13\n\tmovq %%rbx, %%r14\n\t"
                     "movq %%rbx, %%r15" ::
                         : "rbx", "r12", "r13", "r14", "r15");
#ifdef __AVX512F__
    __asm__ volatile(ALL_16(FILL_ZMM) UPPER_16(FILL_ZMM) MASKS_8(FILL_K)::: "memory");
#endif
#else
#define FILL_V(n) "movi v" #n ".16b, #255\n\t"
#define FILL_Z(n) "dup z" #n ".b, #-1\n\t"
#define FILL_P(n) "ptrue p" #n ".b\n\t"
    __asm__ volatile(ALL_16(FILL_V) UPPER_16(FILL_V)::: "memory");
#ifdef __ARM_FEATURE_SVE
    __asm__ volatile(ALL_16(FILL_Z) UPPER_16(FILL_Z) ALL_16(FILL_P)::: "memory");
#endif
#endif
}

static __attribute__((noreturn, noinline)) void other_side(void) {
    for (;;) {
        fill_registers();
        weft__switch(&other_flow, &main_flow, NULL);
    }
}

static void begin_other_side(void) {
#ifdef __x86_64__
    enum { CALL = 8 }; /* bytes that a call leaves on the stack */
#else
    enum { CALL = 0 };
#endif
    other_flow.pc = (void *)(uintptr_t)other_side;
    other_flow.sp = other_stack + sizeof other_stack - 64 - CALL;
}

/* --- values that live across ---------------------------------------------------------------------- */

#define EACH_12(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11)
#define EACH_36(x) EACH_12(x) x(12) x(13) x(14) x(15) x(16) x(17) x(18) x(19) x(20) x(21) x(22) x(23) EACH_LAST(x)
#define EACH_LAST(x) x(24) x(25) x(26) x(27) x(28) x(29) x(30) x(31) x(32) x(33) x(34) x(35)
#define MAKE(n) v##n = in[n] * in[n] + in[n];
#define NAME(n) v##n,
#define KEEP(n) out[n] = v##n;

typedef double wide __attribute__((vector_size(64)));
#define ACROSS(name, type, EACH) \
    WEFT_SWITCHES void across_##name(struct weft__context *from, struct weft__context *to, const type *in, \
                                     type *out) { \
        type EACH(NAME) last; \
        EACH(MAKE) \
        last = in[0]; \
        weft__switch(from, to, NULL); \
        EACH(KEEP) \
        out[0] += last; \
    }

ACROSS(long, long, EACH_36)
ACROSS(float, float, EACH_36)
ACROSS(double, double, EACH_36)
ACROSS(long_double, long double, EACH_12)
ACROSS(wide, wide, EACH_36)

#define CHECK(name, type, many, same) \
    static int check_##name(void) { \
        static type in[many], out[many], want[many]; \
        for (int i = 0; i < (many); i++) in[i] = (type){0} + (i + 1); \
        for (int i = 0; i < (many); i++) want[i] = in[i] * in[i] + in[i]; \
        want[0] += in[0]; \
        across_##name(&main_flow, &other_flow, in, out); \
        int bad = 0; \
        for (int i = 0; i < (many); i++) bad += !(same); \
        if (bad) printf("%d of %d values of type %s are lost\n", bad, many, #name); \
        return bad; \
    }

CHECK(long, long, 36, out[i] == want[i])
CHECK(float, float, 36, out[i] == want[i])
CHECK(double, double, 36, out[i] == want[i])
CHECK(long_double, long double, 12, out[i] == want[i])
CHECK(wide, wide, 36, !memcmp(&out[i], &want[i], sizeof(wide)))

/* Results of comparisons, in mask registers where there are some. */
#if defined(__AVX512F__)
typedef __mmask16 mask;
WEFT_SWITCHES void across_masks(struct weft__context *from, struct weft__context *to, const int *in, int *out) {
    __m512i v = _mm512_loadu_si512(in);
#define COMPARE(n) mask m##n = _mm512_cmpgt_epi32_mask(v, _mm512_set1_epi32(n));
#define COUNT(n) _mm512_mask_storeu_epi32(out + 16 * n, m##n, _mm512_set1_epi32(1));
    EACH_12(COMPARE)
    weft__switch(from, to, NULL);
    EACH_12(COUNT)
}
#elif defined(__ARM_FEATURE_SVE)
WEFT_SWITCHES void across_masks(struct weft__context *from, struct weft__context *to, const int *in, int *out) {
    svbool_t first = svwhilelt_b32(0, 4); /* the least there are */
    svint32_t v = svld1(first, in);
#define COMPARE(n) svbool_t m##n = svcmpgt(first, v, n - 8);
#define COUNT(n) svst1(m##n, out + 16 * n, svdup_s32(1));
    EACH_12(COMPARE)
    weft__switch(from, to, NULL);
    EACH_12(COUNT)
}
#else
WEFT_SWITCHES void across_masks(struct weft__context *from, struct weft__context *to, const int *in, int *out) {
    (void)in, (void)out;
    weft__switch(from, to, NULL);
}
#endif

static int check_masks(void) {
    static int in[16], out[12 * 16];
    int bad = 0;
    for (int i = 0; i < 16; i++) in[i] = i - 8;
    across_masks(&main_flow, &other_flow, in, out);
#if defined(__AVX512F__)
    for (int n = 0; n < 12; n++)
        for (int i = 0; i < 16; i++) bad += out[16 * n + i] != (in[i] > n);
#elif defined(__ARM_FEATURE_SVE)
    for (int n = 0; n < 12; n++)
        for (int i = 0; i < 4; i++) bad += out[16 * n + i] != (in[i] > n - 8);
#endif
    if (bad) printf("%d results of comparisons are lost\n", bad);
    return bad;
}

int main(void) {
    begin_other_side();
    int bad = check_long() + check_float() + check_double() + check_long_double() + check_wide() + check_masks();
    return bad != 0;
}
