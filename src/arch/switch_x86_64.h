/* SPDX-License-Identifier: MIT */
/*
 * x86-64. Fixed registers: rdi carried, rsi from, rdx to. The entry of a fresh stack finds them there. A plain store is
 * a release on this machine.
 *
 * The list of overwritten registers names every register in which the compiler may keep a value. The set depends on
 * -march, and gcc refuses names of registers that the target does not have. An xmm register stands for the whole ymm
 * and zmm register. mm0 to mm7 and tmm0 to tmm7 are not named; no compiler uses them on its own.
 */
#if defined(__AVX512F__) || defined(__AVX10_1__)
#define WEFT_OVERWRITES_AVX512 \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", \
        "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define WEFT_OVERWRITES_AVX512
#endif
#ifdef __APX_F__
#define WEFT_OVERWRITES_APX \
    , "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27", "r28", "r29", "r30", "r31"
#else
#define WEFT_OVERWRITES_APX
#endif

static inline __attribute__((always_inline)) void *weft__switch(struct weft__context *from, struct weft__context *to,
                                                                void *carried) {
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                     "movq %%rax, " PC "(%%rsi)\n\t"
                     "movq %%rsp, " SP "(%%rsi)\n\t"
                     "movq %%rbp, " FP "(%%rsi)\n\t"
                     "movq " SP "(%%rdx), %%rsp\n\t"
                     "movq " FP "(%%rdx), %%rbp\n\t"
                     "movb $0, " ON "(%%rsi)\n\t"
                     "jmpq *" PC "(%%rdx)\n\t"
                     "1: endbr64\n\t"
                     : "+D"(carried), "+S"(from), "+d"(to)
                     :
                     : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
                       "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
                       "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)",
                       "st(7)" WEFT_OVERWRITES_AVX512 WEFT_OVERWRITES_APX, "memory", "cc");
    return carried;
}

static inline __attribute__((always_inline, noreturn)) void weft__switch_away(struct weft__context *to, void *carried) {
    __asm__ volatile("movq " SP "(%%rdx), %%rsp\n\t"
                     "movq " FP "(%%rdx), %%rbp\n\t"
                     "jmpq *" PC "(%%rdx)\n\t"
                     :
                     : "D"(carried), "d"(to)
                     : "memory");
    __builtin_unreachable();
}

/*
 * The calling thread's value of the thread-local `weft__tls`. In assembly, because a compiler may keep the address of a
 * thread-local across a switch, where it would be another thread's.
 */
static inline void *weft__tls_get(void) {
    void *p;
    __asm__ volatile("movq weft__tls@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=r"(p)::"memory");
    return p;
}
