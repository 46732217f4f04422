/* SPDX-License-Identifier: MIT */
/*
 * The stress test: one program, many parts. Each part runs for some seconds on some number of
 * workers and accounts for every item: what went in has come out, once. A watchdog ends the program
 * with the statistics when nothing has moved for a minute.
 *
 *     stress list
 *     stress PART [--seconds S] [--workers N] [--seed X]
 *
 * Without --seconds it runs for WEFT_STRESS_SECONDS, or one second.
 */
#ifndef WEFT_TESTS_STRESS_H
#define WEFT_TESTS_STRESS_H

#include "../test.h"
#include "../want.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct part {
    const char *name;
    /* Called for round r on the main thread with the runtime started, again and again until the time is over. Random
     * numbers follow from the seed and the round. */
    void (*round)(uint64_t random);
    bool starts_itself; /* the runtime is not running when round is called */
    bool greedy;        /* keeps workers from others */
};
extern const struct part parts_of_fibers[], parts_of_waits[], parts_of_time[], parts_of_races[], parts_of_cancels[],
    parts_of_locks[], parts_of_conditions[], parts_from_outside[], parts_of_queues[], parts_of_deques[], parts_alone[],
    parts_of_elastic[], parts_of_lives[], parts_of_channels[], parts_of_scopes[], parts_of_tasks[], parts_of_loops[],
    parts_of_the_kernel[], parts_of_io[], parts_together[];
extern const struct part *const part_tables[]; /* all of these, and NULL */

extern unsigned workers;                /* of the runtime */
extern unsigned shrink;                 /* sizes are divided by this: sanitizers are slow, and allow fewer fibers */
extern uint64_t end_at;                 /* of weft_now() */
extern _Atomic uint64_t resizes, lives; /* counts that are printed at the end */
void moved(void);                       /* tells the watchdog */
void dump(void);                        /* prints the state of the runtime to standard error */

static inline uint64_t roll(uint64_t *state) {
    uint64_t x = *state ? *state : 88172645463325252ULL;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

#endif
