/* SPDX-License-Identifier: MIT */
/*
 * The answers of a session, collected in a buffer and sent together. Values larger than MC_COPY_MOST are not copied:
 * they are sent from their items, after the collected bytes.
 *
 * The maker of the reply provides `send`, which sends all parts, and may wait. So the caller holds no shard when it
 * calls mc_reply_room, mc_reply_value and mc_reply_send. The other functions only write into reserved room.
 */
#ifndef CACHED_REPLY_H
#define CACHED_REPLY_H

#include "store.h"
#include "text.h"

#include <sys/uio.h>

#define MC_REPLY_SIZE 16384u
#define MC_COPY_MOST 4096u
#define MC_LINE_MOST 1024u /* every line of an answer is shorter */

struct mc_reply {
    /* the buffer, the end of the collected bytes, the end of the buffer */
    char *begin, *at, *end;
    bool broken;                                        /* a send has failed; nothing more is sent */
    int (*send)(void *arg, struct iovec *parts, int n); /* returns 0, or an error if the peer is gone */
    void *arg;
};

/* Sends the collected bytes. */
void mc_reply_send(struct mc_reply *reply);

/* Makes room for n bytes, at most MC_REPLY_SIZE, by sending the collected bytes. */
static inline void mc_reply_room(struct mc_reply *reply, size_t n) {
    if (unlikely((size_t)(reply->end - reply->at) < n)) mc_reply_send(reply);
}

/* Sends the collected bytes and then the value of an item. The caller has a reference to the item; the call returns
 * it. */
void mc_reply_value(struct mc_reply *reply, struct mc_store *store, struct mc_item *item);

static inline void mc_put(struct mc_reply *reply, const char *text, size_t size) {
    memcpy(reply->at, text, size);
    reply->at += size;
}
#define mc_put_text(reply, text) mc_put(reply, text, sizeof(text) - 1)
static inline void mc_put_char(struct mc_reply *reply, char c) { *reply->at++ = c; }
static inline void mc_put_number(struct mc_reply *reply, uint64_t n) { reply->at = mc_put_u64(reply->at, n); }

#endif
