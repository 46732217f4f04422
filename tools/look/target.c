/* SPDX-License-Identifier: MIT */
/* See target.h. */
#include "target.h"

#include "command.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int complain(const struct target *t, int err) {
    const char *what = t->what, *kind = t->core ? "core file" : "process";
    switch (err) {
    case -ESRCH: fprintf(stderr, "weft: no process %s\n", what); break;
    case -EPERM:
    case -EACCES:
        fprintf(stderr,
                "weft: not permitted to look at %s %s. The kernel's ptrace rule decides: the same user, and "
                "/proc/sys/kernel/yama/ptrace_scope 0; or CAP_SYS_PTRACE (sudo)\n",
                kind, what);
        break;
    case -ENOENT: fprintf(stderr, "weft: no weft in %s %s, or one that is older than `weft dump`\n", kind, what); break;
    case -EPROTO:
        fprintf(stderr, "weft: %s %s has weft %s with another layout (%u); this tool understands that of %s (%u)\n",
                kind, what, t->look.layout.release, t->look.layout.version, weft__layout.release, WEFT_LAYOUT_VERSION);
        break;
    default: fprintf(stderr, "weft: %s %s: %s\n", kind, what, strerror(-err)); break;
    }
    return EXIT_WRONG;
}

static bool is_number(const char *what) {
    for (const char *c = what; *c; c++)
        if (!isdigit((unsigned char)*c)) return false;
    return *what != 0;
}

/* If the main thread has ended before the others (pthread_exit), the memory of the process cannot be read by the number
 * of the process. It can be read by the number of any other thread. */
static bool open_by_thread(struct target *t, pid_t pid) {
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    for (struct dirent *e; threads && !t->look.modules.count && (e = readdir(threads));) {
        if (!is_number(e->d_name) || atoi(e->d_name) == pid) continue;
        t->memory = weft__memory_of((pid_t)atoi(e->d_name));
        weft__modules_of(&t->memory, &t->look.modules);
    }
    if (threads) closedir(threads);
    if (!t->look.modules.count) t->memory = weft__memory_of(pid);
    return t->look.modules.count > 0;
}

/* A zombie has no memory. */
static int open_process(struct target *t, const char *what) {
    char *end;
    errno = 0;
    long pid = strtol(what, &end, 10);
    if (errno || *end || pid <= 0 || pid > INT32_MAX) return -ESRCH;
    if (kill((pid_t)pid, 0) && errno == ESRCH) return -ESRCH;
    t->memory = weft__memory_of((pid_t)pid);
    int err = weft__modules_of(&t->memory, &t->look.modules);
    if (!t->look.modules.count && (!err || err == -ESRCH) && open_by_thread(t, (pid_t)pid)) err = 0;
    if (err) return err;
    char probe;
    if (!t->look.modules.count) {
        /* The process has no modules, or they could not be read. The error of this open says why. */
        char path[64];
        snprintf(path, sizeof path, "/proc/%ld/mem", pid);
        FILE *mem = fopen(path, "re");
        if (!mem) return errno == ENOENT ? -ESRCH : -errno;
        fclose(mem);
        return -ENOENT;
    }
    return weft__peek(&t->memory, t->look.modules.module[0].begin, &probe, 1) ? 0 : -EPERM;
}

/* Is the memory of the fibers' records in the core file? A record that was made once has a life, unless its page was
 * given back to the kernel. So some of them have. */
static bool has_records(struct target *t) {
    const struct weft__layout *l = &t->look.layout;
    uint64_t slab = (uintptr_t)l->fibers, life = 0;
    uint32_t records = 0;
    weft__peek(&t->memory, slab + l->slab_records, &records, sizeof records);
    uint64_t chunk = weft__peek64(&t->memory, slab + l->slab_chunk);
    for (uint32_t i = 0; i < records && i < l->chunk_records && !life; i++)
        life = weft__peek64(&t->memory, chunk + (uint64_t)i * l->record_size + l->fiber_life);
    return life || !records;
}

int target_open(struct target *t, const char *what) {
    *t = (struct target){.what = what};
    int err = is_number(what) ? open_process(t, what) : core_open(t, what);
    if (err == -ENOENT && !is_number(what) && !t->core) {
        fprintf(stderr, "weft: no file %s\n", what);
        target_close(t);
        return EXIT_WRONG;
    }
    if (err == -ENOEXEC) {
        fprintf(stderr, "weft: %s is neither a process nor a core file\n", what);
        target_close(t);
        return EXIT_WRONG;
    }
    if (!err) err = weft__look_begin(&t->look, &t->memory);
    if (!err) err = weft__look_workers(&t->look);
    if (err) {
        int code = complain(t, err);
        target_close(t);
        return code;
    }
    if (t->core && !has_records(t)) {
        fprintf(
            stderr,
            "weft: core file %s has no records of fibers. gcore leaves out what is behind guards of stacks; let the "
            "kernel write the core file (kill -ABRT)\n",
            what);
        target_close(t);
        return EXIT_WRONG;
    }
    t->look.stacks = true;
    t->look.data = t;
    t->look.running = t->core ? running_core : running_process;
    t->symbols = symbols_open(t);
    return 0;
}

void target_close(struct target *t) {
    if (t->symbols) symbols_close(t->symbols);
    weft__look_end(&t->look);
    if (t->core) core_close(t->core);
    *t = (struct target){.what = NULL};
}

void target_complain(const struct target *t, const char *command, int err) {
    if (err == -EPIPE) return;
    if (!t->core && (err == -ESRCH || err == -EIO))
        fprintf(stderr, "weft: %s: process %s has ended, or has begun another program\n", command, t->what);
    else if (t->core && err == -EIO)
        fprintf(stderr, "weft: %s: core file %s lacks what is needed\n", command, t->what);
    else
        fprintf(stderr, "weft: %s: %s\n", command, strerror(-err));
}

uint64_t target_now(const struct target *t) {
    struct timespec now;
    if (t->core || clock_gettime(CLOCK_MONOTONIC, &now)) return 0;
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct weft__report target_report(struct target *t, int fd) {
    return (struct weft__report){.look = &t->look,
                                 .names = &t->names,
                                 .out = {.fd = fd},
                                 .most = 4,
                                 .now = target_now(t),
                                 .has_stopped = t->core != NULL};
}
