/* SPDX-License-Identifier: MIT */
/*
 * What the tool looks at: a process by its number, or a core file. And the names of its addresses, by libdw where the
 * tool was built with it.
 */
#ifndef TOOLS_LOOK_TARGET_H
#define TOOLS_LOOK_TARGET_H

#include "look/look.h"
#include "look/report.h"

struct core;
struct symbols;

struct target {
    struct weft__memory memory; /* the first member: a core is found by it */
    struct weft__look look;
    struct weft__names names;
    struct core *core; /* NULL: a process */
    struct symbols *symbols;
    const char *what; /* as the user named it */
};

/* Opens what an argument names. 0; else one line was written to standard error, and the tool's exit code is
 * returned. */
int target_open(struct target *t, const char *what);
void target_close(struct target *t);
/* Says why a command could not go on: -errno. Says nothing of -EPIPE. */
void target_complain(const struct target *t, const char *command, int err);
/* The time in the target: ns of the monotonic clock; 0: unknown. */
uint64_t target_now(const struct target *t);
/* Fills in a report about it. */
struct weft__report target_report(struct target *t, int fd);

/* --- core files (core.c) --- */

/* 0 or -errno; -ENOEXEC: it is none. */
int core_open(struct target *t, const char *path);
void core_close(struct core *c);
/* Registers of a thread; false: unknown. */
bool core_registers(const struct core *c, int tid, struct weft__registers *to);

/* --- fibers that run (running.c) --- */

/* For weft__look.running: stops the thread for a moment and unwinds its stack. */
void running_process(struct weft__look *look, struct weft__seen *f);
void running_core(struct weft__look *look, struct weft__seen *f);

/* --- a glimpse of a thread (glimpse.c) --- */

#define GLIMPSE_MOST 16384 /* bytes of the stack that are read while the thread is stopped */

struct glimpse {
    struct weft__registers at;
    size_t size; /* bytes that could be read, from the stack pointer on */
    char bytes[GLIMPSE_MOST];
};

/* Stops a thread of a process, reads its registers and its stack, and lets it continue unchanged. That takes some tens
 * of microseconds. `also`, if not NULL, is called while the thread is stopped. False: the thread could not be stopped
 * or has ended, or `also` has returned false. */
bool glimpse_thread(struct weft__memory *m, int tid, struct glimpse *g, bool (*also)(void *), void *arg);

/* --- names (symbols.c) --- */

struct symbols *symbols_open(struct target *t);
void symbols_close(struct symbols *s);

#endif
