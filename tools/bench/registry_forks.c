/* SPDX-License-Identifier: MIT */
/*
 * The fork-join benchmarks, with all their parameters. See registry.h.
 *
 * How to read the tables. T1 and T2 are the times with one and two workers:
 *   ns for each fork, ms  `median`
 *   oneTBB / weft         `ratio`; `least` and `most` are its 95 % interval
 *   T1 / serial           `/serial` with one worker; with two, T2 over the time of two serial processes
 *   T1 / T2               `speed-up`; `serial` shows the speed-up of two independent processes
 *   the speed-up over that of two serial processes: `share`
 */
#include "registry.h"

#define GENERIC SYSTEM("weft-generic", NULL, "generic=1")
#define CONTINUE SYSTEM("weft-continue", NULL, "continuations=1")
#define SERIAL SYSTEM("serial", "serial", "")
#define TBB SYSTEM("tbb", "tbb", "")
#define GOMP SYSTEM("libgomp", "libgomp", "")
#define OMP SYSTEM("libomp", "libomp", "")
#define FORKS \
    { WEFT, GENERIC, SERIAL, TBB, GOMP, OMP }
#define SMALL_FORKS \
    { WEFT, GENERIC, CONTINUE, SERIAL, TBB, GOMP, OMP }
/* The libraries' own sorts. */
#define SORTS \
    { \
        WEFT, GENERIC, {"weft-sort", NULL, "", "sort", NULL}, SERIAL, {"qsort", "serial", "", "sort", NULL}, TBB, \
            {"tbb-sort", "tbb", "", "sort", NULL}, GOMP, OMP \
    }
#define MS LESS("ms for all of it", "ms")
/* A library's own sort, scan or reduction: `measurement` of `program`. gnu: the parallel mode of GNU's C++ library. */
#define OWN(system, program, measurement) \
    { system, program, "", measurement, NULL }

#define COUNTS(what) \
    { \
        LESS("full fences a thousand forks, " what, ""), \
            ALSO("locked instructions a thousand forks, " what, "", "locked"), \
            ALSO("steals that found nothing a thousand forks, " what, "", "failed"), \
            ALSO("transfers of cache lines a thousand forks, " what, "", "transfers") \
    }
#define MISSES(what) \
    { \
        LESS("thousand misses of the first level, " what, "k"), \
            ALSO("thousand misses of the last level, " what, "k", "last k"), \
            ALSO("million references to data, " what, "", "M refs") \
    }

const struct bench benches_of_forks[] = {
    {
        .name = "fib",
        .summary = "one fork and one call a node, down to the leaves or to a cut-off",
        .does = "weft: typed tasks (weft-continue: the caller can be stolen); weft-generic: weft_task_fork; tbb: "
                "task_group; libgomp, libomp: task; serial: calls",
        .measurement = "fib",
        .quick = "n=30",
        .variants =
            {
                {.params = "n=35 cutoff=0 per=fork", .metrics = {LESS("ns a fork, no cut-off", "ns")}},
                {.params = "n=38 cutoff=20", .metrics = {LESS("ms, no forks below 20", "ms")}},
                {.params = "n=40 cutoff=20 leaf=500000 per=all",
                 .metrics = {LESS("ms, no forks below 20, 500000 steps a leaf", "ms")},
                 .paper = "000"},
                {.params = "n=50 cutoff=30 per=all", .metrics = {LESS("ms, no forks below 30", "ms")}, .paper = "004"},
            },
        .entrants = SMALL_FORKS,
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "nqueens",
        .summary = "all ways for 12 queens, a fork for each place",
        .does = "weft: typed tasks; weft-generic: weft_task_fork and weft_task_join; tbb: task_group, run and wait; "
                "libgomp, libomp: task and taskwait; serial: calls",
        .measurement = "nqueens",
        .quick = "n=9",
        .variants =
            {
                {.params = "n=12", .metrics = {MS}},
                {.params = "n=14 depth=1", .metrics = {LESS("ms, 14 queens, forks in 1 row", "ms")}, .paper = "000"},
                {.params = "n=14 depth=2", .metrics = {LESS("ms, 14 queens, forks in 2 rows", "ms")}, .paper = "000"},
                {.params = "n=14 depth=3", .metrics = {LESS("ms, 14 queens, forks in 3 rows", "ms")}, .paper = "000"},
            },
        .entrants = FORKS,
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "knapsack",
        .summary = "branch and bound with a fixed bound, a fork a node",
        .does = "weft: typed tasks; weft-generic: weft_task_fork and weft_task_join; tbb: task_group, run and wait; "
                "libgomp, libomp: task and taskwait; serial: calls",
        .measurement = "knapsack",
        .quick = "items=20",
        .variants = {{.params = "items=24 slack=2", .metrics = {MS}}},
        .entrants = FORKS,
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "matmul",
        .summary = "product of two matrices by quarters",
        .does = "weft: typed tasks; weft-generic: weft_task_fork and weft_task_join; tbb: task_group, run and wait; "
                "libgomp, libomp: task and taskwait; serial: calls",
        .measurement = "matmul",
        .quick = "n=256",
        .variants =
            {
                {.params = "n=512 leaf=32", .metrics = {MS}},
                {.params = "n=2048 leaf=64", .metrics = {LESS("ms, 2048 lines", "ms")}, .paper = "004"},
            },
        .entrants = FORKS,
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "strassen",
        .summary = "product of two matrices by seven of half the size",
        .does = "weft: typed tasks; weft-generic: weft_task_fork and weft_task_join; tbb: task_group, run and wait; "
                "libgomp, libomp: task and taskwait; serial: calls",
        .measurement = "strassen",
        .quick = "n=256",
        .variants = {{.params = "n=512 leaf=64", .metrics = {MS}}},
        .entrants = FORKS,
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "cilksort",
        .summary = "ten million numbers, four parts, parallel merge; beside qsort and oneTBB's sort",
        .does = "each: the same sort by its own forks; weft-sort: weft_sort; tbb-sort: parallel_sort; qsort: the C "
                "library's",
        .measurement = "cilksort",
        .quick = "count=1000000",
        .variants = {{.params = "count=10000000 grain=2048", .metrics = {MS}}},
        .entrants = SORTS,
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "quicksort",
        .summary = "ten million numbers; beside qsort and oneTBB's sort",
        .does = "each: the same sort by its own forks; weft-sort: weft_sort; tbb-sort: parallel_sort; qsort: the C "
                "library's",
        .measurement = "quicksort",
        .quick = "count=1000000",
        .variants =
            {
                {.params = "count=10000000 grain=2048", .metrics = {MS}},
                {.params = "count=1000000000 grain=1000000",
                 .metrics = {LESS("ms, a thousand million numbers", "ms")},
                 .paper = "004"},
            },
        .entrants = SORTS,
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "mergesort",
        .summary = "ten million numbers, serial merge; beside qsort and oneTBB's sort",
        .does = "each: the same sort by its own forks; weft-sort: weft_sort; tbb-sort: parallel_sort; qsort: the C "
                "library's",
        .measurement = "mergesort",
        .quick = "count=1000000",
        .variants =
            {
                {.params = "count=10000000 grain=2048", .metrics = {MS}},
                {.params = "count=5000000 grain=5000",
                 .metrics = {LESS("ms, five million numbers", "ms")},
                 .paper = "000"},
            },
        .entrants = SORTS,
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "pi",
        .summary = "random points in a square, chunks of 4096",
        .does = "weft: typed tasks; weft-generic: weft_task_fork and weft_task_join; tbb: task_group, run and wait; "
                "libgomp, libomp: task and taskwait; serial: calls",
        .measurement = "pi",
        .quick = "chunks=1024",
        .variants = {{.params = "chunks=4096", .metrics = {MS}}},
        .entrants = FORKS,
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "heat",
        .summary = "64 strips of different cost a step, with stealing and without",
        .does = "weft: typed tasks (weft-nosteal: all on one worker); weft-generic: weft_task_fork; tbb: task_group; "
                "libgomp, libomp: task; serial: calls",
        .measurement = "heat",
        .quick = "steps=20",
        .variants =
            {
                {.params = "side=512 strips=64 steps=50", .metrics = {MS}},
                {.params = "side=512 strips=64 steps=400", .metrics = {LESS("ms, 400 steps", "ms")}, .paper = "000"},
            },
        .entrants = {WEFT, NOSTEAL, GENERIC, SERIAL, TBB, GOMP, OMP},
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "heat-for",
        .summary = "200 loops over the lines of a square, one after the other, as each system cuts them by itself",
        .does = "weft: weft_for, morsels (static); tbb: parallel_for, auto; libgomp, libomp: parallel for, static; "
                "serial: a loop",
        .measurement = "heatfor",
        .quick = "steps=50",
        .variants = {{.params = "side=512 steps=200", .metrics = {MS}}},
        .entrants = {WEFT, SYSTEM("weft-static", NULL, "how=2"), SERIAL, TBB, GOMP, OMP},
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "sparselu",
        .summary = "LU decomposition of a sparse matrix of 32 by 32 blocks, a fork a block",
        .does = "weft: typed tasks; weft-generic: weft_task_fork and weft_task_join; tbb: task_group, run and wait; "
                "libgomp, libomp: task and taskwait; serial: calls",
        .measurement = "sparselu",
        .quick = "blocks=16",
        .variants = {{.params = "blocks=32 size=16", .metrics = {MS}}},
        .entrants = FORKS,
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "sort",
        .summary = "the libraries' own sorts: ten million numbers at random, sorted, reversed, of few values; pointers",
        .does = "weft: weft/sort.h; weft-by: weft_sort; tbb: parallel_sort; tbb-std, tbb-stable: std::sort, "
                "stable_sort in parallel; gnu: __gnu_parallel, by merging, quick, stable",
        .measurement = "sort",
        .quick = "count=1000000",
        .variants =
            {
                {.params = "count=10000000 input=random", .metrics = {LESS("ms, at random", "ms")}},
                {.params = "count=10000000 input=sorted", .metrics = {LESS("ms, sorted", "ms")}},
                {.params = "count=10000000 input=reversed", .metrics = {LESS("ms, reversed", "ms")}},
                {.params = "count=10000000 input=few", .metrics = {LESS("ms, 16 different numbers", "ms")}},
                {.params = "count=10000000 input=nearly", .metrics = {LESS("ms, all but a thousandth sorted", "ms")}},
            },
        /* In weft-by each comparison is a function call. weft and the entrants named stable keep the order of equal
         * elements. */
        .entrants = {WEFT, OWN("weft-by", NULL, "sort-by"), TBB, OWN("tbb-std", "tbb", "sort-std"),
                     OWN("tbb-stable", "tbb", "sort-stable"), SYSTEM("gnu", "gnu", ""),
                     OWN("gnu-quick", "gnu", "sort-quick"), OWN("gnu-stable", "gnu", "sort-stable")},
        .workers = {1, 2},
    },
    {
        .name = "sort-pointers",
        .summary = "the libraries' own sorts: pointers to two million and to ten million random numbers",
        .does = "as sort",
        .measurement = "pointers",
        .quick = "count=200000",
        .variants =
            {
                {.params = "count=2000000", .metrics = {LESS("ms, two million", "ms")}},
                {.params = "count=10000000", .metrics = {LESS("ms, ten million", "ms")}},
            },
        .entrants = {WEFT, OWN("weft-by", NULL, "pointers-by"), TBB, OWN("tbb-std", "tbb", "pointers-std"),
                     OWN("tbb-stable", "tbb", "pointers-stable"), SYSTEM("gnu", "gnu", ""),
                     OWN("gnu-quick", "gnu", "pointers-quick"), OWN("gnu-stable", "gnu", "pointers-stable")},
        .workers = {1, 2},
    },
    {
        .name = "scan",
        .summary = "prefix sums of 100,000 and of ten million numbers",
        .does = "weft: weft_scan; weft-in: weft/scan.h; weft-by: weft_scan_inclusive; tbb: parallel_scan; tbb-std: "
                "std::inclusive_scan; gnu: __gnu_parallel::partial_sum",
        .measurement = "scan",
        .variants =
            {
                {.params = "count=100000", .metrics = {LESS("us, 100,000", "us")}},
                {.params = "count=10000000", .metrics = {LESS("us, ten million", "us")}},
            },
        /* weft and tbb call a function for each piece, weft-by for each element. In the others the operation is
         * inlined. */
        .entrants = {WEFT, OWN("weft-in", NULL, "scan-in"), OWN("weft-by", NULL, "scan-by"), TBB,
                     OWN("tbb-std", "tbb", "scan-std"), SYSTEM("gnu", "gnu", "")},
        .workers = {1, 2},
    },
    {
        .name = "reduce",
        .summary = "sums of 100,000 and of ten million numbers",
        .does = "weft: weft_reduce; weft-in: weft/scan.h; tbb: parallel_reduce; tbb-std: std::reduce; gnu: "
                "__gnu_parallel::accumulate",
        .measurement = "reduce",
        .variants =
            {
                {.params = "count=100000", .metrics = {LESS("us, 100,000", "us")}},
                {.params = "count=10000000", .metrics = {LESS("us, ten million", "us")}},
            },
        .entrants = {WEFT, OWN("weft-in", NULL, "reduce-in"), TBB, OWN("tbb-std", "tbb", "reduce-std"),
                     SYSTEM("gnu", "gnu", "")},
        .workers = {1, 2},
    },
    {
        .name = "bfs",
        .summary = "a million nodes with 16 neighbours, level by level",
        .does = "weft: typed tasks; weft-generic: weft_task_fork and weft_task_join; tbb: task_group, run and wait; "
                "libgomp, libomp: task and taskwait; serial: calls",
        .measurement = "bfs",
        .quick = "nodes=100000",
        .variants =
            {
                {.params = "nodes=1000000", .metrics = {MS}},
                {.params = "nodes=1000000", .metrics = {MS}, .paper = "000"},
            },
        .entrants = FORKS,
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "flat",
        .summary = "a million tasks forked by one before it joins the first",
        .does = "as fib; joins: the youngest first, or one wait for all; libgomp, libomp: run a task at once when too "
                "many wait",
        .measurement = "flat",
        .quick = "tasks=100000",
        .variants = {{.params = "tasks=1000000", .metrics = {LESS("ns a task", "ns")}}},
        .entrants = SMALL_FORKS,
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "for",
        .summary = "a loop over elements that cost the same, more and more, at random, or one of them a quarter",
        .does = "weft: weft_for, morsels (lazy, mailed); tbb: parallel_for, auto (static); libgomp, libomp: static "
                "(dynamic by 16, guided)",
        .measurement = "loops",
        .quick = "count=20000",
        .variants =
            {
                {.params = "count=100000 costs=0", .metrics = {LESS("ms, all cost the same", "ms")}},
                {.params = "count=100000 costs=1", .metrics = {LESS("ms, more and more", "ms")}},
                {.params = "count=100000 costs=2", .metrics = {LESS("ms, at random", "ms")}},
                {.params = "count=100000 costs=3", .metrics = {LESS("ms, one of them a quarter of all", "ms")}},
            },
        .entrants = {WEFT, SYSTEM("weft-lazy", NULL, "how=1"), SYSTEM("weft-mailed", NULL, "how=10"), SERIAL, TBB,
                     SYSTEM("tbb-static", "tbb", "how=2"), GOMP, SYSTEM("libgomp-dyn", "libgomp", "how=1"),
                     SYSTEM("libgomp-guid", "libgomp", "how=2"), OMP, SYSTEM("libomp-dyn", "libomp", "how=1"),
                     SYSTEM("libomp-guid", "libomp", "how=2")},
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "start-latency",
        .summary = "when 64 tasks of 20 us begin, just after others or when the workers sleep",
        .does =
            "weft: weft_for, grain 1, with mail and without; tbb: simple partitioner; libgomp, libomp: dynamic by one",
        .measurement = "latency",
        .variants =
            {
                {.params = "tasks=64 pause=0",
                 .metrics = {LESS("us until half have begun, hot", "us"),
                             ALSO("us until the last has begun, hot", "us", "last")}},
                {.params = "tasks=64 pause=3000",
                 .metrics = {LESS("us until half have begun, cold", "us"),
                             ALSO("us until the last has begun, cold", "us", "last")}},
                {.params = "tasks=128 pause=0 work=0",
                 .metrics = {LESS("us until half have begun, 128 empty tasks", "us"),
                             ALSO("us until the last has begun, 128 empty tasks", "us", "last")},
                 .paper = "003"},
            },
        /* Each task is a piece of its own. */
        .entrants = {SYSTEM("weft", NULL, "how=13"), SYSTEM("weft-nomail", NULL, "how=3"),
                     SYSTEM("tbb", "tbb", "how=1"), SYSTEM("libgomp", "libgomp", "how=3"),
                     SYSTEM("libomp", "libomp", "how=3")},
        .workers = {2},
    },
    {
        .name = "efficiency",
        .summary = "computing time over running time a worker, in a tree of 4096 leaves of 1 to 40 us",
        .does = "weft: typed tasks; weft-generic: weft_task_fork and weft_task_join; tbb: task_group, run and wait; "
                "libgomp, libomp: task and taskwait; serial: calls",
        .measurement = "efficiency",
        .variants = {{.params = "leaves=4096",
                      .metrics = {MORE("computing time over running time a worker", "ratio"),
                                  ALSO("ms for all of it", "ms", "ms")}}},
        .entrants = {WEFT, GENERIC, TBB, GOMP, OMP},
        .workers = {1, 2},
    },
    {
        .name = "migration",
        .summary = "a fiber that was stolen beside a fiber that stayed, both over 16 KiB that their maker wrote",
        .does = "weft: two fibers, one of which an idle worker has stolen",
        .measurement = "migration",
        .variants = {{.params = "cells=4096",
                      .metrics = {LESS("time of a stolen fiber over that of a fiber that stayed", "ratio"),
                                  ALSO("us of a fiber that stayed", "us", "us stayed"),
                                  ALSO("in a hundred were stolen", "%", "% stolen")}}},
        .entrants = {WEFT},
        .workers = {2},
    },
    {
        .name = "deque",
        .summary = "fib, flat and nqueens with each kind of deque",
        .does = "each: weft's typed tasks on another kind of deque; serial: calls",
        .measurement = "fib",
        .quick = "tasks=100000",
        .variants =
            {
                {.params = "n=32 cutoff=0 per=fork", .metrics = {LESS("ns a fork, fib", "ns")}},
                {.params = "tasks=1000000", .metrics = {LESS("ns a task, flat", "ns")}, .measurement = "flat"},
                {.params = "n=11", .metrics = {LESS("ms, nqueens", "ms")}, .measurement = "nqueens"},
            },
        .entrants = {WEFT, SYSTEM("chase-lev", NULL, "deque=chase-lev"), SYSTEM("abp", NULL, "deque=abp"),
                     SYSTEM("locked", NULL, "deque=locked"), SERIAL},
        .workers = {1, 2},
        .yardstick = true,
    },
    {
        .name = "deque-counts",
        .summary = "fences, locked instructions, failed steals and transfers of cache lines with each kind of deque",
        .does = "each: weft's typed tasks on another kind of deque, built to count",
        .measurement = "counts",
        .variants = {{.params = "work=fib n=27", .metrics = COUNTS("fib")},
                     {.params = "work=matmul n=512", .metrics = COUNTS("matmul")},
                     {.params = "work=mail n=64", .metrics = COUNTS("mailed loops")}},
        .entrants = {SYSTEM("weft", "counted", ""), SYSTEM("chase-lev", "counted", "deque=chase-lev"),
                     SYSTEM("abp", "counted", "deque=abp"), SYSTEM("locked", "counted", "deque=locked")},
        .workers = {1, 2},
    },
    {
        .name = "deque-misses",
        .summary = "cache misses of fib and matmul with each kind of deque, on simulated caches",
        .does = "each: weft's typed tasks on another kind of deque, run by cachegrind",
        .measurement = "misses",
        .variants = {{.params = "work=fib n=25 cutoff=0", .metrics = MISSES("fib")},
                     {.params = "work=matmul n=128 leaf=16", .metrics = MISSES("matmul")}},
        .entrants = {SYSTEM("weft", "cachegrind", ""), SYSTEM("chase-lev", "cachegrind", "deque=chase-lev"),
                     SYSTEM("abp", "cachegrind", "deque=abp"), SYSTEM("locked", "cachegrind", "deque=locked")},
        .workers = {1, 2},
    },
    {
        .name = "retrieval",
        .summary = "getting an item that another thread has left: from a mailbox, and from each kind of deque",
        .does = "weft: takes all that is in a worker's mailbox; the others: steals from a deque of this kind",
        .measurement = "retrieval",
        .variants = {{.params = "contended=0", .metrics = {LESS("ns an item, the sender rests", "ns")}},
                     {.params = "contended=1", .metrics = {LESS("ns an item, one box and both at work", "ns")}}},
        .entrants = {WEFT, SYSTEM("chase-lev", NULL, "box=chase-lev"), SYSTEM("abp", NULL, "box=abp"),
                     SYSTEM("locked", NULL, "box=locked")},
        .workers = {1},
    },
    {.name = NULL},
};
