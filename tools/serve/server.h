/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the server: the settings, which do not change while it runs, and its state. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <stdbool.h>

struct weft_tls_context;

struct settings {
    const char *directory;
    const char *address;
    const char *user;    /* the user to become if root starts the server; NULL: "nobody" */
    const char *log;     /* a file; "-": standard output; NULL: none */
    const char *metrics; /* the address of the metrics: [ADDRESS:]PORT; NULL: none */
    unsigned port;
    unsigned workers;
    unsigned cache;               /* the number of cached files */
    unsigned idle;                /* seconds between two requests, and before the first */
    unsigned slow;                /* seconds for a head, for a body, and for each piece of an answer */
    unsigned grace;               /* seconds for requests under way, after the signal to end */
    bool list;                    /* show directories that have no index file */
    struct weft_tls_context *tls; /* NULL: no TLS */
};
extern struct settings settings;

/* Runs until a signal ends it. Returns the exit code. */
int server_run(void);

/* No new requests: each answer is the last of its connection. */
bool server_ends(void);

#endif
