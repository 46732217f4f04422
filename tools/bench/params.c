/* SPDX-License-Identifier: MIT */
/* See params.h. */
#include "params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER(key, least, most, help) \
    { key, help, least, most, NULL, NULL }
#define SWITCH(key, otherwise, help) \
    { key, help, 0, 1, otherwise, NULL }
#define OPTIONAL(key, least, most, otherwise, help) \
    { key, help, least, most, otherwise, NULL }
#define WORD(key, words, otherwise, help) \
    { key, help, 0, 0, otherwise, words }

#define FIBERS NUMBER("fibers", 1, 1000000, "fibers a worker")
#define ALL_FIBERS NUMBER("fibers", 1, 1000000, "fibers in all")
#define WAIT WORD("primitive", "sem park", "sem", "fibers wait at a semaphore, or by the cheapest wait of the system")
#define SPAN NUMBER("span", 10, 600000, "ms that are measured")
#define INSIDE NUMBER("inside", 0, 1000000, "steps of integer work under the lock, some 1.7 ns each")
#define OUTSIDE NUMBER("outside", 0, 1000000, "steps of integer work outside of the lock")
#define COUNT(help) NUMBER("count", 1, 2000000000, help)
#define GRAIN NUMBER("grain", 1, 2000000000, "so few numbers are sorted in place, without a fork")
#define SIDE NUMBER("side", 8, 32768, "lines of the square")
#define STEPS NUMBER("steps", 1, 1000000, "steps in time")
#define HOW OPTIONAL("how", 0, 99, "0", "how the system cuts the loop; its form.h lists the ways")
#define CONNECTIONS NUMBER("connections", 1, 60000, "connections of the client")
#define BYTES NUMBER("size", 0, 1073741824, "bytes of a message, a file or a value")
#define WARM OPTIONAL("warm", 0, 600000, "300", "ms before the measured part")
#define SERVING CONNECTIONS, BYTES, WARM, SPAN
#define INPUT WORD("input", "random sorted reversed few nearly", "random", "the order of the numbers")
#define THREADS SWITCH("threads", "0", "1: how long each thread computed, as samples")
#define LINES NUMBER("n", 2, 16384, "lines of a matrix, a power of two")

#define PARAMS 8
static const struct {
    const char *measurements; /* the measurements that have this parameter */
    struct param params[PARAMS];
} table[] = {
    {"switch pingpong startstop mutex-alone chan-trip", {{0}}},
    {"yield", {FIBERS, NUMBER("sites", 1, 4, "places in the code that yield, each fiber at its own")}},
    {"cycle", {NUMBER("rings", 1, 200000, "rings of five fibers a worker"), WAIT}},
    {"churn", {NUMBER("fibers", 2, 1000000, "fibers a worker")}},
    {"locality",
     {NUMBER("fibers", 2, 100000, "fibers a worker"),
      NUMBER("cells", 1, 16777216, "cells of a fiber's array, 64 bytes each"),
      NUMBER("work", 0, 1000000, "increments before each post"),
      NUMBER("share", 0, 1, "1: the poster leaves its array to the fiber that it wakes; 0: each keeps its own")}},
    {"create scope", {NUMBER("batch", 1, 10000000, "fibers that are spawned before the first join")}},
    {"memory ring", {COUNT("fibers in all"), WAIT}},
    {"work",
     {ALL_FIBERS, NUMBER("heavy", 1, 1000000000, "steps of integer work of every tenth fiber"),
      NUMBER("light", 1, 1000000000, "steps of the others"), SWITCH("serial", "0", "1: a plain loop, no fibers")}},
    {"transfer", {FIBERS, NUMBER("park", 0, 1, "1: fibers wait at a semaphore for the next leader; 0: they yield")}},
    {"starve", {FIBERS}},
    {"rescue", {SPAN, NUMBER("block", 0, 60000, "ms for which a fiber blocks its kernel thread; 0: it computes")}},
    {"wake",
     {NUMBER("samples", 1, 100000, "wake-ups"), NUMBER("pause", 0, 1000000, "us between two wake-ups"),
      SWITCH("spare", "0", "1: the waking thread has a processor of its own"), WAIT}},
    {"retrieval",
     {WORD("box", "mailbox chase-lev abp locked", "mailbox", "where the other thread leaves items"),
      NUMBER("contended", 0, 1, "0: the sender rests while items are retrieved; 1: one box, both at work")}},
    {"misses",
     {WORD("work", "fib matmul", "fib", "the benchmark"), OPTIONAL("n", 2, 16384, "20", "its size"),
      OPTIONAL("cutoff", 0, 60, "0", "fib: below this nothing is forked"),
      OPTIONAL("leaf", 0, 16384, "0", "matmul: lines of a product that is computed in place")}},
    {"timers", {NUMBER("others", 0, 10000000, "timers that are armed all the time")}},
    {"sleep", {NUMBER("samples", 1, 100000, "sleeps of 1 ms")}},
    {"sleepers", {COUNT("fibers that sleep at once"), NUMBER("sleep", 1, 600000, "ms")}},
    {"idle", {NUMBER("seconds", 1, 3600, "seconds without work")}},
    {"mutex", {ALL_FIBERS, INSIDE, OUTSIDE, SWITCH("yield", "0", "1: a yield under the lock"), SPAN}},
    {"rwlock", {ALL_FIBERS, NUMBER("reads", 0, 100, "sections of a hundred that only read"), INSIDE, OUTSIDE, SPAN}},
    {"chan-stream",
     {NUMBER("pairs", 1, 10000, "senders, and as many receivers"),
      NUMBER("capacity", 1, 1000000, "items in the buffer")}},
    {"select", {NUMBER("senders", 1, 4, "channels of four that have a sender")}},
    {"counts",
     {WORD("work", "fib matmul mail", "fib", "the benchmark; mail: loops of which each piece is mailed to a worker"),
      NUMBER("n", 2, 16384, "which fib, lines of the matrices, or tasks of a loop")}},
    {"fib",
     {NUMBER("n", 2, 60, "which Fibonacci number"), NUMBER("cutoff", 0, 60, "below this nothing is forked; 0: all is"),
      WORD("per", "fork all", "all", "the time of a fork, in ns, or of the whole, in ms"),
      OPTIONAL("leaf", 0, 1000000000, "0", "steps of integer work at each leaf"), THREADS}},
    {"nqueens",
     {NUMBER("n", 1, 16, "queens"),
      OPTIONAL("depth", 0, 16, "0", "rows in which places are forked; below, plain calls. 0: all rows"), THREADS}},
    {"knapsack", {NUMBER("items", 1, 40, "items"), NUMBER("slack", 0, 1000, "of the bound, see knapsack.c")}},
    {"matmul", {LINES, NUMBER("leaf", 2, 16384, "lines of a product that is computed in place"), THREADS}},
    {"strassen", {LINES, NUMBER("leaf", 2, 16384, "lines of a product that is computed in place")}},
    {"cilksort mergesort", {COUNT("numbers"), GRAIN, INPUT}},
    {"quicksort", {COUNT("numbers"), GRAIN, INPUT, THREADS}},
    {"sort sort-by sort-std sort-stable sort-quick", {COUNT("numbers"), INPUT}},
    {"pointers pointers-by pointers-std pointers-stable pointers-quick scan scan-in scan-by scan-std reduce reduce-in "
     "reduce-std",
     {COUNT("numbers")}},
    {"pi", {NUMBER("chunks", 1, 10000000, "tasks of 4096 points")}},
    {"heat", {SIDE, STEPS, NUMBER("strips", 1, 256, "strips of a step, a fork each")}},
    {"heatfor", {SIDE, STEPS, HOW}},
    {"sparselu", {NUMBER("blocks", 1, 256, "blocks in a line"), NUMBER("size", 1, 256, "lines of a block")}},
    {"bfs", {NUMBER("nodes", 2, 100000000, "nodes, each with 16 neighbours")}},
    {"flat", {NUMBER("tasks", 1, 100000000, "tasks that are forked before the first join")}},
    {"loops",
     {COUNT("elements"), NUMBER("costs", 0, 3, "0: the same, 1: growing, 2: at random, 3: one is a quarter"), HOW}},
    {"latency",
     {NUMBER("tasks", 1, 1024, "tasks of a loop"), NUMBER("pause", 0, 1000000, "us of rest before each loop"),
      OPTIONAL("work", 0, 1000000, "20", "us that each task takes"), HOW}},
    {"efficiency", {NUMBER("leaves", 1, 10000000, "leaves of the tree, 1 to 40 us each")}},
    {"migration", {NUMBER("cells", 1, 100000000, "numbers of 4 bytes that each fiber reads and writes")}},
    {"echo accept", {SERVING}},
    {"http http-wrk clients", {SERVING, SWITCH("once", "0", "1: a connection for each request")}},
    {"http-site",
     {CONNECTIONS, WARM, SPAN, NUMBER("files", 100, 1000000, "files of the set"),
      NUMBER("rate", 1, 100000, "thousand requests that arrive a second"),
      NUMBER("session", 1, 100000, "requests of a session, each on a connection of its own"),
      OPTIONAL("memory", 0, 1000000, "0",
               "MiB that the server may use, with the page cache; 0: all, and a warm cache")}},
    {"overload",
     {SERVING, NUMBER("quota", 0, 100, "of a hundred parts of its processor that the server may use; 0: all"),
      NUMBER("percent", 1, 1000, "the rate that is asked for, of a hundred parts of what the server can do")}},
    {"memcached", {SERVING, NUMBER("updates", 0, 100, "sets of a hundred requests")}},
    {"memcached-rate",
     {SERVING, NUMBER("updates", 0, 100, "sets of a hundred requests"),
      NUMBER("rate", 1, 100000, "thousand requests that arrive a second")}},
    {"file",
     {NUMBER("blocks", 1, 16777216, "blocks of 4 KiB in the file"), FIBERS,
      NUMBER("direct", 0, 1, "1: O_DIRECT; 0: through the page cache"), SPAN}},
};

const struct param policies[] = {
    SWITCH("stealing", "1", "idle workers steal"),
    SWITCH("helping", "1", "busy workers take fibers that wait longer elsewhere"),
    SWITCH("rescue", "1", "spare workers take over from workers that block"),
    WORD("unpark", "local last", "local", "a woken fiber continues on the worker that woke it, or on its last worker"),
    WORD("deque", "split chase-lev abp locked", "split", "the queue of forked calls"),
    SWITCH("continuations", "0", "1: thieves take the caller in place of the child"),
    WORD("victims", "near random round", "near", "the order in which an idle worker visits the others"),
    WORD("amount", "half one all", "half", "how much of a queue a thief takes"),
    SWITCH("backoff", "1", "an idle worker pauses, longer and longer, between two looks"),
    SWITCH("mail", "1", "loops send pieces to workers"),
    WORD("queue", "own global shared", "own",
         "ready fibers wait at their worker, in one queue for all, or are shared out in turn"),
    SWITCH("bind", "0", "1: each worker stays on a CPU of its own"),
    {NULL, NULL, 0, 0, NULL, NULL},
};

/* Is `word` one of the words, which are separated by spaces? */
static bool among(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; length && (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return true;
    return false;
}

const struct param *params_of(const char *measurement) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (among(table[i].measurements, measurement)) return table[i].params;
    return NULL;
}

const struct param *param_find(const struct param *list, const char *key) {
    for (; list && list->key; list++)
        if (!strcmp(list->key, key)) return list;
    return NULL;
}

bool param_takes(const struct param *param, const char *value) {
    if (param->words) return !strchr(value, ' ') && among(param->words, value);
    char *end;
    if (*value < '0' || *value > '9') return false;
    errno = 0;
    uint64_t n = strtoull(value, &end, 10);
    return !errno && !*end && n >= param->least && n <= param->most;
}

char *param_range(const struct param *param, char *text, size_t size) {
    if (param->words)
        snprintf(text, size, "one of: %s", param->words);
    else
        snprintf(text, size, "a number from %llu to %llu", (unsigned long long)param->least,
                 (unsigned long long)param->most);
    return text;
}

const struct param *bench_param(const struct bench *bench, const char *key) {
    for (const struct variant *v = bench->variants; v < bench->variants + BENCH_VARIANTS && v->params; v++) {
        const struct param *param = param_find(params_of(variant_measurement(bench, v)), key);
        if (param) return param;
    }
    return param_find(policies, key);
}

const char *words_find(const char *words, const char *key, size_t *length) {
    size_t n = strlen(key);
    for (const char *at = words; *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strncmp(at, key, n) || at[n] != '=') continue;
        *length = strcspn(at + n + 1, " ");
        return at + n + 1;
    }
    return NULL;
}
