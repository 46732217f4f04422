/* SPDX-License-Identifier: MIT */
/* The benchmarks that only weft runs in this form; its peers have their own versions. The file with its name describes
 * each. */
#ifndef BENCH_OWN_H
#define BENCH_OWN_H

#include "measure.h"

/* The fork-join benchmarks (forkjoin/), with typed and with generic forks. */
extern const struct measurement typed_measurements[], generic_measurements[];

measure_fn typed_sort, typed_sort_by, typed_pointers, typed_pointers_by, typed_scan, typed_scan_by, typed_reduce,
    typed_scan_in, typed_reduce_in;

measure_fn own_switch, own_migration, own_timers, own_idle, own_startstop, own_select, own_scope, own_retrieval;

/* A server with its client, and weft as such a server. */
measure_fn own_echo, own_accept, own_serve_echo, own_serve_accept, own_file, own_http, own_http_wrk, own_clients,
    own_http_site, own_overload, own_memcached, own_memcached_rate;

/* Runs the benchmark argv[1]. Returns the exit code. */
int bench_one(int argc, char **argv);

#endif
