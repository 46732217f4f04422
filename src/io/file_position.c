/* SPDX-License-Identifier: MIT */
/* See file_position.h. */
#define _GNU_SOURCE
#include "io/file_position.h"

#include "io/blocking.h"
#include "io/engine.h"
#include "sched/core/layers.h"

#include <string.h>
#include <unistd.h>

enum { WEFT_POSITION_LOCKS = 1024 };
static struct weft_mutex locks[WEFT_POSITION_LOCKS];

/* Has the file a position? Some regular files do not, such as files of the kernel's tracing: they are streams. */
static bool is_at_a_position(int fd) { return weft__fd_is_stored(fd) && lseek(fd, 0, SEEK_CUR) >= 0; }

static bool run_locked(const struct weft__request *r, uint64_t begun, ssize_t *result) {
    bool writes = r->code == WEFT_IO_WRITE || r->code == WEFT_IO_WRITEV;
    ssize_t n = weft__request_attempt_first(r, begun);
    if (n == -EAGAIN || n == -ENOTSUP) {
        if (!is_at_a_position(r->fd)) return false;
        n = weft__blocking_run(r);
    } else if (writes && n > 0 && (size_t)n < weft__request_size(r) && !weft__request_is_at_limit(r)) {
        n = weft__request_finish(r, (size_t)n); /* finishes the rest; if that fails, the result is what was written */
    }
    *result = n;
    return true;
}

bool weft__file_position_run(const struct weft__request *r, ssize_t *result) {
    struct weft_mutex *lock = &locks[(unsigned)r->fd % WEFT_POSITION_LOCKS];
    struct weft__request own = *r;
    if (unlikely(r->fd < 0)) return *result = -EBADF, true;
    own.generation = weft__request_generation(r);
    bool waited = weft_mutex_try(lock) != 0;
    if (unlikely(waited && (*result = weft_mutex_lock(lock)))) return true;
    bool done = run_locked(&own, waited ? own.generation : r->generation, result);
    weft_mutex_unlock(lock);
    return done;
}

/* --- a forked child --------------------------------------------------------------------------------------- */

static void file_position_after_fork(void) { memset(locks, 0, sizeof locks); }

static struct weft__layer layer = {.forked = file_position_after_fork};
__attribute__((constructor)) static void register_positions(void) { weft__layer_add(&layer); }
