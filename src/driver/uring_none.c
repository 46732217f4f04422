/* SPDX-License-Identifier: MIT */
/* Replaces uring.c in builds without liburing: opening a ring always fails. See uring.h. */
#include "driver/uring.h"

#include <errno.h>

int weft__uring_open(struct weft__uring *r, const struct weft__uring_options *wish, const char **why) {
    (void)r, (void)wish;
    *why = "built without liburing";
    return -ENOSYS;
}
bool weft__uring_cancel_all(struct weft__uring *r) { return (void)r, true; }
void weft__uring_close(struct weft__uring *r) { (void)r; }
void weft__uring_close_copy(struct weft__uring *r) { (void)r; }
bool weft__uring_has_room(struct weft__uring *r, unsigned n) { return (void)r, (void)n, false; }
unsigned weft__uring_size(const struct weft__uring *r) { return (void)r, 0; }
struct io_uring_sqe *weft__uring_entry(struct weft__uring *r, unsigned i) {
    return (void)r, (void)i, NULL;
}
void weft__uring_set_op(struct io_uring_sqe *e, struct weft__op *op) { (void)e, (void)op; }
void weft__uring_push(struct weft__uring *r, unsigned n) { (void)r, (void)n; }
unsigned weft__uring_reap(struct weft__uring *r, struct weft__completion *out, unsigned n) {
    return (void)r, (void)out, (void)n, 0;
}
struct weft__lent *weft__uring_lend(struct weft__uring *r, struct io_uring_sqe *e, int *err) {
    return (void)r, (void)e, *err = -ENOSYS, NULL;
}
void *weft__lent_at(const struct weft__lent *lent, unsigned flags) { return (void)lent, (void)flags, NULL; }
void weft__lent_return(struct weft__lent *lent, void *data) { (void)lent, (void)data; }
bool weft__uring_has_entries(struct weft__uring *r) { return (void)r, false; }
bool weft__uring_needs_reap(const struct weft__uring *r) { return (void)r, false; }
bool weft__uring_needs_task_run(const struct weft__uring *r) { return (void)r, false; }
bool weft__uring_has_completions(const struct weft__uring *r) { return (void)r, false; }
int weft__uring_enter(struct weft__uring *r) { return (void)r, 0; }
void weft__uring_sleep(struct weft__uring *r, _Atomic uint32_t *state, uint32_t asleep, uint64_t deadline) {
    (void)r, (void)state, (void)asleep, (void)deadline;
}
bool weft__uring_cancel_fd(struct weft__uring *r, int fd) { return (void)r, (void)fd, false; }
void weft__uring_fill_cancel(struct io_uring_sqe *e, const struct weft__op *op) { (void)e, (void)op; }
