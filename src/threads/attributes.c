/* SPDX-License-Identifier: MIT */
/*
 * Attributes of a thread that a program may read and set: its name, stack, scheduling, affinity, clock. Policies and
 * priorities are remembered, but have no effect. A thread's affinity is that of the process.
 */
#define _GNU_SOURCE
#include "sched/core/self.h"
#include "threads/threads.h"

#include <errno.h>
#include <string.h>

REAL(pthread_getattr_np);
REAL(pthread_setname_np);
REAL(pthread_getname_np);
REAL(pthread_setschedparam);
REAL(pthread_getschedparam);
REAL(pthread_setschedprio);
REAL(pthread_setaffinity_np);
REAL(pthread_getaffinity_np);
REAL(pthread_getcpuclockid);

/* The record of a thread. NULL: *err is 0 if it is a kernel thread, otherwise ESRCH. */
static struct weft__thread *find_attributes(pthread_t thread, int *err) {
    struct weft__thread *t = weft__thread_of(thread);
    *err = t->state == WEFT_THREAD_NONE ? 0 : ESRCH;
    return t->state == WEFT_THREAD_NONE || t->state >= WEFT_THREAD_COLLECTED || load_acq(&t->over) ? NULL : t;
}

WEFT_INTERPOSED int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr) {
    int err;
    struct weft__thread *t = find_attributes(thread, &err);
    if (!t) return err ? err : real(pthread_getattr_np)(thread, attr);
    if (t->is_first) return real(pthread_getattr_np)(thread, attr);
    struct weft__fiber *f = weft__fiber_of(t->fiber);
    if ((err = pthread_attr_init(attr))) return err;
    pthread_attr_setdetachstate(attr, t->state == WEFT_THREAD_DETACHED);
    pthread_attr_setguardsize(attr, t->guard_size);
    if (t->stack)
        pthread_attr_setstack(attr, t->stack, t->stack_size);
    else if (f && f->stack)
        pthread_attr_setstack(attr, f->stack->low, (size_t)(weft__stack_top(f->stack) - f->stack->low));
    else
        pthread_attr_setstacksize(attr, t->stack_size);
    return 0;
}

WEFT_INTERPOSED int pthread_setname_np(pthread_t thread, const char *name) {
    int err;
    struct weft__thread *t = find_attributes(thread, &err);
    if (!t) return err ? err : real(pthread_setname_np)(thread, name);
    if (strlen(name) >= sizeof t->name) return ERANGE;
    strcpy(t->name, name);
    struct weft__fiber *f = weft__fiber_of(t->fiber);
    if (f) strcpy(f->name, name); /* weft dump shows it */
    return 0;
}
WEFT_INTERPOSED int pthread_getname_np(pthread_t thread, char *name, size_t size) {
    int err;
    struct weft__thread *t = find_attributes(thread, &err);
    if (!t) return err ? err : real(pthread_getname_np)(thread, name, size);
    if (size < sizeof t->name) return ERANGE;
    strcpy(name, t->name);
    return 0;
}

static bool is_valid(int policy, int priority) {
    int least = sched_get_priority_min(policy), most = sched_get_priority_max(policy);
    return least >= 0 && most >= 0 && priority >= least && priority <= most;
}
WEFT_INTERPOSED int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param) {
    int err;
    struct weft__thread *t = find_attributes(thread, &err);
    if (!t) return err ? err : real(pthread_setschedparam)(thread, policy, param);
    if (!is_valid(policy, param->sched_priority)) return EINVAL;
    t->policy = policy;
    t->priority = param->sched_priority;
    return 0;
}
WEFT_INTERPOSED int pthread_getschedparam(pthread_t thread, int *policy, struct sched_param *param) {
    int err;
    struct weft__thread *t = find_attributes(thread, &err);
    if (!t) return err ? err : real(pthread_getschedparam)(thread, policy, param);
    *policy = t->policy;
    param->sched_priority = t->priority;
    return 0;
}
WEFT_INTERPOSED int pthread_setschedprio(pthread_t thread, int priority) {
    int err;
    struct weft__thread *t = find_attributes(thread, &err);
    if (!t) return err ? err : real(pthread_setschedprio)(thread, priority);
    if (!is_valid(t->policy, priority)) return EINVAL;
    t->priority = priority;
    return 0;
}
WEFT_INTERPOSED int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set) {
    int err;
    struct weft__thread *t = find_attributes(thread, &err);
    return t ? 0 : err ? err : real(pthread_setaffinity_np)(thread, size, set);
}
WEFT_INTERPOSED int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set) {
    int err;
    struct weft__thread *t = find_attributes(thread, &err);
    if (!t) return err ? err : real(pthread_getaffinity_np)(thread, size, set);
    return sched_getaffinity(0, size, set) ? errno : 0;
}
/* The clock is that of the kernel thread on which the caller runs. */
WEFT_INTERPOSED int pthread_getcpuclockid(pthread_t thread, clockid_t *clock) {
    int err;
    struct weft__thread *t = find_attributes(thread, &err);
    if (!t) return err ? err : real(pthread_getcpuclockid)(thread, clock);
    *clock = CLOCK_THREAD_CPUTIME_ID;
    return 0;
}
