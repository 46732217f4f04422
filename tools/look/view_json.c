/* SPDX-License-Identifier: MIT */
/* A frame of `weft top` as one line of JSON. */
#include "screen.h"

static void put_workers(const struct view *v, struct weft__out *o) {
    for (unsigned i = 0; i < v->workers; i++) {
        const struct view_worker *w = &v->worker[i];
        weft__out(o,
                  "%s{\"cluster\":%u,\"worker\":%u,\"thread\":%d,\"busy\":%.4f,\"cpu\":%.4f,\"ready\":%llu,"
                  "\"timers\":%llu,\"requests\":%llu",
                  i ? "," : "", w->seen.cluster, w->seen.index, w->seen.tid, w->busy, w->cpu,
                  (unsigned long long)(w->seen.queued + w->seen.aside), (unsigned long long)w->seen.armed,
                  (unsigned long long)w->seen.in_flight);
        for (unsigned k = 0; k < VIEW_RATES; k++)
            weft__out(o, ",\"%s_per_second\":%.1f", view_rate_name[k], w->rates[k]);
        if (w->runs) weft__out(o, ",\"runs\":\"0x%llx\"", (unsigned long long)w->runs);
        if (w->hog_ns)
            weft__out(o, ",\"hog_ns\":%llu,\"blocked_in_c\":%s", (unsigned long long)w->hog_ns,
                      w->seen.blocks ? "true" : "false");
        weft__out(o, "}");
    }
}

static void put_rows(const struct view *v, struct weft__out *o, bool busy) {
    bool any = false;
    for (unsigned i = 0; i < v->rows; i++) {
        const struct view_row *r = &v->row[i];
        if (r->is_busy != busy) continue;
        weft__out(o, "%s{\"fibers\":%llu,\"fiber\":\"0x%llx\"", any ? "," : "", (unsigned long long)r->count,
                  (unsigned long long)r->fiber);
        any = true;
        if (busy)
            weft__out(o, ",\"share\":%.4f,\"spawned_at\":", r->share);
        else {
            weft__out(o, ",\"longest_ns\":%llu,\"at_least\":%s,\"new_per_second\":%.1f,\"waits_for\":",
                      (unsigned long long)r->longest, r->at_least ? "true" : "false", r->arrivals);
            weft__out_quoted(o, r->what);
            weft__out(o, ",\"at\":");
        }
        weft__out_quoted(o, r->where);
        weft__out(o, "}");
    }
}

void view_json(const struct view *v, struct weft__out *o) {
    static const char *const states[WEFT_SEEN_STATES] = {"fresh",   "ready", "running", "waiting",
                                                         "outside", "ended", "threads"};
    weft__out(o, "{\"pid\":%d,\"seconds\":%.3f,\"fibers\":{", (int)v->target->memory.pid,
              (double)(v->at - v->began) / 1e9);
    for (unsigned i = 0; i < WEFT_SEEN_STATES; i++)
        weft__out(o, "%s\"%s\":%llu", i ? "," : "", states[i], (unsigned long long)v->track.states[i]);
    weft__out(o, ",\"torn\":%llu},\"delay\":{\"timed\":%llu,\"p50\":%.9f,\"p90\":%.9f,\"p99\":%.9f,\"max\":%.9f}",
              (unsigned long long)v->track.torn, (unsigned long long)v->delays, v->delay[0], v->delay[1], v->delay[2],
              v->delay[3]);
    for (unsigned i = 0; i < VIEW_RATES; i++) weft__out(o, ",\"%s_per_second\":%.1f", view_rate_name[i], v->rates[i]);
    weft__out(o, ",\"outside\":{");
    for (unsigned i = 0; i < v->io_kinds; i++) {
        if (i) weft__out(o, ",");
        weft__out_quoted(o, v->io[i].name);
        weft__out(o, ":%llu", (unsigned long long)v->io[i].count);
    }
    weft__out(o, "},\"workers\":[");
    put_workers(v, o);
    weft__out(o, "],\"busiest\":[");
    put_rows(v, o, true);
    weft__out(o, "],\"waiting\":[");
    put_rows(v, o, false);
    weft__out(o, "]}\n");
}
