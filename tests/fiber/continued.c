/* SPDX-License-Identifier: MIT */
/* Linked to a test: the same program, the same results, with the parents stolen. */
#include <stdlib.h>

__attribute__((constructor)) static void steal_continuations(void) { setenv("WEFT_CONTINUATIONS", "1", 1); }
