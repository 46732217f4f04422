/*
 * Threads that are no carriers: a record for each that ever waits, made at its first wait and put
 * back when the thread ends; and how many of them could still do something.
 */
#include "sched/fork.h"
#include "sched/wait.h"

#include "base/say.h"

#include <limits.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

static void thread_ends(void *record) {
    struct weft__fiber *f = record;
    weft__locals_destroy(f);
    if (f->frames) weft__die("a thread has ended in a scope or shield that it began and did not end");
    weft__slab_put(&weft__fibers, NULL, &f->slot);
}

static void make_key(void) {
    if (pthread_key_create(&key, thread_ends)) weft__die("no thread-specific key is left");
}

static struct weft__fiber *make_record(void) {
    struct weft__slot *slot = weft__slab_get(&weft__fibers, NULL);
    if (!slot) return NULL;
    struct weft__fiber *f = container_of(slot, struct weft__fiber, slot);
    weft__wait_anew(f, 0);
    store_rlx(&f->context.kind, WEFT_KIND_THREAD);
    store_rlx(&f->join, 0);
    f->locals = NULL;
    f->frames = 0;
    f->stack = NULL;
    f->name[0] = 0;
    f->where = NULL;
    weft__tell_quiet(); /* it may have taken the record for a fiber under way */
    if (pthread_setspecific(key, f)) {
        weft__slab_put(&weft__fibers, NULL, slot);
        return NULL;
    }
    return f;
}

struct weft__fiber *weft__thread_adopt(struct weft__fiber *f) {
    pthread_once(&once, make_key);
    if (!f) return pthread_getspecific(key);
    pthread_setspecific(key, f); /* without memory for that, it gets another one when it waits */
    return f;
}

static WEFT_NOINLINE struct weft__fiber *thread_record(void) {
    pthread_once(&once, make_key);
    struct weft__fiber *f = pthread_getspecific(key);
    return f ? f : make_record();
}

struct weft__fiber *weft__me_if_any(void) {
    struct weft__worker *w = weft__self();
    if (w) return load_rlx(&w->current);
    pthread_once(&once, make_key);
    return pthread_getspecific(key);
}

WEFT_COLD struct weft__fiber *weft__me_slow(void) {
    if (weft__self())
        weft__die("a timer's function called something that only a fiber or thread can do: it must not park");
    return thread_record();
}

/*
 * How many threads of the program are awake? A stop that finds only blocked fibers asks: a thread that is awake, or
 * sleeps anywhere but in weft, may still wake them. One that waits in weft without a deadline cannot; it must be
 * woken itself.
 *
 *   a thread that waits without a deadline       what ends its wait
 *   1. waiting + 1                               1. released + 1
 *   2. sleeps                                    2. wakes it
 *   3. waiting - 1
 *   4. resumed + 1
 *
 * If as many have resumed as were released, then each that is counted as waiting does wait; if none has been released
 * since, it still did when the kernel said how many threads there are. Threads that wait with a deadline take part in
 * released and resumed only.
 */
static _Atomic uint64_t waiting, released, resumed;

void weft__thread_waits(void) { add_ar(&waiting, 1); }
void weft__thread_released(void) { add_ar(&released, 1); }
void weft__thread_resumes(bool waited) {
    if (waited) add_ar(&waiting, -UINT64_C(1));
    add_ar(&resumed, 1); /* pairs with awake: the count above is right by then */
}

unsigned weft__threads_awake(void) {
    uint64_t were_released = load_acq(&released), have_resumed = load_acq(&resumed), wait = load_acq(&waiting);
    unsigned all = weft__threads_foreign();
    fence_sc(); /* pairs with released: what happened before the kernel counted is seen */
    if (all == UINT_MAX || have_resumed != were_released || load_acq(&released) != were_released) return UINT_MAX;
    return all > 1 + wait ? all - 1 - (unsigned)wait : 0;
}

void weft__threads_awake_forked(void) {
    store_rlx(&waiting, 0);
    store_rlx(&released, 0);
    store_rlx(&resumed, 0);
}

/* See weft.h: not const, not inlined, and opaque to link-time optimisation, so never kept. */
#undef errno
WEFT_PUBLIC WEFT_NOINLINE int *weft_errno_location(void) {
    int *location = __errno_location();
    __asm__ volatile("" : "+r"(location)::"memory");
    return location;
}
