/* SPDX-License-Identifier: MIT */
/*
 * See mail.h.
 */
#include "par/mail.h"
#include "sched/dispatch/make_ready.h"

struct weft__proxy {
    struct weft__slot slot;
    _Atomic unsigned reached; /* number of claims */
    void (*fn)(void *);
    void *arg;
};

static struct weft__slab proxies = {.record_size = sizeof(struct weft__proxy)};

bool weft__proxy_claim(struct weft__proxy *proxy) {
    /* Acquire and release: the second side frees the record after the first has read it. */
    if (!add_ar(&proxy->reached, 1)) return true;
    weft__slab_put(&proxies, NULL, &proxy->slot);
    return false;
}

static void *open_mail(void *p) {
    struct weft__proxy *proxy = p;
    void (*fn)(void *) = proxy->fn;
    void *arg = proxy->arg;
    if (weft__proxy_claim(proxy)) fn(arg);
    return NULL;
}

struct weft__proxy *weft__mail_send(unsigned worker, void (*fn)(void *), void *arg, const char *name) {
    struct weft__worker *w = weft__self();
    if (unlikely(worker >= weft__cluster_ready(w->cluster))) return NULL;
    struct weft__slot *slot = weft__slab_get(&proxies, NULL);
    if (unlikely(!slot)) return NULL;
    struct weft__proxy *proxy = container_of(slot, struct weft__proxy, slot);
    struct weft__fiber *f;
    if (unlikely(weft__par_create_fiber(&f, open_mail, proxy, name))) {
        weft__slab_put(&proxies, NULL, slot);
        return NULL;
    }
    store_rlx(&proxy->reached, 0);
    proxy->fn = fn;
    proxy->arg = arg;
    weft__mail(w->cluster->workers[worker], f);
    return proxy;
}
