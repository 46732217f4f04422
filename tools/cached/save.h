/* SPDX-License-Identifier: MIT */
/*
 * Items that outlive the process (-e FILE): SIGUSR1 ends the server, which then writes the items to FILE, and their
 * metadata to FILE.meta. The next server begins with them.
 *
 * FILE holds a record for each item, in each class the oldest first, and an end. A record has a checksum, and contains
 * no addresses: a damaged file, or a file of another program, is detected and not used. Dead items are left out. The
 * memory of items is freed while they are written, so that little more memory is used than before, even if the file is
 * in memory, too.
 *
 * FILE.meta has a line "Tcached" and then lines "K<name> <value>". It is written last, and removed when it is read;
 * FILE is not used without it. So a server that ends abnormally leaves nothing that the next server would use.
 */
#ifndef CACHED_SAVE_H
#define CACHED_SAVE_H

#include "store.h"

#include <stdio.h>

#define MC_KEPT_FORMAT 1

/* A record of FILE; the key and the value, with its \r\n, follow. Numbers are in the machine's byte order. */
struct mc_record {
    uint64_t sum; /* the checksum of the rest of the record, continued from the sum of the record before */
    uint64_t cas;
    uint32_t last, expires, flags;
    uint32_t size;    /* bytes of the value, without \r\n */
    uint8_t key_size; /* 0: this is the end, and `cas` is the number of records */
    uint8_t bits;
    uint8_t unused[6];
};

/* Continues a checksum with these bytes. */
uint64_t mc_record_sum(uint64_t sum, const void *bytes, size_t n);
#define MC_RECORD_SEED UINT64_C(0x77656674)

/* The contents of FILE.meta. */
struct mc_kept {
    int fd;       /* FILE; -1: there is nothing to restore */
    int64_t zero; /* second 0 of the clock */
    uint64_t cas, log_number;
    uint32_t flush_at;
    unsigned hash_power;
};

/* Opens both files, and makes FILE if it is missing. Returns 0 if the server can continue, with or without items to
 * restore. Otherwise the error was printed. */
int mc_kept_open(struct mc_kept *kept, const char *file);
void mc_kept_close(struct mc_kept *kept);

/* Restores into an empty store, before it is used. If it fails, prints the error and leaves the store empty. */
void mc_restore(struct mc_store *store, struct mc_kept *kept);

/* Saves and empties the store. Returns 0. On error prints it and returns -errno; then neither file can be used. */
int mc_save(struct mc_store *store, const char *file);

#endif
