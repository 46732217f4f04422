/* SPDX-License-Identifier: MIT */
#include "save.h"

#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER (256 << 10)

uint64_t mc_record_sum(uint64_t sum, const void *bytes, size_t n) { return mc_hash(sum, bytes, n); }

/* --- FILE ---------------------------------------------------------------------------------------------------- */

struct writer {
    FILE *file;
    uint64_t sum, count;
};

/* Sums and writes the value part by part. */
static void write_item(struct writer *w, struct mc_item *item) {
    struct mc_record record = {.cas = item->cas,
                               .last = item->last,
                               .expires = item->expires,
                               .flags = item->flags,
                               .size = item->size,
                               .key_size = item->key_size,
                               .bits = item->bits & (MC_VISITED | MC_FETCHED | MC_BINARY | MC_STALE | MC_TOKEN_SENT)};
    struct mc_cursor cursor;
    w->sum = mc_record_sum(w->sum, (char *)&record + sizeof record.sum, sizeof record - sizeof record.sum);
    w->sum = mc_record_sum(w->sum, mc_item_key(item), item->key_size);
    for (mc_cursor_begin(&cursor, item); cursor.left; mc_cursor_advance(&cursor, cursor.here))
        w->sum = mc_record_sum(w->sum, cursor.at, cursor.here);
    record.sum = w->sum;
    fwrite(&record, sizeof record, 1, w->file);
    fwrite(mc_item_key(item), item->key_size, 1, w->file);
    for (mc_cursor_begin(&cursor, item); cursor.left; mc_cursor_advance(&cursor, cursor.here))
        fwrite(cursor.at, cursor.here, 1, w->file);
    w->count++;
}

static void write_shard(struct writer *w, struct mc_shard *shard) {
    shard->memory.limit = 0; /* so that an empty page goes back to the kernel */
    for (unsigned cls = 0; cls < mc_classes(); cls++)
        for (struct mc_item *item = shard->queues[cls].oldest, *newer; item && !ferror(w->file); item = newer) {
            newer = item->newer;
            if (!mc_item_dead(shard, item)) write_item(w, item);
            mc_shard_unlink(shard, item);
        }
}

static int write_items(struct mc_store *store, const char *name) {
    struct writer w = {.file = fopen(name, "we"), .sum = MC_RECORD_SEED};
    if (!w.file) return -errno;
    setvbuf(w.file, NULL, _IOFBF, BUFFER);
    for (unsigned i = 0; i < store->count && !ferror(w.file); i++) write_shard(&w, &store->shards[i]);
    struct mc_record end = {.cas = w.count};
    end.sum = mc_record_sum(w.sum, (char *)&end + sizeof end.sum, sizeof end - sizeof end.sum);
    fwrite(&end, sizeof end, 1, w.file);
    bool failed = ferror(w.file);
    int err = errno;
    if (fclose(w.file) && !failed) return -errno;
    return failed ? -err : 0;
}

/* --- FILE.meta ------------------------------------------------------------------------------------------------ */

static unsigned hash_power(struct mc_store *store) {
    uint64_t buckets = 0;
    for (unsigned i = 0; i < store->count; i++) buckets += store->shards[i].table.size;
    return 63u - (unsigned)__builtin_clzll(buckets);
}

static int write_meta(struct mc_store *store, const char *name) {
    mode_t mask = umask(077);
    FILE *f = fopen(name, "we");
    umask(mask);
    if (!f) return -errno;
    fprintf(f, "Tcached\nKformat %d\nKpointer_size %zu\n", MC_KEPT_FORMAT, 8 * sizeof(void *));
    fprintf(f, "Kprocess_started %lld\n", (long long)mc_clock_zero);
    fprintf(f, "Kcurrent_cas %llu\n", (unsigned long long)load_rlx(&store->cas));
    fprintf(f, "Kflush_at %u\n", load_rlx(&store->flush_at));
    fprintf(f, "Khashpower %u\n", hash_power(store));
    fprintf(f, "Klogger_gid %llu\n", (unsigned long long)mc_log_number());
    bool failed = ferror(f);
    return fclose(f) || failed ? -EIO : 0;
}

int mc_save(struct mc_store *store, const char *file) {
    char meta[PATH_MAX + 16];
    snprintf(meta, sizeof meta, "%s.meta", file);
    int err = write_items(store, file);
    if (!err) err = write_meta(store, meta);
    if (!err) return 0;
    unlink(meta);
    if (truncate(file, 0)) unlink(file);
    fprintf(stderr, "[restart] failed to save: %s: %s\n", file, strerror(-err));
    return err;
}
