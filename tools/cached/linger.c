/* SPDX-License-Identifier: MIT */
/* See linger.h. */
#include "linger.h"

#include "weft.h"
#include "weft/io.h"
#include "weft/scope.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#define QUIET (5 * WEFT_SECOND)       /* the longest time without a byte in either direction */
#define MOST (30 * WEFT_SECOND)       /* the longest time in all; both values are nginx's */
#define SLICE (50 * WEFT_MILLISECOND) /* no event reports that the client has received everything, so it is polled */

static int unsent(int fd) {
    int n = 0;
    return ioctl(fd, SIOCOUTQ, &n) ? 0 : n;
}

bool mc_all_arrived(int fd) { return !unsent(fd); }

static bool is_settled(int fd) {
    int unread = 0;
    return mc_all_arrived(fd) && !ioctl(fd, FIONREAD, &unread) && !unread;
}

static uint64_t end_by(struct mc_cache *cache, uint64_t otherwise) {
    uint64_t by = load_rlx(&cache->end_by);
    return by && by < otherwise ? by : otherwise;
}

/* Waits until it has dropped something, or until the deadline. 0: the client has closed, or is gone. */
static ssize_t drop(int fd, uint64_t deadline) {
    char waste[1024];
    struct weft_scope scope;
    if (weft_scope_begin(&scope, deadline)) return 0;
    ssize_t n = weft_recv(fd, waste, sizeof waste, 0);
    bool late = n < 0 && errno == ETIMEDOUT;
    weft_scope_end(&scope);
    return late ? -ETIMEDOUT : n > 0 ? n : 0;
}

static void linger(struct mc_cache *cache, int fd) {
    uint64_t begun = weft_now(), moved = begun;
    for (int left = unsent(fd), now_left; !is_settled(fd); left = now_left) {
        uint64_t now = weft_now();
        if (now >= end_by(cache, begun + MOST) || now >= moved + QUIET) return;
        ssize_t n = drop(fd, now + SLICE);
        if (!n) return;
        now_left = unsent(fd);
        if (n > 0 || now_left < left) moved = now;
    }
}

void mc_linger(struct mc_cache *cache, int fd) {
    struct weft_shield shield;
    if (is_settled(fd) || shutdown(fd, SHUT_WR)) return;
    weft_shield_begin(&shield);
    linger(cache, fd);
    weft_shield_end(&shield);
}

ssize_t mc_send_in_grace(struct mc_cache *cache, int fd, struct msghdr *message) {
    struct weft_shield shield;
    struct weft_scope scope;
    ssize_t n = -1;
    weft_shield_begin(&shield);
    if (!weft_scope_begin(&scope, end_by(cache, weft_now() + MOST))) {
        n = weft_sendmsg(fd, message, MSG_NOSIGNAL);
        weft_scope_end(&scope);
    }
    weft_shield_end(&shield);
    return n;
}
