/* SPDX-License-Identifier: MIT */
/* The threads of a process, and how long each has run, as the kernel says it in /proc/PID/task. */
#ifndef TOOLS_LOOK_THREADS_H
#define TOOLS_LOOK_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct thread_seen {
    int tid;
    int times, state; /* descriptors of its files */
    bool there;
    uint64_t run;  /* ns that it has run */
    uint64_t owed; /* the part of `run` that is in no sample yet */
};

struct threads {
    pid_t pid;
    struct thread_seen *thread;
    unsigned count, room;
    uint64_t listed; /* when the directory was read; ns */
};

/* Reads which threads there are, now and then. False: the process has ended. */
bool threads_refresh(struct threads *t);
void threads_free(struct threads *t);
/* Adds what it has run since the last call to `owed`; true if there is some. */
bool thread_has_run(struct thread_seen *t);
/* Is it on a CPU, or ready to be? */
bool thread_runs(const struct thread_seen *t);

#endif
