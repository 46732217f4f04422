/* SPDX-License-Identifier: MIT */
/* See threads.h. */
#include "threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIST_EVERY 200000000 /* ns */

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool read_file(int fd, char *to, size_t size) {
    ssize_t n = fd < 0 ? -1 : pread(fd, to, size - 1, 0);
    to[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* ns that a thread has run: the first number of schedstat, which counts exactly. A kernel without it has `stat`, in
 * ticks of a clock. */
static bool read_run(const struct thread_seen *t, uint64_t *ns) {
    char text[512];
    unsigned long long user, system;
    if (read_file(t->times, text, sizeof text)) {
        *ns = strtoull(text, NULL, 10);
        return true;
    }
    if (!read_file(t->state, text, sizeof text)) return false;
    const char *after = strrchr(text, ')');
    if (!after || sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
        return false;
    *ns = (user + system) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
    return true;
}

bool thread_has_run(struct thread_seen *t) {
    uint64_t run;
    if (!read_run(t, &run)) return false;
    if (run > t->run) t->owed += run - t->run;
    t->run = run;
    return t->owed > 0;
}

bool thread_runs(const struct thread_seen *t) {
    char text[512];
    if (!read_file(t->state, text, sizeof text)) return false;
    const char *after = strrchr(text, ')');
    return after && after[1] == ' ' && after[2] == 'R';
}

static int open_file(pid_t pid, int tid, const char *name) {
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void add(struct threads *t, int tid) {
    for (unsigned i = 0; i < t->count; i++)
        if (t->thread[i].tid == tid) {
            t->thread[i].there = true;
            return;
        }
    if (t->count == t->room) {
        unsigned room = t->room ? 2 * t->room : 64;
        struct thread_seen *more = realloc(t->thread, room * sizeof *more);
        if (!more) return;
        t->thread = more;
        t->room = room;
    }
    struct thread_seen one = {tid, open_file(t->pid, tid, "schedstat"), open_file(t->pid, tid, "stat"), true, 0, 0};
    read_run(&one, &one.run);
    t->thread[t->count++] = one;
}

static void close_files(const struct thread_seen *t) {
    if (t->times >= 0) close(t->times);
    if (t->state >= 0) close(t->state);
}

bool threads_refresh(struct threads *t) {
    char path[64];
    uint64_t at = now();
    if (t->count && at - t->listed < LIST_EVERY) return true;
    snprintf(path, sizeof path, "/proc/%d/task", (int)t->pid);
    DIR *all = opendir(path);
    if (!all) return false;
    t->listed = at;
    for (unsigned i = 0; i < t->count; i++) t->thread[i].there = false;
    for (struct dirent *entry; (entry = readdir(all));)
        if (entry->d_name[0] != '.') add(t, (int)strtol(entry->d_name, NULL, 10));
    closedir(all);
    unsigned kept = 0;
    for (unsigned i = 0; i < t->count; i++) {
        if (t->thread[i].there)
            t->thread[kept++] = t->thread[i];
        else
            close_files(&t->thread[i]);
    }
    t->count = kept;
    return kept > 0;
}

void threads_free(struct threads *t) {
    for (unsigned i = 0; i < t->count; i++) close_files(&t->thread[i]);
    free(t->thread);
    *t = (struct threads){.pid = 0};
}
