/* SPDX-License-Identifier: MIT */
/*
 * Explores the cancellation of an operation that a separate fiber makes, with the real io/async.c: either the fiber
 * sees that it is cancelled, or the canceller sees the fiber.
 */
#include "workers.h"

#define begin begin_io
#include "io/async.c"
#undef begin

enum { CANCELLER, MAKER };

static struct {
    struct weft__io io;
    uint8_t ran, reached;
} s;

int weft_future_try(struct weft_future *f, void **value) { return (void)f, (void)value, -EAGAIN; }
int weft_future_set(struct weft_future *f, void *value) { return (void)f, (void)value, 0; }
int weft_future_fail(struct weft_future *f, int err) { return (void)f, (void)err, 0; }
struct weft_fiber weft_self(void) {
    return (struct weft_fiber){WEFT_LIFE_ONE};
}
GHOST int weft_cancel(struct weft_fiber f) { return (void)f, s.reached = 1, 0; }
GHOST ssize_t weft__io_run(const struct weft__request *r) { return (void)r, s.ran = 1, 0; }
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

void run_thread(unsigned t) {
    if (t == CANCELLER) weft_io_cancel((struct weft_io *)(void *)&s.io);
    if (t == MAKER) make_it(&s.io);
}

static void set_up(void) {
    set_up_workers(1);
    for (unsigned t = 0; t < 2; t++) driven[t] = NULL;
    s.io.begun = true;
}
static void check(void) { claim(!s.ran || s.reached, "made, and not cancelled"); }

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"async, an operation is cancelled", 2, set_up, check});
}

int main(int argc, char **argv) {
    weak_share(&s, sizeof s);
    return weak_main(argc, argv, all_scenes);
}
