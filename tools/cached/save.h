/* SPDX-License-Identifier: MIT */
/*
 * Items that outlive the process (-e FILE): SIGUSR1 ends the server, which then writes them to FILE, and what it
 * needs to know about them to FILE.meta; the next server begins with them.
 *
 * FILE holds a record for each item, of each class the oldest first, and an end. A record has a checksum, and nothing
 * in it is an address: a file that is damaged, or of another program, is found out and not used. What is dead is left
 * out. The memory of items is given back while they are written, so that there is not much more in memory than
 * before, even if the file is in memory, too.
 *
 * FILE.meta is lines "K<name> <value>" behind a line "Tcached"; it is written last, and removed when it is read:
 * without it FILE means nothing. So a server that does not end as it should leaves nothing behind that could be used.
 */
#ifndef CACHED_SAVE_H
#define CACHED_SAVE_H

#include "store.h"

#include <stdio.h>

#define MC_KEPT_FORMAT 1

/* A record of FILE; the key and the value, with its \r\n, follow. All in the byte order of the machine. */
struct mc_record {
    uint64_t sum; /* of all that follows, and of the sum before */
    uint64_t cas;
    uint32_t last, expires, flags;
    uint32_t size;    /* of the value, without \r\n */
    uint8_t key_size; /* 0: this is the end, and cas the number of records */
    uint8_t bits;
    uint8_t unused[6];
};

/* Goes on with a sum. */
uint64_t mc_record_sum(uint64_t sum, const void *bytes, size_t n);
#define MC_RECORD_SEED UINT64_C(0x77656674)

/* What FILE.meta said. */
struct mc_kept {
    int fd;       /* FILE; -1: there is nothing to restore */
    int64_t zero; /* of the clock */
    uint64_t cas, log_number;
    uint32_t flush_at;
    unsigned hash_power;
};

/* Opens both, and makes FILE if it is not there. 0: go on, with or without something to restore; or it was said why
 * not. */
int mc_kept_open(struct mc_kept *kept, const char *file);
void mc_kept_close(struct mc_kept *kept);

/* Into an empty store, before anything else uses it. If it fails, that is said, and the store is empty. */
void mc_restore(struct mc_store *store, struct mc_kept *kept);

/* Empties the store. 0; or -errno, it was said, and neither file can be used. */
int mc_save(struct mc_store *store, const char *file);

#endif
