/* SPDX-License-Identifier: MIT */
/*
 * A plain io_uring loop: one thread with its own ring. All requests that follow from a batch of completions are
 * submitted with the wait for the next batch. Accepts are multishot. There are two ways to receive:
 *
 *   multishot=0   an answer and the next receive are submitted together; the connection has a buffer for
 *                 each of the two. The receive waits first: there is nothing yet.
 *   multishot=1   one receive a connection for its whole life, into buffers of a ring
 *
 * See server.h.
 */
#include "server.h"

#include <liburing.h>

#define ENTRIES 4096
#define BUFFERS 16384 /* buffers in the ring of buffers */
#define BUFFER 2048
#define GROUP 1

enum kind { ACCEPTED, RECEIVED, SENT, CLOSED };

/* Packs the subject of a completion into its 64 bits. */
static uint64_t about(enum kind kind, int fd, unsigned buffer) {
    return (uint64_t)kind << 56 | (uint64_t)buffer << 32 | (uint32_t)fd;
}

struct connection {
    char *buffers[2]; /* the loop sends from one buffer while it receives into the other */
    unsigned next;
};

static struct io_uring ring;
static struct io_uring_buf_ring *lent;
static char *lent_bytes;
static struct connection connections[DESCRIPTORS];
static enum work work;
static bool multishot;

static struct io_uring_sqe *entry(enum kind kind, int fd, unsigned buffer) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
    if (!sqe) {
        io_uring_submit(&ring);
        sqe = io_uring_get_sqe(&ring);
        if (!sqe) fail("io_uring_get_sqe", EBUSY);
    }
    io_uring_sqe_set_data64(sqe, about(kind, fd, buffer));
    return sqe;
}

/* Some versions of io_uring_prep_... clear user_data. */
#define SUBMIT(prepare, kind, fd, buffer, ...) \
    do { \
        struct io_uring_sqe *sqe_ = entry(kind, fd, buffer); \
        prepare(sqe_, __VA_ARGS__); \
        io_uring_sqe_set_data64(sqe_, about(kind, fd, buffer)); \
    } while (0)

static void start_accept(int listener) {
    SUBMIT(io_uring_prep_multishot_accept, ACCEPTED, listener, 0, listener, NULL, NULL, 0);
}

static void start_close(int fd) { SUBMIT(io_uring_prep_close, CLOSED, fd, 0, fd); }

static void start_receive(int fd) {
    struct io_uring_sqe *sqe = entry(RECEIVED, fd, 0);
    if (multishot) {
        io_uring_prep_recv_multishot(sqe, fd, NULL, 0, 0);
        sqe->flags |= IOSQE_BUFFER_SELECT;
        sqe->buf_group = GROUP;
    } else {
        struct connection *c = &connections[fd];
        if (!c->buffers[0] && !(c->buffers[0] = malloc(ROOM))) fail("malloc", ENOMEM);
        if (!c->buffers[1] && !(c->buffers[1] = malloc(ROOM))) fail("malloc", ENOMEM);
        io_uring_prep_recv(sqe, fd, c->buffers[c->next], ROOM, 0);
        sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
    }
    io_uring_sqe_set_data64(sqe, about(RECEIVED, fd, 0));
}

static void give_back(unsigned buffer) {
    io_uring_buf_ring_add(lent, lent_bytes + (size_t)buffer * BUFFER, BUFFER, (unsigned short)buffer,
                          io_uring_buf_ring_mask(BUFFERS), 0);
    io_uring_buf_ring_advance(lent, 1);
}

/* A successful send has no completion, unless a buffer must be returned. */
static void start_send(int fd, const void *bytes, size_t size, unsigned buffer) {
    struct io_uring_sqe *sqe = entry(SENT, fd, buffer);
    io_uring_prep_send(sqe, fd, bytes, size, MSG_NOSIGNAL | MSG_WAITALL);
    if (!multishot || work == HELLO) sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    io_uring_sqe_set_data64(sqe, about(SENT, fd, buffer));
}

static void received(const struct io_uring_cqe *cqe, int fd) {
    bool more = cqe->flags & IORING_CQE_F_MORE;
    unsigned buffer = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
    if (cqe->res <= 0) {
        if (multishot && cqe->res == -ENOBUFS)
            start_receive(fd);
        else
            start_close(fd);
        return;
    }
    struct connection *c = &connections[fd];
    const char *bytes = multishot ? lent_bytes + (size_t)buffer * BUFFER : c->buffers[c->next];
    c->next ^= 1;
    if (work == ECHO)
        start_send(fd, bytes, (size_t)cqe->res, buffer);
    else
        for (size_t i = requests_in(bytes, (size_t)cqe->res); i; i--) start_send(fd, hello, HELLO_SIZE, 0);
    if (multishot && work == HELLO) give_back(buffer);
    if (!more) start_receive(fd);
}

static void completed(const struct io_uring_cqe *cqe) {
    int fd = (int)(uint32_t)cqe->user_data;
    switch ((enum kind)(cqe->user_data >> 56)) {
    case ACCEPTED:
        if (!(cqe->flags & IORING_CQE_F_MORE)) start_accept(fd);
        if (cqe->res < 0) break;
        if (cqe->res >= DESCRIPTORS) fail("accept", EMFILE);
        if (work == ACCEPT)
            start_close(cqe->res);
        else
            start_receive(cqe->res);
        break;
    case RECEIVED: received(cqe, fd); break;
    case SENT:
        if (multishot && work == ECHO) give_back((unsigned)(cqe->user_data >> 32) & 0xffff);
        break; /* a failed send: the receive reports it */
    case CLOSED: break;
    }
}

static void lend_buffers(void) {
    lent_bytes = malloc((size_t)BUFFERS * BUFFER);
    if (!lent_bytes || posix_memalign((void **)&lent, 4096, BUFFERS * sizeof(struct io_uring_buf)))
        fail("malloc", ENOMEM);
    struct io_uring_buf_reg reg = {.ring_addr = (uintptr_t)lent, .ring_entries = BUFFERS, .bgid = GROUP};
    int err = io_uring_register_buf_ring(&ring, &reg, 0);
    if (err) fail("io_uring_register_buf_ring", -err);
    io_uring_buf_ring_init(lent);
    for (unsigned i = 0; i < BUFFERS; i++) give_back(i);
}

int main(int argc, char **argv) {
    work = work_asked(argc, argv);
    multishot = number_asked(argc, argv, "multishot", 0);
    int listener = listen_at(number_asked(argc, argv, "port", 0), 0);
    struct io_uring_params params = {.flags =
                                         IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
                                     .cq_entries = 4 * ENTRIES};
    int err = io_uring_queue_init_params(ENTRIES, &ring, &params);
    if (err) fail("io_uring_queue_init_params", -err);
    if (multishot) lend_buffers();
    start_accept(listener);
    for (;;) {
        struct io_uring_cqe *cqe;
        unsigned head, count = 0;
        err = io_uring_submit_and_wait(&ring, 1);
        if (err < 0 && err != -EINTR && err != -EBUSY) fail("io_uring_submit_and_wait", -err);
        io_uring_for_each_cqe(&ring, head, cqe) {
            completed(cqe);
            count++;
        }
        io_uring_cq_advance(&ring, count);
    }
}
