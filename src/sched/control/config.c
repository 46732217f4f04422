/* SPDX-License-Identifier: MIT */
/*
 * The configuration. If an environment variable has an invalid value, weft prints one line and ignores it. An invalid
 * field is an error of the program (-EINVAL).
 */
#include "sched/control/config.h"
#include "sched/elastic/cpu_quota.h"

#include "base/message.h"
#include "base/struct_size.h"
#include "mem/stack.h"

#include <stdlib.h>

/* The number in an environment variable; `otherwise` if it is unset or out of range. */
static unsigned long from_env(const char *name, unsigned long least, unsigned long most, unsigned long otherwise) {
    const char *text = getenv(name);
    if (!text || !*text) return otherwise;
    char *end;
    errno = 0;
    unsigned long n = strtoul(text, &end, 0);
    if (errno || *end || *text == '-' || n < least || n > most) {
        weft__say("%s=%s is ignored: it must be a number from %z to %z", name, text, (size_t)least, (size_t)most);
        return otherwise;
    }
    return n;
}

int weft__config_take(struct weft_config *c, const struct weft_config *given, size_t size) {
    return weft__struct_read(c, sizeof *c, given, size);
}

int weft__config_complete(struct weft_config *c, bool *automatic) {
    if (!c->workers) c->workers = (unsigned)from_env("WEFT_WORKERS", 1, WEFT_WORKERS_MAX, 0);
    *automatic = !c->workers;
    if (!c->workers) c->workers = weft__default_workers();
    if (!c->stack_size)
        c->stack_size = from_env("WEFT_STACK_SIZE", 1, (size_t)1 << WEFT_STACK_MAX_LOG, WEFT_STACK_SIZE_DEFAULT);
    if (!c->no_stealing) c->no_stealing = !from_env("WEFT_STEALING", 0, 1, 1);
    if (!c->no_helping) c->no_helping = !from_env("WEFT_HELPING", 0, 1, 1);
    if (!c->no_rescue) c->no_rescue = !from_env("WEFT_RESCUE", 0, 1, 1);
    static const unsigned by_env[] = {1, 0, 2, 3};
    if (!c->no_deadlock) c->no_deadlock = by_env[from_env("WEFT_DEADLOCK", 0, 3, 1)];
    if (!c->no_guards) c->no_guards = !from_env("WEFT_GUARDS", 0, 1, 1);
    if (!c->delay_limit) c->delay_limit = from_env("WEFT_DELAY_LIMIT", 1, 1000000000, 0) * WEFT_MICROSECOND;
    if (!c->unpark) c->unpark = (unsigned)from_env("WEFT_UNPARK", 0, 1, 0);
    if (!c->deque) c->deque = (unsigned)from_env("WEFT_DEQUE", 0, WEFT_DEQUES - 1, 0);
    if (!c->continuations) c->continuations = (unsigned)from_env("WEFT_CONTINUATIONS", 0, 1, 0);
    if (!c->bind) c->bind = (unsigned)from_env("WEFT_BIND", 0, 1, 0);
    if (!c->stats) c->stats = (unsigned)from_env("WEFT_STATS", 0, 1, 0);
    if (c->workers > WEFT_WORKERS_MAX || c->unpark > WEFT_UNPARK_LAST || c->deque >= WEFT_DEQUES ||
        weft__stack_class(c->stack_size) < 0)
        return -EINVAL;
    return 0;
}
