/* SPDX-License-Identifier: MIT */
/* A program that is written for weft and hangs in locks of POSIX: posix NAME. It is linked with libweft-posix. */
#define _GNU_SOURCE
#include "weft.h"
#include "weft/sync.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t both;

static void *locks_two(void *arg) {
    uintptr_t i = (uintptr_t)arg;
    pthread_mutex_lock(&lock[i]);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&lock[1 - i]);
    return NULL;
}
static void circle2(void) {
    for (uintptr_t i = 0; i < 2; i++)
        if (weft_spawn(NULL, NULL, locks_two, (void *)i)) abort();
}

static void *holds(void *unused) {
    pthread_mutex_lock(&lock[0]);
    pthread_barrier_wait(&both);
    for (;;) pause();
    return unused;
}
static void *wants(void *unused) {
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&lock[0]);
    return unused;
}
static void kernel_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, holds, NULL) || weft_spawn(NULL, NULL, wants, NULL)) abort();
}

static int program(void *name) {
    pthread_barrier_init(&both, NULL, 2);
    if (!strcmp(name, "circle2"))
        circle2();
    else
        kernel_thread();
    return 0;
}
int main(int argc, char **argv) { return argc != 2 || weft_run(program, argv[1], NULL); }
