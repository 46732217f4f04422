/* SPDX-License-Identifier: MIT */
/*
 * The benchmarks of channels and select, with all their parameters. See registry.h.
 */
#include "registry.h"

const struct bench benches_of_chan[] = {
    {
        .name = "chan",
        .summary = "a number through a channel: there and back without a buffer; streams through one of 128",
        .does = "each: its own channel (boost: with a buffer of 128 that holds 127); pthread: a queue, a mutex and "
                "condition variables",
        .measurement = "chan-stream",
        .variants =
            {
                {.params = "", .metrics = {LESS("ns per round trip, no buffer", "ns")}, .measurement = "chan-trip"},
                {.params = "pairs=1 capacity=128", .metrics = {MORE("million items a second, one to one", "M/s")}},
                {.params = "pairs=4 capacity=128",
                 .metrics = {MORE("million items a second, four to four", "M/s"),
                             SERVED("least served sender over mean, four to four"),
                             {"least served receiver over mean, four to four", "ratio", "receivers", true}}},
            },
        .entrants = {WEFT, GO, BOOST, PTHREAD},
        .workers = {1, 2},
    },
    {
        .name = "select",
        .summary = "receive from four channels without a buffer, whichever has something",
        .does = "weft: weft_case_select; go: a select statement, which is compiled",
        .measurement = "select",
        .variants =
            {
                {.params = "senders=4",
                 .metrics = {LESS("ns per select, all four send", "ns"),
                             SERVED("least served sender over mean, all four send")}},
                {.params = "senders=1", .metrics = {LESS("ns per select, one of four sends", "ns")}},
            },
        .entrants = {WEFT, GO}, /* the other systems have no select */
        .workers = {1, 2},
    },
    {
        .name = "ring",
        .summary = "a token goes round through 100000 fibers, from channel to channel (pthread 10000)",
        .does = "each: its own channel without a buffer; pthread: a queue of one, a mutex and condition variables",
        .measurement = "ring",
        .quick = "count=1000",
        .variants =
            {
                {.params = "count=100000", .metrics = {LESS("ns per hop", "ns")}},
            },
        .entrants = {WEFT, GO, BOOST, SYSTEM("pthread", "pthread", "count=10000")},
        .workers = {1, 2},
    },
    {.name = NULL},
};
