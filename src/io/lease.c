/* SPDX-License-Identifier: MIT */
/* Receives into lent buffers: of the ring, or of the heap if the ring has none left. */
#define _GNU_SOURCE
#include "driver/uring.h"
#include "io/engine.h"

#include "base/sys.h"
#include "sched/wait/cancel.h"

_Static_assert(WEFT_LEASE_SIZE == WEFT_LENT_SIZE, "what is promised is what is lent");

/* Allocates memory only when there is data to receive. */
static ssize_t receive_on_heap(int fd, struct weft_lease *lease) {
    for (;;) {
        ssize_t n = weft__io_run(&(struct weft__request){.code = WEFT_IO_POLL, .fd = fd, .flags = POLLIN});
        if (n < 0) return n;
        void *memory = weft__alloc(WEFT_LEASE_SIZE);
        if (!memory) return -ENOMEM;
        n = recv(fd, memory, WEFT_LEASE_SIZE, MSG_DONTWAIT);
        int err = n < 0 ? -errno : 0;
        *lease = (struct weft_lease){.data = memory, .opaque = {NULL, NULL}};
        if (n > 0) return n;
        weft_lease_return(lease);
        if (err != -EAGAIN && err != -EINTR) return err;
    }
}

WEFT_PUBLIC ssize_t weft_recv_lease(int fd, struct weft_lease *lease) {
    if (!lease) return -EINVAL;
    lease->data = NULL; /* until data arrives */
    int err = weft__fd_check_socket(fd);
    if (err) return err;
    struct weft__fiber *me = weft__io_current_fiber();
    ssize_t n = me ? weft__engine()->receive(me, fd, lease) : -ENOTSUP;
    if (n == -ENOTSUP || n == -EBUSY) return receive_on_heap(fd, lease);
    return likely(n >= 0) ? n : weft__refused_if_cancelled(me, (int)n);
}

WEFT_PUBLIC void weft_lease_return(struct weft_lease *lease) {
    if (!lease || !lease->data) return;
    if (lease->opaque[0])
        weft__lent_return(lease->opaque[0], lease->data);
    else
        weft__free(lease->data);
    lease->data = NULL;
}
