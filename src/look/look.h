/* SPDX-License-Identifier: MIT */
/*
 * Looking at a process: the calling process, another process, or a core file. All its data are read through `memory`
 * and checked against limits. They may be torn or garbage, and then lead to a wrong word in the report at worst. These
 * files never write to the target process; only the recorder's reader does (memory.c).
 *
 *   memory    the source of bytes: a process (memory.c) or a core file (tools/look/core.c)
 *   mapping   a part of a file that is mapped, as in /proc/PID/maps
 *   module    an ELF file that is mapped: where its code is, and its unwind tables
 *   seen      the state of a fiber, as it was read
 *
 * The library uses this for weft_dump and for the report of a deadlock, and the tool for everything else.
 */
#ifndef WEFT_LOOK_LOOK_H
#define WEFT_LOOK_LOOK_H

#include "base/base.h"
#include "look/layout.h"
#include "sched/core/waits_for.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* --- memory (memory.c) ---------------------------------------------------------------------------- */

/* One of several reads that are made together. ok: all bytes were read. */
struct weft__want {
    uint64_t at;
    void *to;
    size_t size;
    bool ok;
};

struct weft__memory {
    void (*read)(struct weft__memory *memory, struct weft__want *wants, unsigned n);
    pid_t pid; /* of a process */
    /* The address of weft's table, and its first bytes. The process may begin another program while a tool looks at it;
     * weft__poke does not write to that. 0: no test. */
    uint64_t table, table_begins;
};

struct weft__memory weft__memory_of(pid_t pid);

static inline bool weft__peek(struct weft__memory *m, uint64_t at, void *to, size_t size) {
    struct weft__want want = {at, to, size, false};
    m->read(m, &want, 1);
    return want.ok;
}
static inline uint64_t weft__peek64(struct weft__memory *m, uint64_t at) {
    uint64_t v;
    return weft__peek(m, at, &v, sizeof v) ? v : 0;
}
/* Reads a string of less than `size` bytes. Cuts it off where memory cannot be read. */
void weft__peek_string(struct weft__memory *m, uint64_t at, char *to, size_t size);

/* Fields of bytes that were read already. */
static inline uint64_t weft__u64(const void *bytes, size_t at) {
    uint64_t v;
    memcpy(&v, (const char *)bytes + at, sizeof v);
    return v;
}
static inline uint32_t weft__u32(const void *bytes, size_t at) {
    uint32_t v;
    memcpy(&v, (const char *)bytes + at, sizeof v);
    return v;
}
static inline uint8_t weft__u8(const void *bytes, size_t at) { return ((const uint8_t *)bytes)[at]; }

/* --- modules (modules.c) -------------------------------------------------------------------------- */

struct weft__mapping {
    uint64_t begin, end, offset;
    char path[256];
};

struct weft__module {
    uint64_t begin, end;          /* the range of its mappings */
    uint64_t bias;                /* address in memory minus address in the file's headers */
    uint64_t unwind;              /* .eh_frame_hdr, or 0 */
    uint64_t frames, frames_size; /* without that, .eh_frame: static programs have only that */
    uint64_t layout;              /* weft's table, or 0 */
    char path[256];
};

struct weft__modules {
    struct weft__module *module; /* by address */
    unsigned count;
};

/* The modules of a process, from its /proc/PID/maps, or from an ordered list of mappings. -errno. */
int weft__modules_of(struct weft__memory *m, struct weft__modules *to);
int weft__modules_from(struct weft__memory *m, const struct weft__mapping *mappings, unsigned n,
                       struct weft__modules *to);
void weft__modules_free(struct weft__modules *modules);
const struct weft__module *weft__module_at(const struct weft__modules *modules, uint64_t pc);

/* --- stacks (unwind.c) ---------------------------------------------------------------------------- */

#define WEFT_LOOK_FRAMES 64

/* A piece of a stack that was read. */
struct weft__window {
    uint64_t begin;
    size_t size;
    const char *bytes;
};

struct weft__registers {
    uint64_t pc, sp, fp;
    uint64_t link; /* the return address of the innermost function, if it is only in this register; 0: unknown */
};

struct weft__unwinder; /* known rules of addresses in the code */
struct weft__unwinder *weft__unwinder_make(struct weft__memory *m, const struct weft__modules *modules);
void weft__unwinder_free(struct weft__unwinder *u);
/* Stores the addresses of the frames, the innermost first, at most WEFT_LOOK_FRAMES. Returns how many it found before
 * it had to stop. low, top: the limits of the stack. */
unsigned weft__unwind(struct weft__unwinder *u, struct weft__registers at, const struct weft__window *window,
                      uint64_t low, uint64_t top, uint64_t *frames);

/* --- fibers (fibers.c, waits.c) ------------------------------------------------------------------- */

enum weft__state {
    WEFT_SEEN_FRESH,   /* ready, has not begun */
    WEFT_SEEN_READY,   /* in a queue */
    WEFT_SEEN_RUNNING, /* a carrier runs on its stack */
    WEFT_SEEN_WAITING,
    WEFT_SEEN_OUTSIDE, /* waits for something outside: input, output, a signal, a call in the pool */
    WEFT_SEEN_ENDED,   /* has ended, and was not joined */
    WEFT_SEEN_THREAD,  /* no fiber: a thread that waits in weft */
    WEFT_SEEN_STATES,
};

static inline bool weft__state_waits(enum weft__state state) {
    return state == WEFT_SEEN_WAITING || state == WEFT_SEEN_OUTSIDE || state == WEFT_SEEN_THREAD;
}

/* The name of what a fiber waits for: enum weft__wait_object (sched/wait/wait_chain.h), or WEFT_WAITS_ in
 * sched/core/waits_for.h. */
const char *weft__waits_name(unsigned on); /* "mutex" */

#define WEFT_LOOK_CASES 8

struct weft__seen {
    uint64_t id;     /* as in messages */
    uint64_t record; /* its address */
    uint64_t wait, join;
    struct weft__registers at;
    uint64_t fn, where, frames_word;
    uint64_t low, top; /* of its stack; 0: none */
    char name[16];
    uint8_t on_stack, kind;
    uint32_t placement;
    enum weft__state state;
    bool torn;            /* the record changed whenever it was read, so the fields may not fit together */
    unsigned on;          /* what it waits for; WEFT_ON_NOTHING: it does not wait */
    uint64_t object;      /* the address of the object; 0: unknown */
    uint64_t owner;       /* the fiber that holds the object, or that is joined; 0: unknown, or none */
    bool held_outside;    /* a thread that is not weft's holds the object */
    bool in_lot;          /* it waits for an object of libweft-threads */
    uint64_t readers;     /* of a reader-writer lock of that library */
    uint64_t deadline;    /* ns, of the monotonic clock; 0: none is known */
    int fd, events;       /* of a descriptor; -1 */
    unsigned worker;      /* the worker that runs it, + 1; 0: none */
    uint64_t since;       /* it has run at least since this time; 0: unknown */
    uint64_t waits_since; /* it has waited at least since this time; 0: unknown */
    bool blocks;          /* it runs, and its thread was asleep in the kernel */
    unsigned cases;       /* of a select: */
    struct {
        uint8_t on;
        uint64_t object;
    } select[WEFT_LOOK_CASES];
    unsigned depth;
    uint64_t frame[WEFT_LOOK_FRAMES];
};

struct weft__worker_seen {
    uint64_t address, current, busy_since, idle_since, polled_at, hog, hog_since, hog_switches, queued, in_flight,
        armed;
    unsigned cluster, index;
    int tid;
    bool stuck, blocks;
    bool expiring; /* it calls functions of timers */
    uint32_t aside;
    uint64_t numbers[32];
};

struct weft__look {
    struct weft__memory *memory;
    struct weft__modules modules;
    struct weft__layout layout;
    struct weft__unwinder *unwinder;
    struct weft__worker_seen *worker;
    unsigned workers, configured;
    unsigned sleeping;    /* workers at rest */
    uint64_t quiet_since; /* no worker has switched to another fiber since this time; 0: some have */
    uint64_t injected;
    uint64_t records;
    uint64_t unread;             /* number of fibers that could not be read: a core file lacks them */
    struct weft__joined *joined; /* which record joins which fiber, by record */
    size_t joins;
    struct weft__hint *hints;
    bool stacks; /* are backtraces wanted? */
    /* Gets the backtrace of a running fiber. NULL: not possible. */
    void (*running)(struct weft__look *look, struct weft__seen *f);
    /* Does the caller know everything about this fiber from an earlier look? Then the fiber is skipped. May be NULL. */
    bool (*is_known)(struct weft__look *look, const struct weft__seen *f);
    void *data; /* the caller's own */
};

/* For fibers that wait at one address in the code: which word of the stack is the address of the object. */
struct weft__hint {
    uint64_t pc;
    uint16_t word;
    bool chain;             /* the word is the address of the object's chain */
    uint8_t on;             /* the kind of the object that was found last */
    uint64_t object, owner; /* that object: many fibers wait for the same one, which is then not read again */
    bool known;
};

/* Finds the table and checks it. -ENOENT: the process does not use weft. -EPROTO: another version; the layout's release
 * says which. -EPERM, -ESRCH, -EIO: not readable. */
int weft__look_begin(struct weft__look *look, struct weft__memory *m);
void weft__look_end(struct weft__look *look);
/* Reads workers. 0, -EIO. */
int weft__look_workers(struct weft__look *look);
/* Is it still true that no worker has switched since quiet_since? If not, makes it 0. */
void weft__look_is_quiet(struct weft__look *look);
/* Calls fn with each fiber, in order. 0, -EIO, -ENOMEM. */
int weft__look_fibers(struct weft__look *look, void (*fn)(const struct weft__seen *, void *), void *arg);
/* Reads one fiber, by its handle. False: it has ended. */
bool weft__look_fiber(struct weft__look *look, uint64_t id, struct weft__seen *f);
/* Shared by the files of this directory. */
#define WEFT_RECORD_MOST 256
#define WEFT_LOOK_FOREIGN (UINT64_C(8) << 20) /* a stack that is not weft's has no more than this */
#define WEFT_HEAD 64                          /* bytes of a record that change whenever it runs */
struct weft__hint *weft__hint_of(struct weft__look *look, uint64_t pc);
void weft__look_forget(struct weft__look *look);                     /* the objects and owners that hints remember */
void weft__look_join(struct weft__look *look, struct weft__seen *f); /* the fiber that it joins, if it does */
/* Fills in what a fiber waits for. */
void weft__look_waits(struct weft__look *look, struct weft__seen *f, const struct weft__window *window);

#endif
