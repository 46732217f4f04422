/* SPDX-License-Identifier: MIT */
/* Sizes, constants and initialisers as functions: weft/ffi.h. */
#define _GNU_SOURCE
#include "ffi/ffi.h"

#include <weft.h>
#include <weft/ffi.h>
#include <weft/io.h>
#include <weft/stream.h>

#include <string.h>

#define SIZE(name) {#name, sizeof(struct name)},
static const struct {
    const char *name;
    size_t size;
} sizes[] = {SIZE(weft_affinity) SIZE(weft_attr) SIZE(weft_barrier) SIZE(weft_branch) SIZE(weft_cancellation)
                 SIZE(weft_case) SIZE(weft_chan) SIZE(weft_cleanup) SIZE(weft_cluster) SIZE(weft_combinable)
                     SIZE(weft_cond) SIZE(weft_config) SIZE(weft_counter) SIZE(weft_delays) SIZE(weft_fiber)
                         SIZE(weft_for_options) SIZE(weft_future) SIZE(weft_graph) SIZE(weft_hog) SIZE(weft_io)
                             SIZE(weft_key) SIZE(weft_latch) SIZE(weft_lease) SIZE(weft_listener) SIZE(weft_mutex)
                                 SIZE(weft_once) SIZE(weft_prefix) SIZE(weft_reduction) SIZE(weft_rwlock)
                                     SIZE(weft_scope) SIZE(weft_sem) SIZE(weft_shield) SIZE(weft_signal)
                                         SIZE(weft_signals) SIZE(weft_stage) SIZE(weft_stats) SIZE(weft_stream)
                                             SIZE(weft_stream_calls) SIZE(weft_task) SIZE(weft_timer)};

WEFT_FFI size_t weft_ffi_size(const char *name) {
    for (size_t i = 0; name && i < sizeof sizes / sizeof *sizes; i++)
        if (!strcmp(sizes[i].name, name)) return sizes[i].size;
    return 0;
}

#define CONSTANT(name) {#name, name},
static const struct {
    const char *name;
    uint64_t value;
} constants[] = {CONSTANT(WEFT_BARRIER_SERIAL) CONSTANT(WEFT_FOREVER) CONSTANT(WEFT_KEYS_MAX) CONSTANT(WEFT_LEASE_SIZE)
                     CONSTANT(WEFT_MICROSECOND) CONSTANT(WEFT_MILLISECOND) CONSTANT(WEFT_MUTEX_RECURSIVE)
                         CONSTANT(WEFT_PIPELINE_END) CONSTANT(WEFT_SECOND) CONSTANT(WEFT_URING_MOST)
                             CONSTANT(WEFT_VERSION_MAJOR) CONSTANT(WEFT_VERSION_MINOR) CONSTANT(WEFT_VERSION_PATCH)
                                 CONSTANT(WEFT_WORKERS_MAX)};

WEFT_FFI uint64_t weft_ffi_constant(const char *name) {
    for (size_t i = 0; name && i < sizeof constants / sizeof *constants; i++)
        if (!strcmp(constants[i].name, name)) return constants[i].value;
    return 0;
}

WEFT_FFI int weft_ffi_chan_over(struct weft_chan *chan, void *buffer, size_t size, size_t capacity) {
    if (!chan || (!buffer && capacity) || size > UINT32_MAX || (capacity && size > UINT32_MAX / capacity) ||
        capacity > UINT32_MAX)
        return -EINVAL;
    *chan = (struct weft_chan)WEFT_CHAN_OVER(buffer, size, capacity);
    return 0;
}

static int fill_case(struct weft_case *one, struct weft_case with) {
    if (!one) return -EINVAL;
    *one = with;
    return 0;
}
WEFT_FFI int weft_ffi_case_send(struct weft_case *one, struct weft_chan *chan, const void *item) {
    return fill_case(one, (struct weft_case)WEFT_CASE_SEND(chan, item));
}
WEFT_FFI int weft_ffi_case_recv(struct weft_case *one, struct weft_chan *chan, void *item) {
    return fill_case(one, (struct weft_case)WEFT_CASE_RECV(chan, item));
}
WEFT_FFI int weft_ffi_case_future(struct weft_case *one, struct weft_future *future, void **value) {
    return fill_case(one, (struct weft_case)WEFT_CASE_FUTURE(future, value));
}
WEFT_FFI int weft_ffi_case_ready(struct weft_case *one, int fd, short events) {
    return fill_case(one, (struct weft_case)WEFT_CASE_READY(fd, events));
}
WEFT_FFI int weft_ffi_case_time(struct weft_case *one, uint64_t time) {
    return fill_case(one, (struct weft_case)WEFT_CASE_TIME(time));
}
