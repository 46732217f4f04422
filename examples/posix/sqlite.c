/* SPDX-License-Identifier: MIT */
/*
 * Many fibers that use one SQLite database, each by a connection of its own, with SQLite's own locking and waiting.
 *
 *     sqlite FILE [FIBERS]
 */
#include "many.h"

#include <sqlite3.h>

enum { ROUNDS = 5 };
static const char *file;

static int run(sqlite3 *db, const char *text) {
    int err = sqlite3_exec(db, text, NULL, NULL, NULL);
    if (err) fprintf(stderr, "%s: %s\n", text, sqlite3_errmsg(db));
    return err ? -1 : 0;
}

static int add(long number) {
    char text[100];
    sqlite3 *db;
    int result = sqlite3_open(file, &db) ? -1 : 0;
    sqlite3_busy_timeout(db, 60000); /* sleeps and tries again: the fiber parks */
    snprintf(text, sizeof text, "insert into numbers values (%ld)", number);
    for (int i = 0; i < ROUNDS && !result; i++) result = run(db, text);
    sqlite3_close(db);
    return result;
}

static int count(void *found, int n, char **values, char **names) {
    (void)n;
    (void)names;
    *(long *)found = atol(values[0]);
    return 0;
}

int main(int argc, char **argv) {
    sqlite3 *db;
    long found = 0;
    if (argc < 2) return fprintf(stderr, "sqlite FILE [FIBERS]\n"), 2;
    int fibers = argc > 2 ? atoi(argv[2]) : 50;
    file = argv[1];
    if (sqlite3_open(file, &db) || run(db, "pragma journal_mode=wal") ||
        run(db, "create table if not exists numbers (n integer)") || run(db, "delete from numbers"))
        return 1;
    int code = many_run(fibers, add);
    sqlite3_exec(db, "select count(*) from numbers", count, &found, NULL);
    sqlite3_close(db);
    if (found != (long)fibers * ROUNDS) return fprintf(stderr, "%ld rows\n", found), 1;
    return code;
}
