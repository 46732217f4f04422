/* SPDX-License-Identifier: MIT */
/* Reads the files that save.c has written. Everything is checked before use. */
#include "save.h"

#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER (256 << 10)
#define SUMMED 65536u              /* a value that is not kept is summed in pieces of this size */
#define CONSUMED ((off_t)64 << 20) /* after this many bytes FILE frees the part that was read */

/* --- FILE.meta ----------------------------------------------------------------------------------------------- */

enum { FORMAT = 1, POINTER = 2, STARTED = 4, CAS = 8, FLUSH = 16, POWER = 32, NUMBER = 64, ALL = 127 };

static unsigned take_value(struct mc_kept *kept, const char *name, int64_t n) {
    if (!strcmp(name, "format")) return n == MC_KEPT_FORMAT ? FORMAT : 0;
    if (!strcmp(name, "pointer_size")) return n == 8 * sizeof(void *) ? POINTER : 0;
    if (!strcmp(name, "process_started")) return kept->zero = n, STARTED;
    if (!strcmp(name, "current_cas")) return kept->cas = (uint64_t)n, CAS;
    if (!strcmp(name, "flush_at")) return kept->flush_at = (uint32_t)n, FLUSH;
    if (!strcmp(name, "hashpower")) return kept->hash_power = (unsigned)n, n >= 0 && n <= 32 ? POWER : 0;
    if (!strcmp(name, "logger_gid")) return kept->log_number = (uint64_t)n, NUMBER;
    return 0;
}

/* Returns 0 if FILE.meta is complete and fits, 1 if a server with other settings has written it, -1 if it is another
 * kind of file. */
static int read_meta(struct mc_kept *kept, FILE *f) {
    char line[256], name[32];
    unsigned seen = 0;
    int64_t n;
    if (!fgets(line, sizeof line, f) || line[0] != 'T') return -1;
    bool ours = !strcmp(line, "Tcached\n");
    while (fgets(line, sizeof line, f)) {
        if (line[0] != 'K' || !strchr(line, '\n')) return -1;
        if (sscanf(line, "K%31[a-z_] %" SCNd64, name, &n) == 2) seen |= take_value(kept, name, n);
    }
    return ours && seen == ALL ? 0 : 1;
}

/* Like memcached: a file that makes no sense is not overwritten, and the server does not start. A file that was read is
 * removed. */
static int check_meta(struct mc_kept *kept, const char *name) {
    FILE *f = fopen(name, "re");
    if (!f) {
        fprintf(stderr, "[restart] no metadata save file, starting with a clean cache\n");
        return 1;
    }
    int result = read_meta(kept, f);
    fclose(f);
    if (result < 0) {
        fprintf(stderr, "[restart] corrupt metadata file: %s\n", name);
        return -1;
    }
    unlink(name);
    if (!result && !mc_clock_resume(kept->zero)) result = 1; /* the clock cannot continue from that time */
    if (result) fprintf(stderr, "[restart] failed to validate metadata, starting with a clean cache\n");
    return result;
}

int mc_kept_open(struct mc_kept *kept, const char *file) {
    char meta[PATH_MAX + 16];
    *kept = (struct mc_kept){.fd = -1};
    if (snprintf(meta, sizeof meta, "%s.meta", file) >= PATH_MAX) {
        fprintf(stderr, "[restart] %s: %s\n", file, strerror(ENAMETOOLONG));
        return -1;
    }
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct stat s;
    if (fd < 0 || fstat(fd, &s) || !S_ISREG(s.st_mode)) {
        fprintf(stderr, "[restart] failed to open %s: %s\n", file, fd < 0 ? strerror(errno) : "not a file");
        if (fd >= 0) close(fd);
        return -1;
    }
    int result = check_meta(kept, meta);
    if (!result) {
        kept->fd = fd;
        return 0;
    }
    *kept = (struct mc_kept){.fd = -1};
    close(fd);
    return result < 0 ? -1 : 0;
}

void mc_kept_close(struct mc_kept *kept) {
    if (kept->fd >= 0) close(kept->fd);
    kept->fd = -1;
}

/* --- FILE ------------------------------------------------------------------------------------------------------ */

struct reader {
    FILE *file;
    uint64_t sum, count;
    off_t consumed;
};

static bool read_bytes(struct reader *r, void *to, size_t n) { return !n || fread(to, n, 1, r->file) == 1; }

/* FILE may be in memory. The part that was read is freed, so that the items are not in memory twice. */
static void give_up(struct reader *r) {
    off_t at = ftello(r->file);
    if (at - r->consumed < CONSUMED) return;
    off_t pages = at - at % 4096;
    (void)!fallocate(fileno(r->file), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, r->consumed, pages - r->consumed);
    r->consumed = pages;
}

static bool read_value(struct reader *r, struct mc_item *item) {
    struct mc_cursor cursor;
    for (mc_cursor_begin(&cursor, item); cursor.left; mc_cursor_advance(&cursor, cursor.here)) {
        if (!read_bytes(r, cursor.at, cursor.here)) return false;
        r->sum = mc_record_sum(r->sum, cursor.at, cursor.here);
    }
    return true;
}

/* A skipped value is summed in the parts in which it was written. */
static bool skip_value(struct reader *r, size_t key_size, size_t size, char *waste) {
    size_t left = size + 2,
           part = mc_item_chains(key_size, size) ? MC_CHUNK_MOST - MC_ITEM_HEAD - key_size - sizeof(void *) : left;
    for (; left; left -= part, part = left < MC_PIECE_MOST ? left : MC_PIECE_MOST) {
        if (!read_bytes(r, waste, part)) return false;
        r->sum = mc_record_sum(r->sum, waste, part);
    }
    return true;
}

static void enter(struct mc_held *held, struct mc_item *item, const struct mc_record *record, uint64_t most) {
    item->bits |= record->bits;
    mc_link(held, item);
    item->last = record->last < mc_now() ? record->last : mc_now();
    item->cas = record->cas < most ? record->cas : most;
}

/* Reads the key and the value. False: the checksum does not match. */
static bool read_item(struct reader *r, struct mc_store *store, const struct mc_record *record, uint64_t most) {
    char key[MC_KEY_MOST], waste[SUMMED];
    struct mc_held held;
    if (record->key_size > MC_KEY_MOST || !read_bytes(r, key, record->key_size)) return false;
    r->sum = mc_record_sum(r->sum, key, record->key_size);
    bool dead = record->expires && record->expires <= mc_now();
    mc_hold(&held, store, key, record->key_size);
    struct mc_item *item = NULL;
    if (!dead && mc_size_allowed(store, record->key_size, record->size, record->flags) && !mc_find(&held))
        item = mc_make(&held, record->size, record->flags, record->expires);
    bool good = item ? read_value(r, item) : skip_value(r, record->key_size, record->size, waste);
    good = good && r->sum == record->sum;
    if (item && good)
        enter(&held, item, record, most);
    else if (item)
        mc_shard_free(held.shard, item);
    mc_release(&held);
    return good;
}

static bool read_all(struct reader *r, struct mc_store *store, uint64_t most) {
    struct mc_record record;
    for (; read_bytes(r, &record, sizeof record); r->count++) {
        r->sum = mc_record_sum(r->sum, (char *)&record + sizeof record.sum, sizeof record - sizeof record.sum);
        if (!record.key_size) return record.sum == r->sum && record.cas == r->count && fgetc(r->file) == EOF;
        if (!read_item(r, store, &record, most)) return false;
        give_up(r);
    }
    return false;
}

/* Removes all items that were restored. */
static void empty(struct mc_store *store) {
    for (unsigned i = 0; i < store->count; i++)
        for (unsigned cls = 0; cls < mc_classes(); cls++)
            while (store->shards[i].queues[cls].oldest)
                mc_shard_unlink(&store->shards[i], store->shards[i].queues[cls].oldest);
}

void mc_restore(struct mc_store *store, struct mc_kept *kept) {
    if (kept->fd < 0) return;
    struct reader r = {.file = fdopen(kept->fd, "r+"), .sum = MC_RECORD_SEED};
    bool good = false;
    if (r.file) {
        setvbuf(r.file, NULL, _IOFBF, BUFFER);
        good = read_all(&r, store, kept->cas);
    }
    if (!good) {
        empty(store);
        fprintf(stderr, "[restart] the memory file is damaged, starting with a clean cache\n");
    } else {
        store_rlx(&store->flush_at, kept->flush_at);
    }
    if (load_rlx(&store->cas) < kept->cas) store_rlx(&store->cas, kept->cas);
    mc_log_number_set(kept->log_number);
    mc_store_reset_counts(store);
    (void)!ftruncate(kept->fd, 0);
    if (r.file)
        fclose(r.file);
    else
        close(kept->fd);
    kept->fd = -1;
}
