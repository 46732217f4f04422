/* SPDX-License-Identifier: MIT */
/*
 * Each watcher has two fibers. The fiber of the connection sends lines, and waits for more. The other reads and drops
 * what the client sends, only to learn that it has disconnected. Then it shuts the connection down, which ends a send
 * that is under way, and wakes the first fiber.
 */
#include "watcher.h"

#include "weft.h"
#include "weft/io.h"
#include "weft/scope.h"
#include "weft/tls.h"

#include <sys/socket.h>

struct watch {
    struct mc_watcher *watcher;
    int fd;
    struct weft_tls *tls;
};

/* Reads and drops until the client disconnects. With TLS, dropped bytes need not be decrypted. */
static int await_end(void *arg) {
    const struct watch *watch = arg;
    char waste[256];
    while (weft_recv(watch->fd, waste, sizeof waste, 0) > 0) {
    }
    shutdown(watch->fd, SHUT_RDWR);
    mc_watcher_stop(watch->watcher);
    return 0;
}

static void send_lines(struct mc_cache *cache, const struct watch *watch) {
    char *bytes;
    while (!mc_watcher_wait(watch->watcher))
        for (size_t n; (n = mc_watcher_lines(watch->watcher, &bytes));) {
            ssize_t sent =
                watch->tls ? weft_tls_write(watch->tls, bytes, n) : weft_send(watch->fd, bytes, n, MSG_NOSIGNAL);
            if (sent < 0) return;
            mc_count(cache, MC_BYTES_WRITTEN, (uint64_t)sent);
            mc_watcher_sent(watch->watcher, (size_t)sent);
        }
}

void mc_watch(struct mc_session *session, int fd, struct weft_tls *tls) {
    struct weft_scope scope;
    struct watch watch = {session->watcher, fd, tls};
    if (weft_scope_begin(&scope, WEFT_FOREVER)) return;
    if (!weft_scope_spawn(&scope, NULL, await_end, &watch)) send_lines(session->cache, &watch);
    weft_scope_cancel(&scope);
    weft_scope_end(&scope);
}
