/* SPDX-License-Identifier: MIT */
/*
 * What the files of libweft-mpi share. README.md says which file does what.
 *
 * Words:
 *   rank       a process of the job
 *   peer       another rank, as this rank sees it
 *   link       a stream of bytes to and from a peer: two rings in shared memory, or a socket
 *   bell       a word in shared memory that says that there is a message or a waiting peer. Forks read it. A sleeping
 *              rank is woken by a datagram instead
 *   shipped    a call of this rank that a peer has taken; remembered until its result arrives, or the peer is lost
 *   received   a call of a peer that this rank has taken
 *   batch      the calls that came in one message, and the fiber that runs them
 *   lifeline   a peer that gives work to this rank as soon as it has some, without being asked again
 */
#ifndef WEFT_DIST_INTERNAL_H
#define WEFT_DIST_INTERNAL_H

#include "weft/dist.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dist/policy.h"

#define WEFT_COLD_PATH __attribute__((cold, noinline))
#define WEFT_EXPORT __attribute__((visibility("default")))

/* --- messages -------------------------------------------------------------------------------------- */

enum weft__dist_type {
    WEFT_MSG_HELLO = 1, /* a: the job's token, b: rank */
    WEFT_MSG_STEAL,     /* a: how many calls the sender would take; b: 1 if this rank is its lifeline from now on */
    WEFT_MSG_NONE,      /* the answer: nothing to give */
    WEFT_MSG_CALLS,     /* a: how many; the payload has a struct weft__dist_entry for each */
    WEFT_MSG_RESULT,    /* a: id of the call; the payload is the result */
    WEFT_MSG_ON,        /* as CALLS, but a single call that the receiver must run itself */
    WEFT_MSG_DATA_GET,  /* a: id of the data */
    WEFT_MSG_DATA,      /* a: id, b: 1 if there are such data; the payload */
    WEFT_MSG_DATA_END,  /* a: id */
    WEFT_MSG_NUMBER,    /* a: hash of the name, b: value; flags: which operation */
    WEFT_MSG_ANSWER,    /* a: cookie of the question, b: value */
    WEFT_MSG_STATS_GET, /* a: cookie */
    WEFT_MSG_STATS,     /* a: cookie; the payload is a struct weft_dist_stats */
    WEFT_MSG_TRACE_GET, /* a: cookie */
    WEFT_MSG_TRACE,     /* a: cookie, b: the time at the sender; the payload is its events */
    WEFT_MSG_PING,      /* a: when it was sent */
    WEFT_MSG_PONG,
    WEFT_MSG_LOST,  /* a: rank */
    WEFT_MSG_END,   /* a: the result of main */
    WEFT_MSG_LEAVE, /* to rank 0: the sender has done its part of the end, and needs no other rank any more */
    WEFT_MSG_TYPES
};

struct weft__dist_head {
    uint32_t type, flags;
    uint64_t size, a, b;
};

/* A call in a message. Its bytes follow, padded to 8. */
struct weft__dist_entry {
    uint64_t id;
    uint32_t remote;
    uint32_t unused;
    uint64_t size;
    uint64_t result_size;
};

/* --- links ----------------------------------------------------------------------------------------- */

#define WEFT_RING_BYTES (32u << 10)
struct weft__dist_ring {
    _Atomic uint64_t head __attribute__((aligned(64))); /* bytes written; the sender's */
    _Atomic uint64_t tail __attribute__((aligned(64))); /* bytes read; the receiver's */
    _Atomic uint32_t full;                              /* the sender waits for room */
    char bytes[WEFT_RING_BYTES] __attribute__((aligned(64)));
};

/* Bits of the bell. */
#define WEFT_BELL_MESSAGE 1u /* a message is in a ring or socket */
#define WEFT_BELL_FEED 2u    /* a peer waits for calls */

#define WEFT_NODE_RANKS 1024
struct weft__dist_bell {
    _Atomic uint32_t rung __attribute__((aligned(64)));
    _Atomic uint32_t asleep __attribute__((aligned(64))); /* a worker may sleep: the datagram is needed */
    _Atomic uint64_t looked;                              /* when the rank last looked at its messages */
    _Atomic uint64_t from[WEFT_NODE_RANKS / 64];          /* local ranks that have written */
};

struct weft__dist_out {
    struct weft__dist_out *next;
    size_t size, sent;
    char bytes[];
};

struct weft__dist_link {
    unsigned rank; /* of the peer */
    int fd;        /* -1: a ring */
    struct weft__dist_ring *to, *from;
    struct weft_mutex lock; /* for the queue of bytes to send */
    struct weft__dist_out *first, *last;
    _Atomic bool queued; /* is there something in the queue? */
    _Atomic bool ready;  /* a socket may have bytes, or room */
    bool closed;
    struct weft__dist_head head; /* the message that is coming in */
    size_t have;                 /* bytes of it, its header included */
    char *payload;
};

struct weft__dist_peer {
    struct weft__dist_link *data;    /* all messages but those of the next */
    struct weft__dist_link *control; /* between rank 0 and others: pings and losses. NULL: none */
    _Atomic bool lost, left;
    bool waits;     /* it has a lifeline to this rank, and waits */
    unsigned local; /* its index on this node, or UINT_MAX */
    uint64_t rang;  /* when this rank last sent a datagram to this peer although it did not sleep */
    uint64_t heard; /* rank 0: when it last answered */
    struct sockaddr_in address;
};

/* --- calls ------------------------------------------------------------------------------------------ */

/* A call that a peer has. */
struct weft__dist_shipped {
    uint32_t generation;
    bool used;
    unsigned to;
    const struct weft_remote *remote;
    struct weft__stolen stolen; /* call NULL: weft_dist_on waits for it */
    struct weft__dist_wait *on;
    unsigned next_free;
};

/* A fiber that waits for an answer. */
struct weft__dist_wait {
    struct weft_fiber fiber;
    unsigned to;
    uint64_t cookie, value;
    int error;
    _Atomic bool done;
    void *result;
    size_t result_size;
    bool keep; /* the payload of the answer, of any size, becomes the result */
    struct weft__dist_wait *next;
};

/* A call of a peer. */
struct weft__dist_received {
    unsigned from;
    uint64_t id;
    const struct weft_remote *remote;
    size_t size, result_size;
    char bytes[] __attribute__((aligned(16)));
};

struct weft__dist_batch {
    struct weft__dist_batch *next, **to_this;
    struct weft_fiber fiber;
    unsigned from, n;
    struct weft__dist_received *calls[];
};

/* --- the job ---------------------------------------------------------------------------------------- */

/* Whether this rank has work, asks for it, or waits for it. The talker changes the state, and so does the arrival of
 * calls, under the lock. */
enum weft__dist_state {
    WEFT_DIST_BUSY,    /* has work, as far as it knows; a worker that runs dry changes that */
    WEFT_DIST_ASKING,  /* has asked a peer, and waits for the answer */
    WEFT_DIST_PAUSING, /* steals did not pay: waits before it asks again */
    WEFT_DIST_WAITING  /* its lifelines know that it has nothing; it sends no messages */
};

struct weft__dist {
    unsigned rank, ranks;
    _Atomic unsigned living;
    _Atomic bool running, ended, left; /* ended: main has returned; left: this rank needs no other rank any more */
    int status;                        /* the result of main */
    uint64_t token, detect;
    uint64_t cpu_begun; /* CPU time of the process when the ranks had found each other */
    bool print_stats;
    const char *trace; /* rank 0: the file, or NULL */
    struct weft__dist_peer *peers;

    /* this node */
    unsigned locals, local;
    unsigned *local_ranks; /* the rank of each local index */
    struct weft__dist_bell *bells, *bell;
    void *segment;
    size_t segment_size;
    bool crowded; /* more workers on this node than processors: do not spin */

    /* sockets */
    int bell_fd, epoll_fd, stop_fd;
    struct weft__dist_link **links; /* all of them */
    unsigned link_count;

    struct weft_mutex lock; /* for all that messages change */
    struct weft_fiber talker, main, detector;
    _Atomic int state; /* enum weft__dist_state */
    _Atomic bool dry;  /* a worker has found nothing to do */
    _Atomic bool answered;
    unsigned asked; /* the rank that was asked last */
    _Atomic bool lifelines_out;
    unsigned waiters; /* peers with `waits` */
    struct weft__policy policy;

    struct weft__dist_shipped *shipped;
    unsigned shipped_count, shipped_free; /* first free slot + 1, or 0 */
    _Atomic unsigned outstanding;
    struct weft__dist_batch *batches;
    struct weft__dist_wait *waits;
    uint64_t cookie;

    struct weft_remote **remotes; /* by index */
    unsigned remote_count;
    struct weft_dist_stats stats; /* changed by __atomic operations */
};
extern struct weft__dist weft__dist;

static inline void weft__dist_count(uint64_t *count, uint64_t n) { __atomic_fetch_add(count, n, __ATOMIC_RELAXED); }
#define COUNT(member, n) weft__dist_count(&weft__dist.stats.member, n)

/* Has this rank lost others? */
static inline bool weft__dist_is_lossy(void) { return atomic_load(&weft__dist.living) < weft__dist.ranks; }

static inline bool weft__dist_is_lost(unsigned rank) {
    return atomic_load_explicit(&weft__dist.peers[rank].lost, memory_order_relaxed);
}

/* Prints one line and ends this rank, which ends the job. (start.c) */
_Noreturn void weft__dist_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
void weft__dist_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --- begin_mpi.c --- */
bool weft__dist_begin_mpi(int *level);
/* As mpirun's environment says: how many ranks it has started, and which of them this is; 0 without mpirun. */
unsigned weft__dist_started_ranks(void);
unsigned weft__dist_started_as(void);

/* --- ring.c: shared memory and bells --- */
size_t weft__dist_segment_size(unsigned locals);
void weft__dist_segment_use(void *segment);
size_t weft__dist_ring_write(struct weft__dist_ring *ring, const char *bytes, size_t size);
/* Notifies a peer on this node of a message in its ring. looks_for_answer: the caller will call this again if no answer
 * comes, so a peer that computes is not disturbed yet. */
void weft__dist_ring_bell(struct weft__dist_peer *peer, bool looks_for_answer);

/* --- link.c: messages --- */
/* Sends to a peer, over its data link. Does not park for room: what does not fit is queued. */
void weft__dist_send(unsigned to, uint32_t type, uint32_t flags, uint64_t a, uint64_t b, const void *payload,
                     size_t size);
/* The same over the control link. */
void weft__dist_control(unsigned to, uint32_t type, uint64_t a, uint64_t b);
/* Handles all messages that have arrived. Called by a fiber. */
void weft__dist_progress(void);
void weft__dist_link_free(struct weft__dist_link *link);
void weft__dist_handle(unsigned from, const struct weft__dist_head *head, char *payload);

/* --- doorman.c: the thread that sleeps in the kernel for this rank --- */
int weft__dist_doorman_start(void);
void weft__dist_doorman_stop(void);

/* --- connect.c: the sockets between ranks --- */
int weft__dist_listen(struct sockaddr_in *address, bool alone_on_node);
int weft__dist_connect(int listener, const struct sockaddr_in *addresses);

/* --- remote.c --- */
int weft__dist_remotes_order(uint64_t *hash);

/* --- talk.c: the fiber that asks for work --- */
void *weft__dist_talk(void *unused);
int weft__dist_before_sleep(int takes_calls);
void weft__dist_woken(void); /* unparks it */

/* --- steal.c, receive.c: calls go and come --- */
void weft__dist_give(unsigned to, unsigned most, bool lifeline);
void weft__dist_feed(void);
void weft__dist_take_back(unsigned rank);
void weft__dist_result(unsigned from, uint64_t id, const char *bytes, size_t size);
void weft__dist_receive(unsigned from, uint64_t n, char *payload, size_t size, bool must);
void weft__dist_run_received(struct weft_deque *deque, struct weft_call *call);
void weft__dist_call_run(void *call);

/* --- leave.c: the end --- */
void weft__dist_leave(bool finalizes_mpi);
bool weft__dist_finalized(void);

/* --- lost.c --- */
void weft__dist_lose(unsigned rank);
void weft__dist_link_broke(struct weft__dist_link *link);
void *weft__dist_detect(void *unused);

/* --- share.c, data.c, stats.c: questions to a rank --- */
void weft__dist_wait_begin(struct weft__dist_wait *wait, unsigned to);
int weft__dist_wait_end(struct weft__dist_wait *wait);
void weft__dist_answer(uint64_t cookie, uint64_t value, const void *bytes, size_t size);
void weft__dist_number(unsigned from, const struct weft__dist_head *head);
void weft__dist_numbers_free(void);
void weft__dist_data_message(unsigned from, const struct weft__dist_head *head, char *payload);
void weft__dist_data_lost(unsigned rank);
void weft__dist_data_free(void);
uint64_t weft__dist_cpu_time(void);
void weft__dist_stats_own(struct weft_dist_stats *stats);

/* --- trace.c --- */
enum weft__dist_trace_kind {
    WEFT_TRACE_ASKED,
    WEFT_TRACE_WAITS,
    WEFT_TRACE_GAVE,
    WEFT_TRACE_RAN,
    WEFT_TRACE_LOST,
    WEFT_TRACE_KINDS
};
int weft__dist_trace_begin(void);
/* Adds a span to the trace, which ends now and has begun at `begun`. Does nothing if there is no trace. */
void weft__dist_trace(enum weft__dist_trace_kind kind, uint64_t begun, unsigned peer, unsigned n);
void weft__dist_trace_send(unsigned to, uint64_t cookie);
void weft__dist_trace_write(const char *path);
void weft__dist_trace_free(void);

#endif
