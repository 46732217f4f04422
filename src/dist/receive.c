/* SPDX-License-Identifier: MIT */
/*
 * Calls of other ranks arrive, run, and send their results.
 *
 * The calls of one message are a batch, and one fiber runs them: it forks all but the last, so that other workers and
 * other ranks can take them, and joins them in reverse. If a third rank takes a call, it sends the result to this rank.
 * So this rank knows what to do if the third rank is lost.
 */
#include "dist/dist.h"

/* --- one call ----------------------------------------------------------------------------------------- */

static void run_typed(struct weft_deque *deque, struct weft__dist_received *r) {
    struct weft_call call = {.run = r->remote->run};
    memcpy(call.data, r->bytes, r->size);
    r->remote->run(deque, &call);
    weft__dist_send(r->from, WEFT_MSG_RESULT, 0, r->id, 0, call.data, r->remote->typed_result);
}

static void send_result(const struct weft__dist_received *r, void *result) {
    const struct weft_remote *remote = r->remote;
    if (!remote->result_pack) {
        weft__dist_send(r->from, WEFT_MSG_RESULT, 0, r->id, 0, result, r->result_size);
        return;
    }
    size_t size = remote->result_size(result);
    char *bytes = malloc(size ? size : 1);
    if (!bytes) weft__dist_die("no memory for the result of %s, %zu bytes", remote->name, size);
    remote->result_pack(result, bytes);
    weft__dist_send(r->from, WEFT_MSG_RESULT, 0, r->id, 0, bytes, size);
    free(bytes);
}

static void run_function(struct weft__dist_received *r) {
    const struct weft_remote *remote = r->remote;
    void *result = calloc(1, r->result_size ? r->result_size : 1);
    void *arg = remote->arg_unpack ? remote->arg_unpack(r->bytes, r->size) : r->bytes;
    if (!result || !arg)
        weft__dist_die("no memory to run %s, with a result of %zu bytes", remote->name, r->result_size);
    remote->fn(arg, result);
    if (remote->arg_unpack && remote->arg_free) remote->arg_free(arg);
    send_result(r, result);
    free(result);
}

/* Runs a call that another rank has sent. If that rank is lost by now, a call that has not begun is dropped. */
static void run_received_call(struct weft_deque *deque, struct weft__dist_received *r) {
    if (!weft__dist_is_lost(r->from)) {
        if (r->remote->run)
            run_typed(deque, r);
        else
            run_function(r);
    }
    free(r);
}

/* Runs a forked call of a batch. Called by the fiber of the batch, by another worker, or after the loss of the rank
 * that had taken the call. */
void weft__dist_run_received(struct weft_deque *deque, struct weft_call *call) {
    struct weft__dist_received *r;
    memcpy(&r, call->data, sizeof r);
    run_received_call(deque, r);
}

/* --- a batch ------------------------------------------------------------------------------------------- */

static void run_all(const struct weft__dist_batch *b) {
    struct weft_entry entry;
    weft__task_enter(&entry);
    struct weft_deque *d = entry.deque;
    struct weft_call *c = entry.head;
    for (unsigned i = 0; i + 1 < b->n; i++, c++) {
        c->run = weft__dist_run_received;
        memcpy(c->data, &b->calls[i], sizeof b->calls[i]);
        weft__remote_push(d, c);
    }
    run_received_call(d, b->calls[b->n - 1]);
    while (c > entry.head)
        if (c--, weft__task_take(d, c)) weft__dist_run_received(d, c);
    weft__task_leave(&entry);
}

static void *run_batch(void *batch) {
    struct weft__dist *d = &weft__dist;
    struct weft__dist_batch *b = batch;
    uint64_t begun = weft_now();
    run_all(b);
    uint64_t ran = weft_now() - begun;
    COUNT(ran_ns, ran);
    weft__dist_trace(WEFT_TRACE_RAN, begun, b->from, b->n);
    weft_mutex_lock(&d->lock);
    weft__policy_ran(&d->policy, ran);
    *b->to_this = b->next;
    if (b->next) b->next->to_this = b->to_this;
    weft_mutex_unlock(&d->lock);
    free(b);
    return NULL;
}

static struct weft__dist_received *unpack_call(unsigned from, const struct weft__dist_entry *entry, const char *bytes) {
    struct weft__dist *d = &weft__dist;
    if (!entry->remote || entry->remote > d->remote_count)
        weft__dist_die("rank %u sends a call of a function that is not registered here", from);
    struct weft__dist_received *r = malloc(sizeof *r + entry->size);
    if (!r)
        weft__dist_die("no memory for the argument of %s, %zu bytes", d->remotes[entry->remote]->name,
                       (size_t)entry->size);
    *r = (struct weft__dist_received){from, entry->id, d->remotes[entry->remote], entry->size, entry->result_size};
    memcpy(r->bytes, bytes, entry->size);
    return r;
}

/* Locked. must: the call was sent to this rank, which has not asked for it. */
void weft__dist_receive(unsigned from, uint64_t n, char *payload, size_t size, bool must) {
    struct weft__dist *d = &weft__dist;
    struct weft__dist_batch *b = malloc(sizeof *b + n * sizeof b->calls[0]);
    if (!b) weft__dist_die("no memory for %zu calls of rank %u", (size_t)n, from);
    *b = (struct weft__dist_batch){.next = d->batches, .to_this = &d->batches, .from = from, .n = (unsigned)n};
    for (uint64_t i = 0; i < n; i++) {
        struct weft__dist_entry entry;
        if (size < sizeof entry) weft__dist_die("rank %u sends calls without an end", from);
        memcpy(&entry, payload, sizeof entry);
        b->calls[i] = unpack_call(from, &entry, payload + sizeof entry);
        size_t used = sizeof entry + ((entry.size + 7) & ~(size_t)7);
        payload += used, size -= used;
    }
    if (b->next) b->next->to_this = &b->next;
    d->batches = b;
    struct weft_attr attr = WEFT_ATTR_INIT;
    attr.name = "calls";
    int err = weft_spawn(&b->fiber, &attr, run_batch, b);
    if (err) weft__dist_die("no fiber for the calls of rank %u: %s", from, strerror(-err));
    weft_detach(b->fiber);
    if (must) return;
    COUNT(taken, n);
    atomic_store(&d->state, WEFT_DIST_BUSY);
    atomic_store(&d->answered, true);
    weft__dist_woken();
}
