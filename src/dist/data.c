/* SPDX-License-Identifier: MIT */
/*
 * Read-only data. A rank fetches them once, when it first needs them.
 */
#include "dist/dist.h"

struct data {
    struct data *next;
    uint64_t id;
    const char *bytes; /* the owner's bytes, or a copy; NULL: they have not arrived yet */
    bool copy;
    struct weft__dist_wait *waits; /* linked by `next`; these waits are in no other list */
};
static struct data *all;
static uint64_t made;

static unsigned owner_of(uint64_t id) { return (unsigned)(id >> 40); }

/* Locked. */
static struct data **data_find(uint64_t id) {
    struct data **e = &all;
    while (*e && (*e)->id != id) e = &(*e)->next;
    return e;
}

/* Locked. */
static int data_add(uint64_t id, const char *bytes) {
    struct data *e = calloc(1, sizeof *e);
    if (!e) return -ENOMEM;
    *e = (struct data){.next = all, .id = id, .bytes = bytes};
    all = e;
    return 0;
}

WEFT_EXPORT int weft_dist_broadcast(struct weft_dist_data *data, const void *bytes, size_t size) {
    struct weft__dist *d = &weft__dist;
    static const char none[1];
    if (!data || (!bytes && size)) return -EINVAL;
    weft_mutex_lock(&d->lock);
    *data = (struct weft_dist_data){(uint64_t)d->rank << 40 | ++made, size};
    int err = data_add(data->id, size ? bytes : none);
    weft_mutex_unlock(&d->lock);
    return err;
}

/* Locked. The data have come, or will not come: ends the waits for them. The entry stays only if they have come. */
static void data_settle(struct data **at, const char *bytes, int error) {
    struct data *e = *at;
    struct weft__dist_wait *w = e->waits;
    e->bytes = bytes;
    e->waits = NULL;
    for (struct weft__dist_wait *next; w; w = next) {
        next = w->next;
        w->error = error;
        w->result = (void *)bytes;
        struct weft_fiber fiber = w->fiber;
        atomic_store(&w->done, true);
        weft_unpark(fiber);
    }
    if (bytes) return;
    *at = e->next;
    free(e);
}

static void data_drop(struct data **at) {
    struct data *e = *at;
    if (e->copy) free((void *)e->bytes);
    *at = e->next;
    free(e);
}

static void data_arrived(const struct weft__dist_head *head, const char *payload) {
    struct data **at = data_find(head->a);
    if (!*at || (*at)->bytes) return;
    char *copy = head->b ? malloc(head->size ? head->size : 1) : NULL;
    if (copy && head->size) memcpy(copy, payload, head->size);
    (*at)->copy = true;
    data_settle(at, copy, copy ? 0 : head->b ? -ENOMEM : -ESRCH);
}

/* Locked. */
void weft__dist_data_message(unsigned from, const struct weft__dist_head *head, char *payload) {
    struct data **at = data_find(head->a);
    if (head->type == WEFT_MSG_DATA)
        data_arrived(head, payload);
    else if (head->type == WEFT_MSG_DATA_GET)
        weft__dist_send(from, WEFT_MSG_DATA, 0, head->a, *at != NULL, *at ? (*at)->bytes : NULL, *at ? head->b : 0);
    else if (*at && (*at)->bytes)
        data_drop(at);
}

/* Locked. Copies that are here stay: calls of other ranks may use them. */
void weft__dist_data_lost(unsigned rank) {
    for (struct data **at = &all; *at;) {
        if (owner_of((*at)->id) == rank && !(*at)->bytes)
            data_settle(at, NULL, -EOWNERDEAD);
        else
            at = &(*at)->next;
    }
}

/* Locked. Starts the fetch if this is the first wait for the data. */
static int data_wait_for(struct weft_dist_data data, struct weft__dist_wait *wait) {
    unsigned owner = owner_of(data.id);
    struct data **at = data_find(data.id);
    if (!*at) {
        if (owner == weft__dist.rank || owner >= weft__dist.ranks) return -ESRCH;
        if (weft__dist_is_lost(owner)) return -EOWNERDEAD;
        if (data_add(data.id, NULL)) return -ENOMEM;
        at = data_find(data.id);
        weft__dist_send(owner, WEFT_MSG_DATA_GET, 0, data.id, data.size, NULL, 0);
    }
    if ((*at)->bytes) {
        wait->result = (void *)(*at)->bytes;
        atomic_store(&wait->done, true);
        return 0;
    }
    wait->next = (*at)->waits;
    (*at)->waits = wait;
    return 0;
}

WEFT_EXPORT int weft_dist_data_get(struct weft_dist_data data, const void **bytes) {
    struct weft__dist *d = &weft__dist;
    struct weft__dist_wait wait = {.fiber = weft_self()};
    if (!wait.fiber.id) return -EPERM;
    weft_mutex_lock(&d->lock);
    int err = data_wait_for(data, &wait);
    weft_mutex_unlock(&d->lock);
    if (!err) err = weft__dist_wait_end(&wait);
    if (!err && bytes) *bytes = wait.result;
    return err;
}

WEFT_EXPORT int weft_dist_broadcast_end(struct weft_dist_data data) {
    struct weft__dist *d = &weft__dist;
    weft_mutex_lock(&d->lock);
    struct data **at = data_find(data.id);
    int err = *at && owner_of(data.id) == d->rank ? 0 : -ESRCH;
    if (!err) data_drop(at);
    weft_mutex_unlock(&d->lock);
    for (unsigned r = 0; r < d->ranks && !err && atomic_load(&d->running); r++)
        if (r != d->rank) weft__dist_send(r, WEFT_MSG_DATA_END, 0, data.id, 0, NULL, 0);
    return err;
}

void weft__dist_data_free(void) {
    while (all) data_drop(&all);
}
