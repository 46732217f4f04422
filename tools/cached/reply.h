/* SPDX-License-Identifier: MIT */
/*
 * What a session answers, gathered in a buffer and sent together. Values that are larger than MC_COPY_MOST are not
 * copied: they are sent from where they are, behind what has been gathered.
 *
 * The maker of the reply sends it: `send` takes parts, sends them all, and may wait. So nothing is held when
 * mc_reply_room, mc_reply_value and mc_reply_send are called; the others only write, into room that was asked for.
 */
#ifndef CACHED_REPLY_H
#define CACHED_REPLY_H

#include "store.h"
#include "text.h"

#include <sys/uio.h>

#define MC_REPLY_SIZE 16384u
#define MC_COPY_MOST 4096u
#define MC_LINE_MOST 1024u /* a line of an answer is shorter */

struct mc_reply {
    char *begin, *at, *end;                             /* the buffer, what is written, the end of it */
    bool broken;                                        /* what was sent did not arrive; nothing is sent any more */
    int (*send)(void *arg, struct iovec *parts, int n); /* 0, or the peer is gone */
    void *arg;
};

/* Sends what there is. */
void mc_reply_send(struct mc_reply *reply);

/* Makes room for n bytes, MC_REPLY_SIZE at most, by sending what is there. */
static inline void mc_reply_room(struct mc_reply *reply, size_t n) {
    if (unlikely((size_t)(reply->end - reply->at) < n)) mc_reply_send(reply);
}

/* Sends what there is and then the value of an item, which is referred to; the reference is given back. */
void mc_reply_value(struct mc_reply *reply, struct mc_store *store, struct mc_item *item);

static inline void mc_put(struct mc_reply *reply, const char *text, size_t size) {
    memcpy(reply->at, text, size);
    reply->at += size;
}
#define mc_put_text(reply, text) mc_put(reply, text, sizeof(text) - 1)
static inline void mc_put_char(struct mc_reply *reply, char c) { *reply->at++ = c; }
static inline void mc_put_number(struct mc_reply *reply, uint64_t n) { reply->at = mc_put_u64(reply->at, n); }

#endif
