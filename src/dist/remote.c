/* SPDX-License-Identifier: MIT */
/*
 * Remote functions: their registration, and forks of any size.
 */
#include "dist/dist.h"

static struct weft_remote *registered;

WEFT_EXPORT int weft_dist_register(struct weft_remote *remote) {
    if (!remote || !remote->name || (!remote->fn && !remote->run)) return -EINVAL;
    if (atomic_load(&weft__dist.running)) return -EBUSY;
    if (weft_dist_find(remote->name)) return -EEXIST;
    remote->next = registered;
    registered = remote;
    return 0;
}

WEFT_EXPORT const struct weft_remote *weft_dist_find(const char *name) {
    for (const struct weft_remote *r = registered; r && name; r = r->next)
        if (!strcmp(r->name, name)) return r;
    return NULL;
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(struct weft_remote *const *)a)->name, (*(struct weft_remote *const *)b)->name);
}

static void mix_checksum(uint64_t *hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) *hash = (*hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
}

/* Adds the program's code to the hash, because ranks with different code would misunderstand each other's calls. */
static void mix_program(uint64_t *hash) {
    char bytes[1024];
    FILE *f = fopen("/proc/self/exe", "rb");
    for (size_t n; f && (n = fread(bytes, 1, sizeof bytes, f)) > 0;) mix_checksum(hash, bytes, n);
    if (f) fclose(f);
}

/* Gives every remote function a number, the same on all ranks that have the same functions. */
int weft__dist_remotes_order(uint64_t *hash) {
    struct weft__dist *d = &weft__dist;
    unsigned n = 0;
    for (struct weft_remote *r = registered; r; r = r->next) n++;
    d->remotes = calloc(n + 1, sizeof *d->remotes);
    if (!d->remotes) return -ENOMEM;
    d->remote_count = n;
    n = 0;
    for (struct weft_remote *r = registered; r; r = r->next) d->remotes[++n] = r;
    qsort(d->remotes + 1, n, sizeof *d->remotes, by_name);
    *hash = UINT64_C(14695981039346656037);
    mix_program(hash);
    for (unsigned i = 1; i <= n; i++) {
        d->remotes[i]->index = i;
        mix_checksum(hash, d->remotes[i]->name, strlen(d->remotes[i]->name) + 1);
        mix_checksum(hash, &d->remotes[i]->typed_arg, sizeof(size_t));
        mix_checksum(hash, &d->remotes[i]->typed_result, sizeof(size_t));
    }
    return 0;
}

/* --- fork and join --------------------------------------------------------------------------------------- */

/* Runs a call on the rank of the fork. Called by its fiber, by another worker, or after a loss. */
void weft__dist_call_run(void *call) {
    struct weft_dist_call *c = call;
    c->remote->fn(c->arg, c->result);
}

WEFT_EXPORT int weft_dist_fork(struct weft_dist_call *call, const struct weft_remote *remote, const void *arg,
                               size_t arg_size, void *result, size_t result_size) {
    if (!call || !remote || !remote->fn) return -EINVAL;
    if (atomic_load_explicit(&weft__dist.running, memory_order_relaxed) && !remote->index) {
        weft__dist_say("the remote function %s is not registered", remote->name ? remote->name : "without a name");
        return -ENOENT;
    }
    *call = (struct weft_dist_call){WEFT_TASK_INIT, remote, arg, result, arg_size, result_size, 0};
    int err = weft_task_fork(&call->task, weft__dist_call_run, call);
    if (!err && __atomic_load_n(weft__dist_bell, __ATOMIC_RELAXED)) weft__dist_poll();
    return err;
}

WEFT_EXPORT int weft_dist_join(struct weft_dist_call *call) {
    if (!call) return -EINVAL;
    int err = weft_task_join(&call->task);
    return err ? err : call->error;
}
