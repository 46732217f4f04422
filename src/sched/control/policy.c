/* SPDX-License-Identifier: MIT */
/* Reads the choices of an experiment from the environment. See core/policy.h. */
#include "base/message.h"
#include "sched/control/config.h"

#include <stdlib.h>
#include <string.h>

/* The index of the variable's value in `names`; 0, the default, if the variable is unset or has another value. */
static uint8_t policy_choice(const char *variable, const char *const names[], const char *listed) {
    const char *text = getenv(variable);
    if (!text || !*text) return 0;
    for (uint8_t i = 0; names[i]; i++)
        if (!strcmp(names[i], text)) return i;
    weft__say("%s=%s is ignored: it must be one of %s", variable, text, listed);
    return 0;
}

void weft__policy_read(struct weft__policy *p) {
    static const char *const victims[] = {"near", "random", "round", NULL};
    static const char *const amounts[] = {"half", "one", "all", NULL};
    static const char *const queues[] = {"own", "global", "shared", NULL};
    static const char *const backoffs[] = {"1", "0", NULL};
    p->victims = policy_choice("WEFT_VICTIMS", victims, "near, random, round");
    p->amount = policy_choice("WEFT_AMOUNT", amounts, "half, one, all");
    p->queue = policy_choice("WEFT_QUEUE", queues, "own, global, shared");
    p->no_backoff = policy_choice("WEFT_BACKOFF", backoffs, "0, 1");
}
