/* Which engine it is, and who goes there. See engine.h. */
#define _GNU_SOURCE
#include "io/engine.h"

#include "sched/self.h"

const struct weft__engine *weft__engine(void) { return &weft__engine_epoll; }

WEFT_PUBLIC const char *weft_io_engine(void) { return weft__engine()->name; }

static struct weft__fiber *fiber(void) {
    struct weft__worker *w = weft__self();
    return w ? load_rlx(&w->current) : NULL;
}

ssize_t weft__io_run(const struct weft__request *r) {
    struct weft__fiber *me = fiber();
    const struct weft__engine *engine = weft__engine();
    if (unlikely(r->code == WEFT_IO_CLOSE)) engine->closes(r->fd);
    return likely(me != NULL) ? engine->run(me, r) : weft__request_perform(r);
}

WEFT_PUBLIC int weft_uring(const struct io_uring_sqe *entries, int *results, unsigned n) {
    if (!entries || !results || !n || n > WEFT_URING_MOST) return -EINVAL;
    return fiber() ? weft__engine()->submit(entries, results, n) : -EPERM;
}
