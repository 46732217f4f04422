/* SPDX-License-Identifier: MIT */
/* Which workers a worker looks at: near workers first and most often, and every worker in the end. */
#include "../test.h"

#include "base/sys.h"
#include "sched/place/victims.h"

#include <string.h>

enum { MOST = 256 };

/* Builds topologies by hand: CPUs of a core, cores of a cache, caches of a node. */
struct machine {
    const char *what;
    unsigned cpus, per_core, per_cache, per_node; /* CPUs in each */
};
static const struct machine machines[] = {
    {"two sockets of 64 cores with eight caches each", 128, 1, 8, 64},
    {"the same, of 128 cores and sixteen", 256, 1, 8, 128},
    {"a ring of chiplets", 64, 1, 4, 64},
    {"two sockets, two threads a core", 64, 2, 16, 32},
    {"one cache", 16, 1, 16, 16},
    {"one core", 2, 2, 2, 2},
    {"caches of one core each, four nodes", 32, 1, 1, 8},
    {"three workers", 3, 1, 2, 3},
};
#define EACH_MACHINE(m) for (const struct machine *m = machines; m < machines + sizeof machines / sizeof *machines; m++)

static uint16_t cpu_of[MOST];

static struct weft__topology *make(const struct machine *m) {
    struct weft__topology *t = weft__alloc(sizeof *t + m->cpus * sizeof t->location[0]);
    CHECK(t);
    t->cpus = m->cpus;
    for (unsigned i = 0; i < m->cpus; i++) {
        t->location[i] = (struct weft__cpu_location){(uint16_t)(i / m->per_core), (uint16_t)(i / m->per_cache),
                                                     (uint16_t)(i / m->per_node)};
        cpu_of[i] = (uint16_t)i;
    }
    return t;
}

static void arrange(struct weft__victims *v, const struct weft__topology *t, unsigned self) {
    CHECK(!weft__victims_arrange(v, t, cpu_of, t->cpus, self));
    CHECK_EQ(v->count, t->cpus - 1);
}

TEST(all_the_others_nearest_first) {
    EACH_MACHINE(m) {
        struct weft__topology *t = make(m);
        struct weft__victims v = {0};
        for (unsigned self = 0; self < t->cpus; self++) {
            bool there[MOST] = {0};
            arrange(&v, t, self);
            unsigned i = 0;
            for (unsigned d = 0; d < WEFT_DISTANCES; d++)
                for (; i < v.end[d]; i++) {
                    CHECK_EQ(weft__topology_distance(t, self, v.order[i]), d);
                    CHECK(v.order[i] != self && !there[v.order[i]]);
                    there[v.order[i]] = true;
                }
            CHECK_EQ(i, t->cpus - 1);
        }
        weft__victims_free(&v);
        weft__free(t);
    }
}

TEST(distances_of_two_sockets) {
    struct weft__topology *t = make(&machines[0]);
    struct weft__victims v = {0};
    arrange(&v, t, 70);
    CHECK_EQ(v.end[WEFT_NEAR_CORE], 0);
    CHECK_EQ(v.end[WEFT_NEAR_CACHE], 7);
    CHECK_EQ(v.end[WEFT_NEAR_NODE], 63);
    CHECK_EQ(v.end[WEFT_FAR], 127);
    weft__victims_free(&v);
    weft__free(t);
}

TEST(arranged_again) {
    struct weft__topology *t = make(&machines[0]);
    struct weft__victims v = {0};
    arrange(&v, t, 3);
    cpu_of[100] = cpu_of[3]; /* that one came to our CPU */
    arrange(&v, t, 3);
    CHECK_EQ(v.end[WEFT_NEAR_CORE], 1);
    CHECK_EQ(v.order[0], 100);
    CHECK(!weft__victims_arrange(&v, t, cpu_of, 2, 1)); /* fewer workers */
    CHECK_EQ(v.count, 1);
    CHECK_EQ(v.order[0], 0);
    CHECK_EQ(v.end[WEFT_FAR], 1);
    arrange(&v, t, 127); /* and more again */
    weft__victims_free(&v);
    CHECK(!v.order && !v.count);
    weft__free(t);
}

TEST(a_worker_alone_looks_at_itself) {
    struct weft__topology *t = make(&machines[5]);
    struct weft__victims v = {0};
    struct weft__victims_round r;
    uint64_t random = 1;
    unsigned worker;
    CHECK(!weft__victims_arrange(&v, t, cpu_of, 1, 0));
    for (unsigned i = 0; i < 100; i++) CHECK_EQ(weft__victims_one(&v, i, &random), 0);
    weft__victims_begin(&v, &random, &r);
    CHECK(!weft__victims_next(&v, &r, &worker));
    weft__victims_free(&v);
    weft__free(t);
}

/* --- to help ------------------------------------------------------------------------------------ */

/* How many of n looks go to each distance. */
static void count_looks(const struct machine *m, unsigned self, unsigned looks, unsigned count[WEFT_DISTANCES]) {
    struct weft__topology *t = make(m);
    struct weft__victims v = {0};
    uint64_t random = 42;
    arrange(&v, t, self);
    memset(count, 0, WEFT_DISTANCES * sizeof *count);
    for (unsigned i = 0; i < looks; i++) count[weft__topology_distance(t, self, weft__victims_one(&v, i, &random))]++;
    weft__victims_free(&v);
    weft__free(t);
}

#define CHECK_ABOUT(got, wanted) CHECK((got) > (wanted)*0.95 && (got) < (wanted)*1.05)

TEST(most_looks_stay_near) {
    enum { N = 1000000 };
    unsigned count[WEFT_DISTANCES];
    count_looks(&machines[0], 20, N,
                count); /* 7 near, 56 in the node, 64 far: seven random looks of eight, one in turn */
    CHECK_ABOUT(count[WEFT_NEAR_CACHE], N * (7 / 8.0 * 3 / 4 + 1 / 8.0 * 7 / 127));
    CHECK_ABOUT(count[WEFT_NEAR_NODE], N * (7 / 8.0 * 3 / 16 + 1 / 8.0 * 56 / 127));
    CHECK_ABOUT(count[WEFT_FAR], N * (7 / 8.0 * 1 / 16 + 1 / 8.0 * 64 / 127));
    count_looks(&machines[2], 20, N, count); /* no other node: its looks are the rest of the node's */
    CHECK_ABOUT(count[WEFT_NEAR_CACHE], N * (7 / 8.0 * 3 / 4 + 1 / 8.0 * 3 / 63));
    CHECK_EQ(count[WEFT_FAR], 0);
    count_looks(&machines[3], 20, N, count); /* a core's other thread is one of the cache's fifteen */
    CHECK_ABOUT(count[WEFT_NEAR_CORE], N * (7 / 8.0 * 3 / 4 / 15 + 1 / 8.0 / 63));
    count_looks(&machines[6], 20, N, count); /* alone in its cache: the node is the nearest */
    CHECK_ABOUT(count[WEFT_NEAR_NODE], N * (7 / 8.0 * 3 / 4 + 1 / 8.0 * 7 / 31));
    count_looks(&machines[5], 1, N, count);
    CHECK_EQ(count[WEFT_NEAR_CORE], N);
}

/* The limit that holds without luck: whichever worker begins to wait, and whenever, it is looked at within
 * WEFT_SWEEP looks for each worker. */
TEST(nobody_is_left_out) {
    EACH_MACHINE(m) {
        struct weft__topology *t = make(m);
        struct weft__victims v = {0};
        for (unsigned self = 0; self < t->cpus; self += 1 + t->cpus / 8) {
            uint64_t last[MOST], random = self + 1, most = 0, looks = 5 * self;
            arrange(&v, t, self);
            for (unsigned i = 0; i < t->cpus; i++) last[i] = looks;
            for (uint64_t end = looks + 5 * WEFT_SWEEP * v.count; looks < end; looks++) {
                unsigned other = weft__victims_one(&v, looks, &random);
                CHECK(other < t->cpus && other != self);
                if (looks - last[other] > most) most = looks - last[other];
                last[other] = looks;
            }
            for (unsigned i = 0; i < t->cpus; i++)
                if (i != self && looks - last[i] > most) most = looks - last[i];
            CHECK(most <= WEFT_SWEEP * v.count);
        }
        weft__victims_free(&v);
        weft__free(t);
    }
}

/* The workers do not all look at the same victim: at any time their turns go to different victims, or nearly so. */
TEST(sweeps_do_not_meet) {
    struct weft__topology *t = make(&machines[1]);
    static struct weft__victims v[MOST];
    for (unsigned i = 0; i < t->cpus; i++) arrange(&v[i], t, i);
    for (unsigned step = 0; step < t->cpus - 1; step++) {
        unsigned looked_at[MOST] = {0};
        for (unsigned i = 0; i < t->cpus; i++) {
            uint64_t random = 1;
            looked_at[weft__victims_one(&v[i], step * WEFT_SWEEP + WEFT_SWEEP - 1, &random)]++;
        }
        for (unsigned i = 0; i < t->cpus; i++) CHECK(looked_at[i] <= 4);
    }
    for (unsigned i = 0; i < t->cpus; i++) weft__victims_free(&v[i]);
    weft__free(t);
}

TEST(the_same_seed_looks_at_the_same) {
    struct weft__topology *t = make(&machines[0]);
    struct weft__victims v = {0}, w = {0};
    uint64_t random = 7, again = 7;
    arrange(&v, t, 9);
    arrange(&w, t, 9);
    for (unsigned i = 0; i < 10000; i++) CHECK_EQ(weft__victims_one(&v, i, &random), weft__victims_one(&w, i, &again));
    weft__victims_free(&v);
    weft__victims_free(&w);
    weft__free(t);
}

/* --- to steal ----------------------------------------------------------------------------------- */

TEST(a_round_meets_everybody_once_nearest_first) {
    EACH_MACHINE(m) {
        struct weft__topology *t = make(m);
        struct weft__victims v = {0};
        unsigned first[MOST] = {0};
        uint64_t random = 99;
        arrange(&v, t, t->cpus - 1);
        for (unsigned turn = 0; turn < 1000; turn++) {
            struct weft__victims_round r;
            bool there[MOST] = {0};
            unsigned worker, n = 0, before = 0;
            for (weft__victims_begin(&v, &random, &r); weft__victims_next(&v, &r, &worker); n++) {
                CHECK(worker < t->cpus && worker != v.self && !there[worker]);
                there[worker] = true;
                unsigned distance = weft__topology_distance(t, v.self, worker);
                CHECK(distance >= before);
                before = distance;
                if (!n) first[worker]++;
            }
            CHECK_EQ(n, v.count);
        }
        /* Each of the nearest workers comes first now and then. */
        unsigned nearest = weft__topology_distance(t, v.self, v.order[0]);
        for (unsigned i = 0; i < t->cpus; i++)
            if (i != v.self) CHECK_EQ(first[i] > 0, weft__topology_distance(t, v.self, i) == nearest);
        weft__victims_free(&v);
        weft__free(t);
    }
}

#ifdef WEFT_FAULTS
TEST(without_memory_it_stays_as_it_was) {
    struct weft__topology *t = make(&machines[0]);
    struct weft__victims v = {0};
    CHECK(!weft__victims_arrange(&v, t, cpu_of, 4, 0));
    weft__fault_countdown = 1;
    CHECK_EQ(weft__victims_arrange(&v, t, cpu_of, 128, 0), -12);
    CHECK_EQ(v.count, 3);
    CHECK(!weft__victims_arrange(&v, t, cpu_of, 128, 0));
    weft__victims_free(&v);
    weft__free(t);
}
#endif

TEST(a_level_order_visits_all_once_whatever_their_distance) {
    struct weft__victims v = {0};
    struct weft__victims_round r;
    uint64_t random = 1;
    for (int fixed = 0; fixed < 2; fixed++) {
        CHECK(!weft__victims_level(&v, 5, 3, fixed));
        unsigned starts = 0;
        for (int round = 0; round < 100; round++) {
            unsigned seen = 0, n = 0, worker, first = 9;
            for (weft__victims_begin(&v, &random, &r); weft__victims_next(&v, &r, &worker); n++) {
                if (!n) first = worker;
                seen |= 1u << worker;
            }
            CHECK_EQ(n, 4);
            CHECK_EQ(seen, 0x17u);
            starts |= 1u << first;
        }
        CHECK_EQ(starts, fixed ? 0x10u : 0x17u);
        for (unsigned i = 0; i < 100; i++) CHECK(weft__victims_one(&v, i, &random) != 3);
    }
    weft__victims_free(&v);
}
