/* SPDX-License-Identifier: MIT */
/* See screen.h. */
#include "screen.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum style { PLAIN, BOLD, INVERSE, SELECTED };

/* --- lines ------------------------------------------------------------------------------------------------- */

static void put(struct screen *s, const char *text) { weft__bytes_add(&s->text, text, strlen(text)); }

/* Adds a line. Names come from the process, so characters that cannot be printed become dots. */
static void line(struct screen *s, enum style style, const char *format, ...) {
    char text[512];
    va_list list;
    if (s->height && s->lines >= s->height) return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (s->width < sizeof text) text[s->width] = 0;
    for (char *c = text; *c; c++)
        if (!isprint((unsigned char)*c)) *c = '.';
    if (s->styled && s->lines) put(s, "\r\n");
    if (s->styled && style != PLAIN) put(s, style == BOLD ? "\033[1m" : "\033[7m");
    put(s, text);
    if (style == INVERSE || style == SELECTED) /* the whole width */
        for (size_t i = strlen(text); s->styled && i < s->width; i++) put(s, " ");
    if (s->styled) put(s, style != PLAIN ? "\033[m\033[K" : "\033[K");
    if (!s->styled) put(s, "\n");
    s->lines++;
}

/* --- numbers ------------------------------------------------------------------------------------------------ */

struct text {
    char text[24];
};

static struct text time_text(double seconds) {
    struct text t;
    if (seconds < 1e-6)
        snprintf(t.text, sizeof t.text, "%.0fns", seconds * 1e9);
    else if (seconds < 1e-3)
        snprintf(t.text, sizeof t.text, "%.3gus", seconds * 1e6);
    else if (seconds < 1)
        snprintf(t.text, sizeof t.text, "%.3gms", seconds * 1e3);
    else if (seconds < 600)
        snprintf(t.text, sizeof t.text, "%.1fs", seconds);
    else
        snprintf(t.text, sizeof t.text, "%.0fmin", seconds / 60);
    return t;
}

static struct text number_text(double n) {
    struct text t;
    if (n < 9999.5)
        snprintf(t.text, sizeof t.text, "%.*f", n < 9.95 && n > 0.05 ? 1 : 0, n);
    else if (n < 999.5e3)
        snprintf(t.text, sizeof t.text, "%.0fk", n / 1e3);
    else if (n < 999.5e6)
        snprintf(t.text, sizeof t.text, "%.2gM", n / 1e6);
    else
        snprintf(t.text, sizeof t.text, "%.2gG", n / 1e9);
    return t;
}

/* --- the head ------------------------------------------------------------------------------------------------- */

/* Appends to a line at n; cuts off what does not fit. Returns the length that the line would have with enough room. */
static size_t add(char *to, size_t size, size_t n, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int more = n < size ? vsnprintf(to + n, size - n, format, list) : 0;
    va_end(list);
    return n + (more > 0 ? (size_t)more : 0);
}

static void draw_states(struct screen *s, const struct view *v) {
    char text[512];
    uint64_t total = 0;
    for (unsigned i = 0; i < WEFT_SEEN_STATES; i++)
        if (i != WEFT_SEEN_THREAD) total += v->track.states[i];
    size_t n = add(text, sizeof text, 0, "fibers %llu", (unsigned long long)total);
    static const char *const names[WEFT_SEEN_STATES] = {"fresh",   "ready", "running", "waiting",
                                                        "outside", "ended", NULL};
    for (unsigned i = 0; i < WEFT_SEEN_STATES; i++)
        if (names[i]) n = add(text, sizeof text, n, "  %s %llu", names[i], (unsigned long long)v->track.states[i]);
    if (v->track.torn) n = add(text, sizeof text, n, "  torn %llu", (unsigned long long)v->track.torn);
    if (v->track.left_out) add(text, sizeof text, n, "  left out %llu", (unsigned long long)v->track.left_out);
    line(s, PLAIN, "%s", text);
}

static void draw_io(struct screen *s, const struct view *v) {
    char text[512];
    size_t n = add(text, sizeof text, 0, "outside:");
    for (unsigned i = 0; i < v->io_kinds; i++)
        n = add(text, sizeof text, n, "  %s %llu", v->io[i].name, (unsigned long long)v->io[i].count);
    if (!v->io_kinds) add(text, sizeof text, n, "  nothing");
    line(s, PLAIN, "%s", text);
}

static void draw_head(struct screen *s, const struct view *v) {
    const struct weft__look *look = &v->target->look;
    char text[512];
    size_t n;
    line(s, INVERSE, "weft top: process %d, weft %s, watched for %.0f s, a frame in %.1f s%s",
         (int)v->target->memory.pid, look->layout.release, (double)(v->at - v->began) / 1e9, s->interval,
         s->frozen ? "  FROZEN" : "");
    draw_states(s, v);
    if (v->delays)
        line(s, PLAIN, "ready to running: half within %s, 90%% %s, 99%% %s, all %s", time_text(v->delay[0]).text,
             time_text(v->delay[1]).text, time_text(v->delay[2]).text, time_text(v->delay[3]).text);
    else
        line(s, PLAIN, "ready to running: no fiber was timed");
    n = add(text, sizeof text, 0, "a second:");
    for (unsigned i = 0; i < VIEW_RATES; i++)
        n = add(text, sizeof text, n, "  %s %s", view_rate_name[i], number_text(v->rates[i]).text);
    line(s, PLAIN, "%s", text);
    draw_io(s, v);
    for (unsigned i = 0; i < v->workers; i++)
        if (v->worker[i].hog_ns)
            line(s, BOLD, "hog: fiber 0x%llx has had worker %u for %s%s", (unsigned long long)v->worker[i].runs,
                 v->worker[i].seen.index, time_text((double)v->worker[i].hog_ns / 1e9).text,
                 v->worker[i].seen.blocks ? ", blocked in C" : "");
}

/* --- workers --------------------------------------------------------------------------------------------------- */

static void draw_workers(struct screen *s, const struct view *v) {
    bool wide = s->width >= 100;
    unsigned most = s->height ? s->height / 4 : v->workers;
    line(s, PLAIN, "%s", "");
    line(s, BOLD,
         wide ? "WORKER   BUSY    CPU  READY TIMERS REQUESTS SWITCHES  STEALS   HELPS  SLEEPS  STATE"
              : "WORKER   BUSY    CPU  READY SWITCHES  STEALS  STATE");
    for (unsigned i = 0; i < v->workers; i++) {
        const struct view_worker *w = &v->worker[i];
        char state[48] = "asleep";
        if (i == most && v->workers > most + 1) {
            line(s, PLAIN, "  and %u more", v->workers - most);
            break;
        }
        if (w->runs)
            snprintf(state, sizeof state, "runs 0x%llx", (unsigned long long)w->runs);
        else if (w->seen.expiring)
            snprintf(state, sizeof state, "in a timer's function");
        else if (w->seen.busy_since)
            snprintf(state, sizeof state, "looks for work");
        if (wide)
            line(s, PLAIN, "%3u/%-3u %5.1f%% %5.1f%% %6llu %6llu %8llu %8s %7s %7s %7s  %s", w->seen.cluster,
                 w->seen.index, 100 * w->busy, 100 * w->cpu, (unsigned long long)(w->seen.queued + w->seen.aside),
                 (unsigned long long)w->seen.armed, (unsigned long long)w->seen.in_flight,
                 number_text(w->rates[0]).text, number_text(w->rates[3]).text, number_text(w->rates[4]).text,
                 number_text(w->rates[5]).text, state);
        else
            line(s, PLAIN, "%3u/%-3u %5.1f%% %5.1f%% %6llu %8s %7s  %s", w->seen.cluster, w->seen.index, 100 * w->busy,
                 100 * w->cpu, (unsigned long long)(w->seen.queued + w->seen.aside), number_text(w->rates[0]).text,
                 number_text(w->rates[3]).text, state);
    }
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static enum screen_sort order; /* qsort has no argument */

static int compare(const void *a, const void *b) {
    const struct view_row *x = a, *y = b;
    if (x->is_busy != y->is_busy) return x->is_busy ? -1 : 1;
    if (x->is_busy) return x->share > y->share ? -1 : x->share < y->share;
    double p = order == BY_COUNT ? (double)x->count : order == BY_LONGEST ? (double)x->longest : x->arrivals;
    double q = order == BY_COUNT ? (double)y->count : order == BY_LONGEST ? (double)y->longest : y->arrivals;
    if (p != q) return p > q ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

static bool passes(const struct screen *s, const struct view_row *r) {
    return !s->filter[0] || strstr(r->where, s->filter) || strstr(r->what, s->filter);
}

static void draw_row(struct screen *s, const struct view_row *r, unsigned number) {
    enum style style = s->styled && number == s->selected ? SELECTED : PLAIN;
    if (number == s->selected) s->fiber = r->fiber;
    if (r->is_busy)
        line(s, style, "%7.1f%% %10llu  0x%-10llx %s", 100 * r->share, (unsigned long long)r->count,
             (unsigned long long)r->fiber, r->where);
    else
        line(s, style, "%8llu %s%9s %9s  %-22.22s %s", (unsigned long long)r->count, r->at_least ? ">" : " ",
             time_text((double)r->longest / 1e9).text, number_text(r->arrivals).text, r->what, r->where);
}

/* The rows of one kind, up to a limit. The selected row is among them. */
static void draw_rows(struct screen *s, struct view *v, bool busy, unsigned most) {
    unsigned first = s->shown, n = 0, skip = 0;
    for (unsigned i = 0; i < v->rows; i++)
        if (v->row[i].is_busy == busy && passes(s, &v->row[i])) n++;
    if (s->selected >= first && s->selected < first + n && s->selected - first >= most)
        skip = s->selected - first - most + 1;
    for (unsigned i = 0, k = 0; i < v->rows; i++) {
        if (v->row[i].is_busy != busy || !passes(s, &v->row[i])) continue;
        if (k >= skip && k - skip < most) draw_row(s, &v->row[i], first + k);
        k++;
    }
    s->shown += n;
}

static unsigned room_left(const struct screen *s) {
    return !s->height ? 10000 : s->lines + 1 < s->height ? s->height - s->lines - 1 : 0;
}

void screen_frame(struct screen *s, struct view *v) {
    static const char *const names[SORTS] = {"count", "longest", "new"};
    s->lines = s->shown = 0;
    s->fiber = 0;
    order = s->sort;
    if (v->rows) qsort(v->row, v->rows, sizeof *v->row, compare);
    draw_head(s, v);
    draw_workers(s, v);
    line(s, PLAIN, "%s", "");
    line(s, BOLD, "    BUSY     FIBERS  BUSIEST      SPAWNED AT");
    draw_rows(s, v, true, s->height ? room_left(s) / 3 : 20);
    line(s, PLAIN, "by %s%s%s", names[s->sort], s->filter[0] ? ", with " : "", s->filter);
    line(s, BOLD, "   COUNT    LONGEST     NEW/s  WAITS FOR              AT");
    draw_rows(s, v, false, room_left(s));
    if (s->shown && s->selected >= s->shown) s->selected = s->shown - 1;
    while (s->styled && s->lines + 1 < s->height) line(s, PLAIN, "%s", "");
    if (s->styled && s->typing)
        line(s, INVERSE, "show rows with: %s_  (Enter, Esc)", s->filter);
    else if (s->styled)
        line(s, INVERSE, "q quit  arrows select  Enter stack  s sort  / filter  space freeze  + - interval  h help");
}

/* --- one fiber -----------------------------------------------------------------------------------------------------
 */

static void write_fiber(struct view *v, uint64_t id, int fd) {
    struct weft__report report = target_report(v->target, fd);
    static struct weft__seen f;
    char where[256] = "an unknown place";
    report.plumbing = true;
    if (!weft__look_fiber(&v->target->look, id, &f)) {
        weft__out(&report.out, "fiber 0x%llx has ended\n", (unsigned long long)id);
        weft__out_end(&report.out);
        return;
    }
    weft__report_line(&report, &f);
    uint64_t since = weft__track_since(&v->track, &f);
    if (since)
        weft__out(&report.out, "\nin this wait for %s%s", since <= v->track.began ? "at least " : "about ",
                  time_text((double)(report.now - since) / 1e9).text);
    if (f.where) weft__peek_string(&v->target->memory, f.where, where, sizeof where);
    weft__out(&report.out, "\nspawned at %s\n\n", where);
    for (unsigned i = 0; i < f.depth; i++) weft__report_frame(&report, f.frame[i], i);
    if (!f.depth) weft__out(&report.out, "    no stack could be read\n");
    weft__out_end(&report.out);
}

void screen_fiber(struct screen *s, struct view *v, uint64_t id, unsigned first_line) {
    int fd = memfd_create("fiber", MFD_CLOEXEC);
    FILE *file = NULL;
    char text[512];
    unsigned n = 0;
    s->lines = 0;
    line(s, INVERSE, "weft top: fiber 0x%llx", (unsigned long long)id);
    if (fd >= 0) {
        write_fiber(v, id, fd);
        lseek(fd, 0, SEEK_SET);
        file = fdopen(fd, "r");
        if (!file) close(fd);
    }
    while (file && fgets(text, sizeof text, file)) {
        text[strcspn(text, "\n")] = 0;
        if (n++ >= first_line && (!s->height || s->lines + 1 < s->height)) line(s, PLAIN, "%s", text);
    }
    if (file) fclose(file);
    while (s->styled && s->lines + 1 < s->height) line(s, PLAIN, "%s", "");
    if (s->styled) line(s, INVERSE, "Esc back  arrows scroll  r read again");
}

void screen_help(struct screen *s) {
    static const char *const text[] = {
        "BUSY       share of the time in which a worker ran a fiber, by samples of what it runs",
        "CPU        share of the time in which its thread ran, as the kernel says",
        "READY      fibers in its queue; TIMERS armed; REQUESTS to the kernel under way",
        "STEALS     times a second that it took fibers when it had none; HELPS: when it had some",
        "",
        "busiest    places where fibers were spawned, by the time in which they ran",
        "waiting    call sites of fibers that do not run: how many stand there, how long the longest",
        "           has (> at least: it stood there when this began), and how many came in a second",
        "",
        "q          quit                        Enter   the stack of the row's busiest, or longest",
        "up, down   select a row (or k, j)              waiting, fiber; a fiber that runs is stopped",
        "s          sort: count, longest, new           for some microseconds to read it",
        "/          only rows with a text       space   freeze, and go on (or f)",
        "+ -        interval                    Esc     back; no filter",
    };
    s->lines = 0;
    line(s, INVERSE, "weft top: help");
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) line(s, PLAIN, "%s", text[i]);
    while (s->styled && s->lines + 1 < s->height) line(s, PLAIN, "%s", "");
    if (s->styled) line(s, INVERSE, "any key: back");
}
