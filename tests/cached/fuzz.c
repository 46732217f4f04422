/* SPDX-License-Identifier: MIT */
/*
 * A session of cached on any bytes. Besides what a sanitizer sees: the answer is the same whether they come in one
 * piece or in several, and when the client has gone all memory that is used is that of items.
 *
 * For libFuzzer (fuzz.sh), and for serve's mutate.c.
 */
#include "../fuzz.h"

#include "session.h"

#define ANSWER_MOST ((size_t)1 << 20)
struct answer {
    size_t size;
    char bytes[ANSWER_MOST];
};

/* A connection on which this would be too long has ended. */
static int gather(void *arg, struct iovec *parts, int n) {
    struct answer *answer = arg;
    for (int i = 0; i < n; i++) {
        if (parts[i].iov_len > ANSWER_MOST - answer->size) return -1;
        memcpy(answer->bytes + answer->size, parts[i].iov_base, parts[i].iov_len);
        answer->size += parts[i].iov_len;
    }
    return 0;
}

static const struct mc_settings settings = {
    .limits = {.memory = 2 << 20, .item_most = 256 << 10, .workers = 1, .hash_power = 4}, .connections = 10};

static void check_memory(const struct mc_shard *shard) {
    uint64_t bytes = 0, chunks = 0, used = 0;
    for (size_t i = 0; i < shard->table.size + shard->table.old_size; i++)
        for (const struct mc_item *item = mc_table_chain(&shard->table, i); item; item = item->next) {
            bytes += mc_item_total(item->key_size, item->size);
            chunks++;
            for (const struct mc_piece *piece = mc_item_pieces(item); piece; piece = piece->next) chunks++;
            SURE(!item->refs);
        }
    uint64_t queued = 0;
    for (unsigned c = 0; c < mc_classes(); c++) {
        used += shard->memory.class_used[c];
        queued += shard->queues[c].bytes;
    }
    SURE(used == chunks && bytes == queued && shard->memory.pages <= shard->memory.limit);
}

static void feed(struct mc_session *session, const uint8_t *data, size_t n) {
    char *copy = malloc(n ? n : 1), *where; /* a sanitizer notices reads beyond it */
    memcpy(copy, data, n);
    size_t room = mc_session_target(session, &where);
    if (room >= n && n) {
        memcpy(where, copy, n);
        mc_session_received(session, n);
    } else if (!session->closing) {
        mc_session_feed(session, copy, n);
    }
    mc_reply_send(&session->reply);
    free(copy);
}

static void run(const uint8_t *data, size_t size, size_t piece, struct answer *answer) {
    static struct mc_cache cache;
    static char buffer[MC_REPLY_SIZE];
    struct mc_session session;
    store_rlx(&mc_clock, MC_FIRST_SECOND);
    SURE(!mc_cache_begin(&cache, &settings));
    cache.store.seed = 1;
    mc_session_begin(&session, &cache, 0);
    session.reply =
        (struct mc_reply){.begin = buffer, .at = buffer, .end = buffer + sizeof buffer, .send = gather, .arg = answer};
    answer->size = 0;
    for (size_t at = 0; at < size && !session.closing; at += piece)
        feed(&session, data + at, size - at < piece ? size - at : piece);
    mc_session_end(&session);
    check_memory(&cache.store.shards[0]);
    mc_cache_end(&cache);
}

/* A long line ends the session if its end has not come yet. Then the pieces matter. */
static bool has_long_line(const uint8_t *data, size_t size) {
    for (const uint8_t *end; (end = memchr(data, '\n', size)); size -= (size_t)(end + 1 - data), data = end + 1)
        if (end - data > 2000) return true;
    return size > 2000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct answer whole, pieces;
    run(data, size, size ? size : 1, &whole);
    run(data, size, size > 3 ? 1 + data[size / 2] % 16 : 1, &pieces);
    if (has_long_line(data, size) || memmem(data, size, "stats", 5)) return 0; /* stats reports times */
    SURE(whole.size == pieces.size && !memcmp(whole.bytes, pieces.bytes, whole.size));
    return 0;
}
