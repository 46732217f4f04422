/* SPDX-License-Identifier: MIT */
/*
 * weft profile: CPU time and waiting time by stack, of a process that need not be prepared. See docs/OBSERVABILITY.md.
 *
 * CPU time: at each tick weft asks the kernel how long each thread has run, and whether it runs now. A running thread
 * is stopped for a moment, and its stack is read: a sample. The weight of a sample is the CPU time of the thread since
 * its last sample. Sleeping threads are not stopped. Waiting time: weft looks at all fibers from time to time
 * (look/track.h).
 */
#include "command.h"
#include "flame.h"
#include "target.h"
#include "threads.h"

#include "look/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "weft profile PID [options]\n"
    "weft profile FILE.folded -o FILE.html\n"
    "\n"
    "Shows by stack where a process spends CPU time and where its fibers wait. The process needs no preparation. At\n"
    "each tick weft stops a running thread for some tens of microseconds; it does not touch sleeping threads.\n"
    "\n"
    "  --seconds N   how long to measure (10); Ctrl-C ends it earlier\n"
    "  --hz N        ticks a second, 1 to 1000 (99)\n"
    "  -o FILE       the file to write (weft-PID.pb.gz); its name chooses the format:\n"
    "                  .pb.gz   for `go tool pprof`, speedscope and others; -sample_index=waiting shows the waits\n"
    "                  .folded  folded stacks, one on each line, in microseconds\n"
    "                  .html    a flame graph in one page\n"
    "\n"
    "The second form draws a flame graph from a file of folded stacks.\n"
    "Exit status: 0 on success, 1 if the process could not be read, 2 if the arguments are invalid.\n";

static volatile sig_atomic_t stopped;
static void on_stop(int sig) {
    (void)sig;
    stopped = 1;
}

struct options {
    const char *what, *out;
    double seconds;
    unsigned hz;
};

enum { PPROF, FOLDED, HTML, UNKNOWN };

static bool ends_in(const char *name, const char *end) {
    size_t n = strlen(name), m = strlen(end);
    return n >= m && !strcmp(name + n - m, end);
}

static int format_of(const char *name) {
    if (ends_in(name, ".pb.gz")) return PPROF;
    if (ends_in(name, ".folded")) return FOLDED;
    return ends_in(name, ".html") ? HTML : UNKNOWN;
}

/* --- sampling ------------------------------------------------------------------------------------------- */

struct sampling {
    struct target *target;
    struct weft__profile profile;
    struct threads threads;
    struct glimpse glimpse;
    uint64_t glimpses, missed;
};

/* While the thread is stopped: which fiber does the worker run? */
struct whose {
    struct target *target;
    int tid;
    struct weft__seen *f;
};

static bool find_fiber(void *arg) {
    struct whose *w = arg;
    struct weft__look *look = &w->target->look;
    const struct weft__layout *l = &look->layout;
    for (unsigned i = 0; i < look->workers; i++) {
        if (look->worker[i].tid != w->tid) continue;
        uint64_t record = weft__peek64(look->memory, look->worker[i].address + l->worker_current);
        if (record) w->f->where = weft__peek64(look->memory, record + l->fiber_where);
        break;
    }
    return true;
}

static void sample(struct sampling *s, struct thread_seen *thread) {
    struct weft__look *look = &s->target->look;
    struct weft__seen f = {.state = WEFT_SEEN_RUNNING};
    struct whose whose = {s->target, thread->tid, &f};
    uint64_t owed = thread->owed;
    thread->owed = 0;
    if (!glimpse_thread(look->memory, thread->tid, &s->glimpse, find_fiber, &whose)) {
        s->missed++;
        f.where = 0;
    } else {
        struct weft__window window = {s->glimpse.at.sp, s->glimpse.size, s->glimpse.bytes};
        s->glimpses++;
        f.depth = weft__unwind(look->unwinder, s->glimpse.at, &window, s->glimpse.at.sp, UINT64_MAX, f.frame);
    }
    weft__profile_sample(&s->profile, &f, owed);
}

/* A tick: takes a sample of every thread that has run since the last tick and still runs. */
static bool tick(struct sampling *s) {
    if (!threads_refresh(&s->threads)) return false;
    for (unsigned i = 0; i < s->threads.count; i++) {
        struct thread_seen *t = &s->threads.thread[i];
        if (thread_has_run(t) && thread_runs(t)) sample(s, t);
    }
    return true;
}

/* Adds the CPU time of each thread since its last sample, without a stack. */
static void settle(struct sampling *s) {
    for (unsigned i = 0; i < s->threads.count; i++) {
        struct weft__seen f = {.state = WEFT_SEEN_RUNNING};
        if (s->threads.thread[i].owed) weft__profile_sample(&s->profile, &f, s->threads.thread[i].owed);
    }
}

static void sleep_until(uint64_t at) {
    struct timespec t = {(time_t)(at / 1000000000), (long)(at % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* Looks at all fibers. That may take long, so the pause until the next look is at least ten times as long. */
static int look_at_waits(struct sampling *s, uint64_t *next) {
    enum { EVERY_MS = 50, SHARE = 10 };
    struct target *t = s->target;
    uint64_t begin = target_now(t);
    int err = weft__look_workers(&t->look);
    if (!err) err = weft__track_look(&s->profile.wait, &t->look, begin);
    uint64_t end = target_now(t), rest = SHARE * (end - begin);
    *next = end + (rest > EVERY_MS * 1000000u ? rest : EVERY_MS * 1000000u);
    return err;
}

static int run(struct sampling *s, const struct options *o) {
    struct target *t = s->target;
    struct timespec real;
    uint64_t period = 1000000000 / o->hz, next_look;
    int err = look_at_waits(s, &next_look);
    if (err || !threads_refresh(&s->threads)) return err ? err : -ESRCH;
    clock_gettime(CLOCK_REALTIME, &real);
    s->profile.began_at = (uint64_t)real.tv_sec * 1000000000 + (uint64_t)real.tv_nsec;
    s->profile.began = target_now(t);
    s->profile.period = period;
    uint64_t next = s->profile.began, end = s->profile.began + (uint64_t)(o->seconds * 1e9), now = next;
    while (!stopped && !err && now < end) {
        next += period;
        if (next < now) next = now;
        sleep_until(next < end ? next : end);
        if (!tick(s)) break; /* it has ended */
        now = target_now(t);
        if (now >= next_look || now >= end) err = look_at_waits(s, &next_look);
        now = target_now(t);
    }
    s->profile.ended = now;
    settle(s);
    return err;
}

/* --- writing --------------------------------------------------------------------------------------------- */

static int write_html(struct sampling *s, int fd) {
    char title[128];
    int folded = memfd_create("folded", MFD_CLOEXEC);
    if (folded < 0) return -errno;
    snprintf(title, sizeof title, "process %d, %.1f s", (int)s->target->memory.pid,
             (double)(s->profile.ended - s->profile.began) / 1e9);
    int err = weft__profile_folded(&s->profile, &s->target->names, folded);
    if (!err) err = flame_write(folded, title, fd);
    close(folded);
    return err;
}

static int write_profile(struct sampling *s, int format, const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return -errno;
    int err = format == PPROF    ? weft__profile_pprof(&s->profile, &s->target->names, fd)
              : format == FOLDED ? weft__profile_folded(&s->profile, &s->target->names, fd)
                                 : write_html(s, fd);
    if (close(fd) && !err) err = -errno;
    return err;
}

static void summarize(const struct sampling *s, const char *path) {
    double cpu = 0, waiting = 0;
    for (const struct weft__group *g = s->profile.cpu.groups; g; g = g->other) cpu += (double)g->waited / 1e9;
    for (const struct weft__group *g = s->profile.wait.groups; g; g = g->other)
        if (weft__state_waits(g->seen.state)) waiting += (double)g->waited / 1e9;
    fprintf(stderr,
            "weft: profile: %.1f s: %.2f s of CPU time in %llu samples (%llu missed), %.1f s of waiting in %zu stacks; "
            "%s\n",
            (double)(s->profile.ended - s->profile.began) / 1e9, cpu, (unsigned long long)s->glimpses,
            (unsigned long long)s->missed, waiting, s->profile.wait.used, path);
    if (s->profile.lost || s->profile.wait.left_out)
        fprintf(stderr, "weft: profile: %llu samples and %llu fibers were left out: too many different stacks\n",
                (unsigned long long)s->profile.lost, (unsigned long long)s->profile.wait.left_out);
}

static int profile_process(const struct options *o) {
    struct target t;
    char path[64];
    const char *out = o->out;
    static struct sampling s;
    int code = target_open(&t, o->what);
    if (code) return code;
    if (t.core) {
        target_close(&t);
        return usage("profile: a core file does not run: weft dump, weft explain");
    }
    if (!out) {
        snprintf(path, sizeof path, "weft-%d.pb.gz", (int)t.memory.pid);
        out = path;
    }
    s.target = &t;
    s.threads.pid = t.memory.pid;
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_stop}, NULL);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_stop}, NULL);
    int err = run(&s, o);
    if (err) target_complain(&t, "profile", err);
    if (err && s.profile.began) {
        fprintf(stderr, "weft: profile: only the samples before this are written\n");
        err = 0;
    }
    bool has_profile = !err;
    if (!err) err = write_profile(&s, format_of(out), out);
    if (err && has_profile)
        fprintf(stderr, "weft: profile: %s: %s\n", out, strerror(-err));
    else if (!err)
        summarize(&s, out);
    weft__profile_free(&s.profile);
    threads_free(&s.threads);
    target_close(&t);
    return err ? EXIT_WRONG : 0;
}

/* --- a file of folded stacks -------------------------------------------------------------------------------- */

static int convert(const struct options *o) {
    if (!o->out || format_of(o->out) != HTML) return usage("profile: a file of stacks needs -o FILE.html");
    int from = open(o->what, O_RDONLY | O_CLOEXEC), err = from < 0 ? -errno : 0, to = -1;
    if (!err && (to = open(o->out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) < 0) err = -errno;
    if (!err) err = flame_write(from, o->what, to);
    if (to >= 0 && close(to) && !err) err = -errno;
    if (from >= 0) close(from);
    if (err) fprintf(stderr, "weft: profile: %s: %s\n", from < 0 ? o->what : o->out, strerror(-err));
    return err ? EXIT_WRONG : 0;
}

/* --- arguments ------------------------------------------------------------------------------------------------ */

static bool to_number(const char *text, double least, double most, double *to) {
    char *end;
    *to = strtod(text, &end);
    return *text && !*end && *to >= least && *to <= most;
}

/* One option with its value; 0, or the exit code. */
static int take_option(struct options *o, const char *name, const char *value) {
    double v;
    if (!value) return usage("profile: %s needs a value", name);
    if (!strcmp(name, "--seconds")) {
        if (!to_number(value, 0.01, 86400, &o->seconds)) return usage("profile: --seconds is 0.01 to 86400: %s", value);
    } else if (!strcmp(name, "--hz")) {
        if (!to_number(value, 1, 1000, &v)) return usage("profile: --hz is 1 to 1000: %s", value);
        o->hz = (unsigned)v;
    } else {
        o->out = value;
        if (format_of(value) == UNKNOWN)
            return usage("profile: the name of the file must end in .pb.gz, .folded or .html: %s", value);
    }
    return 0;
}

int command_profile(int argc, char **argv) {
    struct options o = {.seconds = 10, .hz = 99};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(help, stdout);
            return 0;
        }
        char *value = option_value(argv[i]);
        if (!strcmp(argv[i], "--seconds") || !strcmp(argv[i], "--hz") || !strcmp(argv[i], "-o")) {
            const char *name = argv[i];
            if (!value && i + 1 < argc) value = argv[++i];
            int code = take_option(&o, name, value);
            if (code) return code;
        } else if (argv[i][0] == '-')
            return usage("profile: no such option: %s; try: weft profile --help", argv[i]);
        else if (o.what)
            return usage("profile: one process at a time");
        else
            o.what = argv[i];
    }
    if (!o.what) return usage("profile: which process? Try: weft profile --help");
    return ends_in(o.what, ".folded") ? convert(&o) : profile_process(&o);
}
