/* SPDX-License-Identifier: MIT */
/*
 * Every call for memory, descriptors and threads in input and output fails once, on each engine; see nth.h. Only
 * documented errors occur, each refused call can be repeated, and nothing is lost.
 */
#define _GNU_SOURCE
#include "../scratch.h"
#include "nth.h"

#include "weft/io.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

/* For calls that return -1 and set errno. True: the call lacked memory, descriptors or threads. */
static bool lacked(long long n) {
    if (n >= 0) return false;
    MUST(errno == ENOMEM || errno == EAGAIN || errno == EMFILE || errno == ENFILE);
    return true;
}
#define UNTIL_DONE(result, call) \
    do { \
    } while (lacked((result) = (call)))

static int ends[2];
static void *writes(void *unused) {
    ssize_t n;
    weft_sleep_for(WEFT_MILLISECOND);
    UNTIL_DONE(n, weft_write(ends[1], "text", 4));
    MUST(n == 4);
    return unused;
}

static void streams(void) {
    char got[8];
    ssize_t n;
    struct weft_fiber f;
    MUST(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
    while (try_again(weft_spawn(&f, NULL, writes, NULL))) weft_yield();
    UNTIL_DONE(n, weft_recv(ends[0], got, 4, MSG_WAITALL));
    MUST(n == 4 && !memcmp(got, "text", 4));
    MUST(!weft_join(f, NULL));
    while (try_again(weft_spawn(&f, NULL, writes, NULL))) weft_yield();
    struct pollfd p = {ends[0], POLLIN, 0};
    UNTIL_DONE(n, weft_poll(&p, 1, -1));
    MUST(n == 1);
    MUST(!weft_join(f, NULL));
    MUST(!weft_close(ends[0]) && !weft_close(ends[1]));
}

static void files(void) {
    char name[SCRATCH_SIZE], got[8] = "";
    ssize_t n;
    int fd, made = mkostemp(scratch_name(name), O_CLOEXEC);
    MUST(made >= 0);
    UNTIL_DONE(fd, weft_open(name, O_RDWR | O_CLOEXEC));
    UNTIL_DONE(n, weft_pwrite(fd, "text", 4, 0));
    MUST(n == 4);
    UNTIL_DONE(n, weft_fsync(fd));
    UNTIL_DONE(n, weft_pread(fd, got, 8, 0));
    MUST(n == 4 && !strcmp(got, "text"));
    UNTIL_DONE(n, weft_write(fd, "TE", 2)); /* where it stands: once, and not half */
    UNTIL_DONE(n, weft_read(fd, got, 8));
    MUST(n == 2 && !memcmp(got, "xt", 2));
    UNTIL_DONE(n, weft_unlinkat(AT_FDCWD, name, 0));
    MUST(!weft_close(fd) && !weft_close(made));
}

/* From an empty pipe into a file, and back. */
static void moves(void) {
    struct weft_fiber f;
    ssize_t n;
    char name[SCRATCH_SIZE], got[8];
    off_t at = 0;
    int file = mkostemp(scratch_name(name), O_CLOEXEC);
    MUST(file >= 0 && !unlink(name) && !pipe2(ends, O_CLOEXEC));
    while (try_again(weft_spawn(&f, NULL, writes, NULL))) weft_yield();
    UNTIL_DONE(n, weft_splice(ends[0], NULL, file, NULL, 4, 0));
    MUST(n == 4);
    UNTIL_DONE(n, weft_sendfile(ends[1], file, &at, 4));
    MUST(n == 4 && read(ends[0], got, 8) == 4 && !memcmp(got, "text", 4));
    MUST(!weft_join(f, NULL));
    MUST(!weft_close(ends[0]) && !weft_close(ends[1]) && !weft_close(file));
}

static void operations(void) {
    struct weft_io io;
    char got[8];
    int p[2];
    MUST(!pipe2(p, O_CLOEXEC));
    while (try_again(weft_io_read(&io, p[0], got, 8))) weft_yield();
    MUST(write(p[1], "x", 1) == 1);
    ssize_t n = weft_io_wait(&io);
    MUST(n == 1 || n == -ENOMEM || n == -EAGAIN);
    MUST(!weft_close(p[0]) && !weft_close(p[1]));
}

static int destroyed;
static void *returns(void *arg) { return arg; }
static void destroy(void *arg) {
    free(arg);
    destroyed++;
}
static void calls(void) {
    void *owned = malloc(1), *result = NULL;
    while (try_again(weft_blocking(returns, &result, &result))) weft_yield();
    MUST(result == &result);
    while (try_again(weft_blocking_owned(returns, owned, destroy, &result))) weft_yield();
    MUST(result == owned && !destroyed);
    free(owned);
    struct addrinfo *found;
    int err;
    while ((err = weft_getaddrinfo("127.0.0.1", NULL, &(struct addrinfo){.ai_flags = AI_NUMERICHOST}, &found)))
        MUST(err == EAI_MEMORY || err == EAI_AGAIN);
    freeaddrinfo(found);
}

static void children(void) {
    pid_t pid = fork(), n;
    if (!pid) _exit(usleep(2000));
    UNTIL_DONE(n, weft_waitpid(pid, NULL, 0));
    MUST(n == pid);
    pid = fork();
    if (!pid) _exit(usleep(2000));
    UNTIL_DONE(n, weft_waitpid(-1, NULL, 0));
    MUST(n == pid);
}

static int all(void *unused) {
    (void)unused;
    streams();
    files();
    moves();
    operations();
    calls();
    children();
    return 0;
}

static int scenario(long nth) {
    struct weft_config config = {.workers = 2};
    int err;
    alarm(20);
    store_rlx(&weft__fault_countdown, nth);
    while (try_again(err = weft_run(all, NULL, &config))) {
    }
    return fault_outcome();
}

int main(void) {
    int passed = 0, failed = 0;
    static const char *const engines[] = {"uring", "epoll"};
    for (int i = 0; i < 2; i++) {
        MUST(!setenv("WEFT_IO", engines[i], 1));
        each_fault(scenario, &passed, &failed);
    }
    printf("fault/io: %d passed, %d failed\n", passed, failed);
    return failed > 0;
}
