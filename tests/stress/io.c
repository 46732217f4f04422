/* SPDX-License-Identifier: MIT */
/* Parts about input and output: bytes that are written and read, with deadlines, cancellations and closes. */
#define _GNU_SOURCE
#include "weft/io.h"
#include "crowd.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void make_ends(uint64_t *random, int ends[2]) {
    int flags = below(random, 2) ? SOCK_NONBLOCK : 0; /* the same bit as O_NONBLOCK */
    if (below(random, 2))
        OK(pipe2(ends, O_CLOEXEC | flags));
    else
        OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0, ends));
}

/* --- bytes --------------------------------------------------------------------------------------------
 *
 * Each connection has a writer and a reader. Every call is in a scope with a near deadline, or another fiber cancels
 * it. A cancelled call reports how much it has done before. So the reader finds each byte once, in its place.
 */
enum { CONNECTIONS = 24, BYTES = 1 << 18, PIECE = 20000 };

struct connection {
    int ends[2];
    uint64_t random[2];
    struct weft_counter *left;
};

static unsigned char byte_at(uint64_t i) { return (unsigned char)(i * 131 ^ i >> 9); }

/* What the call has done; 0 if it was cancelled before it did anything. */
static ssize_t within_scope(uint64_t *random, ssize_t (*call)(int, void *, size_t), int fd, void *memory, size_t size) {
    struct weft_scope scope;
    OK(weft_scope_begin(&scope, weft_now() + below(random, 300) * WEFT_MICROSECOND));
    if (!below(random, 4)) weft_scope_cancel(&scope); /* unless its time is up already */
    ssize_t n = call(fd, memory, size);
    if (n < 0) WANT(errno == ETIMEDOUT || errno == ECANCELED, true);
    weft_scope_end(&scope);
    return n;
}
static ssize_t writes(int fd, void *memory, size_t size) { return weft_write(fd, memory, size); }

static void *write_all(void *arg) {
    struct connection *c = arg;
    uint64_t *random = &c->random[1], bytes = BYTES / shrink;
    unsigned char *memory = malloc(PIECE);
    for (uint64_t done = 0; done < bytes;) {
        size_t size = 1 + below(random, PIECE);
        if (size > bytes - done) size = bytes - done;
        for (size_t i = 0; i < size; i++) memory[i] = byte_at(done + i);
        ssize_t n = within_scope(random, writes, c->ends[1], memory, size);
        memset(memory, 0xee, size); /* a fiber that still reads it sends garbage */
        if (n > 0) done += (uint64_t)n;
        moved();
    }
    OK(weft_close(c->ends[1]));
    free(memory);
    weft_counter_complete(c->left);
    return NULL;
}

static void *read_all(void *arg) {
    struct connection *c = arg;
    uint64_t *random = &c->random[0], done = 0;
    unsigned char *memory = malloc(PIECE);
    for (ssize_t n = -1; n; moved()) {
        n = within_scope(random, weft_read, c->ends[0], memory, 1 + below(random, PIECE));
        for (ssize_t i = 0; i < n; i++) WANT(memory[i], byte_at(done + (uint64_t)i));
        if (n > 0) done += (uint64_t)n;
        memset(memory, 0xdd, PIECE);
    }
    WANT(done, BYTES / shrink);
    OK(weft_close(c->ends[0]));
    free(memory);
    weft_counter_complete(c->left);
    return NULL;
}

static void bytes_round(uint64_t random) {
    static struct connection connections[CONNECTIONS];
    struct weft_counter left = WEFT_COUNTER_INIT;
    OK(weft_counter_add(&left, 2 * CONNECTIONS));
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        struct connection *c = &connections[i];
        make_ends(&random, c->ends);
        c->random[0] = roll(&random);
        c->random[1] = roll(&random);
        c->left = &left;
        OK(weft_spawn(NULL, NULL, write_all, c));
        OK(weft_spawn(NULL, NULL, read_all, c));
    }
    OK(weft_counter_wait(&left, 0));
}

/* --- closes --------------------------------------------------------------------------------------------
 *
 * Fibers read one byte of a descriptor that another fiber closes at any moment. Each read returns a byte, the end, or
 * EBADF. Then the number is used again. Each closer has its own number.
 */
enum { CLOSERS = 6, READERS = 5 };

struct life {
    int fd;
    unsigned char tag;
    bool by_operation;
    struct weft_counter *left;
};

static void *read_one(void *arg) {
    struct life l = *(struct life *)arg;
    struct weft_io io;
    unsigned char c = 0;
    free(arg);
    ssize_t n;
    if (l.by_operation) {
        OK(weft_io_read(&io, l.fd, &c, 1));
        n = weft_io_wait(&io);
    } else {
        n = weft_read(l.fd, &c, 1);
        if (n < 0) n = -errno;
    }
    if (n == 1)
        WANT(c, l.tag);
    else
        WANT(n == 0 || n == -EBADF, true);
    weft_counter_complete(l.left);
    moved();
    return NULL;
}

struct closer {
    uint64_t random;
    int number;
};

static void *close_and_open(void *arg) {
    struct closer *c = arg;
    uint64_t random = c->random;
    for (unsigned turn = 0; turn < 10; turn++) {
        int ends[2];
        struct weft_counter left = WEFT_COUNTER_INIT;
        unsigned char tag = (unsigned char)roll(&random);
        OK(weft_counter_add(&left, READERS));
        make_ends(&random, ends);
        WANT(dup3(ends[0], c->number, O_CLOEXEC), c->number);
        close(ends[0]);
        for (unsigned i = 0; i < READERS; i++) {
            struct life *l = malloc(sizeof *l);
            *l = (struct life){c->number, tag, below(&random, 4) == 0, &left};
            OK(weft_spawn(NULL, NULL, read_one, l));
        }
        pause_a_bit(&random);
        for (uint64_t i = below(&random, READERS); i; i--) WANT(weft_write(ends[1], &tag, 1), 1);
        pause_a_bit(&random);
        OK(weft_close(c->number));
        OK(weft_counter_wait(&left, 0));
        OK(weft_close(ends[1]));
    }
    return NULL;
}

static void closes_round(uint64_t random) {
    struct weft_fiber f[CLOSERS];
    struct closer closers[CLOSERS];
    for (unsigned i = 0; i < CLOSERS; i++) {
        closers[i] = (struct closer){roll(&random) | 1, 900 + (int)i};
        OK(weft_spawn(&f[i], NULL, close_and_open, &closers[i]));
    }
    for (unsigned i = 0; i < CLOSERS; i++) OK(weft_join(f[i], NULL));
}

/* --- the first requests --------------------------------------------------------------------------------
 *
 * The same in a process that has made no request yet: the engine is chosen meanwhile.
 */
static void first_round(uint64_t random) {
    char count[16], seed[24];
    char *const arguments[] = {"stress", "io_closes", "--seconds", "0", "--workers", count, "--seed", seed, NULL};
    snprintf(count, sizeof count, "%u", workers);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)random);
    posix_spawn_file_actions_t quiet;
    pid_t child;
    int status;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY,
                                     0); /* what is wrong goes to stderr */
    OK(posix_spawn(&child, "/proc/self/exe", &quiet, NULL, arguments, environ));
    posix_spawn_file_actions_destroy(&quiet);
    WANT(waitpid(child, &status, 0), child);
    WANT(status, 0);
}

/* --- calls that block ------------------------------------------------------------------------------------ */

enum { CALLERS = 300 };
static _Atomic unsigned made, given_up, freed;
static void *makes(void *arg) {
    usleep(50 + *(unsigned *)arg % 300);
    atomic_fetch_add(&made, 1);
    return arg;
}
static void frees(void *arg) {
    free(arg);
    atomic_fetch_add(&freed, 1);
}
static void *calls(void *arg) {
    uint64_t random = (uint64_t)(uintptr_t)arg;
    struct weft_scope scope;
    for (int i = 0; i < 5; i++) {
        unsigned *owned = malloc(sizeof *owned), plain = (unsigned)roll(&random);
        *owned = plain;
        OK(weft_scope_begin(&scope, weft_now() + below(&random, 3000) * WEFT_MICROSECOND));
        int err = below(&random, 2) ? weft_blocking_owned(makes, owned, frees, NULL) : -EINTR;
        if (err == -ECANCELED || err == -ETIMEDOUT)
            atomic_fetch_add(&given_up, 1);
        else
            free(owned);
        if (err == -EINTR) err = weft_blocking(makes, &plain, NULL);
        WANT(err == 0 || err == -ETIMEDOUT, true);
        weft_scope_end(&scope);
        moved();
    }
    return NULL;
}
static void blocking_round(uint64_t random) {
    static struct weft_fiber f[CALLERS];
    atomic_store(&given_up, 0);
    atomic_store(&freed, 0);
    for (unsigned i = 0; i < CALLERS / shrink; i++)
        OK(weft_spawn(&f[i], NULL, calls, (void *)(uintptr_t)(roll(&random) | 1)));
    for (unsigned i = 0; i < CALLERS / shrink; i++) OK(weft_join(f[i], NULL));
    while (atomic_load(&freed) < atomic_load(&given_up)) usleep(1000); /* the last of them are still at it */
    WANT(atomic_load(&freed), atomic_load(&given_up));
}

const struct part parts_of_io[] = {{"io_bytes", bytes_round, false, false},
                                   {"io_closes", closes_round, false, false},
                                   {"io_first", first_round, true, false},
                                   {"io_blocking", blocking_round, false, false},
                                   {NULL, NULL, false, false}};
