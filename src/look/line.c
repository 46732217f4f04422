/* SPDX-License-Identifier: MIT */
/* A fiber, and a frame, in a line of text. See report.h. */
#define _GNU_SOURCE
#include "look/report.h"

#include "look/descriptor.h"
#include "look/track.h"
#include "sched/wait/wait_chain.h"

#include <poll.h>

const char *weft__state_name(enum weft__state state) {
    static const char *const names[WEFT_SEEN_STATES] = {
        [WEFT_SEEN_FRESH] = "ready, not begun",
        [WEFT_SEEN_READY] = "ready",
        [WEFT_SEEN_RUNNING] = "running",
        [WEFT_SEEN_WAITING] = "waiting",
        [WEFT_SEEN_OUTSIDE] = "waiting for something outside",
        [WEFT_SEEN_ENDED] = "ended, not joined",
        [WEFT_SEEN_THREAD] = "waiting",
    };
    return (unsigned)state < WEFT_SEEN_STATES ? names[state] : "?";
}

static void say_object(struct weft__report *r, const char *kind, uint64_t object) {
    char name[128];
    weft__out(&r->out, "%s", kind);
    if (!object) return;
    weft__out(&r->out, " 0x%llx", (unsigned long long)object);
    if (r->names && r->names->data && r->names->data(r->names, object, name, sizeof name))
        weft__out(&r->out, " (%s)", name);
}

static void say_events(struct weft__report *r, int events) {
    static const struct {
        int bit;
        const char *name;
    } names[] = {{POLLIN, "in"}, {POLLOUT, "out"}, {POLLPRI, "pri"}, {POLLRDHUP, "rdhup"}};
    const char *between = " for ";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (events & names[i].bit) {
            weft__out(&r->out, "%s%s", between, names[i].name);
            between = "|";
        }
}

static void say_cases(struct weft__report *r, const struct weft__seen *f) {
    const char *between = "select of ";
    unsigned n = f->cases < WEFT_LOOK_CASES ? f->cases : WEFT_LOOK_CASES;
    if (!n) weft__out(&r->out, "select");
    for (unsigned i = 0; i < n; i++) {
        weft__out(&r->out, "%s", between);
        if (f->select[i].on == WEFT_ON_DESCRIPTOR)
            weft__out(&r->out, "descriptor %d", (int)f->select[i].object - 1);
        else
            say_object(r, weft__waits_name(f->select[i].on), f->select[i].object);
        between = ", ";
    }
    if (f->cases > n) weft__out(&r->out, " and %u more", f->cases - n);
}

static void say_descriptor(struct weft__report *r, int fd) {
    char name[128];
    weft__out(&r->out, "descriptor %d", fd);
    if (r->look->memory->pid && weft__descriptor_name(r->look->memory->pid, fd, name, sizeof name))
        weft__out(&r->out, " (%s)", name);
}

void weft__report_wait(struct weft__report *r, const struct weft__seen *f) {
    switch (f->on) {
    case WEFT_WAITS_SELECT: say_cases(r, f); break;
    case WEFT_WAITS_JOIN:
        if (f->owner)
            weft__out(&r->out, "end of fiber 0x%llx", (unsigned long long)f->owner);
        else
            weft__out(&r->out, "end of a fiber that has not begun");
        break;
    case WEFT_WAITS_CALL:
        say_object(r, "end of a forked call", f->object);
        if (f->owner) weft__out(&r->out, ", which fiber 0x%llx runs", (unsigned long long)f->owner);
        break;
    case WEFT_ON_DESCRIPTOR:
        say_descriptor(r, f->fd);
        say_events(r, f->events);
        break;
    default:
        say_object(r, weft__waits_name(f->on), f->object);
        if (f->on == WEFT_WAITS_IO && f->fd >= 0) {
            weft__out(&r->out, ", ");
            say_descriptor(r, f->fd);
        }
        if (f->owner) weft__out(&r->out, ", held by fiber 0x%llx", (unsigned long long)f->owner);
        if (f->held_outside) weft__out(&r->out, ", held by a thread of the program");
    }
}

static void say_time(struct weft__report *r, const char *before, uint64_t ns, const char *after) {
    if (ns < 1000000000)
        weft__out(&r->out, "%s%llu ms%s", before, (unsigned long long)(ns / 1000000), after);
    else
        weft__out(&r->out, "%s%.1f s%s", before, (double)ns / 1e9, after);
}

void weft__report_line(struct weft__report *r, const struct weft__seen *f) {
    weft__out(&r->out, "%s 0x%llx", f->state == WEFT_SEEN_THREAD ? "thread" : "fiber", (unsigned long long)f->id);
    if (f->name[0]) weft__out(&r->out, " \"%.15s\"", f->name);
    if (f->on) {
        weft__out(&r->out, " waits for ");
        weft__report_wait(r, f);
        if (f->deadline && r->now && f->deadline > r->now) say_time(r, ", for ", f->deadline - r->now, " at most");
    } else
        weft__out(&r->out, " %s", weft__state_name(f->state));
    if (f->worker) {
        const struct weft__worker_seen *w = &r->look->worker[f->worker - 1];
        weft__out(&r->out, " on worker %u (thread %d)", w->index, w->tid);
    }
    uint64_t waits_since = weft__waits_since(r->track, f);
    if (waits_since && r->now >= waits_since + 1000000) say_time(r, ", for at least ", r->now - waits_since, "");
    if (f->since && r->now > f->since) say_time(r, ", for ", r->now - f->since, f->blocks ? ", blocked in C" : "");
    if ((f->wait & WEFT_WAIT_CANCEL) && f->kind == WEFT_KIND_FIBER) weft__out(&r->out, ", cancelled");
    if (f->torn) weft__out(&r->out, ", torn: it changed while it was read");
}

struct frame {
    struct weft__report *report;
    uint64_t pc;
    unsigned number;
};

bool weft__symbol_is_plumbing(const struct weft__symbol *s) {
    if (!s->function || strncmp(s->function, "weft__", 6)) return false;
    return s->inlined || !strcmp(s->function, "weft__stack_main") || !strcmp(s->function, "weft__context_entry");
}

static void say_frame(const struct weft__symbol *s, void *arg) {
    struct frame *f = arg;
    struct weft__out *o = &f->report->out;
    if (!f->report->plumbing && weft__symbol_is_plumbing(s)) return;
    weft__out(o, "    #%-2u ", f->number);
    if (s->function)
        weft__out(o, "%s", s->function);
    else
        weft__out(o, "0x%llx", (unsigned long long)f->pc);
    if (s->file)
        weft__out(o, " at %s:%d", s->file, s->line);
    else if (s->function)
        weft__out(o, "+0x%llx%s%s", (unsigned long long)s->offset, s->module ? " in " : "", s->module ? s->module : "");
    else if (s->module)
        weft__out(o, " in %s+0x%llx", s->module, (unsigned long long)s->offset);
    weft__out(o, "%s\n", s->inlined ? " (inlined)" : "");
}

void weft__report_frame(struct weft__report *r, uint64_t pc, unsigned number) {
    struct frame f = {r, pc, number};
    r->names->code(r->names, pc, number > 0, say_frame, &f);
}
