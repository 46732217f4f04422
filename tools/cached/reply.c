/* SPDX-License-Identifier: MIT */
#include "reply.h"

#define PARTS 64

static void send_parts(struct mc_reply *reply, struct iovec *parts, int n) {
    if (n && !reply->broken) reply->broken = reply->send(reply->arg, parts, n) != 0;
    reply->at = reply->begin;
}

static int gathered(struct mc_reply *reply, struct iovec *part) {
    *part = (struct iovec){reply->begin, (size_t)(reply->at - reply->begin)};
    return part->iov_len ? 1 : 0;
}

void mc_reply_send(struct mc_reply *reply) {
    struct iovec part;
    send_parts(reply, &part, gathered(reply, &part));
}

void mc_reply_value(struct mc_reply *reply, struct mc_store *store, struct mc_item *item) {
    struct iovec parts[PARTS];
    int n = gathered(reply, parts);
    struct mc_cursor cursor;
    for (mc_cursor_begin(&cursor, item); cursor.left && !reply->broken;) {
        parts[n++] = (struct iovec){cursor.at, cursor.here};
        mc_cursor_advance(&cursor, cursor.here);
        if (n < PARTS && cursor.left) continue;
        send_parts(reply, parts, n);
        n = 0;
    }
    mc_unrefer(store, item);
}
