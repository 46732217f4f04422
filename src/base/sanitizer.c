/* SPDX-License-Identifier: MIT */
/* Warns a program that runs with a sanitizer while this library was built without it. See sanitizer.h. */
#include "base/sanitizer.h"

#include "base/message.h"

#if !defined(WEFT_ASAN) && !defined(WEFT_TSAN)

/* Only a program that was linked with the sanitizer has these. */
extern void __tsan_init(void) __attribute__((weak));
extern void __asan_init(void) __attribute__((weak));

void weft__san_notice(void) {
    static bool said; /* runtimes start one after the other */
    if ((!__tsan_init && !__asan_init) || said) return;
    said = true;
    if (__tsan_init)
        weft__say("this library does not tell ThreadSanitizer about fibers, so it will report races that are none. "
                  "Link libweft-tsan instead: docs/INSTALL.md, Sanitizers");
    else
        weft__say("this library does not tell AddressSanitizer about fibers, so reports about stacks and leaks may be "
                  "wrong. Link libweft-asan instead: docs/INSTALL.md, Sanitizers");
}

#else

void weft__san_notice(void) {}

#endif
