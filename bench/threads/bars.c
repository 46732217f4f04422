/* SPDX-License-Identifier: MIT */
/*
 * What threads cost, in a program that knows nothing of weft. Run it natively and with weft threads, in turns:
 *
 *     cc -O2 -pthread bars.c -o bars && ./bars && weft threads --workers 2 ./bars
 *
 * One line for each figure, in nanoseconds; the best of several rounds. `bars parked N` makes N threads that wait, and
 * prints the memory of each.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 5 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
static void report(const char *what, double (*measure)(void)) {
    double best = measure();
    for (int i = 1; i < ROUNDS; i++) {
        double d = measure();
        if (d < best) best = d;
    }
    printf("%-28s %10.0f ns\n", what, best);
    fflush(stdout);
}
static void *nothing(void *arg) { return arg; }

static double create_join(void) {
    enum { N = 5000 };
    double begin = now();
    for (int i = 0; i < N; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, nothing, NULL)) abort();
        pthread_join(t, NULL);
    }
    return (now() - begin) / N;
}
static double create_many(void) {
    enum { N = 10000 };
    static pthread_t t[N];
    double begin = now();
    for (int i = 0; i < N; i++)
        if (pthread_create(&t[i], NULL, nothing, NULL)) abort();
    for (int i = 0; i < N; i++) pthread_join(t[i], NULL);
    return (now() - begin) / N;
}

enum { HANDED = 50000 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static int turn;
static void *by_cond(void *arg) {
    int me = (int)(intptr_t)arg;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < HANDED; i++) {
        while (turn != me) pthread_cond_wait(&cond[me], &mutex);
        turn = !me;
        pthread_cond_signal(&cond[!me]);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}
static sem_t sems[2];
static void *by_sem(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int i = 0; i < HANDED; i++) {
        sem_wait(&sems[me]);
        sem_post(&sems[!me]);
    }
    return NULL;
}
static double hand_over(void *(*fn)(void *)) {
    pthread_t t[2];
    turn = 0;
    sem_init(&sems[0], 0, 1);
    sem_init(&sems[1], 0, 0);
    double begin = now();
    for (intptr_t i = 0; i < 2; i++)
        if (pthread_create(&t[i], NULL, fn, (void *)i)) abort();
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return (now() - begin) / (2 * HANDED);
}
static double cond_hand_over(void) { return hand_over(by_cond); }
static double sem_hand_over(void) { return hand_over(by_sem); }

static void *yields(void *arg) {
    for (int i = 0; i < HANDED; i++) sched_yield();
    return arg;
}
static double yield(void) {
    enum { N = 16 };
    pthread_t t[N];
    double begin = now();
    for (int i = 0; i < N; i++)
        if (pthread_create(&t[i], NULL, yields, NULL)) abort();
    for (int i = 0; i < N; i++) pthread_join(t[i], NULL);
    return (now() - begin) / N / HANDED;
}

/* Threads that spin for each other: each waits for its turn without giving way. */
static volatile int spin_turn;
static void *spins(void *arg) {
    int me = (int)(intptr_t)arg;
    for (int i = 0; i < 20; i++) {
        while (__atomic_load_n(&spin_turn, __ATOMIC_ACQUIRE) != me) continue;
        __atomic_store_n(&spin_turn, (me + 1) % 4, __ATOMIC_RELEASE);
    }
    return NULL;
}
static double spin(void) {
    pthread_t t[4];
    spin_turn = 0;
    double begin = now();
    for (intptr_t i = 0; i < 4; i++)
        if (pthread_create(&t[i], NULL, spins, (void *)i)) abort();
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    return (now() - begin) / 80;
}

static long resident(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*d %ld", &pages) != 1) abort();
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}
static sem_t let_go, there;
static void *waits(void *arg) {
    sem_post(&there);
    sem_wait(&let_go);
    return arg;
}
static int parked(int n) {
    pthread_t *t = calloc((size_t)n, sizeof *t);
    sem_init(&let_go, 0, 0);
    sem_init(&there, 0, 0);
    if (!t || pthread_create(&t[0], NULL, nothing, NULL) || pthread_join(t[0], NULL)) return 1;
    long before = resident();
    for (int i = 0; i < n; i++)
        if (pthread_create(&t[i], NULL, waits, NULL)) return fprintf(stderr, "only %d threads\n", i), 1;
    for (int i = 0; i < n; i++) sem_wait(&there);
    printf("%d threads parked            %10.0f bytes each\n", n, (double)(resident() - before) / n);
    for (int i = 0; i < n; i++) sem_post(&let_go);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 2 && !strcmp(argv[1], "parked")) return parked(atoi(argv[2]));
    report("create and join", create_join);
    report("10000 created, then joined", create_many);
    report("condition hand-over", cond_hand_over);
    report("semaphore hand-over", sem_hand_over);
    report("sched_yield, 16 threads", yield);
    report("turns of 4 spinning threads", spin);
    return 0;
}
