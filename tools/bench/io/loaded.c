/* SPDX-License-Identifier: MIT */
/*
 * http, memcached: a real server on one processor, the load generator (load/load.h) on another. http-wrk: wrk (wrk.h)
 * is the load generator. http-site: sessions that request the files of a set (load/fileset.h), at a rate.
 *
 *   server=       path of the server's program (bench/peers/io); without it, weft serve or weft cached
 *   reference=    memcached: path of the server with the greatest rate that the open loop is measured by
 *   connections=  of the client
 *   size=         bytes of a file, or of a value
 *   once=1        http: a connection for each request
 *   updates=      memcached: of a hundred requests
 *   rate=         memcached-rate, http-site: thousand requests a second that arrive, whatever is answered
 *   files=        http-site: files of the set
 *   session=      http-site: requests of a session
 *   memory=       http-site: MiB that the server may use, page cache included, after a cold start; 0: all, and warm
 *   quota=        overload: of a hundred parts of the server's processor
 *   percent=      overload: the rate that is asked for, of a hundred parts of what it can do
 *   epoll=1       weft's server runs on its epoll engine
 *   warm=, span=  ms before the measured part, and of it
 *
 * Metrics of http and memcached: CPU us of the server a request, and thousand requests a second, in closed
 * loop; us until the answer, median and 99th percentile: http, in the same loop; memcached, in an open loop
 * at 80 % of the greatest rate of the reference. Metrics of overload: requests that are answered of a hundred
 * parts of the greatest rate; thousand a second; errors; ms until the answer, 99th percentile. Metrics of
 * http-site: thousand requests a second that are answered; of a hundred, those that are not answered in time; ms
 * until the answer, 99th percentile; CPU us of the server a request. Metric of
 * clients: KiB of the server's memory a client that is connected and idle.
 */
#include "own.h"

#include "load/fileset.h"
#include "load/load.h"
#include "process.h"
#include "wrk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WARM_UP 300
#define LOADED 80 /* percent of the greatest rate */
#define WORDS 12
#define FILES_KEPT 1000

static void make_file(const struct server *server, size_t size) {
    char path[SERVER_PATH + 16];
    char *bytes = load_pattern(size);
    snprintf(path, sizeof path, "%s/file", server->scratch);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (!bytes || fd < 0 || write(fd, bytes, size) != (ssize_t)size) fail(path, errno);
    close(fd);
    free(bytes);
}

/* Starts a server with its own options: one thread or worker, because it has one processor, and the time-outs of nginx.
 * files: how many files a web server may keep open. */
static void start_with(struct server *server, const char *path, const struct load_plan *plan, unsigned files,
                       struct limit limit) {
    char port[32], number[16], connections[32], dir[SERVER_PATH + 8], scratch[SERVER_PATH + 8], most[16];
    char cache[16], kept[32];
    bool http = plan->protocol == &load_http;
    snprintf(number, sizeof number, "%u", server->port);
    snprintf(most, sizeof most, "%u", plan->connections + 500);
    snprintf(port, sizeof port, "port=%u", server->port);
    snprintf(connections, sizeof connections, "connections=%u", plan->connections);
    snprintf(cache, sizeof cache, "%u", files);
    snprintf(kept, sizeof kept, "files=%u", files);
    snprintf(dir, sizeof dir, "dir=%s", server->scratch);
    snprintf(scratch, sizeof scratch, "scratch=%s", server->scratch);
    char *self = "/proc/self/exe";
    char *const theirs[] = {(char *)path, (char *)plan->protocol->name, port, dir, scratch, connections, kept, NULL};
    char *root = geteuid() ? NULL : "root"; /* the same user as now, so that the server can read the scratch
                                               directory */
    char *const serve[] = {
        self,      "serve", server->scratch,        "--port", number, "--workers", "1", "--slow", "60",
        "--cache", cache,   root ? "--user" : NULL, root,     NULL};
    char *const cached[] = {self,  "cached", "-l", "127.0.0.1",        "-p", number, "-U", "0", "-t", "1", "-m",
                            "512", "-c",     most, root ? "-u" : NULL, root, NULL};
    server_start(server, path ? theirs : http ? serve : cached, limit);
}

static void start(struct server *server, const char *path, const struct load_plan *plan, unsigned quota) {
    start_with(server, path, plan, FILES_KEPT, (struct limit){.quota = quota});
}

static struct load_plan plan_for(const struct args *args, const struct load_protocol *protocol,
                                 const struct server *server) {
    struct load_plan plan = {.protocol = protocol, .address = server->address, .workers = 1, .depth = 1};
    snprintf(plan.host, sizeof plan.host, "127.0.0.1:%u", server->port);
    strcpy(plan.path, "/file");
    plan.connections = (unsigned)arg(args, "connections");
    plan.size = arg_or(args, "size", 0);
    plan.one_request = arg_or(args, "once", 0);
    plan.updates = (unsigned)arg_or(args, "updates", 0);
    plan.keys = 10000;
    plan.warm_up = arg_or(args, "warm", WARM_UP) * WEFT_MILLISECOND;
    plan.duration = arg(args, "span") * WEFT_MILLISECOND;
    plan.timeout = 30 * WEFT_SECOND;
    plan.silent = true;
    return plan;
}

/* Runs the plan. Returns false after printing the reason if nothing could be measured. */
static bool run(const struct load_plan *plan, struct load_tally *tally) {
    load_run(plan, tally);
    if (tally->problem || !tally->answers)
        fprintf(stderr, "%s: %s\n", plan->host, tally->problem ? tally->problem : "no answer in all that time");
    for (int i = LOAD_FINE + 1; i < LOAD_FAULTS; i++)
        if (tally->faults[i]) fprintf(stderr, "%s: %s: %lu\n", plan->host, load_fault_names[i], tally->faults[i]);
    return !tally->problem && tally->answers;
}

static double rate_of(const struct load_tally *tally) {
    return (double)tally->answers / ((double)tally->elapsed / 1e9);
}

static void tell_closed(const struct load_tally *tally, struct result *result) {
    result->right = !load_faults(tally) && tally->server_cpu;
    result->values[0] = (double)tally->server_cpu / (double)tally->answers / 1e3;
    result->values[1] = rate_of(tally) / 1e3;
}

static void tell_times(const struct load_tally *tally, struct result *result) {
    result->values[2] = (double)histogram_percentile(&tally->times, 50) / 1e3;
    result->values[3] = (double)histogram_percentile(&tally->times, 99) / 1e3;
}

static void prepare(const struct args *args) {
    load_raise_descriptors(65536);
    if (arg_or(args, "epoll", 0)) setenv("WEFT_IO", "epoll", 1);
}

/* The server inherits the choice of an engine; the client always runs on the default one. */
static void client_prepare(void) { unsetenv("WEFT_IO"); }

/* Starts a file server, and plans a client that requests one file. */
static struct load_plan start_http(const struct args *args, struct server *server, unsigned quota) {
    prepare(args);
    server_prepare(server);
    make_file(server, arg(args, "size"));
    struct load_plan plan = plan_for(args, &load_http, server);
    start(server, arg_text(args, "server", NULL), &plan, quota);
    client_prepare();
    plan.server = server->pid;
    return plan;
}

/* Like http, with wrk as the client. own=1: the server is weft serve, and server= only says that wrk is installed. wrk
 * makes its connections in the measured time, so the figures include their cost. */
void own_http_wrk(const struct args *args, struct result *result) {
    char url[64];
    struct server server;
    struct wrk wrk;
    prepare(args);
    server_prepare(&server);
    make_file(&server, arg(args, "size"));
    struct load_plan plan = plan_for(args, &load_http, &server);
    start(&server, arg_or(args, "own", 0) ? NULL : arg_text(args, "server", NULL), &plan, 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/file", server.port);
    unsigned seconds = (unsigned)((arg(args, "span") + 999) / 1000);
    uint64_t before = server_cpu(&server);
    if (wrk_run(url, plan.connections, seconds, &wrk)) {
        result->right = !wrk.faults;
        result->values[0] = (double)(server_cpu(&server) - before) / (double)wrk.requests / 1e3;
        result->values[1] = wrk.rate / 1e3;
        result->values[2] = wrk.median;
        result->values[3] = wrk.late;
    }
    server_stop(&server);
}

void own_http(const struct args *args, struct result *result) {
    static struct load_tally tally;
    struct server server;
    struct load_plan plan = start_http(args, &server, 0);
    if (run(&plan, &tally)) {
        tell_closed(&tally, result);
        tell_times(&tally, result);
    }
    server_stop(&server);
}

/* Measures after each connection was used once and is idle. */
void own_clients(const struct args *args, struct result *result) {
    static struct load_tally tally;
    struct server server;
    struct load_plan plan = start_http(args, &server, 0);
    result->right = run(&plan, &tally) && !load_faults(&tally);
    result->values[0] = (double)tally.server_memory / 1024 / plan.connections;
    server_stop(&server);
}

void own_overload(const struct args *args, struct result *result) {
    static struct load_tally peak, tally;
    struct server server;
    struct load_plan plan = start_http(args, &server, (unsigned)arg(args, "quota"));
    if (run(&plan, &peak)) {
        plan.rate = rate_of(&peak) * (double)arg(args, "percent") / 100;
        result->right = run(&plan, &tally);
        result->values[0] = 100 * rate_of(&tally) / rate_of(&peak);
        result->values[1] = rate_of(&tally) / 1e3;
        result->values[2] = (double)load_faults(&tally);
        result->values[3] = (double)histogram_percentile(&tally.times, 99) / 1e6;
    }
    server_stop(&server);
}

/* Returns the greatest rate of the reference; 0: there is none. */
static double reference_rate(const struct args *args, struct load_tally *tally) {
    const char *reference = arg_text(args, "reference", NULL), *path = arg_text(args, "server", NULL);
    if (!reference || (path && !strcmp(path, reference))) return 0;
    struct server server;
    server_prepare(&server);
    struct load_plan plan = plan_for(args, &load_memcached, &server);
    start(&server, reference, &plan, 0);
    bool ran = run(&plan, tally);
    server_stop(&server);
    return ran ? rate_of(tally) : 0;
}

/* Starts the server that the arguments name, and plans a client of it. */
static struct load_plan start_memcached(const struct args *args, struct server *server) {
    prepare(args);
    server_prepare(server);
    struct load_plan plan = plan_for(args, &load_memcached, server);
    start(server, arg_text(args, "server", NULL), &plan, 0);
    client_prepare();
    plan.server = server->pid;
    return plan;
}

void own_memcached(const struct args *args, struct result *result) {
    static struct load_tally tally;
    struct server server;
    load_raise_descriptors(65536);
    double greatest = reference_rate(args, &tally);
    struct load_plan plan = start_memcached(args, &server);
    if (run(&plan, &tally)) {
        tell_closed(&tally, result);
        plan.rate = (greatest > 0 ? greatest : rate_of(&tally)) * LOADED / 100;
        plan.no_preload = true;
        result->right &= run(&plan, &tally) && !load_faults(&tally);
        tell_times(&tally, result);
    }
    server_stop(&server);
}

/* Runs at a rate, in open loop, which may exceed what the server can do: unanswered requests are then not errors.
 * Metrics: thousand a second that were answered; us until the answer, median and 99th percentile; CPU us of the server
 * for each request. */
void own_memcached_rate(const struct args *args, struct result *result) {
    static struct load_tally tally;
    struct server server;
    struct load_plan plan = start_memcached(args, &server);
    plan.rate = (double)arg(args, "rate") * 1000;
    if (run(&plan, &tally)) {
        result->right = !load_faults(&tally);
        result->values[0] = rate_of(&tally) / 1e3;
        result->values[1] = (double)histogram_percentile(&tally.times, 50) / 1e3;
        result->values[2] = (double)histogram_percentile(&tally.times, 99) / 1e3;
        result->values[3] = (double)tally.server_cpu / (double)tally.answers / 1e3;
    }
    server_stop(&server);
}

/* Writes a set of files into the server's directory, and returns the path of its list. */
static const char *make_site(const struct server *server, size_t files, bool cold) {
    static char list[SERVER_PATH + sizeof FILESET_LIST];
    struct fileset set;
    if (fileset_plan(&set, files) || fileset_write(&set, server->scratch)) fail(server->scratch, errno);
    if (cold) fileset_cool(&set, server->scratch);
    fileset_free(&set);
    snprintf(list, sizeof list, "%s/" FILESET_LIST, server->scratch);
    return list;
}

/* The rate may exceed what the server can do. Requests that are not answered in time are then a result, not an
 * error. */
void own_http_site(const struct args *args, struct result *result) {
    static struct load_tally tally;
    struct server server;
    unsigned files = (unsigned)arg(args, "files"), memory = (unsigned)arg_or(args, "memory", 0);
    prepare(args);
    server_prepare(&server);
    struct load_plan plan = plan_for(args, &load_http, &server);
    plan.files = make_site(&server, files, memory);
    plan.session = (unsigned)arg(args, "session");
    plan.rate = (double)arg(args, "rate") * 1000;
    plan.timeout = 10 * WEFT_SECOND;
    start_with(&server, arg_text(args, "server", NULL), &plan, files, (struct limit){.memory = memory});
    client_prepare();
    plan.server = server.pid;
    if (run(&plan, &tally)) {
        double missed = (double)(tally.unsent + load_faults(&tally)), answers = (double)tally.answers;
        result->right = load_faults(&tally) == tally.faults[LOAD_TIMEOUT];
        result->values[0] = rate_of(&tally) / 1e3;
        result->values[1] = 100 * missed / (answers + missed);
        result->values[2] = (double)histogram_percentile(&tally.times, 99) / 1e6;
        result->values[3] = (double)tally.server_cpu / answers / 1e3;
    }
    server_stop(&server);
}
