/* SPDX-License-Identifier: MIT */
/*
 * scope: begin a scope, spawn children that do next to nothing, and end it. Other systems have no scopes, so they run
 * `create`: Go waits for the batch by a WaitGroup, threads and Boost's fibers are joined.
 *
 *   batch=  children
 *
 * Metric: ns for each child.
 */
#include "own.h"
#include "system.h"

#include <stdlib.h>

static int child(void *ran) {
    ++*(uint64_t *)ran;
    return 0;
}

void own_scope(const struct args *args, struct result *result) {
    size_t batch = arg(args, "batch");
    uint64_t *ran = allocate(batch, sizeof *ran), rounds = 0;
    struct alarm_clock alarm;
    alarm_start(&alarm, arg(args, "ms"));
    uint64_t began = clock_ns();
    do {
        struct weft_scope scope;
        must(weft_scope_begin(&scope, WEFT_FOREVER), "weft_scope_begin");
        for (size_t i = 0; i < batch; i++) must(weft_scope_spawn(&scope, NULL, child, &ran[i]), "weft_scope_spawn");
        must(weft_scope_end(&scope), "weft_scope_end");
        rounds++;
    } while (!alarm_rung(&alarm));
    uint64_t ended = clock_ns();
    alarm_join(&alarm);
    result->values[0] = (double)(ended - began) / (double)rounds / (double)batch;
    result->right = true;
    for (size_t i = 0; i < batch; i++) result->right &= ran[i] == rounds;
    free(ran);
}
