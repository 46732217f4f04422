/* SPDX-License-Identifier: MIT */
/*
 * Blocking calls on pipes, sockets, message queues and event descriptors: many threads that wait for each other;
 * time-outs; descriptors that do not block.
 */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { CLIENTS = 50, ROUNDS = 20 };

static void *echoes(void *arg) {
    int fd = (int)(long)arg;
    char text[100];
    for (ssize_t n; (n = read(fd, text, sizeof text)) > 0;) CHECK(write(fd, text, (size_t)n) == n);
    close(fd);
    return NULL;
}
static void *accepts(void *arg) {
    int fd = (int)(long)arg;
    pthread_t t[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        int client = i % 2 ? accept(fd, NULL, NULL) : accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        CHECK(client >= 0);
        t[i] = start(echoes, (void *)(long)client);
    }
    for (int i = 0; i < CLIENTS; i++) finish(t[i]);
    return NULL;
}
static void *asks(void *address) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char text[100];
    CHECK(fd >= 0 && !connect(fd, address, sizeof(struct sockaddr_in)));
    for (int i = 0; i < ROUNDS; i++) {
        struct iovec parts[2] = {{"ab", 2}, {"cd", 2}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        struct pollfd p = {fd, POLLIN, 0};
        fd_set set;
        CHECK((i % 2 ? writev(fd, parts, 2) : sendmsg(fd, &message, 0)) == 4);
        FD_ZERO(&set);
        FD_SET(fd, &set);
        if (i % 3 == 0) CHECK(poll(&p, 1, -1) == 1 && p.revents & POLLIN);
        if (i % 3 == 1) CHECK(select(fd + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(fd, &set));
        CHECK(recv(fd, text, 4, MSG_WAITALL) == 4 && !memcmp(text, "abcd", 4));
    }
    close(fd);
    return NULL;
}
static void sockets(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t t[CLIENTS];
    CHECK(!bind(fd, (struct sockaddr *)&address, length) && !listen(fd, CLIENTS));
    CHECK(!getsockname(fd, (struct sockaddr *)&address, &length));
    pthread_t server = start(accepts, (void *)(long)fd);
    for (int i = 0; i < CLIENTS; i++) t[i] = start(asks, &address);
    for (int i = 0; i < CLIENTS; i++) finish(t[i]);
    finish(server);
    close(fd);
}

static void *writes_later(void *fd) {
    usleep(2000);
    CHECK(write((int)(long)fd, "x", 1) == 1);
    return NULL;
}
static void times(void) {
    int pair[2], pipes[2], epoll = epoll_create1(0);
    char c;
    struct timeval time = {0, 3000}, wait = {0, 2000};
    struct epoll_event event = {.events = EPOLLIN};
    fd_set set;
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair) && !pipe(pipes));
    CHECK(!setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time));
    CHECK(recv(pair[0], &c, 1, 0) == -1 && errno == EAGAIN);
    CHECK(recv(pair[0], &c, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    FD_ZERO(&set);
    FD_SET(pair[0], &set);
    CHECK(select(pair[0] + 1, &set, NULL, NULL, &wait) == 0);
    struct pollfd p = {pair[0], POLLIN, 0};
    CHECK(poll(&p, 1, 2) == 0 && poll(NULL, 0, 1) == 0);
    CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[0], &event) && epoll_wait(epoll, &event, 1, 2) == 0);
    pthread_t t = start(writes_later, (void *)(long)pipes[1]);
    CHECK(epoll_wait(epoll, &event, 1, -1) == 1);
    finish(t);
    CHECK(read(pipes[0], &c, 1) == 1 && c == 'x');
    CHECK(!fcntl(pipes[0], F_SETFL, O_NONBLOCK) && read(pipes[0], &c, 1) == -1 && errno == EAGAIN);
}

static void *pumps(void *fd) {
    static char much[200000];
    CHECK(write((int)(long)fd, much, sizeof much) == (ssize_t)sizeof much); /* more than fits */
    close((int)(long)fd);
    return NULL;
}
static void pipes(void) {
    int fds[2];
    char some[3000];
    size_t all = 0;
    CHECK(!pipe(fds));
    pthread_t t = start(pumps, (void *)(long)fds[1]);
    for (ssize_t n; (n = read(fds[0], some, sizeof some)) > 0;) all += (size_t)n;
    finish(t);
    CHECK(all == 200000);
}

/* More threads wait than spare workers could wait for. */
enum { WAITERS = 300 };
static int several[2], counter, locked, old_queue, characters[2];
static mqd_t queue;

static void *gets_two(void *arg) {
    char text[2][4];
    struct iovec parts[2] = {{text[0], 4}, {text[1], 4}};
    struct mmsghdr m[2] = {{.msg_hdr = {.msg_iov = &parts[0], .msg_iovlen = 1}},
                           {.msg_hdr = {.msg_iov = &parts[1], .msg_iovlen = 1}}};
    CHECK(recvmmsg(several[0], m, 2, 0, NULL) == 2 && m[0].msg_len == 1 && m[1].msg_len == 1);
    CHECK(*text[0] == 'a' && *text[1] == 'a');
    return arg;
}
static void *gets_count(void *arg) {
    eventfd_t value;
    CHECK(!eventfd_read(counter, &value) && value == 1);
    return arg;
}
static void *gets_message(void *arg) {
    char text[8];
    CHECK(mq_receive(queue, text, sizeof text, NULL) == 3);
    return arg;
}
static void *gets_old_message(void *arg) {
    struct msgbuf m;
    CHECK(msgrcv(old_queue, &m, 1, 0, 0) == 1);
    return arg;
}
static void *gets_lock(void *name) {
    struct flock lock = {.l_type = F_WRLCK, .l_len = 1};
    int fd = open(name, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && !fcntl(fd, F_OFD_SETLKW, &lock) && !close(fd));
    return name;
}
/* Reads where no call parks. */
static void *gets_character(void *arg) {
    FILE *f = fdopen(dup(characters[0]), "r");
    CHECK(f && !setvbuf(f, NULL, _IONBF, 0) && fgetc(f) == 'x' && !fclose(f));
    return arg;
}
static void messages(void) {
    void *(*all[])(void *) = {gets_two, gets_count, gets_message, gets_old_message, gets_lock, gets_character};
    struct msgbuf old = {.mtype = 1};
    struct flock lock = {.l_type = F_WRLCK, .l_len = 1};
    char path[] = "/tmp/weft-threads-XXXXXX";
    struct iovec part = {"a", 1};
    struct mmsghdr m[2] = {{.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}},
                           {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}}};
    struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 8};
    struct timespec soon;
    char name[40], text[8];
    snprintf(name, sizeof name, "/weft-threads-%d", (int)getpid());
    CHECK(!socketpair(AF_UNIX, SOCK_DGRAM, 0, several) && (counter = eventfd(0, EFD_SEMAPHORE)) >= 0);
    CHECK((queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr)) != -1 && !mq_unlink(name));
    CHECK(!clock_gettime(CLOCK_REALTIME, &soon));
    CHECK(mq_timedreceive(queue, text, sizeof text, NULL, &soon) == -1 && errno == ETIMEDOUT);
    CHECK(!pipe(characters));
    CHECK((old_queue = msgget(IPC_PRIVATE, 0600)) >= 0 && (locked = mkstemp(path)) >= 0);
    CHECK(!fcntl(locked, F_OFD_SETLK, &lock));
    for (int kind = 0; kind < 6; kind++) {
        pthread_t t[WAITERS];
        for (int i = 0; i < WAITERS; i++) t[i] = start(all[kind], path);
        if (kind == 4) CHECK(!close(locked));
        for (int i = 0; i < WAITERS; i++) {
            if (kind == 0) CHECK(sendmmsg(several[1], m, 2, 0) == 2);
            if (kind == 1) CHECK(!eventfd_write(counter, 1));
            if (kind == 2) CHECK(!mq_send(queue, "abc", 3, 0));
            if (kind == 5) CHECK(write(characters[1], "x", 1) == 1);
            if (kind == 3) CHECK(!msgsnd(old_queue, &old, 1, 0));
        }
        for (int i = 0; i < WAITERS; i++) finish(t[i]);
    }
    close(several[0]);
    close(several[1]);
    close(counter);
    close(characters[0]);
    close(characters[1]);
    mq_close(queue);
    CHECK(!msgctl(old_queue, IPC_RMID, NULL) && !unlink(path));
}

/* A socket that has blocked changes: by a flag, by another number, by a child, by a time-out; and its number is used
 * again. */
static bool would_block(int fd) {
    char c;
    return read(fd, &c, 1) == -1 && errno == EAGAIN;
}
static void *blocks_once(void *arg) {
    int fd = (int)(long)arg;
    char c;
    struct timeval time = {0, 1000};
    socklen_t length = sizeof time;
    CHECK(!getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, &length));
    CHECK(read(fd, &c, 1) == 1);
    return NULL;
}
static int used_socket(int *peer) {
    int pair[2];
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    pthread_t t = start(blocks_once, (void *)(long)pair[0]);
    usleep(1000); /* so that it is likely to wait */
    CHECK(write(pair[1], "x", 1) == 1);
    finish(t);
    *peer = pair[1];
    return pair[0];
}
static void states(void) {
    for (int how = 0; how < 6; how++) {
        int peer, fd = used_socket(&peer), yes = 1, copy = fd;
        struct timeval time = {0, 1000};
        if (how == 0) CHECK(!fcntl(fd, F_SETFL, O_NONBLOCK));
        if (how == 1) CHECK(!ioctl(fd, FIONBIO, &yes));
        if (how == 2) CHECK((copy = dup(fd)) >= 0 && !fcntl(copy, F_SETFL, O_NONBLOCK));
        if (how == 3) CHECK(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time));
        if (how == 4) {
            pid_t pid = fork();
            if (!pid) _exit(fcntl(fd, F_SETFL, O_NONBLOCK));
            CHECK(pid > 0 && waitpid(pid, &yes, 0) == pid && !yes);
        }
        if (how == 5) {
            FILE *f = fdopen(fd, "r");
            int pair[2];
            CHECK(f && !fclose(f) && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair));
            CHECK(would_block(pair[0]) && would_block(pair[1]) && pair[0] == fd);
            copy = pair[1];
        }
        CHECK(would_block(fd));
        if (copy != fd) close(copy);
        close(fd);
        close(peer);
    }
}

int main(void) {
    sockets();
    messages();
    states();
    times();
    pipes();
    return passed();
}
