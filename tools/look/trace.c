/* SPDX-License-Identifier: MIT */
/*
 * weft trace: records a process from outside, and shows what was recorded. See docs/OBSERVABILITY.md.
 *
 * The tool asks for events by storing a time into the recorder of the process: the process records until that time.
 * While the tool reads, it stores later times. So the recording ends soon if the tool is killed. The monitor of the
 * process switches the recorder on at its next tick. Then the tool copies the tapes. The kernel's ptrace rule decides
 * whether the tool may do this.
 */
#include "command.h"
#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "weft trace PID [-o FILE] [--seconds N]\n"
    "weft trace FILE [--span NAME] [--perfetto OUT] [--html OUT]\n"
    "\n"
    "The first form records what the workers and fibers of a process do, event by event. The process needs no\n"
    "preparation. The second form summarizes a recorded file, also one that WEFT_TRACE=FILE wrote: how busy the\n"
    "workers were, how long fibers were ready before they ran, where they waited and for what, what woke them, and\n"
    "the longest stalls.\n"
    "\n"
    "  -o FILE         the file to write (weft-PID.trace)\n"
    "  --seconds N     how long to record (10); Ctrl-C ends it earlier\n"
    "  --span NAME     prints the critical path of the longest span of that name\n"
    "  --perfetto OUT  writes a trace for https://ui.perfetto.dev\n"
    "  --html OUT      writes a timeline as one page that works offline\n"
    "\n"
    "Exit status: 0 on success, 1 if the process or file could not be read, 2 if the arguments are invalid.\n";

#define LEASE_NS UINT64_C(2000000000) /* the process goes on recording for so long after the tool has asked */

static volatile sig_atomic_t stopped;
static void on_stop(int sig) {
    (void)sig;
    stopped = 1;
}

struct options {
    const char *what, *out, *span, *perfetto, *html;
    double seconds;
};

/* --- recording ------------------------------------------------------------------------------------------ */

static void pause_for(uint64_t ns) {
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    nanosleep(&t, NULL);
}

static bool ask_until(struct target *t, uint64_t recorder, uint64_t until) {
    return weft__poke(&t->memory, recorder + offsetof(struct weft__recorder, asked_until), &until, sizeof until);
}

static bool is_on(struct target *t, uint64_t recorder) {
    uint32_t on = 0;
    weft__peek(&t->memory, recorder + offsetof(struct weft__recorder, is_on), &on, sizeof on);
    return on;
}

/* Waits until the process records. It does not begin while none of its workers runs. -ESRCH: the process has ended. */
static int wait_for_recorder(struct target *t, uint64_t recorder, uint64_t end) {
    while (!stopped && target_now(t) < end) {
        if (!ask_until(t, recorder, target_now(t) + LEASE_NS)) return -ESRCH;
        if (is_on(t, recorder)) return 0;
        pause_for(1000000);
    }
    return -EAGAIN;
}

static int visits(struct target *t, struct weft__trace_writer *w, uint64_t end) {
    uint64_t pause = 2000000, next_ask = 0, now;
    int err = 0;
    while (!err && !stopped && (now = target_now(t)) < end) {
        if (now >= next_ask) {
            ask_until(t, w->recorder, now + LEASE_NS);
            next_ask = now + LEASE_NS / 4;
        }
        pause_for(end - now < pause ? end - now : pause);
        err = weft__trace_drain(w);
        if (w->rules)
            pause = 100000;
        else if (w->most > WEFT_TAPE_EVENTS / 4)
            pause /= 2;
        if (w->most < WEFT_TAPE_EVENTS / 16 && pause < 20000000) pause *= 2;
    }
    return err;
}

static int record(struct target *t, struct weft__trace_writer *w, int fd, double seconds) {
    uint64_t recorder = (uintptr_t)t->look.layout.recorder, end = target_now(t) + (uint64_t)(seconds * 1e9);
    int err = wait_for_recorder(t, recorder, end);
    bool idle = err == -EAGAIN;
    if (err && !idle) return err;
    w->unwinder = t->look.unwinder;
    err = weft__trace_writer_begin(w, &t->memory, recorder, &t->look.modules, fd, false);
    t->look.running = NULL; /* nothing is stopped for this */
    if (!err) err = weft__trace_fibers(w, &t->look, false);
    if (!err) err = visits(t, w, end);
    bool gone = err == -ESRCH;
    if (!err) err = weft__trace_drain(w);
    ask_until(t, recorder, 0);
    if (!err) err = weft__trace_fibers(w, &t->look, true);
    if (!err || gone) err = weft__trace_writer_end(w);
    if (!err && idle) fprintf(stderr, "weft: trace: no worker of the process has run: it is stopped, or waits\n");
    if (!err && gone) fprintf(stderr, "weft: trace: the process has ended, or has begun another program\n");
    return err;
}

static int record_process(const struct options *o) {
    struct target t;
    char path[64];
    const char *out = o->out;
    int code = target_open(&t, o->what);
    if (code) return code;
    snprintf(path, sizeof path, "weft-%d.trace", (int)t.memory.pid);
    if (!out) out = path;
    int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), err = fd < 0 ? -errno : 0;
    struct weft__trace_writer *w = calloc(1, sizeof *w);
    if (!w) err = -ENOMEM;
    if (!err) {
        signal(SIGINT, on_stop);
        signal(SIGTERM, on_stop);
        err = record(&t, w, fd, o->seconds);
    }
    if (fd >= 0 && close(fd) && !err) err = -errno;
    if (err == -ESRCH || err == -EIO)
        target_complain(&t, "trace", err);
    else if (err)
        fprintf(stderr, "weft: trace: %s: %s\n", out, strerror(-err));
    else
        fprintf(stderr, "weft: trace: %llu events, %llu lost; %s\n", (unsigned long long)w->events,
                (unsigned long long)w->lost, out);
    free(w);
    target_close(&t);
    return err ? EXIT_WRONG : 0;
}

/* --- showing ---------------------------------------------------------------------------------------------- */

static int show(const struct options *o) {
    struct trace *t = calloc(1, sizeof *t);
    if (!t) return EXIT_WRONG;
    int code = trace_load(t, o->what), err = 0;
    const char *path = NULL;
    if (!code && o->perfetto) err = trace_perfetto(t, path = o->perfetto);
    if (!code && !err && o->html) err = trace_page(t, path = o->html);
    if (!code && !err && ((!o->perfetto && !o->html) || o->span)) err = trace_summary(t, o->span, stdout);
    if (err) fprintf(stderr, "weft: trace: %s: %s\n", path ? path : "output", strerror(-err));
    trace_free(t);
    free(t);
    return code ? code : err ? EXIT_WRONG : 0;
}

/* --- arguments ---------------------------------------------------------------------------------------------- */

static const char **text_option(struct options *o, const char *name) {
    return !strcmp(name, "-o")           ? &o->out
           : !strcmp(name, "--span")     ? &o->span
           : !strcmp(name, "--perfetto") ? &o->perfetto
           : !strcmp(name, "--html")     ? &o->html
                                         : NULL;
}

int command_trace(int argc, char **argv) {
    struct options o = {.seconds = 10};
    char *end;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(help, stdout);
            return 0;
        }
        char *value = option_value(argv[i]);
        const char **text = text_option(&o, argv[i]);
        bool seconds = !strcmp(argv[i], "--seconds");
        if (text || seconds) {
            const char *name = argv[i];
            if (!value && i + 1 < argc) value = argv[++i];
            if (!value || !*value) return usage("trace: %s wants a value", name);
            if (text) *text = value;
            if (seconds) o.seconds = strtod(value, &end);
            if (seconds && (*end || !(o.seconds >= 0.01 && o.seconds <= 86400)))
                return usage("trace: --seconds wants seconds, 0.01 to 86400");
        } else if (argv[i][0] == '-')
            return usage("trace: no such option: %s; try: weft trace --help", argv[i]);
        else if (o.what)
            return usage("trace: one process or file at a time");
        else
            o.what = argv[i];
    }
    if (!o.what) return usage("trace: which process or file? Try: weft trace --help");
    bool number = strspn(o.what, "0123456789") == strlen(o.what);
    if (number && access(o.what, F_OK)) return record_process(&o);
    if (o.out) return usage("trace: -o is for a process; %s is a file", o.what);
    return show(&o);
}
