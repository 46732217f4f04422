/* SPDX-License-Identifier: MIT */
/*
 * Fiber-local values: a table of keys for the process, and for each fiber that sets one an array
 * of values. A key that is deleted and made again has a new version; values of the old one are gone.
 *
 * Versions never come round. A public key has room for their low bits only: a key that was deleted may stand for a
 * later key, after 16 million others in its place. The values of a fiber, which may live for long, have the whole
 * version.
 */
#include "sched/control/atfork.h"
#include "sched/core/self.h"

struct weft__locals {
    struct value {
        void *value;
        uint64_t version;
    } at[WEFT_KEYS_MAX];
};

static struct key {
    _Atomic uint64_t version; /* odd: in use */
    void (*_Atomic destroy)(void *);
} keys[WEFT_KEYS_MAX];
static struct weft__lock keys_lock;

/* A public key holds index and version. A version in use is odd, so { 0 } is no key. */
#define KEY_BITS 7
_Static_assert(WEFT_KEYS_MAX == 1 << KEY_BITS, "the index of a key");

static unsigned public_key(unsigned index, uint64_t version) { return (unsigned)version << KEY_BITS | index; }

static struct key *find_key(struct weft_key key, uint64_t *version) {
    struct key *k = &keys[key.index % WEFT_KEYS_MAX];
    *version = load_acq(&k->version); /* pairs with the creation: destroy is set */
    return *version % 2 && public_key(key.index % WEFT_KEYS_MAX, *version) == key.index ? k : NULL;
}

WEFT_PUBLIC int weft_key_create(struct weft_key *key, void (*destroy)(void *)) {
    if (!key) return -EINVAL;
    int err = -EAGAIN;
    weft__lock(&keys_lock);
    for (unsigned i = 0; i < WEFT_KEYS_MAX && err; i++) {
        uint64_t version = load_rlx(&keys[i].version);
        if (version % 2) continue;
        store_rel(&keys[i].destroy, destroy);     /* pairs with weft__locals_destroy: the key before is deleted */
        store_rel(&keys[i].version, version + 1); /* pairs with find_key */
        key->index = public_key(i, version + 1);
        err = 0;
    }
    weft__unlock(&keys_lock);
    return err;
}

WEFT_PUBLIC int weft_key_delete(struct weft_key key) {
    uint64_t version;
    weft__lock(&keys_lock);
    struct key *k = find_key(key, &version);
    if (k) store_rel(&k->version, version + 1);
    weft__unlock(&keys_lock);
    return k ? 0 : -EINVAL;
}

void weft__keys_after_fork(void) { weft__unlock(&keys_lock); }

WEFT_PUBLIC void *weft_local_get(struct weft_key key) {
    uint64_t version;
    if (!find_key(key, &version)) return NULL;
    struct weft__fiber *me = weft__me();
    if (!me || !me->locals) return NULL;
    struct value *v = &me->locals->at[key.index % WEFT_KEYS_MAX];
    return v->version == version ? v->value : NULL;
}

WEFT_PUBLIC int weft_local_set(struct weft_key key, void *value) {
    uint64_t version;
    if (!find_key(key, &version)) return -EINVAL;
    struct weft__fiber *me = weft__me();
    if (!me) return -ENOMEM;
    if (!me->locals && !(me->locals = weft__alloc(sizeof *me->locals))) return -ENOMEM;
    me->locals->at[key.index % WEFT_KEYS_MAX] = (struct value){value, version};
    return 0;
}

/* A destructor may set values again; like POSIX, a few rounds are made. */
void weft__locals_destroy(struct weft__fiber *f) {
    enum { ROUNDS = 4 };
    bool again = f->locals != NULL;
    for (int round = 0; again && round < ROUNDS; round++) {
        again = false;
        for (unsigned i = 0; i < WEFT_KEYS_MAX; i++) {
            struct value v = f->locals->at[i];
            if (!v.value) continue;
            f->locals->at[i].value = NULL;
            /* Pairs with the creation: if this function belongs to a later key, so does the version below. */
            void (*destroy)(void *) = load_acq(&keys[i].destroy);
            if (load_rlx(&keys[i].version) != v.version || !destroy) continue;
            destroy(v.value);
            again = true;
        }
    }
    weft__free(f->locals);
    f->locals = NULL;
}
