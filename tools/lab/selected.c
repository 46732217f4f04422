/* SPDX-License-Identifier: MIT */
/* Which experiments are asked for. See experiments.h. */
#include "experiments.h"

#include <string.h>

bool experiment_selected(const struct experiment *e, const char *only) {
    if (!only || !strcmp(e->id, only)) return true;
    size_t n = strlen(only);
    for (const char *at = e->twins; n == 3 && (at = strstr(at, only)); at += n)
        if (at == e->twins || at[-1] == ' ') return true;
    return false;
}
