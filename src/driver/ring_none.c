/* Built without liburing: there are no rings. See ring.h. */
#include "driver/ring.h"

#include <errno.h>

int weft__ring_open(struct weft__uring *r, unsigned entries) { return (void)r, (void)entries, -ENOSYS; }
bool weft__ring_end(struct weft__uring *r) { return (void)r, true; }
void weft__ring_close(struct weft__uring *r) { (void)r; }
void weft__ring_forget(struct weft__uring *r) { (void)r; }
bool weft__ring_room(struct weft__uring *r, unsigned n) { return (void)r, (void)n, false; }
unsigned weft__ring_size(const struct weft__uring *r) { return (void)r, 0; }
struct io_uring_sqe *weft__ring_entry(struct weft__uring *r, unsigned i) {
    return (void)r, (void)i, NULL;
}
void weft__ring_name(struct io_uring_sqe *e, struct weft__op *op) { (void)e, (void)op; }
void weft__ring_push(struct weft__uring *r, unsigned n) { (void)r, (void)n; }
unsigned weft__ring_reap(struct weft__uring *r, struct weft__completion *out, unsigned n) {
    return (void)r, (void)out, (void)n, 0;
}
int weft__ring_lend(struct weft__uring *r) { return (void)r, -ENOSYS; }
void weft__ring_fill_lent(struct io_uring_sqe *e) { (void)e; }
void *weft__ring_lent(struct weft__uring *r, unsigned flags, unsigned *index) {
    return (void)r, (void)flags, (void)index, NULL;
}
void weft__ring_give_back(struct weft__uring *r, unsigned index) { (void)r, (void)index; }
bool weft__ring_is_filled(struct weft__uring *r) { return (void)r, false; }
bool weft__ring_waits(const struct weft__uring *r) { return (void)r, false; }
bool weft__ring_must_run(const struct weft__uring *r) { return (void)r, false; }
bool weft__ring_has_completions(const struct weft__uring *r) { return (void)r, false; }
int weft__ring_enter(struct weft__uring *r) { return (void)r, 0; }
void weft__ring_sleep(struct weft__uring *r, _Atomic uint32_t *state, uint64_t deadline) {
    (void)r, (void)state, (void)deadline;
}
void weft__ring_cancel_fd(struct weft__uring *r, int fd) { (void)r, (void)fd; }
void weft__ring_fill_cancel(struct io_uring_sqe *e, const struct weft__op *op) { (void)e, (void)op; }
