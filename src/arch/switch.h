/* SPDX-License-Identifier: MIT */
/*
 * The context switch.
 *
 *   carried = weft__switch(&from, &to, carried)
 *
 * saves the running flow in `from` and continues in `to`. The call returns when another flow switches to `from`, with
 * the pointer that this flow carried. The scheduler passes its worker this way, so that a worker pointer from before a
 * switch is never used after it.
 *
 *   weft__switch_away(&to, carried)
 *
 * continues in `to` and never returns. The thread may reuse the old stack at once.
 *
 * Why inline, and why a jump: a routine that saves six registers and returns costs 13 to 17 ns, because the return is
 * mispredicted. Inline, the compiler saves only live values, and each indirect jump has its own prediction. The switch
 * saves neither the floating-point environment (rounding mode, masks, sticky exceptions: mxcsr and the x87 control
 * word, or FPCR and FPSR), nor the signal mask, nor thread-local storage; see sched/dispatch/own_tls.c for the last.
 *
 * The assembly does not push: leaf functions keep data below the stack pointer.
 */
#ifndef WEFT_ARCH_SWITCH_H
#define WEFT_ARCH_SWITCH_H

#include "arch/context.h"

#define WEFT_ASM_STR_(x) #x
#define WEFT_ASM_STR(x) WEFT_ASM_STR_(x)
#define PC WEFT_ASM_STR(WEFT_CONTEXT_PC)
#define SP WEFT_ASM_STR(WEFT_CONTEXT_SP)
#define FP WEFT_ASM_STR(WEFT_CONTEXT_FP)
#define ON WEFT_ASM_STR(WEFT_CONTEXT_ON)

#if defined(__x86_64__)
#include "arch/switch_x86_64.h"
#elif defined(__aarch64__)
#include "arch/switch_aarch64.h"
#else
#error "weft runs on x86-64 and aarch64"
#endif

/*
 * For functions that switch. After a switch the processor's return stack belongs to another fiber, so a plain return is
 * mispredicted (9 ns). The attribute makes these functions return by an indirect jump, which is predicted by history.
 * Put paths that do not switch into a function without the attribute. clang 14 and aarch64 have no such attribute.
 *
 * A function that switches is never inlined into a function of another file, neither here nor as WEFT_COLD. With
 * link-time optimisation that could be a function of the program that is compiled for a larger machine, with registers
 * that the switch does not name.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WEFT_SWITCHES __attribute__((noinline, function_return("thunk-extern")))
#else
#define WEFT_SWITCHES __attribute__((noinline))
#endif

#undef PC
#undef SP
#undef FP
#undef ON

#endif
