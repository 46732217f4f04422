/* SPDX-License-Identifier: MIT */
/* All runs of a scene, and the same with each order weakened. */
#include "engine.h"

#include <sys/wait.h>
#include <unistd.h>

struct weft__context weak_explorer;
unsigned current = THREADS, n_threads;
uint64_t states, ends, cut;
bool weak_symmetric;
struct weak_mode mode = {.stale = 2};
static const struct weak_scene *scene;

static struct step path[DEPTH];
static uint8_t path_thread[DEPTH];
static bool is_shown;

static const char *name_of(unsigned atom) {
    static char text[32];
    snprintf(text, sizeof text, "%p", (void *)(uintptr_t)atom_of[atom]->at);
    return text;
}

static void show(unsigned depth) {
    is_shown = true;
    for (unsigned d = 0; d < depth; d++) {
        const struct step *s = &path[d];
        printf("    thread %u  %s: %s", path_thread[d], s->site->function, s->site->text);
        if (engine_has_atom(s->kind)) printf("  [%s]", name_of(s->atom));
        if (s->kind == STEP_STORE || s->kind == STEP_XCHG || s->kind == STEP_SWAP || s->kind == STEP_ADD)
            printf("  value %#llx", (unsigned long long)s->value);
        if (s->kind == STEP_SWAP) printf(s->result.done ? "  done" : "  not done");
        if (s->kind != STEP_STORE && s->kind != STEP_FENCE) printf("  read %#llx", (unsigned long long)s->result.read);
        if (s->kind == STEP_FENCE_ON) printf("  on thread %u", (unsigned)s->expected);
        puts("");
    }
    printf("    %s\n", wrong);
}

/* What earlier calls have left below the frames that are in use is no part of the state. */
static void clean_below(char *sp, unsigned t) {
    size_t free = (size_t)(sp - RED_ZONE - weak_stacks[t]);
    size_t most = free < 768 ? free : 768;
    memset(sp - RED_ZONE - most, 0, most);
}

/* Lets thread t go on until before its next step. */
static __attribute__((noinline)) void go_on(unsigned t) {
    struct thread *th = &engine.thread[t];
    weak_entering(t);
    current = t;
    done_at_once = 0;
    do {
        clean_below(th->at.sp, t);
        weft__switch(&weak_explorer, &th->at, NULL);
    } while (th->state == READY && !anew && engine_is_done_at_once(&th->step));
    if (!anew) engine_note_initialised(th);
    engine_forget_initialised();
    current = THREADS;
}

static void explore(unsigned depth) {
    bool is_end = true;
    if (depth >= DEPTH) {
        engine_fail("too deep");
        return;
    }
    states++;
    if (weak_goes_too_far()) {
        cut++;
        return;
    }
    char *here = engine_keep();
    for (unsigned t = 0; t < THREADS && !wrong && !anew; t++) {
        if (!engine_can_go_on(&engine.thread[t])) continue;
        is_end = false;
        for (unsigned c = 0; !wrong && !anew; c++) {
            engine_put_back(here);
            if (!engine_choose(&engine.thread[t], c)) break;
            path[depth] = engine.thread[t].step;
            path_thread[depth] = (uint8_t)t;
            if (engine.thread[t].state == READY) go_on(t);
            if (anew) break;
            engine_forget_old();
            if (wrong && !is_shown && !mode.quiet) show(depth + 1);
            if (!wrong && engine_is_new()) explore(depth + 1);
        }
        if (!wrong && !anew) engine_put_back(here);
    }
    if (is_end && !wrong && !anew) {
        ends++;
        scene->check();
        if (wrong && !mode.quiet) show(depth);
    }
    free(here);
}

static void begin(void) {
    memset(&engine, 0, sizeof engine);
    for (unsigned s = 0; s < n_shares; s++) memset(weak_shares[s].memory, 0, weak_shares[s].bytes);
    engine_forget_states();
    states = ends = cut = 0;
    wrong = NULL;
    anew = is_shown = false;
    current = THREADS;
    n_threads = 0;
    scene->set_up();
    for (unsigned t = 0; t < scene->threads; t++) weak_start(t);
    for (unsigned p = 0; p < n_atoms; p++) {
        engine.atom[p].count = 1;
        engine.atom[p].message[0].value = engine_get(atom_of[p]->at, atom_of[p]->size);
        memset(engine.atom[p].message[0].view.word, 0xff, WORDS);
    }
    memset(engine.fenced.word, 0xff, WORDS);
}

void weak_quiet(void) { mode.quiet = true; }

bool weak_explore(const struct weak_scene *s) {
    states = ends = cut = 0;
    if (s->large && mode.small) return true;
    scene = s;
    engine_used_reset();
    do {
        begin();
        explore(0);
    } while (anew);
    if (!mode.quiet) {
        printf("%s%s: %llu states, %llu ends", s->name, weak_symmetric ? ", symmetric fences" : "",
               (unsigned long long)states, (unsigned long long)ends);
        if (cut) printf(", %llu cut off", (unsigned long long)cut);
        printf(wrong ? ", WRONG: %s\n" : ", ok\n", wrong);
    }
    return !wrong;
}

static bool meets_heavy_fence(void) {
    for (unsigned i = 0; i < n_sites; i++)
        if (!strcmp(weak_sites[i]->text, "weft__fence_heavy()")) return true;
    return false;
}
static bool (*scenes_once)(void);
static bool explore_scenes(void) {
    bool well = scenes_once();
    if (!well || !meets_heavy_fence()) return well;
    weak_symmetric = true;
    well = scenes_once();
    weak_symmetric = false;
    return well;
}

static const char *order_name(unsigned order) {
    static const char *const names[] = {"relaxed", "acquire", "release", "both"};
    return order & ORDER_HEAVY ? "heavy" : order == ORDER_FULL ? "full" : names[order & 3];
}

/*
 * Everything becomes relaxed; sequentially consistent operations keep acquire and release, and a heavy fence is tried
 * as a full one, too. A swap that is both acquire and release is not tried with one of them: there is one macro for all
 * swaps, which is stronger than some need.
 */
static void weaken(const struct weak_site *site, unsigned order, bool (*all_well)(void)) {
    int status = 0;
    weakened = *site;
    weakened.order = order;
    pid_t child = fork(); /* the source may crash */
    if (!child) _exit(all_well() ? 0 : 1);
    if (child < 0 || waitpid(child, &status, 0) != child) abort();
    printf("mutant %s: %s -> %s: %s\n", site->function, site->text, order_name(order), status ? "found" : "NOT found");
    weakened.text = NULL;
}
static void weaken_all(bool (*all_well)(void)) {
    unsigned n = n_sites;
    for (unsigned i = 0; i < n; i++) {
        const struct weak_site *s = weak_sites[i];
        if (s->order == ORDER_HEAVY) weaken(s, ORDER_FULL, all_well);
        weaken(s, s->order & ORDER_FULL ? s->order & ORDER_BOTH : ORDER_RELAXED, all_well);
    }
}

int weak_main(int argc, char **argv, bool (*all_scenes)(void)) {
    const char *how = argc > 1 ? argv[1] : "order";
    bool mutants = !strcmp(how, "mutants");
    setvbuf(stdout, NULL, _IOLBF, 0);
    mode.in_order = !strcmp(how, "in_order");
    mode.small = mutants || !strcmp(how, "brief");
    mode.stale = mutants || !mode.small ? 2 : 1;
    mode.quiet = mutants;
    scenes_once = all_scenes;
    bool well = explore_scenes();
    if (well && mutants) weaken_all(explore_scenes);
    return !well;
}
