/* SPDX-License-Identifier: MIT */
/*
 * Many fibers that talk to Redis with hiredis, each by a connection of its own.
 *
 *     redis HOST PORT [FIBERS]
 */
#include "many.h"

#include <hiredis/hiredis.h>

enum { ROUNDS = 20 };
static const char *host;
static int port;

static int fail(redisContext *c, const char *what) {
    fprintf(stderr, "%s: %s\n", what, c ? c->errstr : "no memory");
    if (c) redisFree(c);
    return -1;
}

static int ask(long number) {
    redisContext *c = redisConnect(host, port);
    if (!c || c->err) return fail(c, "redisConnect");
    for (int i = 0; i < ROUNDS; i++) {
        redisReply *set = redisCommand(c, "SET key:%ld %ld", number, number + i);
        if (!set) return fail(c, "SET");
        freeReplyObject(set);
        redisReply *get = redisCommand(c, "GET key:%ld", number);
        if (!get || get->type != REDIS_REPLY_STRING || atol(get->str) != number + i) return fail(c, "GET");
        freeReplyObject(get);
    }
    redisFree(c);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "redis HOST PORT [FIBERS]\n"), 2;
    host = argv[1];
    port = atoi(argv[2]);
    return many_run(argc > 3 ? atoi(argv[3]) : 100, ask);
}
