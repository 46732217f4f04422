/* SPDX-License-Identifier: MIT */
/*
 * The benchmarks of I/O, with all their parameters. See registry.h.
 *
 * This program runs all of them. It starts the server as a separate process (io/process.h).
 */
#include "registry.h"

#define SERVER(name, program, words) \
    { .system = name, .server = program, .params = words }
#define WEFT_EPOLL SERVER("weft-epoll", NULL, "epoll=1")
#define LOOPS \
    { \
        WEFT, WEFT_EPOLL, SERVER("epoll", "io-epoll", ""), SERVER("io_uring", "io-uring", "multishot=1"), \
            SERVER("go", "io-go", "") \
    }

#define TRIPS(what) \
    { \
        LESS("CPU us of the server, " what, "us"), {"thousand requests a second, " what, "k/s", "k/s", true}, \
            ALSO("us until the answer, median, " what, "us", "p50 us"), \
            ALSO("us until the answer, 99th percentile, " what, "us", "p99 us"), \
    }

#define READS(fibers, direct, what) \
    { \
        .params = "blocks=32768 span=1000 fibers=" #fibers " direct=" #direct, .metrics = { \
            LESS("CPU us a read, " what, "us"), \
            {"thousand reads a second, " what, "k/s", "k/s", true} \
        } \
    }
#define BYTES_1 "1024"
#define BYTES_16 "16384"
#define BYTES_512 "524288"
#define FILES(kib, connections) \
    { \
        .params = "size=" BYTES_##kib " span=1000 connections=" #connections, \
        .metrics = TRIPS(#kib " KiB, " #connections " connections") \
    }
#define FILES_ONCE(kib) \
    { .params = "once=1 span=1000 connections=64 size=" BYTES_##kib, .metrics = TRIPS(#kib " KiB, a connection each") }
#define OVERLOAD(percent) \
    { \
        .params = "size=1024 span=2000 connections=1000 quota=25 percent=" #percent, .measurement = "overload", \
        .metrics = { \
            MORE("percent of the peak, a quarter of the CPU, asked for " #percent " percent of it", "%"), \
            {"thousand requests a second, asked for " #percent " percent of the peak", "k/s", "k/s", true}, \
            ALSO("errors, asked for " #percent " percent of the peak", "errors", "errors"), \
            ALSO("ms until the answer, 99th percentile, asked for " #percent " percent of the peak", "ms", "p99 ms") \
        } \
    }
#define SITE_METRICS(what) \
    { \
        MORE("thousand requests a second answered, " what, "k/s"), \
            ALSO("of a hundred requests not answered in time, " what, "%", "missed %"), \
            ALSO("99th percentile until the answer, " what, "ms", "p99 ms"), \
            ALSO("CPU us of the server a request, " what, "us", "CPU us") \
    }
#define SITE(asked, more, what) \
    { .params = "files=2160 connections=1000 session=10 span=2000 rate=" #asked more, .metrics = SITE_METRICS(what) }
#define SETS(percent, connections) \
    { \
        .params = "size=1024 span=1000 updates=" #percent " connections=" #connections, \
        .metrics = TRIPS(#percent " % updates, " #connections " connections") \
    }

const struct bench benches_of_io[] = {
    {
        .name = "echo",
        .summary = "64 bytes there and back, a fiber a connection; 1, 64, 1,000 and 10,000 connections",
        .does = "weft: a fiber a connection; epoll, io_uring: a loop on one thread; go: a goroutine a connection; one "
                "processor each",
        .measurement = "echo",
        .quick = "span=300",
        .variants =
            {
                {.params = "connections=1 size=64 span=1000", .metrics = TRIPS("1 connection")},
                {.params = "connections=64 size=64 span=1000", .metrics = TRIPS("64 connections")},
                {.params = "connections=1000 size=64 span=1000", .metrics = TRIPS("1,000 connections")},
                {.params = "connections=10000 size=64 span=2000 warm=500", .metrics = TRIPS("10,000 connections")},
            },
        .entrants = LOOPS,
        .workers = {1},
    },
    {
        .name = "accept",
        .summary = "connections that the server closes at once, 64 at a time",
        .does = "weft: a fiber a connection; epoll, io_uring: a loop on one thread; go: a goroutine a connection; one "
                "processor each",
        .measurement = "accept",
        .quick = "span=300",
        .variants = {{.params = "connections=64 size=0 span=1000", .metrics = TRIPS("a connection")}},
        .entrants = LOOPS,
        .workers = {1},
    },
    {
        .name = "http",
        .summary =
            "files of 1, 16 and 512 KiB: weft serve and nginx; keep-alive, a connection each, and more than they can",
        .does = "weft: weft serve; nginx: one worker, sendfile, open_file_cache, no log; nginx-deferred: and accepts "
                "with the first bytes",
        .measurement = "http",
        .quick = "span=300",
        .variants =
            {
                FILES(1, 64),
                FILES(1, 1000),
                FILES(1, 10000),
                FILES(16, 64),
                FILES(16, 1000),
                FILES(16, 10000),
                FILES(512, 64),
                FILES(512, 1000),
                FILES(512, 10000),
                FILES_ONCE(1),
                FILES_ONCE(16),
                FILES_ONCE(512),
                OVERLOAD(120),
                OVERLOAD(150),
                OVERLOAD(200),
                {.params = "size=1024 span=500 connections=10000",
                 .measurement = "clients",
                 .metrics = {LESS("KiB a client that is connected and idle, 10,000 of them", "KiB")}},
            },
        .entrants = {WEFT, WEFT_EPOLL, SERVER("nginx", "io-nginx", ""),
                     SERVER("nginx-deferred", "io-nginx-deferred", "")},
        .workers = {1},
    },
    {
        .name = "http-wrk",
        .summary = "files of 1 and 16 KiB: weft serve and nginx, with wrk as the client; keep-alive",
        .does =
            "weft: weft serve; nginx: one worker, sendfile, open_file_cache, no log; wrk asks both, with one thread",
        .measurement = "http-wrk",
        .quick = "span=1000",
        .variants = {FILES(1, 64), FILES(1, 1000), FILES(1, 10000), FILES(16, 64), FILES(16, 1000), FILES(16, 10000)},
        .entrants = {SERVER("weft", "io-wrk", "own=1"), SERVER("weft-epoll", "io-wrk", "own=1 epoll=1"),
                     SERVER("nginx", "io-nginx", "")},
        .workers = {1},
    },
    {
        .name = "http-site",
        .summary = "sessions of ten requests for the files of a site, popular and rare: weft serve and nginx; all in "
                   "memory, and from the disk",
        .does = "weft: weft serve; nginx: one worker, sendfile, open_file_cache, no log; weft load asks both, in open "
                "loop",
        .measurement = "http-site",
        .quick = "span=300",
        .variants = {SITE(10, "", "10 asked for"),
                     SITE(40, "", "40 asked for"),
                     SITE(4, " memory=64", "4 asked for, 64 MiB for the server"),
                     {.params = "files=21600 connections=5000 session=10 span=5000 rate=10",
                      .metrics = SITE_METRICS("10 asked for, 21,600 files"),
                      .paper = "002"}},
        .entrants = {WEFT, WEFT_EPOLL, SERVER("nginx", "io-nginx", "")},
        .workers = {1},
    },
    {
        .name = "memcached",
        .summary = "gets and sets of 1 KiB: weft cached and memcached; p50 and p99 at 80 % of what memcached can do",
        .does = "weft: weft cached on one worker; memcached: one thread; the same load generator asks both",
        .measurement = "memcached",
        .reference = "io-memcached",
        .quick = "span=300",
        .variants =
            {
                SETS(3, 64),
                SETS(3, 1000),
                SETS(3, 15360),
                SETS(5, 64),
                SETS(5, 1000),
                SETS(5, 15360),
                SETS(10, 64),
                SETS(10, 1000),
                SETS(10, 15360),
                SETS(50, 64),
                SETS(50, 1000),
                SETS(50, 15360),
                {.params = "size=1024 span=5000 updates=3 connections=15360",
                 .metrics = TRIPS("3 % updates, 15,360 connections, 5 s"),
                 .paper = "002"},
            },
        .entrants = {WEFT, WEFT_EPOLL, SERVER("memcached", "io-memcached", "")},
        .workers = {1},
    },
    {
        .name = "memcached-rate",
        .summary = "gets and sets of 1 KiB at a rate, from idle to past saturation: weft cached and memcached",
        .does =
            "weft: weft cached on one worker; memcached: one thread; the same load generator asks both, in open loop",
        .measurement = "memcached-rate",
        .quick = "span=300",
        .variants = {{.params = "size=1024 span=1000 updates=3 connections=64 rate=50",
                      .metrics = {MORE("thousand requests a second answered, 50 asked for", "k/s"),
                                  ALSO("us until the answer, median, 50 asked for", "us", "p50 us"),
                                  ALSO("99th percentile until the answer, 50 asked for", "us", "p99 us"),
                                  ALSO("CPU us of the server, 50 asked for", "us", "CPU us")}}},
        .entrants = {WEFT, WEFT_EPOLL, SERVER("memcached", "io-memcached", "")},
        .workers = {1},
    },
    {
        .name = "file",
        .summary = "reads of 4 KiB at random places: in the page cache, and with O_DIRECT; 1, 32 and 128 at a time",
        .does = "weft: weft_pread in several fibers; pread: plain calls by one thread; io_uring: one ring with as many "
                "requests at a time",
        .measurement = "file",
        .quick = "span=300",
        .variants =
            {
                READS(1, 0, "in the page cache, 1 fiber"),
                READS(32, 0, "in the page cache, 32 fibers"),
                READS(128, 1, "O_DIRECT, 128 fibers"),
            },
        .entrants = {WEFT, WEFT_EPOLL, SYSTEM("pread", "io-file", ""), SYSTEM("io_uring", "io-file", "ring=1")},
        .workers = {1},
    },
    {.name = NULL},
};
