/*
 * The context switch.
 *
 *   carried = weft__switch(&from, &to, carried)
 *
 * saves the running flow in `from` and goes on in `to`. The call returns when somebody switches to
 * `from` again, with what that somebody carried along: the scheduler passes its worker this way, so
 * that no worker pointer from before a switch is ever used after it.
 *
 *   weft__switch_away(&to, carried)
 *
 * goes on in `to` and never comes back; the stack it leaves may be reused by this thread at once.
 *
 * Why inline and why a jump: a routine that saves six registers and returns costs 13 to 17 ns,
 * because the return is mispredicted; the compiler saves only what is live here, and an indirect
 * jump has its own prediction at each place of use. Not switched: the floating-point environment
 * (rounding mode, masks, sticky exceptions: mxcsr and the x87 control word, or FPCR and FPSR), the signal
 * mask, thread-local storage.
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
 * For functions that switch. After a switch the processor's stack of return addresses is another
 * fiber's, so a plain return is mispredicted (9 ns); the attribute makes these functions return by
 * an indirect jump, which is predicted by history. Paths that do not switch belong into a function
 * without it. clang 14 and aarch64 have nothing like it, and pay.
 *
 * A function that switches is never inlined into another file's, here or as WEFT_COLD: with link-time
 * optimisation that may be a function of the program that is built for a larger machine, with registers
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
