/* SPDX-License-Identifier: MIT */
/*
 * Jumps that restore the signal mask: sigsetjmp with a mask, and siglongjmp. The C library saves and restores the mask
 * of the kernel thread. That is the carrier's here, so the mask of the thread is written beside it. A buffer that was
 * filled before threads were fibers holds the mask of the first thread.
 *
 * A handler may end with such a jump. Then the thread was in no wait: all waits end before they run handlers.
 */
#define _GNU_SOURCE
#include "threads/threads.h"

#include <setjmp.h>
#include <string.h>

enum { MARK = 0x77656674 };
struct saved {
    uint64_t of_kernel_thread, mark, of_thread; /* within __saved_mask */
};
_Static_assert(sizeof(struct saved) <= sizeof(sigset_t), "fits");

extern _Noreturn void __wrap_siglongjmp(struct __jmp_buf_tag *env, int value);
_Noreturn void __longjmp_chk(struct __jmp_buf_tag env[1], int value);

/* __sigsetjmp calls this first (jump_*.S). Only a buffer with a mask is a whole struct. */
void weft__jump_save(struct __jmp_buf_tag *env, int saves_mask) __attribute__((visibility("hidden")));
void weft__jump_save(struct __jmp_buf_tag *env, int saves_mask) {
    struct weft__thread *t = weft__thread_self();
    if (!saves_mask) return;
    struct saved s = {.mark = t ? MARK : 0, .of_thread = t ? load_rlx(&t->mask) : 0};
    memcpy(&env->__saved_mask, &s, sizeof s);
}

static _Noreturn void jump_back(struct __jmp_buf_tag *env, int value) {
    struct weft__thread *t = weft__thread_self();
    if (t && env->__mask_was_saved) {
        struct saved s;
        memcpy(&s, &env->__saved_mask, sizeof s);
        if (s.mark != MARK) s = (struct saved){~WEFT_FAULT_SIGNALS, MARK, s.of_kernel_thread};
        memcpy(&env->__saved_mask, &s, sizeof s);
        store_rlx(&t->mask, s.of_thread);
        weft__signals_await(t, 0);
        weft__signals_recheck(t);
    }
    __wrap_siglongjmp(env, value);
}

WEFT_INTERPOSED void siglongjmp(struct __jmp_buf_tag env[1], int value) { jump_back(env, value); }
WEFT_INTERPOSED void longjmp(struct __jmp_buf_tag env[1], int value) { jump_back(env, value); }
WEFT_INTERPOSED void _longjmp(struct __jmp_buf_tag env[1], int value) { jump_back(env, value); }
/* Skips the C library's check of the stack pointer, because the C library knows only the stacks of kernel threads. */
WEFT_INTERPOSED void __longjmp_chk(struct __jmp_buf_tag env[1], int value) { jump_back(env, value); }
