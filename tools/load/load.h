/* SPDX-License-Identifier: MIT */
/*
 * weft load: a client that sends requests to a server as fast as it answers, or at a rate, and checks every answer.
 *
 *   plan        the request of the user (options.c)
 *   protocol    how a request is written and an answer checked (echo.c, http.c, memcached.c)
 *   link        a connection and the fiber that uses it (link.c: the connection, drive.c: the fiber)
 *   exchange    up to `depth` requests sent at once, and their answers
 *   session     a number of requests on a separate connection, with pauses as a reader makes them
 *   set         a set of files; each request asks for one of them (fileset.h)
 *   fault       a failed exchange, by kind; its connection is replaced
 *   tally       the results (report.c)
 *
 * A run has two parts, warm-up and measured. No request is under way when a part begins or ends, so the server's work
 * during a part belongs to the counted requests.
 *
 * Closed loop: each link sends as soon as it has been answered. Open loop: arrivals have fixed times, `rate`
 * a second, dealt to the links in turn; times count from the arrival, not from the moment when the link was free to
 * send. So a pause of the server counts for all requests that were due meanwhile.
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
    LOAD_SECURE,  /* the TLS handshake failed, or the server's certificate was refused */
    LOAD_CLOSED,  /* the connection ended, or was reset, before an answer */
    LOAD_SHORT,   /* the connection ended within an answer */
    LOAD_STATUS,  /* an unexpected status, or an error message */
    LOAD_LENGTH,  /* another length, more than was requested, or an unreadable answer */
    LOAD_CONTENT, /* right length, wrong bytes */
    LOAD_MISSING, /* memcached: a stored key is missing */
    LOAD_TIMEOUT,
    LOAD_FAULTS
};
extern const char *const load_fault_names[LOAD_FAULTS];

struct load_plan {
    const struct load_protocol *protocol;
    struct sockaddr_in address;
    char host[LOAD_PATH]; /* as the user gave it, with the port */
    char path[LOAD_PATH];
    unsigned workers, connections, depth;
    double rate;                         /* requests a second; 0: closed loop */
    unsigned session;                    /* requests of a session; 0: connections stay */
    double think;                        /* s between requests of a session, on average */
    uint64_t warm_up, duration, timeout; /* ns; timeout of an exchange */
    size_t size;                         /* bytes of a message or a value */
    bool one_request;                    /* a connection for each exchange */
    bool no_preload;
    unsigned updates, keys;     /* updates: percent */
    pid_t server;               /* the server process, for its CPU time; 0: not given */
    bool tls, insecure, resume; /* TLS; the server's certificate is not checked; sessions are resumed */
    const char *issuers;        /* a file or directory with trusted issuers; NULL: the system's */
    char name[LOAD_PATH];       /* only the host, which the certificate must name */
    bool silent;                /* no progress */
    const char *hdr;            /* a file for the percentiles; NULL: none */
    const char *files;          /* http: the list of a set of files; NULL: all requests ask for `path` */
    bool json;
};

struct load_tally {
    uint64_t answers, bytes;
    /* Faults of both parts; in open loop, of the last part only: each costs an arrival. */
    uint64_t faults[LOAD_FAULTS];
    uint64_t unsent;                          /* arrivals that were due but unsent at the end */
    uint64_t elapsed, client_cpu, server_cpu; /* ns of the measured part */
    uint64_t server_memory;                   /* growth of the server in bytes, with all connections open and idle */
    struct histogram times;                   /* of answers; and how long unsent requests have waited */
    const char *problem;                      /* why nothing was measured; else NULL */
};

struct fileset;
struct weft_tls;
struct weft_tls_context;

struct load {
    const struct load_plan *plan;
    struct weft_tls_context *tls; /* NULL: no TLS */
    struct load_tally *tally;
    const char *request_text; /* used by the protocols: a constant request, and the data to compare with */
    size_t request_size;
    char *content;
    size_t content_size;
    struct fileset *set;              /* NULL: all requests are the same */
    bool learns;                      /* the first answer sets the expected content */
    size_t request_room, answer_room; /* bytes of a request or answer; prepare of the protocol sets them */
    struct weft_barrier turn;         /* between the parts: all links, and the leading fiber */
    struct weft_sem dialling;         /* limits how many links connect at the same time */
    uint64_t begin, end;              /* of the current part */
    bool measured;                    /* the current part is measured */
    bool ended;
};

/* A request that was sent, to check its answer. */
struct load_asked {
    uint32_t key; /* memcached: the key's number; http: the file's */
    bool update;
};

struct load_link {
    struct load *load;
    unsigned index;
    int fd;               /* -1: none */
    struct weft_tls *tls; /* NULL: no TLS */
    bool ended;           /* the server has closed the connection */
    uint64_t random;
    char *out, *in;
    size_t room, at, have; /* of `in`: its size; the bytes that came and were not taken yet */
    size_t body_at;        /* compared bytes of the content */
    /* Of http's answer: the position, the rest of the body or chunk, and the rest of the head. */
    unsigned part, status;
    size_t body_left, head_size;
    bool last;         /* the answer is the last of its connection */
    bool to_the_end;   /* the answer ends with the connection, which is then not a fault */
    const char *right; /* the expected content */
    size_t right_size;
    struct load_asked asked[];
};

struct load_protocol {
    const char *name, *port; /* port: the default; NULL: none */
    bool server_closes;      /* the server closes the connection after each exchange */

    /* Called before links are made: sets the sizes of the buffers, and the protocol's data in the load. Returns NULL,
     * or the error. */
    const char *(*prepare)(struct load *load);

    /* Writes the i-th request of an exchange. Returns its size, at most request_room. */
    size_t (*request)(struct load_link *link, unsigned i, char *out);

    /* Takes bytes of the i-th answer, and returns how many; *done: the answer is complete. No bytes: the connection has
     * ended, and so has an answer without a length. */
    size_t (*take)(struct load_link *link, unsigned i, const char *bytes, size_t size, bool *done,
                   enum load_fault *fault);
};

extern const struct load_protocol load_echo, load_http, load_memcached;

/* Runs the plan; starts and stops the runtime. The tally has the faults. */
void load_run(const struct load_plan *plan, struct load_tally *tally);
uint64_t load_faults(const struct load_tally *tally); /* the number of all faults */

/* Makes a link (link.c). Returns NULL if there is no memory. */
struct load_link *load_link_new(struct load *load, unsigned index);
void load_link_free(struct load_link *link);
enum load_fault load_dial(struct load_link *link);
void load_hang_up(struct load_link *link);
/* load_send sends all bytes, load_receive receives some, like weft_send and weft_recv, with TLS or without. */
ssize_t load_send(struct load_link *link, const char *data, size_t size);
ssize_t load_receive(struct load_link *link, char *to, size_t size);
/* Returns a random number of 32 bits. Each link has its own sequence, which is the same in every run. */
uint32_t load_random(struct load_link *link);
/* Exchanges n requests and answers. Returns the fault. In a measured part, the time of the i-th answer counts from
 * `from` + i * `step`. Ends the connection after a fault. */
enum load_fault load_exchange(struct load_link *link, unsigned n, double from, double step);

/* TLS (secure.c). load_secure_begin prepares it, and returns NULL or the error. load_secure makes the handshake on a
 * connection. */
const char *load_secure_begin(struct load *load);
enum load_fault load_secure(struct load_link *link);
const char *load_secure_problem(void); /* returns why the last handshake failed; NULL: no handshake has failed */

/* The fiber of a link (drive.c). */
void *load_drive(void *link);

/* weft load files (files.c). */
int load_files_command(int argc, char **argv);

/* Reads the options (options.c). Returns the exit code, or -1 to continue. */
int load_options(int argc, char **argv, struct load_plan *plan);

/* Writes percentiles in the form of HdrHistogram. Returns -1 and sets errno if the file cannot be written. */
int load_write_hdr(const char *path, const struct histogram *h);
void load_report(const struct load_plan *plan, const struct load_tally *tally);

/* Returns the CPU time in ns of a process and its children, of all threads, user and system; pid 0: this process. */
uint64_t load_cpu(pid_t pid);
/* Returns the bytes of memory of a process and its children, with page tables. */
uint64_t load_memory(pid_t pid);
/* Raises the soft limit of descriptors to `wanted`, or to the hard limit if that cannot be raised. */
void load_raise_descriptors(uint64_t wanted);

/* Returns the pattern for messages and values. The `size` bytes from each of 256 offsets all differ. NULL: no
 * memory. */
#define LOAD_OFFSETS 256
char *load_pattern(size_t size);

#endif
