/* SPDX-License-Identifier: MIT */
/*
 * weft as a measuring program: `weft bench-one BENCH key=value ...`. The tool calls itself this way, so that each
 * measurement of weft begins in a fresh process, like those of its peers.
 */
#include "benches.h"
#include "own.h"

static const struct measurement own[] = {
    {"rwlock", bench_rwlock, false},
    {"wake", bench_wake, false},
    {"switch", own_switch, true},
    {"timers", own_timers, false},
    {"idle", own_idle, true},
    {"startstop", own_startstop, true},
    {"migration", own_migration, false},
    {"sort", typed_sort, false},
    {"sort-by", typed_sort_by, false},
    {"pointers", typed_pointers, false},
    {"pointers-by", typed_pointers_by, false},
    {"scan", typed_scan, false},
    {"scan-by", typed_scan_by, false},
    {"reduce", typed_reduce, false},
    {"scan-in", typed_scan_in, false},
    {"reduce-in", typed_reduce_in, false},
    {"select", own_select, false},
    {"scope", own_scope, false},
    {"retrieval", own_retrieval, true},
    {"file", own_file, true},
    {"clients", own_clients, true},
    {"http-wrk", own_http_wrk, true},
    {"http-site", own_http_site, true},
    {"http", own_http, true},
    {"overload", own_overload, true},
    {"memcached", own_memcached, true},
    {"memcached-rate", own_memcached_rate, true},
    {"echo", own_echo, true},
    {"serve-echo", own_serve_echo, false},
    {"accept", own_accept, true},
    {"serve-accept", own_serve_accept, false},
    {NULL, NULL, false},
};

int bench_one(int argc, char **argv) {
    struct args args = {argc, argv};
    const struct measurement *forks = arg_or(&args, "generic", 0) ? generic_measurements : typed_measurements;
    const struct measurement *const tables[] = {own, bench_fibers, forks, NULL};
    return measure_main(argc, argv, tables);
}
