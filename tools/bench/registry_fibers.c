/* SPDX-License-Identifier: MIT */
/*
 * The benchmarks of fibers, with all their parameters. See registry.h.
 */
#include "registry.h"

/* weft without helping: shows the cost of fairness. */
#define UNFAIR SYSTEM("weft-nohelp", NULL, "helping=0")
#define ALL \
    { WEFT, GO, BOOST, PTHREAD }
#define FAIR \
    { WEFT, UNFAIR, GO, BOOST, PTHREAD }

/* Without stealing every fiber stays where it was spawned. serial is the plain loop. */
#define WORKING \
    { WEFT, NOSTEAL, SYSTEM("serial", NULL, "serial=1"), GO, BOOST, PTHREAD }

const struct bench benches_of_fibers[] = {
    {
        .name = "switch",
        .summary = "from one context to another on one kernel thread; Boost.Context, futex hand-over",
        .does = "weft: its own switch; boost: a resume of Boost.Context; pthread: wakes another thread by a futex and "
                "waits for it",
        .measurement = "switch",
        .variants =
            {
                {.params = "", .metrics = {LESS("ns per switch, one way", "ns")}},
            },
        .entrants = {WEFT, BOOST, PTHREAD},
        .workers = {1},
    },
    {
        .name = "yield",
        .summary = "hand the worker to the next ready fiber",
        .does = "weft: weft_yield; go: Gosched; boost: this_fiber::yield; pthread: sched_yield",
        .measurement = "yield",
        .variants =
            {
                {.params = "fibers=100 sites=1",
                 .metrics = {LESS("ns per yield, 100 a worker, one call site", "ns"),
                             SERVED("least served over mean, 100 a worker, one call site")}},
                {.params = "fibers=100 sites=4",
                 .metrics = {LESS("ns per yield, 100 a worker, four call sites", "ns"),
                             SERVED("least served over mean, 100 a worker, four call sites")}},
                {.params = "fibers=1 sites=1",
                 .metrics = {LESS("ns per yield, 1 a worker", "ns"), SERVED("least served over mean, 1 a worker")}},
                {.params = "fibers=100 sites=1",
                 .metrics = {LESS("ns per yield, 100 a worker", "ns"), SERVED("least served over mean, 100 a worker")},
                 .paper = "002"},
                {.params = "fibers=1 sites=1",
                 .metrics = {LESS("ns per yield, 1 a worker", "ns"), SERVED("least served over mean, 1 a worker")},
                 .paper = "002"},
            },
        .entrants = FAIR,
        .workers = {1, 2},
    },
    {
        .name = "cycle",
        .summary = "rings of five fibers, each wakes the next and waits",
        .does = "each: posts the semaphore of the next, waits at its own (go: channels with room for one); weft-park: "
                "bare unpark and park; pthread-futex: a plain futex",
        .measurement = "cycle",
        .variants =
            {
                {.params = "rings=100",
                 .metrics = {MORE("million wake-ups a second, 100 rings a worker", "M/s"),
                             SERVED("least served ring over mean, 100 rings a worker")}},
                {.params = "rings=1",
                 .metrics = {MORE("million wake-ups a second, 1 ring a worker", "M/s"),
                             SERVED("least served ring over mean, 1 ring a worker")}},
                {.params = "rings=100",
                 .metrics = {MORE("million wake-ups a second, 100 rings a worker", "M/s"),
                             SERVED("least served ring over mean, 100 rings a worker")},
                 .paper = "002"},
                {.params = "rings=1",
                 .metrics = {MORE("million wake-ups a second, 1 ring a worker", "M/s"),
                             SERVED("least served ring over mean, 1 ring a worker")},
                 .paper = "002"},
            },
        .entrants = {WEFT, UNFAIR, WEFT_PARK, GO, BOOST, PTHREAD, FUTEX},
        .workers = {1, 2},
    },
    {
        .name = "churn",
        .summary = "post a semaphore chosen at random, wait on it",
        .does = "each: posts a semaphore that hands over to its first waiter, and waits there (go: a buffered channel)",
        .measurement = "churn",
        /* Two kernel threads that are preempted between post and wait need not block for the rest of the measurement,
         * so that figure would not describe churn. */
        .variants =
            {
                {.params = "fibers=100",
                 .metrics = {MORE("million post-and-wait a second, 100 a worker", "M/s"),
                             SERVED("least served over mean, 100 a worker")}},
                {.params = "fibers=2",
                 .metrics = {MORE("million post-and-wait a second, 2 a worker", "M/s"),
                             SERVED("least served over mean, 2 a worker")},
                 .without = "pthread"},
                {.params = "fibers=100",
                 .metrics = {MORE("million post-and-wait a second, 100 a worker", "M/s"),
                             SERVED("least served over mean, 100 a worker")},
                 .paper = "002"},
                {.params = "fibers=2",
                 .metrics = {MORE("million post-and-wait a second, 2 a worker", "M/s"),
                             SERVED("least served over mean, 2 a worker")},
                 .without = "pthread",
                 .paper = "002"},
            },
        .entrants = FAIR,
        .workers = {1, 2},
    },
    {
        .name = "locality",
        .summary = "the same by fibers that each work on an array, and leave it to the fiber they wake, or keep it",
        .does =
            "each: as churn; arrays lie in a queue behind a spinlock beside the semaphore (go: in the channel itself)",
        .measurement = "locality",
        .variants =
            {
                {.params = "fibers=100 cells=512 work=64 share=1",
                 .metrics = {MORE("million post-and-wait a second, arrays of 32 KiB handed on", "M/s"),
                             SERVED("least served over mean, arrays of 32 KiB handed on")}},
                {.params = "fibers=100 cells=512 work=64 share=0",
                 .metrics = {MORE("million post-and-wait a second, arrays of 32 KiB kept", "M/s"),
                             SERVED("least served over mean, arrays of 32 KiB kept")}},
            },
        .entrants = {WEFT, SYSTEM("weft-last", NULL, "unpark=last"), GO, BOOST, PTHREAD},
        .workers = {1, 2},
    },
    {
        .name = "create",
        .summary = "spawn and join, one at a time and in batches of 1000",
        .does = "weft, boost, pthread: a spawn and a join; go: a send on a channel for one, a WaitGroup for a batch",
        .measurement = "create",
        .variants =
            {
                {.params = "batch=1", .metrics = {LESS("ns per fiber, one at a time", "ns")}},
                {.params = "batch=1000", .metrics = {LESS("ns per fiber, batches of 1000", "ns")}},
            },
        .entrants = ALL,
        .workers = {1, 2},
    },
    {
        .name = "scope",
        .summary = "a scope of 1000 children, spawned and joined; Go: a WaitGroup",
        .does = "weft: a scope; go: a WaitGroup; boost, pthread: a join of each",
        .measurement = "scope",
        .variants =
            {
                {.params = "batch=1000", .metrics = {LESS("ns per child", "ns")}},
            },
        .entrants = {WEFT,
                     {"go", "go", "", "create", NULL},
                     {"boost", "boost", "", "create", NULL},
                     {"pthread", "pthread", "", "create", NULL}},
        .workers = {1, 2},
    },
    {
        .name = "pingpong",
        .summary = "two fibers and two semaphores",
        .does = "each: posts one semaphore and waits at the other (go: channels with room for one)",
        .measurement = "pingpong",
        .variants =
            {
                {.params = "", .metrics = {LESS("ns per round trip", "ns")}},
            },
        .entrants = FAIR,
        .workers = {1, 2},
    },
    {
        .name = "memory",
        .summary = "parked fibers: bytes each, and seconds until all are parked (Boost 100000, pthread 10000)",
        .does = "each: waits at a semaphore of its own (go: a channel), made before; weft-park: a bare park",
        .measurement = "memory",
        .quick = "count=10000",
        .variants =
            {
                {.params = "count=1000000",
                 .metrics = {LESS("bytes per parked fiber, page tables included", "B"),
                             SECONDS("seconds until all are parked")}},
            },
        .entrants = {WEFT, WEFT_PARK, GO, SYSTEM("boost", "boost", "count=100000"),
                     SYSTEM("pthread", "pthread", "count=10000")},
        .workers = {1, 2},
    },
    {
        .name = "balanced",
        .summary = "1024 fibers of 100000 steps of integer work, spawned by one",
        .does = "weft, boost, pthread: a spawn and a join for each piece; go: a WaitGroup; serial: a plain loop",
        .measurement = "work",
        .variants =
            {
                {.params = "fibers=1024 heavy=100000 light=100000", .metrics = {LESS("ms until all is done", "ms")}},
                {.params = "fibers=1024 heavy=100000 light=100000",
                 .metrics = {LESS("ms until all is done", "ms")},
                 .paper = "000"},
            },
        .entrants = WORKING,
        .workers = {1, 2},
    },
    {
        .name = "imbalanced",
        .summary = "the same, every tenth with 1000000 steps, the others with 10000",
        .does = "weft, boost, pthread: a spawn and a join for each piece; go: a WaitGroup; serial: a plain loop",
        .measurement = "work",
        .variants =
            {
                {.params = "fibers=1024 heavy=1000000 light=10000", .metrics = {LESS("ms until all is done", "ms")}},
                {.params = "fibers=1024 heavy=1000000 light=10000",
                 .metrics = {LESS("ms until all is done", "ms")},
                 .paper = "000"},
            },
        .entrants = WORKING,
        .workers = {1, 2},
    },
    {
        .name = "transfer",
        .summary = "one fiber spins until all others have noticed, then another fiber; NO: it took more than 5 s",
        .does = "weft, pthread: wait at semaphores, or yield in a loop; go: wait at buffered channels, or call Gosched "
                "in a loop",
        .measurement = "transfer",
        .variants =
            {
                {.params = "fibers=100 park=1",
                 .metrics = {LESS("us a transfer, 100 fibers a worker that park", "us")}},
                {.params = "fibers=100 park=0",
                 .metrics = {LESS("us a transfer, 100 fibers a worker that yield", "us")}},
                {.params = "fibers=100 park=1",
                 .metrics = {LESS("us a transfer, 100 fibers a worker that park", "us")},
                 .paper = "002"},
                {.params = "fibers=100 park=0",
                 .metrics = {LESS("us a transfer, 100 fibers a worker that yield", "us")},
                 .paper = "002"},
            },
        .entrants = {WEFT, GO, PTHREAD}, /* with Boost the measurement does not end */
        .workers = {2},
    },
    {
        .name = "starve",
        .summary = "how late a fiber is that wants to run every 100 us, among 99 a worker that spin 1 us and yield",
        .does = "each: reads the clock until 1 us is over, and yields; the measured fiber yields until it is due",
        .measurement = "starve",
        .variants =
            {
                {.params = "fibers=100",
                 .metrics = {LESS("us late, 99 in a hundred are less", "us"),
                             ALSO("us late at worst, less the machine's own", "us", "worst"),
                             ALSO("us that the machine was away at worst", "us", "machine")}},
            },
        .entrants = {WEFT, GO, PTHREAD},
        .workers = {1, 2},
    },
    {
        .name = "rescue",
        .summary = "how late a fiber is that sleeps 1 ms at a time, beside a fiber that blocks or computes",
        .does = "each: one fiber sleeps by the system's own call; the other sits in nanosleep, or computes",
        .measurement = "rescue",
        .quick = "span=300",
        .variants =
            {
                {.params = "span=1500 block=1000",
                 .metrics = {LESS("ms late beside a fiber that blocks, median", "ms"),
                             ALSO("ms late beside a fiber that blocks, 99 in a hundred are less", "ms", "p99"),
                             ALSO("ms late beside a fiber that blocks, at worst, less the machine's own", "ms",
                                  "worst")}},
                {.params = "span=1500 block=0",
                 .metrics = {LESS("ms late beside a fiber that computes, median", "ms"),
                             ALSO("ms late beside a fiber that computes, 99 in a hundred are less", "ms", "p99"),
                             ALSO("ms late beside a fiber that computes, at worst, less the machine's own", "ms",
                                  "worst")}},
            },
        .entrants = {WEFT, GO, PTHREAD},
        .workers = {1, 2},
    },
    {
        .name = "wake",
        .summary = "from the wake-up on a foreign thread to the run, all workers asleep",
        .does = "each: a thread posts a semaphore (go: a goroutine bound to its thread sends on a channel); weft-park: "
                "unpark; pthread-futex: a plain futex",
        .measurement = "wake",
        .variants =
            {
                {.params = "samples=150 pause=2000 spare=1", .metrics = {LESS("us from wake-up to run, median", "us")}},
            },
        .entrants = {WEFT, WEFT_PARK, GO, PTHREAD, FUTEX},
        .workers = {1, 2},
    },
    {
        .name = "timers",
        .summary = "arm and cancel among 100000 others; how late a sleep of 1 ms is",
        .does = "weft: weft_timer_arm, weft_timer_cancel; go: AfterFunc, Stop; each: its own sleep",
        .measurement = "timers",
        .variants =
            {
                {.params = "others=100000",
                 .metrics = {LESS("ns per arm and cancel, 100000 others armed", "ns")},
                 .without = "pthread"},
                {.params = "samples=200",
                 .metrics = {LESS("us that a sleep of 1 ms is late, median", "us")},
                 .measurement = "sleep"},
            },
        .entrants = {WEFT, GO, PTHREAD},
        .workers = {1, 2},
    },
    {
        .name = "sleepers",
        .summary = "100000 fibers that sleep 500 ms at once (pthread 10000)",
        .does = "weft, pthread: a spawn, its own sleep and a join; go: time.Sleep and a WaitGroup",
        .measurement = "sleepers",
        .variants =
            {
                {.params = "count=100000 sleep=500", .metrics = {LESS("ms until all have slept", "ms")}},
            },
        .entrants = {WEFT, GO, SYSTEM("pthread", "pthread", "count=10000")},
        .workers = {1, 2},
    },
    {
        .name = "idle",
        .summary = "CPU time of a runtime with nothing to do for ten seconds",
        .does = "each: 1000 short fibers or goroutines, then nothing",
        .measurement = "idle",
        .quick = "seconds=2",
        .variants =
            {
                {.params = "seconds=10", .metrics = {LESS("ms of CPU time", "ms")}},
            },
        .entrants = {WEFT, GO},
        .workers = {2},
    },
    {
        .name = "startstop",
        .summary = "start the runtime and stop it, after the first time; or as many kernel threads",
        .does = "weft: weft_start and weft_stop; pthread: threads that come up, wait, and are joined",
        .measurement = "startstop",
        .variants =
            {
                {.params = "", .metrics = {LESS("us per start and stop", "us")}},
            },
        .entrants = {WEFT, PTHREAD},
        .workers = {1, 2},
    },
    {.name = NULL},
};
