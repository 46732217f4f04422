/* SPDX-License-Identifier: MIT */
/*
 * Many fibers that ask PostgreSQL with libpq, each by a connection of its own.
 *
 *     postgres "host=127.0.0.1 dbname=test" [FIBERS]
 */
#include "many.h"

#include <libpq-fe.h>
#include <stdbool.h>

enum { ROUNDS = 20 };
static const char *database;

static int fail(PGconn *c) {
    fprintf(stderr, "%s", PQerrorMessage(c));
    PQfinish(c);
    return -1;
}

static int ask(long number) {
    PGconn *c = PQconnectdb(database);
    if (PQstatus(c) != CONNECTION_OK) return fail(c);
    for (int i = 0; i < ROUNDS; i++) {
        char text[100];
        /* The server sleeps now and then: only this fiber waits. */
        snprintf(text, sizeof text, "select %ld + %d, pg_sleep(%s)", number, i, i % 10 ? "0" : "0.01");
        PGresult *r = PQexec(c, text);
        bool right = PQresultStatus(r) == PGRES_TUPLES_OK && atol(PQgetvalue(r, 0, 0)) == number + i;
        PQclear(r);
        if (!right) return fail(c);
    }
    PQfinish(c);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2) return fprintf(stderr, "postgres \"host=127.0.0.1 dbname=test\" [FIBERS]\n"), 2;
    database = argv[1];
    return many_run(argc > 2 ? atoi(argv[2]) : 50, ask);
}
