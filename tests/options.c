/*
 * How the sanitizers behave in tests. They ask the program itself for these, so that nobody has to
 * set variables.
 */
#include "test.h"

/* By default a process with threads waits for a second at its end, and its forked children may have none. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "atexit_sleep_ms=20:die_after_fork=0"; }

/* By default undefined behaviour is only reported: a test would pass all the same. */
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void) { return "halt_on_error=1:print_stacktrace=1"; }
