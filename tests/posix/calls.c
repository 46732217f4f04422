/* SPDX-License-Identifier: MIT */
/* Plain POSIX calls from fibers, as a library would make them. */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

enum { FIBERS = 300, ROUNDS = 5 };

/* --- sockets: a server and hundreds of clients, all fibers ------------------------------------------------- */

static struct sockaddr_in address;

static void *echoes(void *arg) {
    int fd = (int)(long)arg;
    char text[100];
    for (ssize_t n; (n = read(fd, text, sizeof text)) > 0;) CHECK(write(fd, text, (size_t)n) == n);
    CHECK(!close(fd));
    return NULL;
}
static void *accepts(void *arg) {
    int fd = (int)(long)arg;
    struct weft_fiber f[FIBERS];
    for (int i = 0; i < FIBERS; i++) {
        int client = accept(fd, NULL, NULL);
        CHECK(client >= 0);
        f[i] = start(echoes, (void *)(long)client);
    }
    for (int i = 0; i < FIBERS; i++) finish(f[i]);
    return NULL;
}
static void *asks(void *arg) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    char text[4];
    CHECK(fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof address));
    CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
    for (int i = 0; i < ROUNDS; i++) {
        struct pollfd p = {fd, POLLIN, 0};
        fd_set set;
        FD_ZERO(&set);
        if (fd < FD_SETSIZE) FD_SET(fd, &set);
        CHECK(send(fd, &arg, 4, 0) == 4);
        if (i == 0) CHECK(poll(&p, 1, -1) == 1 && p.revents & POLLIN);
        if (i == 1 && fd < FD_SETSIZE) CHECK(select(fd + 1, &set, NULL, NULL, NULL) == 1);
        if (i == 2) CHECK(epoll_wait(epoll, &event, 1, -1) == 1);
        CHECK(recv(fd, text, 4, MSG_WAITALL) == 4 && !memcmp(text, &arg, 4));
    }
    CHECK(!close(fd) && !close(epoll));
    return NULL;
}
static void sockets(void) {
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    CHECK(!bind(fd, (struct sockaddr *)&address, length) && !listen(fd, FIBERS));
    CHECK(!getsockname(fd, (struct sockaddr *)&address, &length));
    struct weft_fiber server = start(accepts, (void *)(long)fd);
    on_fibers(FIBERS, asks);
    finish(server);
    close(fd);
}

/* --- a chain of pipes: the last is written first ------------------------------------------------------------ */

static int chain[FIBERS + 1][2];
static void *passes_on(void *arg) {
    long i = (long)arg;
    char c;
    CHECK(read(chain[i][0], &c, 1) == 1 && write(chain[i + 1][1], &c, 1) == 1);
    return NULL;
}
static void *begins(void *unused) {
    CHECK(write(chain[0][1], "x", 1) == 1);
    return unused;
}
static void pipes(void) {
    char c;
    for (int i = 0; i <= FIBERS; i++) CHECK(!pipe(chain[i]));
    struct weft_fiber f[FIBERS];
    for (long i = FIBERS - 1; i >= 0; i--) f[i] = start(passes_on, (void *)i);
    struct weft_fiber b = start(begins, NULL);
    CHECK(read(chain[FIBERS][0], &c, 1) == 1 && c == 'x');
    for (int i = 0; i < FIBERS; i++) finish(f[i]);
    finish(b);
    for (int i = 0; i <= FIBERS; i++) close(chain[i][0]), close(chain[i][1]);
}

/* --- what a library set on its descriptors, and time ---------------------------------------------------------- */

static void *sleeps(void *unused) {
    struct timespec t = {0, 1000000};
    uint64_t before = weft_now();
    CHECK(!usleep(1000) && !nanosleep(&t, NULL) && !clock_nanosleep(CLOCK_REALTIME, 0, &t, NULL));
    CHECK(weft_now() - before >= 3 * WEFT_MILLISECOND && !poll(NULL, 0, 1));
    return unused;
}
static void semantics(void) {
    int pair[2], status;
    char c;
    struct timeval time = {0, 3000};
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    CHECK(!setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time));
    CHECK(recv(pair[0], &c, 1, 0) == -1 && errno == EAGAIN);
    CHECK(recv(pair[1], &c, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    CHECK(!fcntl(pair[1], F_SETFL, O_NONBLOCK));
    CHECK(read(pair[1], &c, 1) == -1 && errno == EAGAIN && recv(pair[1], &c, 1, 0) == -1 && errno == EAGAIN);
    close(pair[0]);
    close(pair[1]);
    pid_t child = fork();
    if (!child) _exit(3);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
    on_fibers(FIBERS, sleeps);
}

static void files(void) {
    char path[] = "/tmp/weft-posix-XXXXXX", text[5] = "";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && !unlink(path) && write(fd, "hello", 5) == 5 && pwrite(fd, "j", 1, 0) == 1);
    CHECK(!fsync(fd) && !fdatasync(fd) && pread(fd, text, 5, 0) == 5 && !memcmp(text, "jello", 5));
    CHECK(lseek(fd, 0, SEEK_SET) == 0 && read(fd, text, 2) == 2 && read(fd, text, 5) == 3 && !memcmp(text, "llo", 3));
    close(fd);
}

static void *resolves(void *unused) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    char host[100];
    CHECK(!getaddrinfo("localhost", "80", &hints, &found));
    CHECK(((struct sockaddr_in *)(void *)found->ai_addr)->sin_addr.s_addr == htonl(INADDR_LOOPBACK));
    CHECK(!getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof host, NULL, 0, 0));
    freeaddrinfo(found);
    struct hostent space, *h;
    char memory[2000];
    int error;
    CHECK(!gethostbyname_r("localhost", &space, memory, sizeof memory, &h, &error) && h);
    return unused;
}

/* --- weft's cancellation and deadlines reach into a library ------------------------------------------------------ */

static void *waits_for_ever(void *fd) {
    char c;
    CHECK(read((int)(long)fd, &c, 1) == -1 && errno == ECANCELED);
    return NULL;
}
static void cancellation(void) {
    int fds[2];
    char c;
    struct weft_scope scope;
    CHECK(!pipe(fds));
    struct weft_fiber f = start(waits_for_ever, (void *)(long)fds[0]);
    weft_yield();
    CHECK(!weft_cancel(f));
    finish(f);
    CHECK(!weft_scope_begin(&scope, weft_now() + 2 * WEFT_MILLISECOND));
    CHECK(read(fds[0], &c, 1) == -1 && errno == ETIMEDOUT);
    struct pollfd p = {fds[0], POLLIN, 0};
    CHECK(poll(&p, 1, 60000) == -1 && errno == ETIMEDOUT);
    CHECK(usleep(60000000) == -1);
    weft_scope_end(&scope);
    close(fds[0]);
    close(fds[1]);
}

/* --- other threads are as they were ------------------------------------------------------------------------------ */

static int between[2];
static void *kernel_thread(void *unused) {
    char c;
    CHECK(!weft_self().id && read(between[0], &c, 1) == 1 && c == 'k');
    CHECK(poll(NULL, 0, 1) == 0 && !usleep(100));
    return unused;
}
static void other_threads(void) {
    pthread_t t;
    CHECK(!pipe(between) && !pthread_create(&t, NULL, kernel_thread, NULL));
    CHECK(write(between[1], "k", 1) == 1 && !pthread_join(t, NULL));
    close(between[0]);
    close(between[1]);
}

static int all(void *unused) {
    (void)unused;
    sockets();
    pipes();
    semantics();
    files();
    on_fibers(50, resolves);
    cancellation();
    other_threads();
    return 0;
}
int main(void) { return run_all(all); }
