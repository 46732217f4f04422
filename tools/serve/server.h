/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the server: the settings, which do not change while it runs, and its state. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <stdbool.h>

struct weft_tls_context;

struct settings {
    const char *directory;
    const char *address;
    const char *user;    /* to become, as root; NULL: the user "nobody" */
    const char *log;     /* a file; "-": standard output; NULL: none */
    const char *metrics; /* where its metrics are served: [ADDRESS:]PORT; NULL: nowhere */
    unsigned port;
    unsigned workers;
    unsigned cache;               /* files that are kept */
    unsigned idle;                /* seconds between two requests, and before the first */
    unsigned slow;                /* seconds for a head, for a body, and for each piece of an answer */
    unsigned grace;               /* seconds for requests under way, after the signal to end */
    bool list;                    /* directories without an index file are shown */
    struct weft_tls_context *tls; /* NULL: without TLS */
};
extern struct settings settings;

/* Runs until a signal ends it. Returns the exit code. */
int server_run(void);

/* No new requests: each answer is the last of its connection. */
bool server_ends(void);

#endif
