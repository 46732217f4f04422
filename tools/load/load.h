/* SPDX-License-Identifier: MIT */
/*
 * weft load: a client that sends requests to a server as fast as it answers, or at a rate, and checks every answer.
 *
 *   plan        the request of the user (options.c)
 *   protocol    how a request is written and an answer checked (echo.c, http.c, memcached.c)
 *   link        a connection and the fiber that uses it (link.c: the connection, drive.c: the fiber)
 *   exchange    up to `depth` requests sent at once, and their answers
 *   session     a number of requests on a connection of their own, with pauses as a reader makes them
 *   set         files of which each request asks for one (fileset.h)
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
    LOAD_SHORT,   /* it ended within one */
    LOAD_STATUS,  /* another status than asked for; an error message */
    LOAD_LENGTH,  /* another length, more than was requested, or an unreadable answer */
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
    struct weft_tls_context *tls; /* NULL: without */
    struct load_tally *tally;
    const char *request_text; /* used by the protocols: a constant request, and the data to compare with */
    size_t request_size;
    char *content;
    size_t content_size;
    struct fileset *set;              /* NULL: all requests are the same */
    bool learns;                      /* the content from the first answer */
    size_t request_room, answer_room; /* bytes of one; the protocol's prepare sets them */
    struct weft_barrier turn;         /* between the parts: all links, and the leading fiber */
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
    size_t room, at, have; /* of `in`: its size; the bytes that came and were not taken yet */
    size_t body_at;        /* what was seen of the content of an answer */
    /* Of http's answer: the position, the rest of the body or chunk, and the rest of the head. */
    unsigned part, status;
    size_t body_left, head_size;
    bool last;         /* it is the last one of the connection */
    bool to_the_end;   /* and the answer ends with the connection, which is then not a fault */
    const char *right; /* the content that it should have */
    size_t right_size;
    struct load_asked asked[];
};

struct load_protocol {
    const char *name, *port; /* the usual one; NULL: none */
    bool server_closes;      /* a connection that is for one exchange */

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
uint64_t load_faults(const struct load_tally *tally); /* all of them */

/* link.c. NULL: no memory. */
struct load_link *load_link_new(struct load *load, unsigned index);
void load_link_free(struct load_link *link);
enum load_fault load_dial(struct load_link *link);
void load_hang_up(struct load_link *link);
/* Sends all bytes; receives some: like weft_send and weft_recv, with TLS or without. */
ssize_t load_send(struct load_link *link, const char *data, size_t size);
ssize_t load_receive(struct load_link *link, char *to, size_t size);
/* A random number of 32 bits. Each link has its own sequence, which is the same in every run. */
uint32_t load_random(struct load_link *link);
/* Exchanges n requests and answers. Returns how many answers came, and the fault. In a counted part, the time of the
 * i-th counts from from + i * step. Ends the connection after a fault. */
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

/* CPU time in ns of a process and its children, of all threads, user and system; pid 0: this process. */
uint64_t load_cpu(pid_t pid);
/* Bytes of their memory, with page tables. */
uint64_t load_memory(pid_t pid);
/* Raises the soft limit of descriptors to `wanted`, or to the hard limit if that cannot be raised. */
void load_raise_descriptors(uint64_t wanted);

/* Bytes for messages and values. The `size` bytes from each of 256 offsets all differ. NULL: no memory. */
#define LOAD_PLACES 256
char *load_pattern(size_t size);

#endif
