/* SPDX-License-Identifier: MIT */
/* All tables of benchmarks. See bench.h. */
#include "registry.h"

#include <string.h>

static const struct bench *const tables[] = {benches_of_fibers, benches_of_locks, benches_of_chan, benches_of_forks,
                                             benches_of_io};

const struct bench *bench_at(size_t index) {
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct bench *b = tables[t]; b->name; b++)
            if (index-- == 0) return b;
    return NULL;
}

const struct bench *bench_find(const char *name) {
    const struct bench *b;
    for (size_t i = 0; (b = bench_at(i)); i++)
        if (!strcmp(b->name, name)) break;
    return b;
}

const struct entrant *bench_entrant(const struct bench *bench, const char *system) {
    for (const struct entrant *e = bench->entrants; e < bench->entrants + BENCH_ENTRANTS && e->system; e++)
        if (!strcmp(e->system, system)) return e;
    return NULL;
}
