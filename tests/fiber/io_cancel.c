/* SPDX-License-Identifier: MIT */
/*
 * Every call that waits, ended by weft_cancel, by a cancelled scope, by the deadline of a scope, or cancelled before it
 * begins. It returns that error, has done nothing, and its memory is not touched afterwards.
 */
#define _GNU_SOURCE
#include "io.h"

#include <sys/wait.h>

/* The descriptor at which a call waits, and its memory between two canaries. */
struct at {
    int ends[2], listener;
    struct sockaddr_in address;
    pid_t pid;
    unsigned char before[64], memory[64], behind[64];
};
static void make_at(struct at *a) {
    make_ends(TCP_NONBLOCKING, a->ends);
    make_listener(&a->listener, &a->address, 0);
    memset(a->before, 0x5a, sizeof a->before);
    memset(a->memory, 0x5a, sizeof a->memory);
    memset(a->behind, 0x5a, sizeof a->behind);
}
static void check_memory(const struct at *a) {
    const unsigned char *from = a->before;
    for (size_t i = 0; i < sizeof a->before + sizeof a->memory + sizeof a->behind; i++) CHECK_EQ(from[i], 0x5a);
}

/* --- the calls --------------------------------------------------------------------------------------------------- */

static long long reads(struct at *a) { return told(weft_read(a->ends[0], a->memory, sizeof a->memory)); }
static long long readvs(struct at *a) {
    return told(weft_readv(a->ends[0], &(struct iovec){a->memory, sizeof a->memory}, 1));
}
static long long recvs(struct at *a) { return told(weft_recv(a->ends[0], a->memory, sizeof a->memory, 0)); }
static long long recvs_all(struct at *a) { return told(weft_recv(a->ends[0], a->memory, 64, MSG_WAITALL)); }
static long long recvfroms(struct at *a) { return told(weft_recvfrom(a->ends[0], a->memory, 64, 0, NULL, NULL)); }
static long long recvmsgs(struct at *a) {
    struct iovec part = {a->memory, sizeof a->memory};
    return told(weft_recvmsg(a->ends[0], &(struct msghdr){.msg_iov = &part, .msg_iovlen = 1}, 0));
}
static long long writes(struct at *a) {
    fill_up(a->ends);
    return told(weft_write(a->ends[1], a->memory, sizeof a->memory));
}
static long long sends(struct at *a) {
    fill_up(a->ends);
    return told(weft_send(a->ends[1], a->memory, sizeof a->memory, 0));
}
static long long sendmsgs(struct at *a) {
    struct iovec part = {a->memory, sizeof a->memory};
    fill_up(a->ends);
    return told(weft_sendmsg(a->ends[1], &(struct msghdr){.msg_iov = &part, .msg_iovlen = 1}, 0));
}
static long long accepts(struct at *a) { return told(weft_accept(a->listener, NULL, NULL)); }
static long long polls(struct at *a) {
    return told(weft_poll((struct pollfd[]){{a->ends[0], POLLIN, 0}, {a->listener, POLLIN, 0}}, 2, -1));
}
static long long readies(struct at *a) { return weft_ready(a->ends[0], POLLIN); }
static long long splices(struct at *a) {
    int p[2];
    CHECK(!pipe2(p, O_CLOEXEC));
    long long result = told(weft_splice(a->ends[0], NULL, p[1], NULL, 100, 0));
    close_ends(p);
    return result;
}
static long long splices_pipes(struct at *a) {
    int p[2], q[2];
    (void)a;
    CHECK(!pipe2(p, O_CLOEXEC) && !pipe2(q, O_CLOEXEC | O_NONBLOCK));
    long long result = told(weft_splice(p[0], NULL, q[1], NULL, 100, 0));
    close_ends(p);
    close_ends(q);
    return result;
}
static long long sendfiles(struct at *a) {
    int file = make_file();
    CHECK_EQ(write(file, a->memory, sizeof a->memory), sizeof a->memory);
    fill_up(a->ends);
    long long result = told(weft_sendfile(a->ends[1], file, &(off_t){0}, sizeof a->memory));
    close(file);
    return result;
}
static pid_t lasting_child(void) {
    pid_t pid = fork();
    if (!pid) prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (!pid) pause();
    return pid;
}
static void end_child(pid_t pid) {
    CHECK(!kill(pid, SIGKILL));
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}
static long long waits_for_child(struct at *a) {
    a->pid = lasting_child();
    long long result = told(weft_waitpid(a->pid, NULL, 0));
    end_child(a->pid);
    return result;
}
static long long waits_for_any_child(struct at *a) {
    a->pid = lasting_child();
    long long result = told(weft_waitpid(-1, NULL, 0));
    end_child(a->pid);
    return result;
}
static long long sleeps(struct at *a) {
    (void)a;
    return told(weft_usleep(3600u * 1000 * 1000));
}
static long long operation(struct at *a) {
    struct weft_io io;
    CHECK_EQ(weft_io_recv(&io, a->ends[0], a->memory, sizeof a->memory, 0), 0);
    return weft_io_wait(&io);
}
static long long connects(struct at *a) { /* the queue of a listener without an accept is full */
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    (void)a;
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), fd[2];
    socklen_t size = sizeof name;
    CHECK(!bind(listener, (struct sockaddr *)&name, sizeof(sa_family_t)) && !listen(listener, 0));
    CHECK(!getsockname(listener, (struct sockaddr *)&name, &size));
    for (int i = 0; i < 2; i++) fd[i] = socket(AF_UNIX, SOCK_STREAM | (i ? SOCK_NONBLOCK : 0), 0);
    CHECK(!connect(fd[0], (struct sockaddr *)&name, size));
    long long result = told(weft_connect(fd[1], (struct sockaddr *)&name, size));
    CHECK(!close(fd[0]) && !close(fd[1]) && !close(listener));
    return result;
}

static const struct {
    const char *name;
    long long (*fn)(struct at *a);
} calls[] = {
    {"read", reads},
    {"readv", readvs},
    {"recv", recvs},
    {"recv all", recvs_all},
    {"recvfrom", recvfroms},
    {"recvmsg", recvmsgs},
    {"write", writes},
    {"send", sends},
    {"sendmsg", sendmsgs},
    {"accept", accepts},
    {"poll", polls},
    {"ready", readies},
    {"splice", splices},
    {"pipes", splices_pipes},
    {"sendfile", sendfiles},
    {"waitpid", waits_for_child},
    {"wait for any", waits_for_any_child},
    {"sleep", sleeps},
    {"operation", operation},
    {"connect", connects},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* --- the ways ---------------------------------------------------------------------------------------------------- */

enum way { BY_REQUEST, BY_SCOPE, BY_DEADLINE, BEFORE, WAYS };
struct job {
    enum way way;
    unsigned call;
    int begun;
    struct weft_scope *scope;
};

static void check_call(struct job *j, long long wanted) {
    struct at a;
    make_at(&a);
    STORE(&j->begun, 1);
    long long got = calls[j->call].fn(&a);
    if (got != wanted)
        test_fail(__FILE__, __LINE__, "%s, way %d: %lld, not %lld", calls[j->call].name, (int)j->way, got, wanted);
    /* A late write to that memory would happen now. */
    ssize_t ignored = write(a.ends[1], "late", 4);
    (void)ignored;
    weft_yield();
    check_memory(&a);
    CHECK(!close(a.ends[0]) && !close(a.ends[1]) && !close(a.listener));
}
static void *is_cancelled(void *arg) {
    struct job *j = arg;
    if (j->way == BEFORE) CHECK_EQ(weft_cancel(weft_self()), 0);
    check_call(j, -ECANCELED);
    return NULL;
}
static int is_in_scope(void *arg) { return is_cancelled(arg), 0; }

static void end_one(enum way way, unsigned call) {
    struct job j = {.way = way, .call = call};
    struct weft_scope scope;
    if (way == BY_DEADLINE) {
        CHECK_EQ(weft_scope_begin(&scope, weft_now() + 3 * WEFT_MILLISECOND), 0);
        check_call(&j, -ETIMEDOUT);
        CHECK_EQ(weft_scope_end(&scope), -ETIMEDOUT);
        return;
    }
    if (way == BY_SCOPE) {
        CHECK_EQ(weft_scope_begin(&scope, WEFT_FOREVER), 0);
        CHECK_EQ(weft_scope_spawn(&scope, NULL, is_in_scope, &j), 0);
        await_yielding(&j.begun, 1);
        let_it_wait();
        CHECK_EQ(weft_scope_cancel(&scope), 0);
        CHECK_EQ(weft_scope_end(&scope), -ECANCELED);
        return;
    }
    struct weft_fiber f = spawn(is_cancelled, &j);
    if (way == BY_REQUEST) {
        await_yielding(&j.begun, 1);
        let_it_wait();
        CHECK_EQ(weft_cancel(f), 0);
    }
    join(f);
}
static void each_call(void *unused) {
    (void)unused;
    for (enum way way = 0; way < WAYS; way++)
        for (unsigned call = 0; call < CALLS; call++) end_one(way, call);
}
TEST_WITHIN(every_wait_ends, 60) { each_runtime(each_call); }

/* --- a completed part counts ------------------------------------------------------------------ */

static int written;
static void *writes_too_much(void *fd) {
    static char much[16 << 20]; /* more than the buffers ever hold */
    ssize_t n = weft_write(*(int *)fd, much, sizeof much);
    CHECK(n > 0 && n < (ssize_t)sizeof much);
    STORE(&written, (int)n);
    CHECK_EQ(weft_sleep_for(WEFT_FOREVER), -ECANCELED);
    return NULL;
}
static void partial(void *unused) {
    (void)unused;
    for (enum ends kind = 0; kind < ENDS; kind++) {
        int e[2];
        static char got[1 << 16];
        make_ends(kind, e);
        struct weft_fiber f = spawn(writes_too_much, &e[1]);
        let_it_wait();
        CHECK_EQ(weft_cancel(f), 0);
        join(f);
        CHECK_EQ(weft_close(e[1]), 0);
        int total = 0;
        for (ssize_t n; (n = weft_read(e[0], got, sizeof got)) != 0; total += (int)n) CHECK(n > 0);
        CHECK_EQ(total, written);
        CHECK_EQ(weft_close(e[0]), 0);
    }
}
TEST(what_was_written_counts) { each_runtime(partial); }

static void told_before(void *unused) {
    (void)unused;
    int e[2];
    char c;
    make_ends(LOCAL, e);
    CHECK_EQ(weft_cancel(weft_self()), 0);
    CHECK_EQ(weft_write(e[1], "x", 1), 1); /* it need not wait */
    CHECK_EQ(weft_recv(e[0], &c, 1, MSG_DONTWAIT), 1);
    CHECK_EQ(told(weft_read(e[0], &c, 1)), -ECANCELED);
    close_ends(e); /* a close is never refused */
}
TEST(what_need_not_wait_is_done) { each_runtime(told_before); }
