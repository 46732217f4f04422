/* SPDX-License-Identifier: MIT */
/* See uring.h. liburing opens the ring; filling and reaping are short enough to be written here. */
#define _GNU_SOURCE
#include "driver/uring.h"

#include "base/message.h"
#include "base/sanitizer.h"
#include "base/sys.h"
#include "driver/driver.h"

#include <errno.h>
#include <liburing.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Newer than the headers of the oldest supported systems. Linux 6.7. */
#define WEFT_OP_FUTEX_WAIT 51
#define WEFT_FUTEX2_U32_PRIVATE (0x02 | 128)

#define WEFT_NOBODY 0 /* user_data of entries whose completion is ignored */
/* user_data of the request by which wakers end a sleep: a futex wait, or a read of the event fd */
#define WEFT_BELL 1

#define WEFT_KERNEL_THREADS 32       /* kernel threads a ring for blocking requests, of each of two kinds */
#define WEFT_COMPLETIONS_A_REQUEST 8 /* size of the completion queue, as a multiple of the submission queue */
#define WEFT_RETRY (1000 * 1000)     /* ns to wait before the next try when the kernel had no room */

/* --- open and close ------------------------------------------------------------------------------ */

/* The operations that the kernel supports. weft uses none above 63. */
static uint64_t ask_operations(struct io_uring *u) {
    struct io_uring_probe *probe = io_uring_get_probe_ring(u);
    uint64_t known = 0;
    for (int i = 0; probe && i < probe->ops_len && i < 64; i++)
        if (probe->ops[i].flags & IO_URING_OP_SUPPORTED) known |= UINT64_C(1) << probe->ops[i].op;
    io_uring_free_probe(probe);
    return known;
}

/* Is io_uring_enter forbidden, for example by a filter that allows io_uring_setup? A filter may come later, too;
 * see uring_enter. */
static bool is_refusal(int err) { return err == -EPERM || err == -EACCES || err == -ENOSYS; }
static bool is_enterable(const struct io_uring *u) {
    return !is_refusal(io_uring_enter2((unsigned)u->ring_fd, 0, 0, IORING_ENTER_GETEVENTS, NULL, 0));
}

static bool has_operation(uint64_t known, unsigned opcode) { return known >> opcode & 1; }

/* The feature without which a ring cannot be used; NULL: none is missing. Other operations have replacements. */
static const char *what_is_missing(const struct io_uring *u, uint64_t known, unsigned lacks) {
    if (!(u->features & IORING_FEAT_NODROP)) return "completions are dropped";
    if (!(u->features & IORING_FEAT_EXT_ARG) || lacks & WEFT_LACKS_EXT_ARG)
        return "no deadline for a sleep in the ring";
    if (!has_operation(known, IORING_OP_ASYNC_CANCEL)) return "no cancellation in the ring";
    if (!has_operation(known, IORING_OP_READ)) return "no read in the ring";
    if (!is_enterable(u)) return "io_uring_enter is refused";
    return NULL;
}

/* Linux 6.0 has it. Older kernels need an entry for the same. */
static bool can_cancel_by_call(struct io_uring *u, unsigned lacks) {
    struct io_uring_sync_cancel_reg nothing = {.fd = -1};
    return !(lacks & WEFT_LACKS_SYNC_CANCEL) && io_uring_register_sync_cancel(u, &nothing) != -EINVAL;
}

static int open_kernel_ring(struct io_uring *u, unsigned entries, unsigned lacks, const char **why) {
    struct io_uring_params p = {.flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
                                         IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP | IORING_SETUP_CQSIZE,
                                .cq_entries = entries * WEFT_COMPLETIONS_A_REQUEST};
    if (weft__fault_is_due()) return -ENOMEM;
    int err = lacks & WEFT_LACKS_COOP_TASKRUN ? -EINVAL : io_uring_queue_init_params(entries, u, &p);
    *why = NULL;
    if (err == -EINVAL) *why = "no cooperative task running"; /* Linux 5.19 */
    return err == -EINVAL ? -ENOSYS : err;
}

/* If the kernel cannot wait for a futex, opens an event descriptor. It is blocking: the kernel would not wait in a read
 * of a non-blocking descriptor. -1: not needed; below -1: -errno. */
static int open_event_fd(uint64_t known) {
    if (has_operation(known, WEFT_OP_FUTEX_WAIT)) return -1;
    int fd = weft__fault_is_due() ? (errno = ENOMEM, -1) : eventfd(0, EFD_CLOEXEC);
    return fd >= 0 ? fd : -errno;
}

static void uring_configure(struct io_uring *u) {
    unsigned threads[2] = {WEFT_KERNEL_THREADS, WEFT_KERNEL_THREADS};
    io_uring_register_iowq_max_workers(u, threads);
    io_uring_ring_dontfork(u);
    for (unsigned i = 0; i < u->sq.ring_entries; i++) u->sq.array[i] = i;
}

static char mappings; /* names the mappings of all rings for ThreadSanitizer */

int weft__uring_open(struct weft__uring *r, const struct weft__uring_options *wish, const char **why) {
    struct io_uring *u = weft__alloc(sizeof *u);
    if (!u) return -ENOMEM;
    int err = open_kernel_ring(u, wish->entries, wish->lacks, why), event_fd = -1;
    if (err) goto not_open;
    san_mapped_unseen(&mappings);
    uint64_t known = ask_operations(u);
    if ((*why = what_is_missing(u, known, wish->lacks))) err = -ENOSYS;
    known &= ~wish->without;
    if (!err && (event_fd = open_event_fd(known)) < -1) err = event_fd;
    if (err) {
        io_uring_queue_exit(u);
        goto not_open;
    }
    uring_configure(u);
    r->kernel = u;
    r->known = known;
    r->event_fd = event_fd;
    r->lacks = wish->lacks | (can_cancel_by_call(u, wish->lacks) ? 0 : WEFT_LACKS_SYNC_CANCEL);
    store_rlx(&r->armed, false);
    store_rlx(&r->in_flight, 0);
    store_rlx(&r->functions, 0);
    r->leaves = false;
    r->lent = NULL;
    store_rel(&r->open, true); /* pairs with readers that do not hold the lock */
    return 0;
not_open:
    weft__free(u);
    return err;
}

struct weft__lent {
    struct weft__lock lock;
    unsigned shares;                /* held by the ring, by requests, and by holders of a buffer */
    struct io_uring_buf_ring *ring; /* shared with the kernel: the free buffers */
    char *memory;
};

static void free_lent(struct weft__lent *lent) {
    weft__pages_unmap(lent->ring, WEFT_LENT * sizeof(struct io_uring_buf));
    weft__pages_unmap(lent->memory, WEFT_LENT * WEFT_LENT_SIZE);
    weft__free(lent);
}

void weft__uring_close(struct weft__uring *r) {
    weft__lock(&r->lock);
    struct io_uring *u = load_rlx(&r->open) ? r->kernel : NULL;
    store_rlx(&r->open, false);
    weft__unlock(&r->lock);
    if (!u) return;
    san_unmaps_unseen(&mappings);
    io_uring_queue_exit(u);
    weft__free(u);
    if (r->event_fd >= 0) close(r->event_fd);
    if (r->lent) weft__lent_return(r->lent, NULL);
    r->lent = NULL;
}

/* The child does not inherit the mappings of the ring. */
void weft__uring_close_copy(struct weft__uring *r) {
    weft__unlock(&r->lock);
    if (load_rlx(&r->open)) {
        close(r->kernel->ring_fd);
        if (r->event_fd >= 0) close(r->event_fd);
        weft__free(r->kernel);
        if (r->lent) weft__unlock(&r->lent->lock);
        if (r->lent) weft__lent_return(r->lent, NULL); /* stays mapped if there are other shares */
    }
    store_rlx(&r->open, false);
}

/* --- entries -------------------------------------------------------------------------------------------- */

_Static_assert(WEFT_COMPLETION_MORE == IORING_CQE_F_MORE, "the kernel's flag");

static _Atomic unsigned *as_shared(unsigned *p) { return (_Atomic unsigned *)p; }

static unsigned filled_entries(const struct io_uring *u) {
    return load_rlx(as_shared(u->sq.ktail)) - load_acq(as_shared(u->sq.khead)); /* pairs with the kernel */
}

unsigned weft__uring_size(const struct weft__uring *r) { return r->kernel->sq.ring_entries; }

bool weft__uring_has_room(struct weft__uring *r, unsigned n) {
    return weft__uring_size(r) - filled_entries(r->kernel) >= n;
}

struct io_uring_sqe *weft__uring_entry(struct weft__uring *r, unsigned i) {
    struct io_uring_sq *sq = &r->kernel->sq;
    struct io_uring_sqe *e = &sq->sqes[(load_rlx(as_shared(sq->ktail)) + i) & (sq->ring_entries - 1)];
    memset(e, 0, sizeof *e);
    return e;
}

void weft__uring_set_op(struct io_uring_sqe *e, struct weft__op *op) { e->user_data = (uint64_t)(uintptr_t)op; }

void weft__uring_push(struct weft__uring *r, unsigned n) {
    struct io_uring_sq *sq = &r->kernel->sq;
    store_rel(as_shared(sq->ktail), load_rlx(as_shared(sq->ktail)) + n); /* pairs with the kernel */
}

void weft__uring_fill_cancel(struct io_uring_sqe *e, const struct weft__op *op) {
    e->opcode = IORING_OP_ASYNC_CANCEL;
    e->fd = -1;
    e->addr = (uint64_t)(uintptr_t)op;
    e->user_data = WEFT_NOBODY;
}

/* --- completions ---------------------------------------------------------------------------------------- */

bool weft__uring_has_completions(const struct weft__uring *r) {
    struct io_uring_cq *cq = &r->kernel->cq;
    return load_rlx(as_shared(cq->khead)) != load_acq(as_shared(cq->ktail)); /* pairs with the kernel */
}

static bool has_flag(const struct io_uring *u, unsigned flags) { return load_rlx(as_shared(u->sq.kflags)) & flags; }

bool weft__uring_has_entries(struct weft__uring *r) {
    weft__lock(&r->lock);
    bool is = load_rlx(&r->open) && filled_entries(r->kernel);
    weft__unlock(&r->lock);
    return is;
}

bool weft__uring_needs_task_run(const struct weft__uring *r) { return has_flag(r->kernel, IORING_SQ_TASKRUN); }

bool weft__uring_needs_reap(const struct weft__uring *r) {
    return load_acq(&r->open) &&
           (filled_entries(r->kernel) || has_flag(r->kernel, IORING_SQ_CQ_OVERFLOW) || weft__uring_has_completions(r));
}

unsigned weft__uring_reap(struct weft__uring *r, struct weft__completion *out, unsigned n) {
    struct io_uring_cq *cq = &r->kernel->cq;
    unsigned head = load_rlx(as_shared(cq->khead)), tail = load_acq(as_shared(cq->ktail)),
             got = 0; /* pairs with the kernel */
    for (; head != tail && got < n; head++) {
        const struct io_uring_cqe *c = &cq->cqes[head & (cq->ring_entries - 1)];
        if (c->user_data == WEFT_BELL) store_rlx(&r->armed, false);
        if (c->user_data == WEFT_BELL || c->user_data == WEFT_NOBODY) continue;
        out[got++] = (struct weft__completion){(struct weft__op *)(uintptr_t)c->user_data, c->res, c->flags};
    }
    store_rel(as_shared(cq->khead), head); /* pairs with the kernel, which may reuse these entries */
    return got;
}

/* --- lent buffers --------------------------------------------------------------------------------------- */

enum { WEFT_LENT_GROUP = 1 };

static void uring_offer(struct weft__lent *lent, unsigned index) {
    io_uring_buf_ring_add(lent->ring, lent->memory + index * WEFT_LENT_SIZE, WEFT_LENT_SIZE, (unsigned short)index,
                          io_uring_buf_ring_mask(WEFT_LENT), 0);
    io_uring_buf_ring_advance(lent->ring, 1);
}

static int map_lent(struct weft__lent *lent) {
    void *ring, *memory;
    int err = weft__pages_map(&ring, WEFT_LENT * sizeof(struct io_uring_buf));
    if (err) return err;
    if ((err = weft__pages_map(&memory, WEFT_LENT * WEFT_LENT_SIZE))) {
        weft__pages_unmap(ring, WEFT_LENT * sizeof(struct io_uring_buf));
        return err;
    }
    *lent = (struct weft__lent){.shares = 1, .ring = ring, .memory = memory};
    return 0;
}

static int register_lent(struct weft__uring *r, const struct weft__lent *lent) {
    struct io_uring_buf_reg reg = {
        .ring_addr = (uint64_t)(uintptr_t)lent->ring, .ring_entries = WEFT_LENT, .bgid = WEFT_LENT_GROUP};
    if (r->lacks & WEFT_LACKS_BUFFERS) return -ENOSYS;
    int err = weft__fault_is_due() ? -ENOMEM : io_uring_register_buf_ring(r->kernel, &reg, 0);
    return err == -EINVAL ? -ENOSYS : err;
}

static int make_lent(struct weft__uring *r) {
    struct weft__lent *lent = weft__alloc(sizeof *lent);
    if (!lent) return -ENOMEM;
    int err = map_lent(lent);
    if (err) {
        weft__free(lent);
        return err;
    }
    if ((err = register_lent(r, lent))) {
        free_lent(lent);
        return err;
    }
    for (unsigned i = 0; i < WEFT_LENT; i++) uring_offer(lent, i);
    r->lent = lent;
    return 0;
}

struct weft__lent *weft__uring_lend(struct weft__uring *r, struct io_uring_sqe *e, int *err) {
    if (!r->lent && (*err = make_lent(r))) return NULL;
    e->flags |= IOSQE_BUFFER_SELECT;
    e->buf_group = WEFT_LENT_GROUP;
    e->addr = 0;
    e->len = WEFT_LENT_SIZE;
    weft__lock(&r->lent->lock);
    r->lent->shares++;
    weft__unlock(&r->lent->lock);
    return r->lent;
}

void *weft__lent_at(const struct weft__lent *lent, unsigned flags) {
    if (!(flags & IORING_CQE_F_BUFFER)) return NULL;
    return lent->memory + (flags >> IORING_CQE_BUFFER_SHIFT) * WEFT_LENT_SIZE;
}

void weft__lent_return(struct weft__lent *lent, void *data) {
    weft__lock(&lent->lock);
    if (data) uring_offer(lent, (unsigned)(((char *)data - lent->memory) / WEFT_LENT_SIZE));
    bool is_last = !--lent->shares;
    weft__unlock(&lent->lock);
    if (is_last) free_lent(lent);
}

/* --- the kernel ------------------------------------------------------------------------------------------- */

/* The program can no longer submit or cancel requests. What waits for them would wait for ever. */
static WEFT_COLD _Noreturn void die_of_refusal(int err) {
    weft__die(
        "io_uring_enter is refused, which worked before (%s): fibers wait for requests in the ring. Forbid io_uring "
        "before weft starts, or set WEFT_IO=epoll",
        weft__error_text(err));
}

static int uring_enter(struct io_uring *u, unsigned wait_for, const struct __kernel_timespec *limit) {
    struct io_uring_getevents_arg arg = {.sigmask_sz = 8, .ts = (uint64_t)(uintptr_t)limit};
    unsigned n = filled_entries(u);
    int got = weft__fault_is_due()
                  ? -EAGAIN
                  : io_uring_enter2((unsigned)u->ring_fd, n, wait_for, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
                                    (void *)&arg, sizeof arg);
    if (unlikely(is_refusal(got))) die_of_refusal(got);
    if (got < 0) return got == -EINTR ? 0 : got;
    return (unsigned)got < n ? -EAGAIN : 0;
}

static void count_enters(struct weft__uring *r, uint32_t n) { store_rlx(&r->enters, load_rlx(&r->enters) + n); }

int weft__uring_enter(struct weft__uring *r) {
    if (!filled_entries(r->kernel) && !has_flag(r->kernel, IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) return 0;
    count_enters(r, 1);
    return uring_enter(r->kernel, 0, NULL);
}

static void fill_futex_wait(struct io_uring_sqe *e, _Atomic uint32_t *state) {
    e->opcode = WEFT_OP_FUTEX_WAIT;
    e->fd = WEFT_FUTEX2_U32_PRIVATE;
    e->addr = (uint64_t)(uintptr_t)state;
    e->off = WEFT_ASLEEP;  /* wait while it has this value */
    e->addr3 = UINT32_MAX; /* match any wake */
}

static void fill_event_fd_read(struct io_uring_sqe *e, struct weft__uring *r) {
    e->opcode = IORING_OP_READ;
    e->fd = r->event_fd;
    e->addr = (uint64_t)(uintptr_t)&r->event_count;
    e->len = sizeof r->event_count;
}

/* If there is no room, the kernel takes the filled entries first, and the caller tries again. */
static void uring_arm(struct weft__uring *r, _Atomic uint32_t *state) {
    weft__lock(&r->lock);
    if (!load_rlx(&r->armed) && weft__uring_has_room(r, 1)) {
        struct io_uring_sqe *e = weft__uring_entry(r, 0);
        if (r->event_fd < 0)
            fill_futex_wait(e, state);
        else
            fill_event_fd_read(e, r);
        e->user_data = WEFT_BELL;
        weft__uring_push(r, 1);
        store_rlx(&r->armed, true);
    }
    weft__unlock(&r->lock);
}

void weft__uring_sleep(struct weft__uring *r, _Atomic uint32_t *state, uint32_t asleep, uint64_t deadline) {
    for (;;) {
        uring_arm(r, state);
        if (weft__uring_has_completions(r) || load_acq(state) != asleep) return; /* pairs with the waker */
        uint64_t now = weft__clock();
        if (now >= deadline) return;
        struct __kernel_timespec limit = {(int64_t)((deadline - now) / 1000000000),
                                          (int64_t)((deadline - now) % 1000000000)};
        count_enters(r, 2); /* a request that completes in a sleep has waited */
        int err = uring_enter(r->kernel, load_rlx(&r->armed), deadline == UINT64_MAX ? NULL : &limit);
        if (err == -ETIME) return;
        if (err) weft__nap(WEFT_RETRY);
    }
}

/* Cancels all matching requests, by a call or by an entry. Without room for an entry, the caller tries again. Locked.
 * True: by an entry. */
static bool cancel_all(struct weft__uring *r, int fd, unsigned flags) {
    struct io_uring_sync_cancel_reg c = {.fd = fd, .flags = flags | IORING_ASYNC_CANCEL_ALL, .timeout = {0, 0}};
    if (!(r->lacks & WEFT_LACKS_SYNC_CANCEL)) {
        io_uring_register_sync_cancel(r->kernel, &c);
        return false;
    }
    if (!weft__uring_has_room(r, 1)) return true;
    struct io_uring_sqe *e = weft__uring_entry(r, 0);
    e->opcode = IORING_OP_ASYNC_CANCEL;
    e->fd = fd;
    e->cancel_flags = c.flags;
    e->user_data = WEFT_NOBODY;
    weft__uring_push(r, 1);
    return true;
}

bool weft__uring_cancel_fd(struct weft__uring *r, int fd) {
    weft__lock(&r->lock);
    bool by_entry = load_rlx(&r->open) && cancel_all(r, fd, IORING_ASYNC_CANCEL_FD);
    weft__unlock(&r->lock);
    return by_entry;
}

bool weft__uring_cancel_all(struct weft__uring *r) {
    uring_enter(r->kernel, 0, NULL);
    weft__lock(&r->lock);
    cancel_all(r, -1, IORING_ASYNC_CANCEL_ANY);
    weft__unlock(&r->lock);
    struct __kernel_timespec limit = {0, 10 * 1000 * 1000};
    if (load_rlx(&r->in_flight) && !weft__uring_has_completions(r)) uring_enter(r->kernel, 1, &limit);
    return !load_rlx(&r->in_flight);
}
