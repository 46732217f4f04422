/* SPDX-License-Identifier: MIT */
/* See crowd.h. The part chaos runs all other parts at once, on one runtime. */
#include "crowd.h"

#include <stdlib.h>

void crowd(unsigned fibers, unsigned threads, void *(*fn)(void *), void *each, size_t size) {
    struct weft_fiber *f = calloc(fibers + 1, sizeof *f);
    pthread_t *t = calloc(threads + 1, sizeof *t);
    char *arg = each;
    SO(f && t);
    for (unsigned i = 0; i < fibers; i++, arg += size) f[i] = spawn(NULL, fn, arg);
    for (unsigned i = 0; i < threads; i++, arg += size) OK(pthread_create(&t[i], NULL, fn, arg));
    for (unsigned i = 0; i < fibers; i++) join(f[i]);
    for (unsigned i = 0; i < threads; i++) OK(pthread_join(t[i], NULL));
    free(f);
    free(t);
}

void employ_one_after_another(uint64_t *random, const struct weft_attr *attr, void *(*work)(void *seed)) {
    while (!over()) {
        uint64_t seed = roll(random);
        if (!weft_self().id) {
            work(&seed);
            continue;
        }
        struct weft_fiber f = spawn(attr, work, &seed);
        if (below(random, 2)) {
            pause_a_bit(random);
            OK(weft_cancel(f));
        }
        join(f);
    }
}

struct guest {
    const struct part *part;
    uint64_t random;
    pthread_t thread;
};

static void *run_guest(void *p) {
    struct guest *g = p;
    do g->part->round(roll(&g->random));
    while (!over());
    return NULL;
}

static void chaos_round(uint64_t random) {
    enum { MOST = 40 };
    struct guest guest[MOST];
    unsigned n = 0;
    for (unsigned t = 0; part_tables[t]; t++)
        for (const struct part *p = part_tables[t]; p->name && n < MOST; p++) {
            /* Except parts that compute without end: they leave too little time for the rest. */
            if (p->starts_itself || p->greedy || p->round == chaos_round) continue;
            guest[n] = (struct guest){.part = p, .random = roll(&random)};
            OK(pthread_create(&guest[n].thread, NULL, run_guest, &guest[n]));
            n++;
        }
    while (n--) OK(pthread_join(guest[n].thread, NULL));
}

const struct part parts_together[] = {{"chaos", chaos_round, false, false}, {NULL, NULL, false, false}};
