/* SPDX-License-Identifier: MIT */
/* Linked to another test: the same program must have the same results with continuation stealing. */
#include <stdlib.h>

__attribute__((constructor)) static void steal_continuations(void) { setenv("WEFT_CONTINUATIONS", "1", 1); }
