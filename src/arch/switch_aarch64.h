/* SPDX-License-Identifier: MIT */
/*
 * aarch64. Fixed registers: x0 carried, x1 from, x2 to. The entry of a fresh stack finds them there. The landing pad
 * (bti j) is a no-op on machines that do not check branch targets. On Linux x18 is an ordinary register; fibers cannot
 * be switched where it holds a shadow call stack.
 *
 * The list of overwritten registers names every register in which the compiler may keep a value. A v register stands
 * for the whole z register. ffr is not named, because clang 14 has no name for it; no compiler keeps values there on
 * its own. The streaming mode and za of SME do not survive a call of a function that does not declare them.
 */
#ifdef __ARM_FEATURE_SVE
#define WEFT_OVERWRITES_SVE \
    , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15"
#else
#define WEFT_OVERWRITES_SVE
#endif

static inline __attribute__((always_inline)) void *weft__switch(struct weft__context *from, struct weft__context *to,
                                                                void *carried) {
    register void *x0 __asm__("x0") = carried;
    register struct weft__context *x1 __asm__("x1") = from;
    register struct weft__context *x2 __asm__("x2") = to;
    __asm__ volatile("adr x9, 1f\n\t"
                     "mov x10, sp\n\t"
                     "stp x9, x10, [x1, #" PC "]\n\t"
                     "str x29, [x1, #" FP "]\n\t"
                     "ldp x9, x10, [x2, #" PC "]\n\t"
                     "ldr x29, [x2, #" FP "]\n\t"
                     "mov sp, x10\n\t"
                     "add x11, x1, #" ON "\n\t"
                     "stlrb wzr, [x11]\n\t"
                     "br x9\n\t"
                     "1: hint #36\n\t"
                     : "+r"(x0), "+r"(x1), "+r"(x2)
                     :
                     : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
                       "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1",
                       "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16",
                       "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
                       "v31" WEFT_OVERWRITES_SVE, "memory", "cc");
    return x0;
}

static inline __attribute__((always_inline, noreturn)) void weft__switch_away(struct weft__context *to, void *carried) {
    register void *x0 __asm__("x0") = carried;
    register struct weft__context *x2 __asm__("x2") = to;
    __asm__ volatile("ldp x9, x10, [x2, #" PC "]\n\t"
                     "ldr x29, [x2, #" FP "]\n\t"
                     "mov sp, x10\n\t"
                     "br x9\n\t"
                     :
                     : "r"(x0), "r"(x2)
                     : "x9", "x10", "memory");
    __builtin_unreachable();
}

/*
 * The calling thread's value of the thread-local `weft__tls`. In assembly, because a compiler may keep the address of a
 * thread-local across a switch, where it would be another thread's.
 */
static inline void *weft__tls_get(void) {
    void *p, *thread;
    __asm__ volatile("mrs %1, tpidr_el0\n\t"
                     "adrp %0, :gottprel:weft__tls\n\t"
                     "ldr %0, [%0, #:gottprel_lo12:weft__tls]\n\t"
                     "ldr %0, [%1, %0]"
                     : "=&r"(p), "=&r"(thread)::"memory");
    return p;
}
