/*
 * See mail.h.
 */
#include "par/mail.h"

struct weft__proxy {
    struct weft__slot slot;
    _Atomic unsigned reached; /* how often */
    void (*fn)(void *);
    void *arg;
};

static struct weft__slab proxies = {.record_size = sizeof(struct weft__proxy)};

bool weft__proxy_reach(struct weft__proxy *proxy) {
    /* Acquire and release: whoever comes second gives the record back when the first has read it. */
    if (!add_ar(&proxy->reached, 1)) return true;
    weft__slab_put(&proxies, NULL, &proxy->slot);
    return false;
}

static void *open_mail(void *p) {
    struct weft__proxy *proxy = p;
    void (*fn)(void *) = proxy->fn;
    void *arg = proxy->arg;
    if (weft__proxy_reach(proxy)) fn(arg);
    return NULL;
}

struct weft__proxy *weft__mail_call(unsigned worker, void (*fn)(void *), void *arg, const char *name) {
    struct weft__worker *w = weft__self();
    if (unlikely(worker >= load_acq(&w->cluster->count))) return NULL; /* pairs with the making of a worker */
    struct weft__slot *slot = weft__slab_get(&proxies, NULL);
    if (unlikely(!slot)) return NULL;
    struct weft__proxy *proxy = container_of(slot, struct weft__proxy, slot);
    struct weft__fiber *f;
    if (unlikely(weft__par_fiber(&f, open_mail, proxy, name))) {
        weft__slab_put(&proxies, NULL, slot);
        return NULL;
    }
    store_rlx(&proxy->reached, 0);
    proxy->fn = fn;
    proxy->arg = arg;
    weft__mail(w->cluster->workers[worker], f);
    return proxy;
}
