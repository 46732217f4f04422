/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include "log.h"
#include "weft.h"

bool mc_debug_commands;

int mc_cache_begin(struct mc_cache *cache, const struct mc_settings *settings) {
    memset(cache, 0, sizeof *cache);
    cache->settings = *settings;
    if (!settings->delimiter) cache->settings.delimiter = ':';
    store_rlx(&cache->accepting, true);
    store_rlx(&cache->sizes_enabled, settings->track_sizes);
    mc_count_detail(load_rlx(&settings->detail));
    int err = mc_store_begin(&cache->store, &settings->limits);
    store_rlx(&cache->store.at_rest, load_rlx(&settings->tuning.no_crawler));
    return err;
}

void mc_cache_end(struct mc_cache *cache) {
    mc_prefixes_clear(&cache->prefixes);
    mc_store_end(&cache->store);
}

void mc_cache_crawl(struct mc_cache *cache) {
    const struct mc_tuning *tuning = &cache->settings.tuning;
    uint64_t classes = load_rlx(&cache->crawl);
    if (!classes) return;
    mc_store_crawl(&cache->store, classes, load_rlx(&tuning->crawler_most),
                   (uint64_t)load_rlx(&tuning->crawler_sleep) * WEFT_MICROSECOND);
    store_rlx(&cache->crawl, 0);
}

void mc_count(struct mc_cache *cache, enum mc_count what, uint64_t n) {
    int worker = weft_worker();
    add_rlx(&cache->stripes[worker < 0 ? 0 : (unsigned)worker % MC_STRIPES].counts[what], n);
}

uint64_t mc_counted(const struct mc_cache *cache, enum mc_count what) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < MC_STRIPES; i++) sum += load_rlx(&cache->stripes[i].counts[what]);
    return sum;
}

void mc_reset_counts(struct mc_cache *cache) {
    for (unsigned i = 0; i < MC_STRIPES; i++)
        for (unsigned what = 0; what < MC_COUNTS; what++) store_rlx(&cache->stripes[i].counts[what], 0);
    store_rlx(&cache->total_connections, 0);
    store_rlx(&cache->rejected_connections, 0);
    store_rlx(&cache->listen_disabled, 0);
    store_rlx(&cache->idle_kicks, 0);
    store_rlx(&cache->not_accepting_us, 0);
    mc_log_reset();
    mc_prefixes_clear(&cache->prefixes);
    mc_store_reset_counts(&cache->store);
}
