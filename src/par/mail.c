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

struct weft__proxy *weft__mail_call(unsigned worker, void (*fn)(void *), void *arg) {
    struct weft__worker *w = weft__self();
    if (unlikely(worker >= load_acq(&w->cluster->count))) return NULL; /* pairs with the making of a worker */
    if (unlikely(weft__stack_exhausted())) return NULL;
    struct weft__slot *slot = weft__slab_get(&proxies, NULL);
    struct weft__fiber *f = slot ? weft__fiber_get(w) : NULL;
    if (unlikely(!f)) {
        if (slot) weft__slab_put(&proxies, NULL, slot);
        return NULL;
    }
    struct weft__proxy *proxy = container_of(slot, struct weft__proxy, slot);
    store_rlx(&proxy->reached, 0);
    proxy->fn = fn;
    proxy->arg = arg;
    weft__fiber_init(f, open_mail, proxy, WEFT_HERE, w->cluster->stack_class, load_rlx(&w->cluster->fibers),
                     WEFT_JOIN_DETACHED);
    count_add(&w->numbers.spawned, 1);
    weft__mail(w->cluster->workers[worker], f);
    return proxy;
}
