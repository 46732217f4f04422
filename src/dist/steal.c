/* SPDX-License-Identifier: MIT */
/*
 * Sends calls of this rank to other ranks, and takes their results.
 *
 * A call stays in memory where it was forked. This file takes it from its owner as a thief does (weft__task_steal), and
 * marks it as done when the result has arrived. If the rank that has the call is lost, a fiber runs it here instead. So
 * nothing is copied for the case of a loss: the arguments of a typed call are in the deque of its fiber, and those of
 * other calls in the frame that forked them.
 */
#include "dist/dist.h"

/* --- what a taken call is ------------------------------------------------------------------------------ */

static struct weft__dist_received *received_of(const struct weft__stolen *s) {
    if (s->fn || s->call->run != weft__dist_run_received) return NULL;
    struct weft__dist_received *r;
    memcpy(&r, s->call->data, sizeof r);
    return r;
}

static const struct weft_remote *typed_of(const struct weft__stolen *s) {
    const struct weft__dist *d = &weft__dist;
    for (unsigned i = 1; i <= d->remote_count && !s->fn; i++)
        if (d->remotes[i]->run == s->call->run) return d->remotes[i];
    return NULL;
}

static const struct weft_remote *remote_of(const struct weft__stolen *s) {
    if (s->fn == weft__dist_call_run) return ((struct weft_dist_call *)s->arg)->remote;
    struct weft__dist_received *r = received_of(s);
    return r ? r->remote : typed_of(s);
}

/* --- out -------------------------------------------------------------------------------------------- */

struct message {
    char *bytes;
    size_t size, room;
};

static char *message_add(struct message *m, size_t size) {
    size_t padded = (size + 7) & ~(size_t)7;
    if (m->size + padded > m->room) {
        size_t room = 2 * (m->size + padded) + 512;
        char *bytes = realloc(m->bytes, room);
        if (!bytes) weft__dist_die("no memory to pack a call of %zu bytes", size);
        m->bytes = bytes;
        m->room = room;
    }
    char *at = m->bytes + m->size;
    m->size += padded;
    return at;
}

static void pack_bytes(struct message *m, uint64_t id, const struct weft_remote *remote, const void *bytes, size_t size,
                       size_t result_size) {
    struct weft__dist_entry entry = {id, remote->index, 0, size, result_size};
    memcpy(message_add(m, sizeof entry), &entry, sizeof entry);
    if (size) memcpy(message_add(m, size), bytes, size);
}

static void pack_call(struct message *m, uint64_t id, const struct weft_dist_call *call) {
    const struct weft_remote *remote = call->remote;
    if (!remote->arg_pack) {
        pack_bytes(m, id, remote, call->arg, call->arg_size, call->result_size);
        return;
    }
    size_t size = remote->arg_size(call->arg);
    struct weft__dist_entry entry = {id, remote->index, 0, size, call->result_size};
    memcpy(message_add(m, sizeof entry), &entry, sizeof entry);
    remote->arg_pack(call->arg, message_add(m, size));
}

static void pack_stolen(struct message *m, uint64_t id, const struct weft__stolen *s,
                        const struct weft_remote *remote) {
    struct weft__dist_received *r = received_of(s);
    if (r)
        pack_bytes(m, id, remote, r->bytes, r->size, r->result_size);
    else if (s->fn)
        pack_call(m, id, s->arg);
    else
        pack_bytes(m, id, remote, s->call->data, remote->typed_arg, remote->typed_result);
}

static void grow_shipped(void) {
    struct weft__dist *d = &weft__dist;
    unsigned more = d->shipped_count ? d->shipped_count * 2 : 64;
    struct weft__dist_shipped *all = realloc(d->shipped, more * sizeof *all);
    if (!all) weft__dist_die("no memory for the list of calls that other ranks have");
    memset(all + d->shipped_count, 0, (more - d->shipped_count) * sizeof *all);
    for (unsigned i = d->shipped_count; i < more; i++) all[i].next_free = i + 1 < more ? i + 2 : 0;
    d->shipped_free = d->shipped_count + 1;
    d->shipped = all;
    d->shipped_count = more;
}

/* Locked. Returns the id. */
static uint64_t note_shipped(unsigned to, const struct weft__stolen *s, const struct weft_remote *remote,
                             struct weft__dist_wait *on) {
    struct weft__dist *d = &weft__dist;
    if (!d->shipped_free) grow_shipped();
    unsigned slot = d->shipped_free - 1;
    struct weft__dist_shipped *e = &d->shipped[slot];
    d->shipped_free = e->next_free;
    *e = (struct weft__dist_shipped){e->generation + 1, true, to, remote, *s, on, 0};
    atomic_fetch_add(&d->outstanding, 1);
    return (uint64_t)e->generation << 32 | slot;
}

/* Locked. */
static void forget_shipped(struct weft__dist_shipped *e) {
    struct weft__dist *d = &weft__dist;
    e->used = false;
    e->next_free = d->shipped_free;
    d->shipped_free = (unsigned)(e - d->shipped) + 1;
    atomic_fetch_sub(&d->outstanding, 1);
}

/* --- run here after all ------------------------------------------------------------------------------- */

/* A local call, or a remote call that went to a lost rank. */
static void *run_call_here(void *call) {
    struct weft_call *c = call;
    struct weft_entry entry;
    weft__task_enter(&entry);
    c->run(entry.deque, c);
    weft__task_leave(&entry);
    weft__task_done(c);
    return NULL;
}

static void spawn_here(struct weft_call *call) {
    struct weft_attr attr = WEFT_ATTR_INIT;
    attr.name = "call";
    int err = weft_spawn(NULL, &attr, run_call_here, call);
    if (err) weft__dist_die("no fiber for a call: %s", strerror(-err));
}

/* --- giving ------------------------------------------------------------------------------------------- */

/* Locked. Takes calls and sends them; returns how many. */
static unsigned give_some(unsigned to, unsigned most) {
    struct weft__stolen stolen[WEFT_POLICY_CALLS];
    struct message m = {NULL, 0, 0};
    if (most > WEFT_POLICY_CALLS) most = WEFT_POLICY_CALLS;
    uint64_t begun = weft_now();
    unsigned n = weft__task_steal(stolen, most), given = 0;
    for (unsigned i = 0; i < n; i++) {
        const struct weft_remote *remote = remote_of(&stolen[i]);
        if (remote && remote->index) {
            pack_stolen(&m, note_shipped(to, &stolen[i], remote, NULL), &stolen[i], remote);
            given++;
        } else
            spawn_here(stolen[i].call);
    }
    if (given) {
        COUNT(given, given);
        weft__dist_send(to, WEFT_MSG_CALLS, 0, given, 0, m.bytes, m.size);
        weft__dist_trace(WEFT_TRACE_GAVE, begun, to, given);
    }
    free(m.bytes);
    return given;
}

/* Locked. */
static void set_waiting(unsigned rank, bool waits) {
    struct weft__dist *d = &weft__dist;
    if (d->peers[rank].waits == waits) return;
    d->peers[rank].waits = waits;
    d->waiters += waits ? 1 : -1u;
    if (d->waiters)
        atomic_fetch_or_explicit(&d->bell->rung, WEFT_BELL_FEED, memory_order_relaxed);
    else
        atomic_fetch_and_explicit(&d->bell->rung, ~WEFT_BELL_FEED, memory_order_relaxed);
}

/* Locked. A peer asks for calls. If there are none, a lifeline does not answer, but remembers that the peer waits. */
void weft__dist_give(unsigned to, unsigned most, bool lifeline) {
    set_waiting(to, false); /* it has asked anew */
    if (give_some(to, most)) return;
    if (lifeline)
        set_waiting(to, true);
    else
        weft__dist_send(to, WEFT_MSG_NONE, 0, 0, 0, NULL, 0);
}

/* Called when a fiber forks while a peer waits: gives some calls to that peer. */
void weft__dist_feed(void) {
    struct weft__dist *d = &weft__dist;
    static unsigned next;
    if (weft_mutex_try(&d->lock)) return;
    for (unsigned i = 0; i < d->ranks && d->waiters; i++) {
        unsigned r = (next + i) % d->ranks;
        if (!d->peers[r].waits) continue;
        if (!give_some(r, WEFT_POLICY_CALLS)) break;
        set_waiting(r, false);
        next = r + 1;
        break; /* a single peer for each fork, because later calls are smaller */
    }
    weft_mutex_unlock(&d->lock);
}

/* --- results ------------------------------------------------------------------------------------------ */

static int fill_result(const struct weft_remote *remote, void *result, size_t room, const char *bytes, size_t size) {
    if (remote->result_unpack) return remote->result_unpack(result, bytes, size);
    if (room > size) return -EPROTO;
    if (room) memcpy(result, bytes, room);
    return 0;
}

static void deliver_result(const struct weft__dist_shipped *e, const char *bytes, size_t size) {
    struct weft__dist_received *r;
    if (!e->stolen.call) {
        e->on->error = fill_result(e->remote, e->on->result, e->on->result_size, bytes, size);
        atomic_store(&e->on->done, true);
        weft_unpark(e->on->fiber);
        return;
    }
    if ((r = received_of(&e->stolen))) {
        weft__dist_send(r->from, WEFT_MSG_RESULT, 0, r->id, 0, bytes, size);
        free(r);
    } else if (e->stolen.fn) {
        struct weft_dist_call *call = e->stolen.arg;
        call->error = fill_result(e->remote, call->result, call->result_size, bytes, size);
    } else if (e->remote->typed_result)
        memcpy(e->stolen.call->data, bytes, e->remote->typed_result);
    weft__task_done(e->stolen.call);
}

/* Locked. If the call is not known, its result comes from a rank that was taken for lost. */
void weft__dist_result(unsigned from, uint64_t id, const char *bytes, size_t size) {
    struct weft__dist *d = &weft__dist;
    unsigned slot = (uint32_t)id;
    if (slot >= d->shipped_count) return;
    struct weft__dist_shipped *e = &d->shipped[slot], copy = *e;
    if (!e->used || e->generation != id >> 32 || e->to != from) return;
    forget_shipped(e);
    deliver_result(&copy, bytes, size);
}

/* Locked. The rank is lost: its calls run here. */
void weft__dist_take_back(unsigned rank) {
    struct weft__dist *d = &weft__dist;
    set_waiting(rank, false);
    for (unsigned i = 0; i < d->shipped_count; i++) {
        struct weft__dist_shipped copy = d->shipped[i];
        if (!copy.used || copy.to != rank) continue;
        forget_shipped(&d->shipped[i]);
        if (copy.stolen.call) {
            COUNT(rerun, 1);
            spawn_here(copy.stolen.call);
            continue;
        }
        copy.on->error = -EOWNERDEAD;
        atomic_store(&copy.on->done, true);
        weft_unpark(copy.on->fiber);
    }
}

/* --- a call for one rank -------------------------------------------------------------------------------- */

WEFT_EXPORT int weft_dist_on(unsigned rank, const struct weft_remote *remote, const void *arg, size_t arg_size,
                             void *result, size_t result_size) {
    struct weft__dist *d = &weft__dist;
    struct weft_dist_call call = {
        .remote = remote, .arg = arg, .result = result, .arg_size = arg_size, .result_size = result_size};
    if (!remote || !remote->fn || rank >= (d->running ? d->ranks : 1)) return -EINVAL;
    if (!weft_self().id) return -EPERM;
    if (rank == d->rank || !d->running) {
        remote->fn(arg, result);
        return 0;
    }
    if (!remote->index) {
        weft__dist_say("the remote function %s is not registered", remote->name);
        return -ENOENT;
    }
    struct weft__dist_wait wait = {.fiber = weft_self(), .to = rank, .result = result, .result_size = result_size};
    struct message m = {NULL, 0, 0};
    weft_mutex_lock(&d->lock);
    if (weft__dist_is_lost(rank)) {
        weft_mutex_unlock(&d->lock);
        return -EOWNERDEAD;
    }
    pack_call(&m, note_shipped(rank, &(struct weft__stolen){NULL, NULL, NULL}, remote, &wait), &call);
    weft_mutex_unlock(&d->lock);
    weft__dist_send(rank, WEFT_MSG_ON, 0, 1, 0, m.bytes, m.size);
    free(m.bytes);
    return weft__dist_wait_end(&wait);
}
