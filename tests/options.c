/* SPDX-License-Identifier: MIT */
/*
 * Options of the sanitizers, which ask the program for them, so that no variables need be set. With
 * WEFT_TEST_MEMBARRIER=forbidden the tests run as on a kernel without membarrier.
 */
#include "forbid.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void choose_kernel(void) {
    const char *membarrier = getenv("WEFT_TEST_MEMBARRIER");
    if (membarrier && !strcmp(membarrier, "forbidden") && forbid(SYS_membarrier, ENOSYS)) abort();
}

/* By default a process with threads waits for a second at its end, and its forked children may have none. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "atexit_sleep_ms=20:die_after_fork=0"; }

/* By default undefined behaviour is only reported, and the test would still pass. */
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void) { return "halt_on_error=1:print_stacktrace=1"; }
