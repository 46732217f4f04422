/* SPDX-License-Identifier: MIT */
/*
 * Blocks: the memory of thread-local variables with a thread descriptor, as glibc makes them for a new thread, but
 * without a kernel thread.
 *
 * The loader allocates a block and gives the thread-locals of all libraries their first values. The descriptor must
 * look like the descriptor of a thread that has just begun, but weft does not know all of its fields. So weft starts
 * one thread, once, and that thread copies its own descriptor and the C library's thread-locals: the *template*. A new
 * block gets a copy of the template. Pointers into the template's block are changed to point into the new block.
 *
 * A block that was used keeps the C library's thread-locals for the next fiber. They refer to malloc's caches, and
 * glibc exports no function that frees those. So a block is never freed. There are as many blocks as fibers with a
 * block lived at the same time.
 *
 * glibc does not know these blocks: they are in none of its lists. The consequences:
 *   - dlopen gives initial-exec thread-locals of a new library their values in listed threads only. The caller of
 *     dlopen calls weft__libc_heed_libraries.
 *   - setuid and others signal listed threads, that is the carriers. That is right.
 *   - a forked child removes its own descriptor from a list. The list field points to itself, so this does no harm.
 *
 * Rejected: blocks that glibc makes for a real thread, which then leaves by a system call. glibc knows these, but each
 * costs a thread (47 us), and debuggers see them as threads.
 */
#define _GNU_SOURCE
#include "arch/thread_pointer.h"
#include "base/lock.h"
#include "base/sys.h"
#include "libc/libc.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In each block, for weft. */
struct own {
    struct own *next;     /* in the pool */
    struct own *next_all; /* of all blocks */
    void *thread_pointer;
};
static __thread struct own own __attribute__((tls_model("initial-exec")));

static struct weft__lock lock; /* of both lists */
static struct own *pool, *all;

/* Weak, because glibc has these only since 2.35. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

/* --- the template ------------------------------------------------------------------------------------ */

static struct {
    char *descriptor, *storage; /* copies */
    char *thread_pointer;       /* of the thread that they were copied from */
    const char *first;          /* the first byte of that thread's block; its stack is below */
    const char *stack_low, *stack_end;
    _Atomic bool there;
} template;

static void *copy_template(void *unused) {
    const struct weft__libc *c = weft__libc_read(NULL);
    char *tp = (char *)weft__thread_pointer();
    memcpy(template.descriptor, tp + c->descriptor, c->descriptor_size);
    memcpy(template.storage, tp + c->storage, c->storage_size);
    template.thread_pointer = tp;
    template.first = tp + (c->descriptor < c->storage ? c->descriptor : c->storage);
    return unused;
}

/* The thread that is copied runs on a stack of ours, so that we recognize pointers into that stack. */
static bool make_template(const struct weft__libc *c) {
    enum { STACK = 256 << 10 };
    pthread_attr_t attr;
    pthread_t thread;
    void *stack;
    template.descriptor = weft__alloc(c->descriptor_size);
    template.storage = weft__alloc(c->storage_size);
    if (!template.descriptor || !template.storage || weft__pages_map(&stack, STACK)) return false;
    template.stack_low = (const char *)stack;
    template.stack_end = (const char *)stack + STACK;
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, stack, STACK);
    sigset_t every, before; /* the thread must not run signal handlers */
    sigfillset(&every);
    pthread_sigmask(SIG_BLOCK, &every, &before);
    int err = pthread_create(&thread, &attr, copy_template, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (!err) pthread_join(thread, NULL);
    weft__pages_unmap(stack, STACK);
    store_rel(&template.there, !err); /* pairs with have_template */
    return !err;
}

static bool have_template(const struct weft__libc *c) {
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    if (likely(load_acq(&template.there))) return true; /* pairs with make_template */
    pthread_mutex_lock(&making);
    bool there = load_rlx(&template.there) || make_template(c);
    pthread_mutex_unlock(&making);
    return there;
}

/* Copies a part of the template to offset `at` of the block. Pointers into the template's block are changed to point
 * into the new block. Pointers to the rest of the template's stack become NULL. */
static void copy_moved(char *tp, ptrdiff_t at, const char *from, size_t size) {
    for (size_t i = 0; i + sizeof(uintptr_t) <= size; i += sizeof(uintptr_t)) {
        char *word;
        memcpy(&word, from + i, sizeof word);
        if (word >= template.stack_low && word < template.stack_end)
            word = word >= template.first ? tp + (word - template.thread_pointer) : NULL;
        memcpy(tp + at + i, &word, sizeof word);
    }
}

/* --- a block ----------------------------------------------------------------------------------------- */

static struct own *own_of(char *tp) {
    return (struct own *)(void *)(tp + ((char *)&own - (char *)weft__thread_pointer()));
}

void *weft__block_descriptor(void *thread_pointer) {
    return (char *)thread_pointer + weft__libc_read(NULL)->descriptor;
}

/* A thread id that no kernel thread has. glibc compares these ids to find out which thread owns a mutex. */
static int next_tid(void) {
    static _Atomic uint32_t last;
    return 0x40000000 + (int)(add_rlx(&last, 1) & 0x3fffffff);
}

/* The storage is not registered with the kernel for restartable sequences: sched_getcpu then asks the kernel. */
static void write_unregistered(char *tp) {
    uint32_t unregistered[2] = {0, UINT32_MAX};
    memcpy(tp + __rseq_offset, unregistered, sizeof unregistered);
}

void weft__rseq_leave(void *thread_pointer) {
#if defined(__x86_64__)
    enum { SIGNATURE = 0x53053053, UNREGISTER = 1, LEAST = 32 };
#else
    const unsigned SIGNATURE = 0xd428bc00;
    enum { UNREGISTER = 1, LEAST = 32 };
#endif
    if (!&__rseq_offset || !__rseq_size) return;
    char *tp = thread_pointer, *area = tp + __rseq_offset;
    if (syscall(SYS_rseq, area, LEAST, UNREGISTER, SIGNATURE)) /* the size with which glibc registers, or that */
        syscall(SYS_rseq, area, __rseq_size, UNREGISTER, SIGNATURE);
    write_unregistered(tp);
}

/* Writes the descriptor of a thread that begins. The dtv field stays: it belongs to this block. */
static void write_descriptor(const struct weft__libc *c, char *tp) {
    char *descriptor = tp + c->descriptor;
    void *dtv, **list = (void **)(void *)(descriptor + c->list), **robust = (void **)(void *)(descriptor + c->robust);
    int tid = next_tid();
    memcpy(&dtv, descriptor + c->dtv, sizeof dtv);
    copy_moved(tp, c->descriptor, template.descriptor, c->descriptor_size);
    memcpy(descriptor + c->dtv, &dtv, sizeof dtv);
    memcpy(descriptor + c->tid, &tid, sizeof tid);
    list[0] = list[1] = (void *)list;
    robust[0] = (void *)robust;
    if (&__rseq_offset) write_unregistered(tp);
}

static struct own *make_block(const struct weft__libc *c) {
    char *tp = (char *)c->allocate(NULL);
    if (!tp) return NULL;
    copy_moved(tp, c->storage, template.storage, c->storage_size);
    write_descriptor(c, tp);
    struct own *o = own_of(tp);
    o->thread_pointer = tp;
    weft__lock(&lock);
    o->next_all = all;
    all = o;
    weft__unlock(&lock);
    return o;
}

/* Frees the memory of thread-locals that was allocated at their first use. It walks the loader's table (the dtv). The
 * element before the first holds the number of elements. An element has two words; the second is the memory. */
static void free_dynamic(const struct weft__libc *c, char *tp) {
    struct {
        void *value, *to_free;
    } * dtv;
    memcpy(&dtv, tp + c->descriptor + c->dtv, sizeof dtv);
    size_t count = (size_t)dtv[-1].value;
    for (size_t i = 1; i <= count; i++) free(dtv[i].to_free);
    memset(dtv, 0, (count + 1) * sizeof *dtv);
}

static void renew_block(const struct weft__libc *c, struct own *o) {
    char *tp = (char *)o->thread_pointer, kept[c->storage_size];
    struct own mine = *o;
    free_dynamic(c, tp);
    memcpy(kept, tp + c->storage, c->storage_size);
    c->initialise(tp, true);
    memcpy(tp + c->storage, kept, c->storage_size);
    *o = mine;
    write_descriptor(c, tp);
}

void *weft__block_get(void) {
    const struct weft__libc *c = weft__libc_read(NULL);
    if (!c || !have_template(c)) return NULL;
    weft__lock(&lock);
    struct own *o = pool;
    if (o) pool = o->next;
    weft__unlock(&lock);
    if (o)
        renew_block(c, o);
    else
        o = make_block(c);
    return o ? o->thread_pointer : NULL;
}

void weft__block_put(void *thread_pointer) {
    struct own *o = own_of((char *)thread_pointer);
    weft__lock(&lock);
    o->next = pool;
    pool = o;
    weft__unlock(&lock);
}

void weft__blocks_after_fork(void) { weft__unlock(&lock); }

void weft__blocks_initialise(ptrdiff_t at, const void *image, size_t filled, size_t size) {
    weft__lock(&lock);
    for (struct own *o = all; o; o = o->next_all) {
        char *to = (char *)o->thread_pointer + at;
        if (o->thread_pointer == weft__thread_pointer()) continue; /* the loader itself serves the calling thread */
        memcpy(to, image, filled);
        memset(to + filled, 0, size - filled);
    }
    weft__unlock(&lock);
}
