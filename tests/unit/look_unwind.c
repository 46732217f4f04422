/* SPDX-License-Identifier: MIT */
/* Unwinding by hand-made registers: a function whose return address is in a register, at its last instruction. */
#include "../test.h"

#include "look/look.h"

#include <unistd.h>

#if defined(__x86_64__)
extern char last[] __asm__("__x86_return_thunk") __attribute__((visibility("hidden")));
enum { INTO = 1 }; /* after the pop */
#else
extern char last[];
__asm__(".text\n.type last, %function\nlast: .cfi_startproc\nret\n.cfi_endproc\n.size last, . - last");
enum { INTO = 0 };
#endif

static const char somewhere[1];

TEST(a_return_address_in_a_register) {
    struct weft__memory memory = weft__memory_of(getpid());
    struct weft__modules modules;
    uint64_t stack[16] = {0}, frame[WEFT_LOOK_FRAMES], here = (uintptr_t)somewhere;
    CHECK_EQ(weft__modules_of(&memory, &modules), 0);
    struct weft__unwinder *u = weft__unwinder_make(&memory, &modules);
    CHECK(u != NULL);
    struct weft__window none = {0, 0, NULL};
    uint64_t low = (uintptr_t)stack, top = low + sizeof stack;
    struct weft__registers at = {(uintptr_t)last + INTO, low + 64, 0, here};
    CHECK(weft__unwind(u, at, &none, low, top, frame) >= 2);
    CHECK_EQ(frame[0], at.pc);
    CHECK_EQ(frame[1], here);
    at.link = 0; /* not known */
    CHECK_EQ(weft__unwind(u, at, &none, low, top, frame), 1);
    weft__unwinder_free(u);
    weft__modules_free(&modules);
}
