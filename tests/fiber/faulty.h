/* SPDX-License-Identifier: MIT */
/*
 * A server with planted faults, on threads of its own, for the tests of the load generator. It speaks echo, HTTP or
 * memcached. Every `every` requests it makes one of the faults below, and counts it.
 */
#ifndef TESTS_FAULTY_H
#define TESTS_FAULTY_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum faulty_speaks { FAULTY_ECHO, FAULTY_HTTP, FAULTY_MEMCACHED };
enum faulty_way {
    FAULTY_NOT,
    FAULTY_CLOSES,  /* the connection, instead of an answer */
    FAULTY_SHORT,   /* half of the answer, and closes */
    FAULTY_WRONG,   /* a byte is wrong */
    FAULTY_MORE,    /* than it was asked for */
    FAULTY_STATUS,  /* an error message */
    FAULTY_LENGTH,  /* announces and sends another length */
    FAULTY_MISSING, /* memcached: the key is not there */
    FAULTY_SILENT,  /* no answer */
    FAULTY_PAUSES,  /* all connections stand still for a while; then the answer is right */
};

#define FAULTY_KEYS 16
#define FAULTY_SIZE 1000 /* of HTTP's content; of a message or value, at most */

struct faulty {
    enum faulty_speaks speaks;
    enum faulty_way way;
    unsigned every;    /* a fault in each group of this many requests; the first answer is always right */
    uint64_t pause_ns; /* FAULTY_PAUSES */
    size_t size;       /* FAULTY_ECHO: of a message */
    /* its own */
    int listener;
    unsigned port;
    pthread_mutex_t lock; /* held while it answers: a pause stops all */
    pthread_cond_t ended;
    unsigned threads; /* that run */
    uint64_t requests, planted, connections;
    char values[FAULTY_KEYS][FAULTY_SIZE];
    size_t sizes[FAULTY_KEYS];
};

void faulty_start(struct faulty *server);
/* Accepts no more connections, and waits until the existing connections have been closed. */
void faulty_stop(struct faulty *server);

#endif
