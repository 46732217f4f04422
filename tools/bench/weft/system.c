/* SPDX-License-Identifier: MIT */
/* See system.h. */
#include "system.h"

#include <string.h>

/* Returns the index of the value among the words, which is its number in the library. */
static unsigned word_of(const struct args *args, const char *key, const char *const words[]) {
    const char *value = arg_text(args, key, words[0]);
    for (unsigned i = 0; words[i]; i++)
        if (!strcmp(words[i], value)) return i;
    fail(key, EINVAL);
}

bool sys_mail = true;

struct weft_config sys_config(const struct args *args) {
    static const char *const deques[] = {"split", "chase-lev", "abp", "locked", NULL};
    static const char *const places[] = {"local", "last", NULL};
    /* Choices for experiments only. The library reads them from the environment. */
    static const char *const choices[][2] = {
        {"victims", "WEFT_VICTIMS"}, {"amount", "WEFT_AMOUNT"}, {"queue", "WEFT_QUEUE"}, {"backoff", "WEFT_BACKOFF"}};
    struct weft_config config = WEFT_CONFIG_INIT;
    config.workers = (unsigned)arg(args, "workers");
    config.no_stealing = !arg_or(args, "stealing", 1);
    config.no_helping = !arg_or(args, "helping", 1);
    config.no_rescue = !arg_or(args, "rescue", 1);
    config.deque = word_of(args, "deque", deques);
    config.continuations = (unsigned)arg_or(args, "continuations", 0);
    config.unpark = word_of(args, "unpark", places);
    config.bind = (unsigned)arg_or(args, "bind", 0);
    sys_mail = arg_or(args, "mail", 1);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const char *value = arg_text(args, choices[i][0], NULL);
        if (value) setenv(choices[i][1], value, 1);
    }
    return config;
}

/* Reports the counters of the runtime, for --counts. */
static void tell_counts(void) {
    struct weft_stats s;
    if (weft_stats_read(&s)) return;
    measure_sample("count.steals", 0, (double)s.steals);
    measure_sample("count.tried", 0, (double)s.steals_tried);
    measure_sample("count.moved", 0, (double)s.moved);
    measure_sample("count.helps", 0, (double)s.helps);
    measure_sample("count.tasks", 0, (double)s.tasks_stolen);
    measure_sample("count.parked", 0, (double)s.joins_parked);
}

struct run {
    const struct args *args;
    measure_fn *run;
    struct result *result;
};

static void *first(void *p) {
    struct run *run = p;
    run->run(run->args, run->result);
    return NULL;
}

/* Does not use weft_run: a measurement may have threads that wake fibers while all fibers wait. */
void sys_run(const struct args *args, measure_fn *run, struct result *result) {
    struct weft_config config = sys_config(args);
    struct run r = {args, run, result};
    struct sys_fiber fiber;
    must(weft_start(&config), "weft_start");
    sys_spawn(&fiber, first, &r);
    sys_join(&fiber);
    tell_counts();
    must(weft_stop(), "weft_stop");
}
