/* SPDX-License-Identifier: MIT */
/*
 * The benchmarks of locks, with all their parameters. See registry.h.
 */
#include "registry.h"

#define MOST(name) \
    { name, "ratio", "most/least", false }

const struct bench benches_of_locks[] = {
    {
        .name = "mutex",
        .summary = "lock, compute, unlock, compute: alone, and 2, 8 and 64 contenders, 100 ns inside and outside",
        .does = "each: its own mutex: weft_mutex, sync.Mutex, boost::fibers::mutex, pthread_mutex, all in their "
                "default kind",
        .measurement = "mutex",
        .quick = "span=100",
        .variants =
            {
                {.params = "", .metrics = {LESS("ns per lock and unlock, alone", "ns")}, .measurement = "mutex-alone"},
                {.params = "fibers=2 inside=60 outside=60 span=1000",
                 .metrics = {MORE("million sections a second, 2 contenders", "M/s"),
                             MOST("most served over least, 2 contenders")}},
                {.params = "fibers=8 inside=60 outside=60 span=1000",
                 .metrics = {MORE("million sections a second, 8 contenders", "M/s"),
                             MOST("most served over least, 8 contenders")}},
                {.params = "fibers=64 inside=60 outside=60 span=1000",
                 .metrics = {MORE("million sections a second, 64 contenders", "M/s"),
                             MOST("most served over least, 64 contenders")}},
                {.params = "fibers=8 inside=60 outside=60 yield=1 span=1000",
                 .metrics = {MORE("million sections a second, 8 contenders, a yield inside", "M/s"),
                             MOST("most served over least, 8 contenders, a yield inside")}},
                {.params = "fibers=64 inside=60 outside=60 yield=1 span=1000",
                 .metrics = {MORE("million sections a second, 64 contenders, a yield inside", "M/s"),
                             MOST("most served over least, 64 contenders, a yield inside")}},
            },
        .entrants = {WEFT, GO, BOOST, PTHREAD},
        .workers = {2}, /* on one worker the running fiber always finds the lock free: no fiber parks */
    },
    {
        .name = "rwlock",
        .summary = "64 fibers that read or write a table, 100 ns inside and outside; 95 and 50 in a hundred read",
        .does = "each: its own: weft_rwlock, sync.RWMutex, pthread_rwlock, all in their default kind",
        .measurement = "rwlock",
        .quick = "span=100",
        .variants =
            {
                {.params = "fibers=64 reads=95 inside=60 outside=60 span=1000",
                 .metrics = {MORE("million sections a second, 95 in a hundred read", "M/s"),
                             MOST("most served over least, 95 in a hundred read")}},
                {.params = "fibers=64 reads=50 inside=60 outside=60 span=1000",
                 .metrics = {MORE("million sections a second, 50 in a hundred read", "M/s"),
                             MOST("most served over least, 50 in a hundred read")}},
            },
        .entrants = {WEFT, GO, PTHREAD}, /* Boost.Fiber has no such lock */
        .workers = {2},                  /* on one worker the running fiber always finds the lock free: no fiber
                                            parks */
    },
    {.name = NULL},
};
