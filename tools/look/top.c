/* SPDX-License-Identifier: MIT */
/* weft top: what a process does, live, in a terminal; or as JSON, or one frame. See docs/OBSERVABILITY.md. */
#include "command.h"
#include "screen.h"
#include "terminal.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "weft top PID [options]\n"
    "\n"
    "Shows live what the workers and fibers of a process do: load, delays from ready to running, fibers by state, the\n"
    "busiest and the longest waiting fibers by call site, I/O in progress, hogs, steals and helps. The process needs\n"
    "no preparation and is not interrupted.\n"
    "\n"
    "  --interval S  seconds between two frames, 0.1 to 60 (1)\n"
    "  --once        prints one frame after an interval, and exits\n"
    "  --json        prints each frame as a line of JSON; with --once, one line\n"
    "  --frames N    exits after N frames\n"
    "\n"
    "Press h in the terminal for the keys.\n"
    "Exit status: 0, also when the process ends; 1 if the process could not be read; 2 if the arguments are invalid.\n";

struct top {
    struct target target;
    struct view view;
    struct screen screen;
    enum { TABLE, FIBER, HELP } page;
    uint64_t fiber; /* of the page FIBER */
    unsigned scroll;
    unsigned long frames;
    bool json, once;
};

#define SAMPLE_NS 10000000 /* between two samples */

/* When the next frame is due. A look at many fibers takes long, so looks take at most a fifth of the time. */
static uint64_t next_frame(const struct top *t) {
    double rest = 5 * t->view.cost;
    return t->view.at + (uint64_t)((rest > t->screen.interval ? rest : t->screen.interval) * 1e9);
}

/* --- without a terminal ------------------------------------------------------------------------------------ */

static void sleep_until(uint64_t at) {
    struct timespec t = {(time_t)(at / 1000000000), (long)(at % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static int print_frame(struct top *t) {
    struct weft__out o = {.fd = STDOUT_FILENO};
    if (t->json) {
        view_json(&t->view, &o);
        return weft__out_end(&o);
    }
    t->screen.text.n = 0;
    screen_frame(&t->screen, &t->view);
    for (size_t done = 0; done < t->screen.text.n;) {
        ssize_t wrote = write(STDOUT_FILENO, t->screen.text.at + done, t->screen.text.n - done);
        if (wrote < 0 && errno != EINTR) return -errno;
        if (wrote > 0) done += (size_t)wrote;
    }
    return 0;
}

static int stream(struct top *t) {
    int err = 0;
    for (unsigned long i = 0; !err && (!t->frames || i < t->frames); i++) {
        for (uint64_t next = next_frame(t), now; (now = target_now(&t->target)) < next;) {
            view_sample(&t->view);
            sleep_until(now + SAMPLE_NS < next ? now + SAMPLE_NS : next);
        }
        err = view_frame(&t->view);
        if (!err) err = print_frame(t);
    }
    return err;
}

/* --- in a terminal ------------------------------------------------------------------------------------------- */

static void draw(struct top *t) {
    struct screen *s = &t->screen;
    if (!terminal_size(&s->width, &s->height)) s->width = 80, s->height = 24;
    s->text.n = 0;
    if (t->page == FIBER)
        screen_fiber(s, &t->view, t->fiber, t->scroll);
    else if (t->page == HELP)
        screen_help(s);
    else
        screen_frame(s, &t->view);
    terminal_draw(s->text.at, s->text.n);
}

static void type_filter(struct screen *s, int key) {
    size_t n = strlen(s->filter);
    if (key == '\r' || key == '\n')
        s->typing = false;
    else if (key == KEY_ESCAPE) {
        s->typing = false;
        s->filter[0] = 0;
    } else if ((key == 127 || key == 8) && n)
        s->filter[n - 1] = 0;
    else if (key < 256 && isprint(key) && n + 1 < sizeof s->filter) {
        s->filter[n] = (char)key;
        s->filter[n + 1] = 0;
    }
    s->selected = 0;
}

static void move(struct top *t, int by) {
    unsigned *at = t->page == FIBER ? &t->scroll : &t->screen.selected;
    unsigned most = t->page == FIBER ? 200 : t->screen.shown ? t->screen.shown - 1 : 0;
    if (by < 0)
        *at = *at > (unsigned)-by ? *at - (unsigned)-by : 0;
    else
        *at = *at + (unsigned)by < most ? *at + (unsigned)by : most;
}

static void change_interval(struct screen *s, double factor) {
    double next = s->interval * factor;
    if (next >= 0.09 && next <= 61) s->interval = next;
}

/* In the table. False: the end. */
static bool table_key(struct top *t, int key) {
    struct screen *s = &t->screen;
    switch (key) {
    case 'q': return false;
    case 's': s->sort = (s->sort + 1) % SORTS; break;
    case '/': s->typing = true; break;
    case ' ':
    case 'f': s->frozen = !s->frozen; break;
    case '+': change_interval(s, 2); break;
    case '-': change_interval(s, 0.5); break;
    case 'h':
    case '?': t->page = HELP; break;
    case KEY_ESCAPE: s->filter[0] = 0; break;
    case '\r':
    case '\n':
        if (s->fiber) {
            t->fiber = s->fiber;
            t->page = FIBER;
            t->scroll = 0;
        }
        break;
    default: break;
    }
    return true;
}

/* False: the end. */
static bool take_key(struct top *t, int key) {
    if (key == KEY_END_OF_INPUT) return false;
    if (t->screen.typing) {
        if (key != KEY_RESIZE) type_filter(&t->screen, key);
        return true;
    }
    if (key == KEY_UP || key == 'k') move(t, -1);
    if (key == KEY_DOWN || key == 'j') move(t, 1);
    if (key == KEY_PAGE_UP) move(t, -10);
    if (key == KEY_PAGE_DOWN) move(t, 10);
    if (t->page == TABLE) return table_key(t, key);
    if (t->page == HELP && key != KEY_RESIZE) t->page = TABLE;
    if (t->page == FIBER && (key == KEY_ESCAPE || key == 'q')) t->page = TABLE;
    return true;
}

static int run_terminal(struct top *t) {
    uint64_t next = next_frame(t);
    int err = 0;
    bool goes_on = true;
    t->screen.styled = true;
    draw(t);
    for (unsigned long frames = 1; goes_on && !err && (!t->frames || frames < t->frames);) {
        uint64_t now = target_now(&t->target), wake = t->screen.frozen ? now + 1000000000 : now + SAMPLE_NS;
        if (!t->screen.frozen) view_sample(&t->view);
        int key = terminal_key(wake < next || t->screen.frozen ? wake : next);
        if (key != KEY_NONE) {
            goes_on = take_key(t, key);
            if (t->screen.frozen) t->view.before = 0; /* no frame is compared with one before a pause */
            draw(t);
        }
        if (t->screen.frozen || target_now(&t->target) < next) continue;
        if (!(err = view_frame(&t->view))) {
            next = next_frame(t);
            frames++;
            if (t->page == TABLE) draw(t);
        }
    }
    terminal_end();
    return err;
}

/* --- arguments ------------------------------------------------------------------------------------------------- */

static int show(struct top *t, const char *what) {
    int code = target_open(&t->target, what);
    if (code) return code;
    if (t->target.core) {
        target_close(&t->target);
        return usage("top: a core file does not run: weft dump, weft explain");
    }
    bool plain = t->json || t->once;
    int err = view_begin(&t->view, &t->target);
    if (!err && !plain && !terminal_begin()) {
        view_end(&t->view);
        target_close(&t->target);
        return usage("top: this is no terminal; try --once or --json");
    }
    if (!err) err = plain ? stream(t) : run_terminal(t);
    if (err == -ESRCH || (err == -EIO && kill(t->target.memory.pid, 0))) {
        fprintf(stderr, "weft: top: process %s has ended, or its runtime has\n", what);
        err = 0;
    } else if (err)
        target_complain(&t->target, "top", err);
    weft__bytes_free(&t->screen.text);
    view_end(&t->view);
    target_close(&t->target);
    return err && err != -EPIPE ? EXIT_WRONG : 0;
}

static bool to_number(const char *text, double least, double most, double *to) {
    char *end;
    *to = text ? strtod(text, &end) : 0;
    return text && *text && !*end && *to >= least && *to <= most;
}

int command_top(int argc, char **argv) {
    static struct top t = {.screen.interval = 1};
    const char *what = NULL, *columns = getenv("COLUMNS");
    unsigned height;
    double v;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(help, stdout);
            return 0;
        }
        char *value = option_value(argv[i]);
        const char *name = argv[i];
        if (!strcmp(name, "--interval") || !strcmp(name, "--frames")) {
            bool frames = name[2] == 'f';
            if (!value && i + 1 < argc) value = argv[++i];
            if (!to_number(value, frames ? 1 : 0.1, frames ? 1e9 : 60, &v))
                return usage("top: %s needs a number, %s", name, frames ? "1 or more" : "0.1 to 60");
            if (frames)
                t.frames = (unsigned long)v;
            else
                t.screen.interval = v;
        } else if (!strcmp(name, "--once"))
            t.once = true;
        else if (!strcmp(name, "--json"))
            t.json = true;
        else if (name[0] == '-')
            return usage("top: no such option: %s; try: weft top --help", name);
        else if (what)
            return usage("top: one process at a time");
        else
            what = name;
    }
    if (!what) return usage("top: which process? Try: weft top --help");
    if (t.once) t.frames = 1;
    t.screen.width = columns ? (unsigned)strtoul(columns, NULL, 10) : 0;
    if (!t.screen.width && !terminal_size(&t.screen.width, &height)) t.screen.width = 120;
    return show(&t, what);
}
