/* SPDX-License-Identifier: MIT */
/*
 * The inline functions and macros of weft.h as real symbols of libweft-ffi. While the header is read, its inline
 * functions get other names, so that theirs are free for the functions below.
 */
#define _GNU_SOURCE
#define WEFT_NO_OLD_NAMES
#define WEFT_MUST_USE
#define weft_run inline_run
#define weft_start inline_start
#define weft_spawn_at inline_spawn_at
#define weft_scope_spawn_at inline_scope_spawn_at
#define weft_cluster_create inline_cluster_create
#define weft_cluster_per_node inline_cluster_per_node
#define weft_stats_read inline_stats_read
#define weft_stats_worker inline_stats_worker
#define weft_delays_read inline_delays_read
#include <weft.h>
#undef weft_run
#undef weft_start
#undef weft_spawn_at
#undef weft_scope_spawn_at
#undef weft_cluster_create
#undef weft_cluster_per_node
#undef weft_stats_read
#undef weft_stats_worker
#undef weft_delays_read
#undef weft_spawn
#undef weft_scope_spawn

#include "ffi/ffi.h"

WEFT_FFI int weft_run(int (*main)(void *), void *arg, const struct weft_config *config) {
    int err = weft_ffi_refuse("weft_run");
    return err ? err : inline_run(main, arg, config);
}
WEFT_FFI int weft_start(const struct weft_config *config) { return inline_start(config); }

WEFT_FFI int weft_spawn_at(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg,
                           const char *where) {
    int err = weft_ffi_refuse("weft_spawn");
    return err ? err : inline_spawn_at(fiber, attr, fn, arg, where);
}
WEFT_FFI int weft_spawn(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg) {
    return weft_spawn_at(fiber, attr, fn, arg, "weft_spawn");
}

WEFT_FFI int weft_scope_spawn_at(struct weft_scope *scope, const struct weft_attr *attr, int (*fn)(void *), void *arg,
                                 const char *where) {
    int err = weft_ffi_refuse("weft_scope_spawn");
    return err ? err : inline_scope_spawn_at(scope, attr, fn, arg, where);
}
WEFT_FFI int weft_scope_spawn(struct weft_scope *scope, const struct weft_attr *attr, int (*fn)(void *), void *arg) {
    return weft_scope_spawn_at(scope, attr, fn, arg, "weft_scope_spawn");
}

WEFT_FFI int weft_cluster_create(struct weft_cluster *cluster, const struct weft_config *config) {
    return inline_cluster_create(cluster, config);
}
WEFT_FFI int weft_cluster_per_node(struct weft_cluster *clusters, unsigned n, const struct weft_config *config) {
    return inline_cluster_per_node(clusters, n, config);
}
WEFT_FFI int weft_stats_read(struct weft_stats *stats) { return inline_stats_read(stats); }
WEFT_FFI int weft_stats_worker(unsigned worker, struct weft_stats *stats) { return inline_stats_worker(worker, stats); }
WEFT_FFI int weft_delays_read(struct weft_cluster cluster, struct weft_delays *delays) {
    return inline_delays_read(cluster, delays);
}
