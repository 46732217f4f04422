/* SPDX-License-Identifier: MIT */
/*
 * Runs every cell in a process of its own, prints the table of outcomes, and checks that every declared call has a cell
 * for every case. See misuse.h.
 */
#define _GNU_SOURCE
#include "misuse.h"

#include "../state.h"

#include "sched/core/fiber.h"
#include "sched/core/self.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const cases[] = {"null",  "zero",       "stale",  "garbage", "range",
                                    "state", "no_runtime", "thread", "fiber",   "timer"};
#define CASES (sizeof cases / sizeof *cases)
static const struct cell *const lists[] = {cells_of_runtime,  cells_of_fibers, cells_of_clusters, cells_of_values,
                                           cells_of_sync,     cells_of_locks,  cells_of_scope,    cells_of_tasks,
                                           cells_of_chan,     cells_of_par,    cells_of_process,  cells_of_io,
                                           cells_of_io_async, cells_of_stream, cells_of_file};
#define LISTS (sizeof lists / sizeof *lists)

/* --- the fixture ------------------------------------------------------------------------------------------ */

struct fixture fx;

void *nothing_to_do(void *arg) { return arg; }
int returns_seven(void *arg) { return (void)arg, 7; }
void does_nothing(void *arg) { (void)arg; }
int cancel_self(void) { return weft_cancel(weft_self()); }
struct weft_fiber of_this_thread(void) {
    weft_mutex_lock(&fx.free); /* it has a record from now on */
    struct weft_fiber f = weft__handle(weft__fiber_in(fx.free.owner));
    weft_mutex_unlock(&fx.free);
    return f;
}

static int stage;
static void *parks(void *unused) {
    (void)unused;
    __atomic_fetch_add(&stage, 1, __ATOMIC_SEQ_CST);
    weft_park();
    return NULL;
}
static int parks_within(void *unused) { return parks(unused) != NULL; }
static void *holds_and_parks(void *unused) {
    weft_mutex_lock(&fx.others);
    weft_rwlock_write(&fx.others_rw);
    weft_once_run(&fx.others_once, parks_within, NULL);
    return unused;
}
static void *opens_and_parks(void *unused) {
    weft_scope_begin(&fx.open, WEFT_FOREVER);
    weft_shield_begin(&fx.shield);
    return parks(unused);
}
static void *receives(void *chan) {
    __atomic_fetch_add(&stage, 1, __ATOMIC_SEQ_CST);
    weft_chan_recv(chan, NULL);
    return NULL;
}
static void *joins(void *f) {
    __atomic_fetch_add(&stage, 1, __ATOMIC_SEQ_CST);
    weft_join(*(struct weft_fiber *)f, NULL);
    return NULL;
}
static void set(void *flag) { __atomic_store_n((int *)flag, 1, __ATOMIC_SEQ_CST); }

/* What needs no runtime. */
static void prepare_objects(void) {
    fx.none = (struct weft_sem)WEFT_SEM_INIT(0);
    fx.one = (struct weft_sem)WEFT_SEM_INIT(1);
    fx.full = (struct weft_sem)WEFT_SEM_INIT(UINT64_C(1) << 60);
    weft_counter_add(&fx.outstanding, 1);
    weft_barrier_init(&fx.barrier, 2);
    weft_latch_init(&fx.latch, 1);
    weft_counter_add(&fx.most, UINT64_C(1) << 60);
    weft_key_create(&fx.deleted, NULL);
    weft_key_delete(fx.deleted);
    weft_key_create(&fx.key, NULL);
    static int room[2];
    fx.holds_one = (struct weft_chan)WEFT_CHAN_BUFFERED(room);
    weft_chan_send(&fx.holds_one, room);
    weft_chan_close(&fx.closed);
    fx.waited_for = weft_chan_make(4, 0);
    weft_future_set(&fx.done, NULL);
    weft_future_fail(&fx.failed, -EIO);
    memset(&fx.garbage, 0xff, sizeof fx.garbage);
    memset(&fx.bad_config, 0xff, sizeof fx.bad_config);
}

static void prepare_gone_cluster(void) {
    weft_cluster_create(&fx.gone, &(struct weft_config){.workers = 1});
    weft_cluster_destroy(fx.gone);
}

static void prepare_fibers(void) {
    struct weft_fiber opener, receiver;
    int fired = 0;
    weft_spawn(&fx.stale, NULL, nothing_to_do, NULL);
    weft_join(fx.stale, NULL);
    weft_spawn(&fx.ended, NULL, nothing_to_do, NULL);
    weft_spawn(&fx.parked, NULL, parks, NULL);
    weft_spawn(&fx.detached, NULL, holds_and_parks, NULL);
    weft_detach(fx.detached);
    weft_spawn(&fx.joined, NULL, parks, NULL);
    weft_spawn(NULL, NULL, joins, &fx.joined);
    weft_spawn(&opener, NULL, opens_and_parks, NULL);
    weft_detach(opener);
    weft_spawn(&receiver, NULL, receives, fx.waited_for);
    weft_detach(receiver);
    weft_timer_arm(&fx.armed, LATER, does_nothing, NULL);
    weft_timer_arm(&fx.fired, 0, set, &fired);
    weft_cluster_create(&fx.second, &(struct weft_config){.workers = 1});
    prepare_gone_cluster();
    while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) < 6 || !__atomic_load_n(&fired, __ATOMIC_SEQ_CST)) test_nap_ms(1);
    await_state(state_ended, fx.ended);
    await_state(state_waits, fx.parked);
    await_state(state_waits, fx.detached);
    await_state(state_waits, fx.joined);
    await_state(state_joined, fx.joined);
    await_state(state_waits, opener);
    await_state(state_waits, receiver);
}

/* --- one cell, in a child ------------------------------------------------------------------------------------ */

enum { NOT_YET = 123456789 };
static long long *result; /* shared with the child */

static void *run_in_fiber(void *cell) {
    *result = ENDS; /* unless the call returns */
    *result = ((const struct cell *)cell)->run();
    __atomic_store_n(&stage, 1000, __ATOMIC_SEQ_CST);
    return NULL;
}
static void run_in_timer(void *cell) {
    *result = ((const struct cell *)cell)->run();
    __atomic_store_n(&stage, 1000, __ATOMIC_SEQ_CST);
}

struct job {
    const struct cell *cell;
    enum surroundings in;
};

static void run_job(void *arg) {
    struct job *j = arg;
    struct weft_fiber f;
    struct weft_timer timer = WEFT_TIMER_INIT;
    alarm(120);
    prepare_objects();
    if (j->in == NOTHING) { /* there was a runtime: its handles and timers are left */
        weft_start(&(struct weft_config){.workers = 2});
        weft_spawn(&fx.stale, NULL, nothing_to_do, NULL);
        weft_join(fx.stale, NULL);
        weft_timer_arm(&fx.armed, LATER, does_nothing, NULL);
        weft_cluster_create(&fx.second, &(struct weft_config){.workers = 1});
        prepare_gone_cluster();
        weft_stop();
    } else {
        weft_start(&(struct weft_config){.workers = 2});
        prepare_fibers();
    }
    if (j->in == NOTHING || j->in == THREAD) {
        *result = j->cell->run();
    } else if (j->in == FIBER) {
        /* Joins late, because another join of a fiber that is being joined would fail for that reason. */
        weft_spawn(&f, NULL, run_in_fiber, (void *)(uintptr_t)j->cell);
        while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) < 1000 && !state_ended(f)) test_nap_ms(1);
        weft_join(f, NULL);
    } else {
        weft_timer_arm(&timer, 0, run_in_timer, (void *)(uintptr_t)j->cell);
        while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) < 1000) test_nap_ms(1);
    }
    _exit(0); /* as it is: fibers are parked */
}

/* --- results ---------------------------------------------------------------------------------------------------- */

static const char *name_of(long long n) {
    static char text[4][24];
    static unsigned turn;
    if (n == ABORTS) return "aborts";
    if (n == ENDS) return "ends";
    if (n == NOT_YET) return "dies";
    const char *error = n < 0 && n > -4096 ? strerrorname_np((int)-n) : NULL;
    if (error) return error;
    char *t = text[turn++ % 4];
    snprintf(t, sizeof text[0], "%lld", n);
    return t;
}

static unsigned passed, failed;

static long long outcome(const struct cell *c, enum surroundings in) {
    static struct test_child child;
    *result = NOT_YET;
    test_child(&child, run_job, &(struct job){c, in});
    if (test_child_exited(&child, 0)) return *result;
    bool one_line = test_lines_with(child.said, "weft: ") == 1;
    if (test_child_aborted(&child) && one_line) return ABORTS;
    fprintf(stderr, "%s %s: status %x: %s\n", c->call, c->of, (unsigned)child.status, child.said);
    return NOT_YET;
}

/* With a sanitizer a cell takes a tenth of a second. At a small size such a build runs every eighth cell. */
static bool is_left_out(void) {
    static unsigned n;
    return (TEST_ASAN || TEST_TSAN) && test_scale() >= 20 && n++ % 8;
}

static long long check(const struct cell *c, enum surroundings in) {
    if (is_left_out()) return c->wanted;
    long long got = outcome(c, in);
    if (got == c->wanted) {
        passed++;
    } else {
        failed++;
        printf("! %s, %s, in %s: %s, not %s\n", c->call, c->of,
               in == THREAD  ? "a thread"
               : in == FIBER ? "a fiber"
               : in == TIMER ? "a timer"
                             : "no runtime",
               name_of(got), name_of(c->wanted));
    }
    return got;
}

/* Does the cell stand for this case? */
static bool is_of(const struct cell *c, const char *of) {
    size_t n = strlen(of);
    for (const char *at = c->of; (at = strstr(at, of)); at += n)
        if ((at == c->of || at[-1] == ' ') && (!at[n] || at[n] == ',')) return true;
    return false;
}

/* Runs all cells of a call and a case; the outcomes, for the table. False: there is no cell. */
static bool run_cells(const struct cell *list, const char *call, const char *of, char *text, size_t size) {
    bool any = false;
    text[0] = 0;
    for (const struct cell *c = list; c->call; c++) {
        if (strcmp(c->call, call) || !is_of(c, of)) continue;
        any = true;
        long long got = 0;
        if (c->run && c->in == EITHER) check(c, THREAD);
        if (c->run) got = check(c, c->in == EITHER ? FIBER : c->in);
        const char *name = c->run ? name_of(got) : "-";
        if (!strstr(text, name)) snprintf(text + strlen(text), size - strlen(text), "%s%s", text[0] ? "," : "", name);
    }
    return any;
}

/* Prints the table: a line for each call, in columns as wide as their widest cells. */
enum { CALLS_MOST = 400 };
static struct {
    const char *call;
    char text[CASES][64];
} rows[CALLS_MOST];
static unsigned row_count;

static void run_rows(const struct cell *list, const char *part) {
    for (const struct cell *c = list; c->call; c++) {
        if (c > list && !strcmp(c->call, c[-1].call)) continue;
        if (part && !strstr(c->call, part)) continue;
        CHECK(row_count < CALLS_MOST);
        rows[row_count].call = c->call;
        for (unsigned k = 0; k < CASES; k++) {
            char *text = rows[row_count].text[k];
            if (run_cells(list, c->call, cases[k], text, sizeof rows[0].text[0])) continue;
            printf("! %s has no cell for %s\n", c->call, cases[k]);
            strcpy(text, "?");
            failed++;
        }
        row_count++;
    }
}

static void print_table(void) {
    int width[CASES];
    printf("%-24s", "");
    for (unsigned k = 0; k < CASES; k++) {
        width[k] = (int)strlen(cases[k]);
        for (unsigned r = 0; r < row_count; r++)
            if ((int)strlen(rows[r].text[k]) > width[k]) width[k] = (int)strlen(rows[r].text[k]);
        printf(" %-*s", width[k], cases[k]);
    }
    puts("");
    for (unsigned r = 0; r < row_count; r++) {
        printf("%-24s", rows[r].call);
        for (unsigned k = 0; k < CASES; k++) printf(" %-*s", width[k], rows[r].text[k]);
        puts("");
    }
    puts("-: the call takes no such input");
}

/* A macro that adds the caller's source line to another call, which has the row: weft_scope_spawn and
 * weft_scope_spawn_at. */
static bool is_wrapper_of(const char *macro, const char *call) {
    size_t n = strlen(macro);
    return !strncmp(macro, call, n) && !strcmp(call + n, "_at");
}

/* Every call of a header has a row. */
static void check_header(const char *name) {
    char line[512];
    FILE *f = fopen(name, "re");
    CHECK(f);
    while (fgets(line, sizeof line, f)) {
        char *at = strstr(line, "weft_"), *paren = at ? strchr(at, '(') : NULL;
        bool is_part = at && (at[5] == '_' || (at > line && at[-1] == '_')); /* not a public name */
        if (!paren || is_part || strstr(line, "/*") || !strncmp(line, " *", 2) ||
            strspn(at, "abcdefghijklmnopqrstuvwxyz_") != (size_t)(paren - at))
            continue;
        *paren = 0;
        bool found = false;
        for (unsigned l = 0; l < LISTS; l++)
            for (const struct cell *c = lists[l]; c->call; c++)
                found |= !strcmp(c->call, at) || is_wrapper_of(at, c->call);
        if (!found) printf("! %s has no row\n", at);
        *(found ? &passed : &failed) += 1;
    }
    fclose(f);
}

/* All headers, except those of other libraries: TLS, which needs larger stacks (tests/fiber/io_tls_rules.c),
 * libweft-ffi (tests/ffi) and libweft-mpi (tests/dist). */
static void check_headers(void) {
    glob_t all;
    CHECK(!glob(WEFT_INCLUDE "/weft.h", 0, NULL, &all));
    CHECK(!glob(WEFT_INCLUDE "/weft/*.h", GLOB_APPEND, NULL, &all));
    for (size_t i = 0; i < all.gl_pathc; i++)
        if (!strstr(all.gl_pathv[i], "/tls.h") && !strstr(all.gl_pathv[i], "/ffi.h") &&
            !strstr(all.gl_pathv[i], "/dist.h") && !strstr(all.gl_pathv[i], "/old.h"))
            check_header(all.gl_pathv[i]);
    globfree(&all);
}

/* With an argument: only calls with names that contain it. */
int main(int argc, char **argv) {
    const char *part = argc > 1 ? argv[1] : NULL;
    result = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(result != MAP_FAILED);
    for (unsigned l = 0; l < LISTS; l++) run_rows(lists[l], part);
    print_table();
    if (!part) check_headers();
    printf("misuse/misuse: %u passed, %u failed\n", passed, failed);
    return failed != 0;
}
