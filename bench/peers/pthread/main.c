/* SPDX-License-Identifier: MIT */
/*
 * Kernel threads as a measuring program: the shared benchmarks, and those that need another form.
 */
#include "benches.h"
#include "system.h"

#include <stdlib.h>

#define STACK ((size_t)128 * 1024)

void sys_spawn(struct sys_fiber *fiber, void *(*fn)(void *), void *p) {
    static pthread_attr_t attr;
    static bool known;
    if (!known) { /* only the first thread of the program spawns */
        must(-pthread_attr_init(&attr), "pthread_attr_init");
        must(-pthread_attr_setstacksize(&attr, STACK), "pthread_attr_setstacksize");
        known = true;
    }
    must(-pthread_create(&fiber->thread, &attr, fn, p), "pthread_create");
}

void sys_run(const struct args *args, measure_fn *run, struct result *result) {
    uint64_t workers = arg(args, "workers") + arg_or(args, "spare", 0);
    cpu_set_t all, some;
    if (sched_getaffinity(0, sizeof all, &all)) fail("sched_getaffinity", errno);
    CPU_ZERO(&some);
    for (int cpu = 0; cpu < CPU_SETSIZE && workers; cpu++) {
        if (!CPU_ISSET(cpu, &all)) continue;
        CPU_SET(cpu, &some);
        workers--;
    }
    if (sched_setaffinity(0, sizeof some, &some)) fail("sched_setaffinity", errno);
    run(args, result);
}

void sys_sem_init(struct sys_sem *sem, uint64_t value) {
    pthread_mutex_init(&sem->lock, NULL);
    sem->value = value;
    sem->first = NULL;
}

void sys_sem_wait(struct sys_sem *sem) {
    struct sys_waiter self = {{0}, NULL};
    pthread_mutex_lock(&sem->lock);
    bool taken = sem->value > 0;
    if (taken)
        sem->value--;
    else if (sem->first)
        sem->last = sem->last->next = &self;
    else
        sem->last = sem->first = &self;
    pthread_mutex_unlock(&sem->lock);
    if (!taken) sys_permit_wait(&self.permit);
}

void sys_sem_post(struct sys_sem *sem) {
    pthread_mutex_lock(&sem->lock);
    struct sys_waiter *waiter = sem->first;
    if (waiter)
        sem->first = waiter->next;
    else
        sem->value++;
    pthread_mutex_unlock(&sem->lock);
    if (waiter) sys_permit_give(&waiter->permit);
}

uint64_t sys_sem_drain(struct sys_sem *sem) {
    uint64_t value = sem->value;
    sem->value = 0;
    return value;
}

void sys_chan_init(struct sys_chan *chan, size_t capacity) {
    pthread_mutex_init(&chan->lock, NULL);
    pthread_cond_init(&chan->not_full, NULL);
    pthread_cond_init(&chan->not_empty, NULL);
    pthread_cond_init(&chan->taken, NULL);
    chan->meets = !capacity;
    chan->size = capacity ? capacity : 1;
    chan->room = calloc(chan->size, sizeof *chan->room);
    if (!chan->room) fail("calloc", ENOMEM);
    chan->first = chan->count = 0;
    chan->sends = chan->receives = 0;
    chan->closed = false;
}

void sys_chan_end(struct sys_chan *chan) { free(chan->room); }

void sys_chan_send(struct sys_chan *chan, uint64_t number) {
    pthread_mutex_lock(&chan->lock);
    while (chan->count == chan->size) pthread_cond_wait(&chan->not_full, &chan->lock);
    size_t at = chan->first + chan->count++;
    chan->room[at < chan->size ? at : at - chan->size] = number;
    uint64_t mine = ++chan->sends;
    pthread_cond_signal(&chan->not_empty);
    while (chan->meets && chan->receives < mine) pthread_cond_wait(&chan->taken, &chan->lock);
    pthread_mutex_unlock(&chan->lock);
}

bool sys_chan_recv(struct sys_chan *chan, uint64_t *number) {
    pthread_mutex_lock(&chan->lock);
    while (!chan->count && !chan->closed) pthread_cond_wait(&chan->not_empty, &chan->lock);
    bool got = chan->count > 0;
    if (got) {
        *number = chan->room[chan->first];
        if (++chan->first == chan->size) chan->first = 0;
        chan->count--;
        chan->receives++;
        pthread_cond_signal(&chan->not_full);
        if (chan->meets) pthread_cond_signal(&chan->taken);
    }
    pthread_mutex_unlock(&chan->lock);
    return got;
}

void sys_chan_close(struct sys_chan *chan) {
    pthread_mutex_lock(&chan->lock);
    chan->closed = true;
    pthread_cond_broadcast(&chan->not_empty);
    pthread_mutex_unlock(&chan->lock);
}

/* switch: one thread wakes another and waits, on one CPU. ns, one way. */
struct pair {
    struct alarm_clock alarm;
    APART struct sys_permit there;
    APART struct sys_permit here;
    APART uint64_t answered;
    bool over;
};

static void *answer(void *p) {
    struct pair *pair = p;
    for (;;) {
        sys_permit_wait(&pair->there);
        if (pair->over) return NULL;
        pair->answered++;
        sys_permit_give(&pair->here);
    }
}

static void switch_to(const struct args *args, struct result *result) {
    static struct pair pair;
    struct sys_fiber fiber;
    uint64_t asked = 0;
    sys_spawn(&fiber, answer, &pair);
    alarm_start(&pair.alarm, arg(args, "ms"));
    uint64_t began = clock_ns();
    do {
        sys_permit_give(&pair.there);
        sys_permit_wait(&pair.here);
        asked++;
    } while (!alarm_rung(&pair.alarm));
    uint64_t ended = clock_ns();
    pair.over = true;
    sys_permit_give(&pair.there);
    sys_join(&fiber);
    alarm_join(&pair.alarm);
    result->values[0] = (double)(ended - began) / (double)asked / 2;
    result->right = pair.answered == asked;
}

/* startstop: make the threads, wait until each sleeps, end them. us for all. */
struct idler {
    struct sys_fiber fiber;
    struct sys_permit permit;
    struct sys_sem *up;
    uint64_t ended;
};

static void *idle(void *p) {
    struct idler *idler = p;
    sys_sem_post(idler->up);
    sys_permit_wait(&idler->permit);
    idler->ended++;
    return NULL;
}

static void startstop(const struct args *args, struct result *result) {
    size_t workers = arg(args, "workers");
    struct idler *idlers = allocate(workers, sizeof *idlers);
    struct sys_sem up;
    uint64_t rounds = 0, began = 0, ended, limit = arg(args, "ms") * 1000000;
    sys_sem_init(&up, 0);
    do {
        for (size_t i = 0; i < workers; i++) {
            idlers[i].up = &up;
            sys_permit_init(&idlers[i].permit);
            sys_spawn(&idlers[i].fiber, idle, &idlers[i]);
        }
        for (size_t i = 0; i < workers; i++) sys_sem_wait(&up);
        for (size_t i = 0; i < workers; i++) sys_permit_give(&idlers[i].permit);
        for (size_t i = 0; i < workers; i++) sys_join(&idlers[i].fiber);
        ended = clock_ns();
        if (began)
            rounds++;
        else
            began = ended;
    } while (ended - began < limit);
    result->values[0] = (double)(ended - began) / (double)rounds / 1e3;
    result->right = true;
    for (size_t i = 0; i < workers; i++) result->right &= idlers[i].ended == rounds + 1;
    free(idlers);
}

static const struct measurement own[] = {
    {"wake", bench_wake, true}, /* as it is: neither a worker nor a thread of weft is bound to a cpu */
    {"rwlock", bench_rwlock, false}, {"switch", switch_to, false}, {"startstop", startstop, true}, {NULL, NULL, false},
};

int main(int argc, char **argv) {
    const struct measurement *const tables[] = {own, bench_fibers, NULL};
    return measure_main(argc, argv, tables);
}
