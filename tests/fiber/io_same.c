/* SPDX-License-Identifier: MIT */
/*
 * Compares weft's calls with the POSIX calls of the same name, for all kinds of descriptors and arguments
 * (same_kinds.h, same_calls.h). The test makes a descriptor and calls the original on it, then another descriptor,
 * blocking or not, and calls the look-alike on that. The results, errno and all visible effects must be the same: bytes
 * in the buffer, bytes at the other end, the file's size, position and flags, signals.
 *
 * If the original would block for ever, a timer interrupts it. The look-alike has a deadline.
 */
#define _GNU_SOURCE
#include "same_calls.h"

#include <linux/io_uring.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

struct outcome {
    long result;
    int error;
    bool blocks, was_interrupted, is_socket;
    unsigned signals;
    char buffer[ROOM];
    off_t position, size;
    int flags;
    int unread;
    int arrived;          /* bytes at the other end, -1: it is not there */
    uint64_t arrived_how; /* how they came */
};

/* --- what can be seen ------------------------------------------------------------------------- */

static volatile sig_atomic_t signals_seen, alarms_seen;
static void on_signal(int number) {
    (void)number;
    signals_seen = signals_seen + 1;
}
static void on_alarm(int number) {
    (void)number;
    alarms_seen = alarms_seen + 1;
}

/* 64 bytes at the end of a page, behind which nothing can be read or written. */
static char *make_buffer(void) {
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED && !mprotect(page + 4096, 4096, PROT_NONE));
    return page + 4096 - ROOM;
}
static void fill_buffer(char *b) {
    for (int i = 0; i < ROOM; i++) b[i] = (char)('a' + i % 8);
}

/* Reads all that has arrived, message by message. */
static void look_at_peer(int fd, struct outcome *o) {
    char got[65536];
    struct pollfd p = {fd, POLLIN, 0};
    o->arrived = -1;
    if (fd < 0) return;
    CHECK(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
    o->arrived = 0;
    for (int i = 0; i < 100; i++) {
        poll(&p, 1, 0);
        ssize_t n = read(fd, got, sizeof got);
        o->arrived_how = o->arrived_how * 31 + (uint64_t)(n < 0 ? -errno : n);
        if (n < 0 || (!n && !(p.revents & POLLIN))) break;
        if (!n && i > 3) break; /* an end, or empty messages */
        o->arrived += (int)n;
        for (ssize_t k = 0; k < n; k++) o->arrived_how = o->arrived_how * 31 + (uint8_t)got[k];
    }
}

static void look(struct made *m, const char *b, struct outcome *o) {
    struct stat s;
    memcpy(o->buffer, b, ROOM);
    o->position = m->fd < 0 ? -1 : lseek(m->fd, 0, SEEK_CUR);
    o->size = m->fd >= 0 && !fstat(m->fd, &s) ? s.st_size : -1;
    o->flags = m->fd < 0 ? -1 : fcntl(m->fd, F_GETFL);
    if (o->flags >= 0) o->flags &= ~O_NONBLOCK;
    if (ioctl(m->fd, FIONREAD, &o->unread)) o->unread = -1;
    look_at_peer(m->peer, o);
}

static struct outcome run(const struct call *c, struct made *m, char *b, bool weft) {
    struct outcome o = {0};
    unsigned before = (unsigned)signals_seen;
    fill_buffer(b);
    errno = 0;
    o.result = c->run(weft, m, b);
    o.error = o.result < 0 ? errno : 0;
    o.signals = (unsigned)signals_seen - before; /* the flags may have changed for others, if it blocks */
    if (c->closes && !o.result) m->fd = -1;
    return o;
}

/* --- the originals ---------------------------------------------------------------------------- */

static void set_alarm(long milliseconds) {
    struct itimerval t = {{0, milliseconds * 1000}, {0, milliseconds * 1000}};
    CHECK(!setitimer(ITIMER_REAL, &t, NULL));
}

static struct outcome original_within(const struct kind *k, const struct call *c, char *b, long milliseconds) {
    struct made m;
    make_kind(k, &m);
    unsigned before = (unsigned)alarms_seen;
    set_alarm(milliseconds);
    struct outcome o = run(c, &m, b, false);
    o.blocks = (unsigned)alarms_seen != before;
    set_alarm(0);
    o.was_interrupted = o.blocks && o.result < 0 && o.error == EINTR;
    if (o.blocks && o.result <= 0) o.result = -1, o.error = 0; /* EINTR, or nothing received */
    struct stat s;
    o.is_socket = m.fd >= 0 && !fstat(m.fd, &s) && S_ISSOCK(s.st_mode);
    if (o.is_socket) o.signals = 0; /* weft's writes to sockets raise none */
    look(&m, b, &o);
    end_kind(&m);
    return o;
}

/* Perhaps the call was interrupted only because the machine is busy: it gets more time. */
static struct outcome original(const struct kind *k, const struct call *c, char *b) {
    struct outcome o = original_within(k, c, b, 2);
    for (long more = 10; o.blocks && more <= (o.was_interrupted ? 40 : 160); more *= 4) {
        struct outcome again = original_within(k, c, b, more);
        if (!again.blocks) return again;
        o = again;
    }
    return o;
}

static struct outcome expected[KINDS][CALLS], expected_of_none[CALLS_ABOUT_NONE];

/* The kinds that this process compares. */
static const struct kind *first_kind = kinds;
static int kinds_looked_at = KINDS;

static void ask_originals(void) {
    char *b = make_buffer();
    struct sigaction signals = {.sa_handler = on_signal}, alarms = {.sa_handler = on_alarm};
    CHECK(!sigaction(SIGPIPE, &signals, NULL) && !sigaction(SIGXFSZ, &signals, NULL) &&
          !sigaction(SIGALRM, &alarms, NULL));
    for (int k = 0; k < kinds_looked_at; k++)
        for (int c = 0; c < CALLS; c++) expected[k][c] = original(&first_kind[k], &calls[c], b);
    for (int c = 0; c < CALLS_ABOUT_NONE; c++) expected_of_none[c] = original(first_kind, &calls_about_none[c], b);
    CHECK(signal(SIGALRM, SIG_DFL) != SIG_ERR);
}

/* --- the look-alikes -------------------------------------------------------------------------- */

static unsigned differences;

static void describe(char *to, size_t size, const struct outcome *o) {
    snprintf(to, size, "%s%ld %s, %u signals, position %lld, size %lld, unread %d, arrived %d (%llx), flags %x",
             o->blocks ? "blocks " : "", o->result, o->error ? strerrorname_np(o->error) : "", o->signals,
             (long long)o->position, (long long)o->size, o->unread, o->arrived,
             (unsigned long long)o->arrived_how & 0xffff, (unsigned)o->flags);
}

static bool is_same(const struct outcome *a, const struct outcome *b) {
    return a->blocks == b->blocks && a->result == b->result && a->error == b->error &&
           (a->blocks || a->signals == b->signals) && !memcmp(a->buffer, b->buffer, ROOM) &&
           a->position == b->position && a->size == b->size && a->flags == b->flags && a->unread == b->unread &&
           a->arrived == b->arrived && a->arrived_how == b->arrived_how;
}

/*
 * Accepted differences (docs/IO.md, "Differences"): weft waits for a full eventfd before the kernel checks the value;
 * of two mistakes in one call weft may report the other; a writev of no bytes to a socket sends a message.
 */
static bool is_known_to_differ(const char *kind, const char *call, bool is_socket) {
    static const char *const known[][2] = {
        {"full eventfd", "write_null"},
        {"full eventfd", "write_bad"},
        {"full eventfd", "write_beyond"},
        {"full eventfd", "writev_some"},
        {"full eventfd", "writev_bad_part"},
        {"closed number", "sendfile_bad_offset"},
        {"-1", "sendfile_bad_offset"},
        {"2^30", "sendfile_bad_offset"},
        {"closed number", "statx_null"},
        {"-1", "statx_null"},
        {"2^30", "statx_null"},
    };
    if (is_socket && !strcmp(call, "writev_nothing")) return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i][0], kind) && !strcmp(known[i][1], call)) return true;
    return false;
}

static void report_difference(const char *kind, const char *call, bool nonblocking, const struct outcome *wanted,
                              const struct outcome *got) {
    char first[300], second[300];
    describe(first, sizeof first, wanted);
    describe(second, sizeof second, got);
    fprintf(stderr, "%s%s, %s:\n    original %s\n    weft     %s%s\n", kind, nonblocking ? ", O_NONBLOCK" : "", call,
            first, second, memcmp(wanted->buffer, got->buffer, ROOM) ? ", another buffer" : "");
    differences++;
}

struct try {
    const struct kind *kind;
    const struct call *call;
    bool nonblocking;
    const struct outcome *wanted;
};

static struct outcome look_alike(struct try t) {
    struct weft_scope scope;
    struct made m;
    char *b = make_buffer();
    make_kind(t.kind, &m);
    int flags = t.nonblocking ? fcntl(m.fd, F_GETFL) : -1;
    if (flags >= 0) fcntl(m.fd, F_SETFL, flags | O_NONBLOCK);
    CHECK_EQ(weft_scope_begin(&scope, weft_now() + (t.wanted->blocks ? 30 * WEFT_MILLISECOND : 10 * WEFT_SECOND)), 0);
    struct outcome o = run(t.call, &m, b, true);
    o.blocks = weft_cancelled() != 0;
    weft_scope_end(&scope);
    if (o.blocks && o.result < 0 && o.error == ETIMEDOUT) o.error = 0;
    look(&m, b, &o);
    end_kind(&m);
    munmap(b + ROOM - 4096, 8192);
    return o;
}

/* On a busy machine the kernel may be late with the effects of a call. A real difference shows again. */
static void *try_one(void *arg) {
    const struct try t = *(struct try *)arg;
    struct outcome o;
    free(arg);
    for (int i = 0; i < 3; i++)
        if (o = look_alike(t), is_same(t.wanted, &o)) return NULL;
    report_difference(t.kind->name, t.call->text, t.nonblocking, t.wanted, &o);
    return NULL;
}

/* Calls that block run side by side. */
static void try_all(void *unused) {
    (void)unused;
    enum { TOGETHER = 100 };
    struct weft_fiber waiting[TOGETHER];
    unsigned n = 0;
    for (int k = 0; k < kinds_looked_at; k++)
        for (int c = 0; c < CALLS; c++)
            for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
                if (is_known_to_differ(first_kind[k].name, calls[c].text, expected[k][c].is_socket)) continue;
                struct try *t = malloc(sizeof *t);
                *t = (struct try){&first_kind[k], &calls[c], nonblocking, &expected[k][c]};
                if (!t->wanted->blocks) {
                    try_one(t);
                    continue;
                }
                waiting[n++] = spawn(try_one, t);
                if (n == TOGETHER)
                    while (n) join(waiting[--n]);
            }
    while (n) join(waiting[--n]);
    for (int c = 0; c < CALLS_ABOUT_NONE; c++) {
        struct try *t = malloc(sizeof *t);
        *t = (struct try){first_kind, &calls_about_none[c], false, &expected_of_none[c]};
        try_one(t);
    }
}

static void need_originals(void) {
    if (TEST_ASAN || TEST_TSAN) test_skip("a sanitizer reads the arguments of the originals, and holds signals back");
}

static void all_the_same(unsigned workers) {
    differences = 0;
    test_in_fiber(workers, try_all, NULL);
    if (differences) test_fail(__FILE__, __LINE__, "%u differences", differences);
}

/* Most of the time the test waits to see that a call waits. So all kinds are compared side by side, each in its own
 * process. */
static unsigned processes;
static void compare_beside(unsigned workers, const char *operations_missing) {
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    processes++;
    if (pid) return;
    CHECK(!prctl(PR_SET_PDEATHSIG, SIGKILL));
    if (operations_missing) {
        const char *older = getenv("WEFT_RING_WITHOUT");
        char all[128];
        snprintf(all, sizeof all, "%s,%s", operations_missing, older ? older : "");
        CHECK(!setenv("WEFT_RING_WITHOUT", all, 1));
    }
    all_the_same(workers);
    _exit(0);
}
static void compare_all(void) {
    for (int status; processes; processes--) {
        CHECK(waitpid(-1, &status, 0) > 0);
        CHECK_EQ(status, 0);
    }
}

TEST_WITHIN(as_the_originals, 120) {
    need_originals();
    ask_originals();
    if (test_scale() < 20) compare_beside(1, NULL);
    compare_beside(2, NULL);
    compare_all();
}

/* The limit of a file's size: a write is cut there, and the next write raises SIGXFSZ. */
TEST_WITHIN(files_at_their_limit, 60) {
    struct rlimit before, limit;
    need_originals();
    CHECK(!getrlimit(RLIMIT_FSIZE, &before));
    limit = (struct rlimit){FILE_MOST, before.rlim_max};
    first_kind = kinds_at_limit;
    kinds_looked_at = KINDS_AT_LIMIT;
    CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
    ask_originals();
    if (test_scale() < 20) compare_beside(1, NULL);
    compare_beside(2, NULL);
    compare_all();
    CHECK(!setrlimit(RLIMIT_FSIZE, &before));
}

/* The ring lacks each operation that weft uses in turn, then all of them. At a smaller size: all, and some. */
TEST_WITHIN(without_operations_of_the_ring, 240) {
    static const int operations[] = {
        IORING_OP_READV,    IORING_OP_WRITEV,  IORING_OP_FSYNC,   IORING_OP_POLL_ADD, IORING_OP_SENDMSG,
        IORING_OP_RECVMSG,  IORING_OP_ACCEPT,  IORING_OP_CONNECT, IORING_OP_OPENAT,   IORING_OP_STATX,
        IORING_OP_READ,     IORING_OP_WRITE,   IORING_OP_SEND,    IORING_OP_RECV,     IORING_OP_RENAMEAT,
        IORING_OP_UNLINKAT, IORING_OP_MKDIRAT,
    };
    char number[16];
    need_originals();
    if (*engine_asked_for()) test_skip("there is no ring");
    ask_originals();
    compare_beside(1, "all");
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i += test_scale()) {
        snprintf(number, sizeof number, "%d", operations[i]);
        compare_beside(1, number);
    }
    compare_all();
}
