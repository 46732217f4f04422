/* SPDX-License-Identifier: MIT */
/*
 * echo, accept: a server on one processor, the client (client.h) on the other.
 *
 *   server=       path of the server's program; without it, weft's own (weft/servers.c)
 *   connections=  of the client, each with one message under way
 *   size=         bytes of a message; 0: accept, the server closes each connection at once
 *   epoll=1       weft's server runs on its epoll engine
 *   warm=, span=  ms before the measured part, and of it
 *
 * Metrics: CPU us of the server for each request; thousand requests a second; us until the answer, median and 99th
 * percentile.
 */
#include "own.h"

#include "client.h"

#include <stdio.h>
#include <stdlib.h>

#define WARM_UP 200

static void run(const struct args *args, struct result *result, const char *work, const char *own) {
    char port[32], workers[32], extra[32];
    const char *path = arg_text(args, "server", NULL);
    struct server server;
    server_prepare(&server);
    snprintf(port, sizeof port, "port=%u", server.port);
    snprintf(workers, sizeof workers, "workers=%u", (unsigned)arg_or(args, "workers", 1));
    snprintf(extra, sizeof extra, "multishot=%u", (unsigned)arg_or(args, "multishot", 0));
    char *const theirs[] = {(char *)path, (char *)work, port, extra, NULL};
    char *const ours[] = {"/proc/self/exe", "bench-one", (char *)own, port, workers, NULL};
    load_raise_descriptors(65536);
    if (arg_or(args, "epoll", 0)) setenv("WEFT_IO", "epoll", 1);

    struct client *client = allocate(1, sizeof *client);
    server_start(&server, path ? theirs : ours, (struct limit){0, 0});
    client->server = &server;
    client->connections = (unsigned)arg(args, "connections");
    client->size = (unsigned)arg(args, "size");
    client->warm_up = arg_or(args, "warm", WARM_UP) * 1000000;
    client->duration = arg(args, "span") * 1000000;
    client_run(client);
    server_stop(&server);

    result->right = !client->errors && histogram_count(&client->times) && client->cpu;
    result->values[0] = (double)client->cpu / (double)histogram_count(&client->times) / 1e3;
    result->values[1] = (double)histogram_count(&client->times) / (double)client->elapsed * 1e6;
    result->values[2] = (double)histogram_percentile(&client->times, 50) / 1e3;
    result->values[3] = (double)histogram_percentile(&client->times, 99) / 1e3;
    free(client);
}

void own_echo(const struct args *args, struct result *result) { run(args, result, "echo", "serve-echo"); }
void own_accept(const struct args *args, struct result *result) { run(args, result, "accept", "serve-accept"); }
