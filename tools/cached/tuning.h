/* SPDX-License-Identifier: MIT */
/*
 * Settings that commands change while the server runs. The settings of the crawler control the sweep (store.c,
 * crawl.c). The others belong to parts of memcached that do not exist here: they are stored and reported, and have no
 * effect. Tests use zeros; the options set memcached's defaults.
 */
#ifndef CACHED_TUNING_H
#define CACHED_TUNING_H

#include "base/atomic.h"

#include <stdint.h>

struct mc_tuning {
    _Atomic bool no_crawler, no_reassign;
    _Atomic uint32_t crawler_sleep; /* microseconds, after each thousand items */
    _Atomic uint32_t crawler_most;  /* items of a class in one crawl; 0: all */
    /* --- without effect --- */
    bool no_maintainer;
    _Atomic bool flat, temporary;
    _Atomic uint32_t automove, hot_percent, warm_percent;
    _Atomic int32_t temporary_ttl;
    _Atomic double automove_ratio, hot_factor, warm_factor;
    uint32_t automove_window, chunk_most;
};

#endif
