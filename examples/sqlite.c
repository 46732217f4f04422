/* SPDX-License-Identifier: MIT */
/*
 * A library that blocks: sqlite FILE FIBERS ROWS. Each of FIBERS fibers inserts ROWS rows into a database.
 *
 * Every call of SQLite may wait for the disk or for a lock of another process, so it runs on a thread of weft's pool
 * while the fiber waits. A connection must not be used by two threads at once; here a small pool of connections is
 * handed round by a channel. The fiber that has taken one uses it alone, on whichever thread the call runs.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>
#include <weft/io.h>

enum { CONNECTIONS = 4 };

static sqlite3 *room[CONNECTIONS];
static struct weft_chan connections = WEFT_CHAN_BUFFERED(room);
static const char *path;
static int fibers, rows;

/* A call into the library: everything it needs, and its result. */
struct insert {
    sqlite3 *db;
    int fiber, row, result;
};

static void *open_one(void *unused) {
    (void)unused;
    sqlite3 *db = NULL;
    if (sqlite3_open(path, &db) || sqlite3_busy_timeout(db, 10000) ||
        sqlite3_exec(db, "create table if not exists log (fiber integer, row integer)", NULL, NULL, NULL)) {
        fprintf(stderr, "%s: %s\n", path, db ? sqlite3_errmsg(db) : "no memory");
        sqlite3_close(db);
        return NULL;
    }
    return db;
}

static void *close_one(void *db) { return sqlite3_close(db), NULL; }

static void *insert_row(void *arg) {
    struct insert *insert = arg;
    char sql[128];
    snprintf(sql, sizeof sql, "insert into log values (%d, %d)", insert->fiber, insert->row);
    insert->result = sqlite3_exec(insert->db, sql, NULL, NULL, NULL);
    return NULL;
}

/* weft_blocking waits for the function's end even if this fiber is cancelled, so `insert` may be a local variable. */
static int write_rows(void *arg) {
    struct insert insert = {.fiber = (int)(intptr_t)arg};
    int err = 0;
    for (; insert.row < rows && !err; insert.row++) {
        err = weft_chan_recv(&connections, &insert.db);
        if (err) break;
        err = weft_blocking(insert_row, &insert, NULL);
        if (!err && insert.result) err = -EIO, fprintf(stderr, "%s\n", sqlite3_errmsg(insert.db));
        if (weft_chan_send_try(&connections, &insert.db)) err = -EIO; /* there is room: it was taken from there */
    }
    return err;
}

static int run(void *unused) {
    (void)unused;
    struct weft_scope scope;
    int err = 0;
    for (int i = 0; i < CONNECTIONS && !err; i++) {
        void *db = NULL;
        err = weft_blocking(open_one, NULL, &db);
        if (!err) err = db ? weft_chan_send_try(&connections, &db) : -EIO;
    }
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (int i = 0; i < fibers && !err; i++) err = weft_scope_spawn(&scope, NULL, write_rows, (void *)(intptr_t)i);
    int failed = weft_scope_end(&scope);
    for (sqlite3 *db; weft_chan_recv_try(&connections, &db) == 0;)
        if (weft_blocking(close_one, db, NULL)) err = -EIO;
    if (!err && !failed) printf("%d rows\n", fibers * rows);
    return err || failed;
}

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: sqlite FILE FIBERS ROWS\n"), 2;
    path = argv[1];
    fibers = atoi(argv[2]);
    rows = atoi(argv[3]);
    return weft_run(run, NULL, NULL);
}
