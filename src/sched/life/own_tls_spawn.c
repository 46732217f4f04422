/* SPDX-License-Identifier: MIT */
/*
 * Fibers that begin with thread-local storage of their own: each is an ordinary fiber whose function enters a block
 * (libc/block.c), runs the program's function, and ends as a thread does: destructors run, the block goes back.
 */
#include "sched/life/own_tls_spawn.h"
#include "base/sys.h"
#include "libc/libc.h"
#include "sched/dispatch/own_tls.h"

_Atomic uint8_t weft__spawn_heeds;

struct call {
    union {
        void *(*fn)(void *);
        int (*child)(void *);
    };
    void *arg, *block;
    struct weft__float_env floats; /* the spawner's, which the fiber inherits as a new thread would */
};

int weft__own_tls_check(void) { return weft__libc_read(NULL) ? 0 : -ENOTSUP; }

void weft__own_tls_heed(void) { atomic_fetch_or(&weft__spawn_heeds, WEFT_HEED_OWN_TLS); }

static struct call own_tls_begin(void *arg) {
    struct call c = *(struct call *)arg;
    weft__free(arg);
    weft__own_tls_enter(c.block);
    weft__float_env_load(&c.floats);
    return c;
}

void weft__own_tls_end(void) {
    struct weft__fiber *me = weft__me();
    if (me->locals) weft__locals_destroy(me);
    weft__thread_end();
    void *block = weft__thread_pointer();
    weft__own_tls_leave();
    weft__block_put(block);
}

/* The program's function has returned. Clean-up handlers that it has left run before the storage goes. Inlined: the
 * frames below the caller's are gone. */
static inline __attribute__((always_inline)) void own_tls_return(void *result) {
    struct weft__fiber *me = weft__me();
    if (unlikely(!weft__self())) weft__forked_end(me);
    if (unlikely(weft__frame_top(me->frames) && weft__frames_kind(me->frames) != WEFT_FRAME_MEMBER))
        weft__frames_unwind(me, result, weft__stack_pointer());
    weft__own_tls_end();
}

static void *own_main(void *arg) {
    struct call c = own_tls_begin(arg);
    void *result = c.fn(c.arg);
    own_tls_return(result);
    return result;
}

static int own_child(void *arg) {
    struct call c = own_tls_begin(arg);
    int result = c.child(c.arg);
    own_tls_return((void *)(intptr_t)result);
    return result;
}

bool weft__own_tls_is_begun_by(void *(*fn)(void *), int (*child)(void *)) {
    return fn == own_main || child == own_child;
}

static int make_own_tls_call(struct call **made, const struct weft_attr *attr, struct weft_attr *plain, void *arg) {
    int err = weft__own_tls_check();
    if (err) return err;
    struct call *c = weft__alloc(sizeof *c);
    if (!c) return -ENOMEM;
    if (!(c->block = weft__block_get())) {
        weft__free(c);
        return -ENOMEM;
    }
    c->arg = arg;
    weft__float_env_save(&c->floats);
    *plain = attr ? *attr : (struct weft_attr)WEFT_ATTR_INIT;
    plain->own_tls = 0;
    *made = c;
    return 0;
}

static int own_tls_undo(int err, struct call *c) {
    if (!err) return 0;
    weft__block_put(c->block);
    weft__free(c);
    return err;
}

int weft__own_tls_spawn(struct weft_fiber *fiber, const struct weft_attr *attr, void *(*fn)(void *), void *arg,
                        const char *where) {
    struct weft_attr plain;
    struct call *c;
    if (!fn) return -EINVAL;
    int err = make_own_tls_call(&c, attr, &plain, arg);
    if (err) return err;
    c->fn = fn;
    return own_tls_undo(weft_spawn_at(fiber, &plain, own_main, c, where), c);
}

int weft__own_tls_spawn_child(struct weft__scope *s, const struct weft_attr *attr, int (*fn)(void *), void *arg,
                              const char *where) {
    struct weft_attr plain;
    struct call *c;
    int err = make_own_tls_call(&c, attr, &plain, arg);
    if (err) return err;
    c->child = fn;
    return own_tls_undo(weft__spawn_child(s, &plain, own_child, c, where), c);
}
