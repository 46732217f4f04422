/* SPDX-License-Identifier: MIT */
/* The report of a failure: the program, the step of each actor, the state of the runtime. */
#include "random.h"

#include "../watchdog.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void dump(void); /* ../stress/dump.c */

static _Atomic uint64_t steps_done;

void moved(void) { atomic_fetch_add_explicit(&steps_done, 1, memory_order_relaxed); }

/* --- what there is ---------------------------------------------------------------------------- */

static const char *const type_names[] = {"root thread", "root fiber", "fiber", "child", "task", "thread"};

static void print_op(const struct op *op) {
    fprintf(stderr, "  op %u %s:", op->number, op->kind->name);
    if (op->child) fprintf(stderr, " makes %u;", op->child->number);
    if (op->needs) fprintf(stderr, " of op %u;", op->needs->number);
    for (unsigned i = 0; i < op->parties; i++) fprintf(stderr, " %u", op->actor[i]->number);
    fprintf(stderr, "%s\n", op->stays ? " and the end of the fiber" : "");
}

void program_print(struct program *p) {
    fprintf(stderr, "program %llu: %s, %u workers%s%s%s%s%s, deque %u, %u clusters, %u actors, %u operations\n",
            (unsigned long long)p->seed, p->by_run ? "weft_run" : "weft_start", p->config.workers,
            p->config.no_stealing ? ", no stealing" : "", p->config.no_helping ? ", no helping" : "",
            p->config.no_rescue ? ", no rescue" : "", p->config.continuations ? ", continuations" : "",
            p->config.unpark ? ", unpark last" : "", p->config.deque, p->n_clusters, p->n_actors, p->n_ops);
    for (unsigned i = 0; i < p->n_ops; i++)
        if (!p->ops[i].dropped) print_op(&p->ops[i]);
}

void program_status(struct program *p) {
    for (unsigned i = 0; i < p->n_actors; i++) {
        struct actor *a = &p->actors[i];
        unsigned at = atomic_load(&a->at);
        if (!atomic_load(&a->runs) || at >= a->n_steps) continue;
        fprintf(stderr, "  actor %u, %s, %llx:", i, type_names[a->type], (unsigned long long)atomic_load(&a->id));
        if (atomic_load(&a->ended))
            fprintf(stderr, " ended\n");
        else
            fprintf(stderr, " step %u of %u, op %u %s, role %u\n", at + 1, a->n_steps, a->steps[at].op->number,
                    a->steps[at].op->kind->name, a->steps[at].role);
    }
}

_Noreturn void broken(const char *file, int line, const char *what, long long got, long long wanted) {
    static atomic_flag once = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&once)) /* one report is enough, and it ends the process */
        for (;;) pause();
    fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", file, line, what, got, wanted);
    if (the_program && !settings.quiet) {
        program_print(the_program);
        program_status(the_program);
    }
    abort();
}

/* --- the watchdog ----------------------------------------------------------------------------- */

/* Long: it costs time only if the program hangs, and machines may be busy. */
static unsigned patience(void) {
    if (settings.patience) return settings.patience;
    return 60 * (TEST_TSAN || TEST_ASAN || test_emulated() ? 3 : 1);
}

static void *watchdog(void *unused) {
    (void)unused;
    watch_number(&steps_done, patience());
    if (!settings.quiet) dump();
    broken(__FILE__, __LINE__, "seconds without a step", patience(), 0);
}

void watch_begin(void) {
    pthread_t dog;
    OK(pthread_create(&dog, NULL, watchdog, NULL));
    OK(pthread_detach(dog));
}
