/*
 * The benchmarks of I/O: the only place that knows their parameters. See registry.h.
 *
 * All are run by this program, which starts the server as a process of its own (io/process.h).
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

const struct bench benches_of_io[] = {
    {
        .name = "echo",
        .summary = "64 bytes there and back, a fiber a connection; 1, 64 and 10,000 connections",
        .measurement = "echo",
        .quick = "span=300",
        .variants =
            {
                {.params = "connections=1 size=64 span=1000", .metrics = TRIPS("1 connection")},
                {.params = "connections=64 size=64 span=1000", .metrics = TRIPS("64 connections")},
                {.params = "connections=10000 size=64 span=2000 warm=500", .metrics = TRIPS("10,000 connections")},
            },
        .entrants = LOOPS,
        .workers = {1},
    },
    {
        .name = "accept",
        .summary = "connections that the server closes at once, 64 at a time",
        .measurement = "accept",
        .quick = "span=300",
        .variants = {{.params = "connections=64 size=0 span=1000", .metrics = TRIPS("a connection")}},
        .entrants = LOOPS,
        .workers = {1},
    },
    {.name = NULL},
};
