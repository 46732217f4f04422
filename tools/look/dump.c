/* SPDX-License-Identifier: MIT */
/* weft dump: every fiber of a process or core file, what it waits for, and where. See docs/OBSERVABILITY.md. */
#include "command.h"
#include "target.h"

#include "look/track.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "weft dump PID|CORE [options]\n"
    "\n"
    "Prints every fiber of a process or of a core file: its state, what it waits for, which fiber holds that, where "
    "it\n"
    "was spawned, and its stack. The process may run, hang or be stopped, and needs no preparation. Fibers with the\n"
    "same stack are shown together. Only running fibers are interrupted, for some microseconds, to read their stacks.\n"
    "\n"
    "  --all         names every fiber of a group, not only the first four, and prints every frame\n"
    "  --json        prints one JSON object: workers, fibers and stacks\n"
    "  --no-running  does not interrupt running fibers; their stacks are not shown\n"
    "  --no-stacks   shows no stacks\n"
    "  --watch S     looks twice, S seconds apart (0.01 to 3600), and marks fibers that did not move in between\n"
    "\n"
    "Exit status: 0 on success, 1 if the process or core file could not be read, 2 if the arguments are invalid.\n";

/* The first look, and a pause. 0 or -errno. */
static int watch(struct target *t, struct weft__track *track, double seconds) {
    struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    int err = weft__track_look(track, &t->look, target_now(t));
    while (!err && nanosleep(&pause, &pause) && errno == EINTR) {
    }
    return err ? err : weft__look_workers(&t->look);
}

int command_dump(int argc, char **argv) {
    const char *what = NULL;
    bool all = false, json = false, running = true, stacks = true;
    struct weft__track track = {0};
    double seconds = 0;
    char *end;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(help, stdout);
            return 0;
        }
        char *value = option_value(argv[i]);
        if (!strcmp(argv[i], "--watch")) {
            if (!value && i + 1 < argc) value = argv[++i];
            seconds = value ? strtod(value, &end) : 0;
            if (!value || *end || !(seconds >= 0.01 && seconds <= 3600))
                return usage("dump: --watch wants seconds, 0.01 to 3600");
        } else if (!strcmp(argv[i], "--all"))
            all = true;
        else if (!strcmp(argv[i], "--json"))
            json = true;
        else if (!strcmp(argv[i], "--no-running"))
            running = false;
        else if (!strcmp(argv[i], "--no-stacks"))
            stacks = false;
        else if (argv[i][0] == '-')
            return usage("dump: no such option: %s; try: weft dump --help", argv[i]);
        else if (what)
            return usage("dump: one process or core file at a time");
        else
            what = argv[i];
    }
    if (!what) return usage("dump: which process or core file? Try: weft dump --help");
    struct target t;
    int code = target_open(&t, what);
    if (code) return code;
    t.look.stacks = stacks;
    int err = seconds > 0 && !t.core ? watch(&t, &track, seconds) : 0;
    struct weft__report report = target_report(&t, STDOUT_FILENO);
    if (seconds > 0) report.track = &track;
    if (all) {
        report.most = UINT32_MAX;
        report.plumbing = true;
    }
    if (!running) t.look.running = NULL;
    if (!err) err = json ? weft__report_json(&report) : weft__report_text(&report);
    if (err) target_complain(&t, "dump", err);
    weft__track_free(&track);
    target_close(&t);
    return err ? EXIT_WRONG : 0;
}
