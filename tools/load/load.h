/* SPDX-License-Identifier: MIT */
/*
 * weft load: a client that asks a server as fast as it answers, or at a rate, and checks every answer.
 *
 *   plan        what is asked for (options.c)
 *   protocol    how a request is written and an answer checked (echo.c, http.c, memcached.c)
 *   link        a connection and the fiber that uses it (link.c: the connection, drive.c: the fiber)
 *   exchange    up to `depth` requests sent at once, and their answers
 *   session     a number of requests on a connection of their own, with pauses as a reader makes them
 *   set         files of which each request asks for one (fileset.h)
 *   fault       an exchange that went wrong, by kind; its connection is given up and made anew
 *   tally       what came of it (report.c)
 *
 * A run has two parts, warm-up and measured, each from rest to rest: no request is under way when it begins
 * or ends, so that what the server did meanwhile is what the counted requests needed.
 *
 * Closed loop: each link sends as soon as it has been answered. Open loop: arrivals have fixed times, `rate`
 * a second, dealt to the links in turn; a time is measured from the arrival, not from when the link was free
 * to send, so a server that stops for a while is charged for all requests that would have come meanwhile.
 */
#ifndef LOAD_LOAD_H
#define LOAD_LOAD_H

#include "histogram.h"
#include "weft.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define LOAD_DEPTH_MAX 1024
#define LOAD_PATH 1024

enum load_fault {
    LOAD_FINE,
    LOAD_REFUSED, /* no server listens */
    LOAD_CONNECT, /* another failure to connect */
    LOAD_SECURE,  /* no handshake of TLS, or the server's certificate is refused */
    LOAD_CLOSED,  /* the connection ended, or was reset, before an answer */
    LOAD_SHORT,   /* it ended within one */
    LOAD_STATUS,  /* another status than asked for; an error message */
    LOAD_LENGTH,  /* another length, more than was asked for, or no answer that could be read */
    LOAD_CONTENT, /* right length, wrong bytes */
    LOAD_MISSING, /* memcached: a key that was stored is not there */
    LOAD_TIMEOUT,
    LOAD_FAULTS
};
extern const char *const load_fault_names[LOAD_FAULTS];

struct load_plan {
    const struct load_protocol *protocol;
    struct sockaddr_in address;
    char host[LOAD_PATH]; /* as it was given, with the port */
    char path[LOAD_PATH];
    unsigned workers, connections, depth;
    double rate;                         /* requests a second; 0: closed loop */
    unsigned session;                    /* requests of a session; 0: connections stay */
    double think;                        /* s between requests of a session, on average */
    uint64_t warm_up, duration, timeout; /* ns; timeout of an exchange */
    size_t size;                         /* bytes of a message or a value */
    bool one_request;                    /* a connection for each exchange */
    bool no_preload;
    unsigned updates, keys;     /* updates: of a hundred */
    pid_t server;               /* the server process, for its CPU time; 0: not told */
    bool tls, insecure, resume; /* TLS; the server's certificate is not checked; sessions are gone on with */
    const char *issuers;        /* a file, or a directory, of those that are trusted; NULL: the system's */
    char name[LOAD_PATH];       /* the host alone: what the certificate is to be for */
    bool silent;                /* no progress */
    const char *hdr;            /* a file for the percentiles; NULL: none */
    const char *files;          /* http: the list of a set of files; NULL: all requests ask for `path` */
    bool json;
};

struct load_tally {
    uint64_t answers, bytes;
    uint64_t faults[LOAD_FAULTS];             /* of both parts; of the last one in open loop: each costs an arrival */
    uint64_t unsent;                          /* arrivals that were due, but had not been sent at the end */
    uint64_t elapsed, client_cpu, server_cpu; /* ns of the measured part */
    uint64_t server_memory; /* bytes by which the server has grown, while all connections are open and at rest */
    struct histogram times; /* of answers; of what was not sent, how long it has waited */
    const char *problem;    /* why nothing was measured; else NULL */
};

struct fileset;
struct weft_tls;
struct weft_tls_context;

struct load {
    const struct load_plan *plan;
    struct weft_tls_context *tls; /* NULL: without */
    struct load_tally *tally;
    const char *request_text; /* protocols' own: a request that is always the same, and what they compare with */
    size_t request_size;
    char *content;
    size_t content_size;
    struct fileset *set;              /* NULL: all requests are the same */
    bool learns;                      /* the content from the first answer */
    size_t request_room, answer_room; /* bytes of one; the protocol's prepare sets them */
    struct weft_barrier turn;         /* between the parts: all links, and the fiber that leads */
    struct weft_sem dialling;         /* not all connect at once */
    uint64_t begin, end;              /* of the part */
    bool measured;                    /* this part counts */
    bool ended;
};

/* What was asked, to check its answer. */
struct load_asked {
    uint32_t key; /* memcached: the key's number; http: the file's */
    bool update;
};

struct load_link {
    struct load *load;
    unsigned index;
    int fd;               /* -1: none */
    struct weft_tls *tls; /* NULL: without */
    bool ended;           /* the server has closed it */
    uint64_t random;
    char *out, *in;
    size_t room, at, have; /* of `in`: its size; what came and was not taken yet */
    size_t body_at;        /* what was seen of the content of an answer */
    /* Of http's answer: where in it we are, and how much is left of the body or of the chunk; of its head, the rest. */
    unsigned part, status;
    size_t body_left, head_size;
    bool last;         /* it is the last one of the connection */
    bool to_the_end;   /* and lasts until that has ended: no more bytes are then its end, not a fault */
    const char *right; /* the content that it should have */
    size_t right_size;
    struct load_asked asked[];
};

struct load_protocol {
    const char *name, *port; /* the usual one; NULL: none */
    bool server_closes;      /* a connection that is for one exchange */

    /* Before the links are there: sets the rooms, and what it keeps in the load. NULL, or what is wrong. */
    const char *(*prepare)(struct load *load);

    /* Writes the i-th request of an exchange; returns its size, request_room at most. */
    size_t (*request)(struct load_link *link, unsigned i, char *out);

    /* Takes what it can of the i-th answer from the bytes that came, and returns how many; *done: that was
     * all of it. No bytes: the connection has ended, and the answer was to last so long. */
    size_t (*take)(struct load_link *link, unsigned i, const char *bytes, size_t size, bool *done,
                   enum load_fault *fault);
};

extern const struct load_protocol load_echo, load_http, load_memcached;

/* Runs the plan; starts and stops the runtime. Whether there was anything wrong is in the tally. */
void load_run(const struct load_plan *plan, struct load_tally *tally);
uint64_t load_faults(const struct load_tally *tally); /* all of them */

/* link.c. NULL: no memory. */
struct load_link *load_link_new(struct load *load, unsigned index);
void load_link_free(struct load_link *link);
enum load_fault load_dial(struct load_link *link);
void load_hang_up(struct load_link *link);
/* All of it, and some: as weft_send and weft_recv, with TLS or without. */
ssize_t load_send(struct load_link *link, const char *data, size_t size);
ssize_t load_receive(struct load_link *link, char *to, size_t size);
/* A random number of 32 bits; each link has its own sequence, the same in every run. */
uint32_t load_random(struct load_link *link);
/* n requests, n answers: how many came, and whether something went wrong. The i-th is counted, if this part
 * is, as having begun at from + i * step. Ends the connection after a fault. */
enum load_fault load_exchange(struct load_link *link, unsigned n, double from, double step);

/* secure.c. What is asked for; NULL, or what is wrong. Then, on a connection: the handshake. */
const char *load_secure_begin(struct load *load);
enum load_fault load_secure(struct load_link *link);
const char *load_secure_problem(void); /* why the last handshake failed; NULL: none has */

/* drive.c: the fiber of a link. */
void *load_drive(void *link);

/* files.c: weft load files. */
int load_files_command(int argc, char **argv);

/* options.c: the exit code, or -1: go on. */
int load_options(int argc, char **argv, struct load_plan *plan);

/* The percentiles as HdrHistogram writes them. -1, and errno: the file could not be written. */
int load_write_hdr(const char *path, const struct histogram *h);
void load_report(const struct load_plan *plan, const struct load_tally *tally);

/* ns of CPU time of a process and of its children, all their threads, user and system; pid 0: of this process. */
uint64_t load_cpu(pid_t pid);
/* Bytes of memory that they have, and of their page tables. */
uint64_t load_memory(pid_t pid);
/* The soft limit of descriptors becomes `wanted`, or the hard one where that may not be raised. */
void load_raise_descriptors(uint64_t wanted);

/* Bytes for messages and values: `size` from each of 256 places on, all different. NULL: no memory. */
#define LOAD_PLACES 256
char *load_pattern(size_t size);

#endif
