/* SPDX-License-Identifier: MIT */
/* fork with threads on both sides, exec, system, wait, dlopen of a library with thread-locals: process LIBRARY. */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t go, there;
static int count;

static void *counts(void *arg) {
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&mutex);
        count++;
        pthread_mutex_unlock(&mutex);
        usleep(10);
    }
    return arg;
}
static void run_some(void) {
    pthread_t t[5];
    count = 0;
    for (int i = 0; i < 5; i++) t[i] = start(counts, NULL);
    for (int i = 0; i < 5; i++) finish(t[i]);
    CHECK(count == 500);
}
static int status_of(pid_t pid) {
    int status;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}
static void *forks(void *arg) {
    pid_t pid = fork();
    if (!pid) {
        run_some(); /* the child of a process with fibers makes its own runtime */
        if (arg) exit(7);
        return NULL; /* the last thread of the child */
    }
    CHECK(status_of(pid) == (arg ? 7 : 0));
    return NULL;
}

static void programs(void) {
    char *echo[] = {"sh", "-c", "exit 3", NULL};
    pid_t pid;
    CHECK(!posix_spawnp(&pid, "sh", NULL, NULL, echo, environ) && status_of(pid) == 3);
    CHECK(WEXITSTATUS(system("exit 4")) == 4);
    char line[20] = "";
    FILE *f = popen("echo hello", "r");
    CHECK(f && fgets(line, sizeof line, f) && !strcmp(line, "hello\n") && !pclose(f));
    if (!(pid = fork())) {
        execlp("sh", "sh", "-c", "exit 5", (char *)NULL);
        _exit(9);
    }
    CHECK(status_of(pid) == 5);
}

static int *(*get)(void);
static void *looks(void *arg) {
    sem_post(&there);
    while (sem_wait(&go)) continue;
    CHECK(*get() == 5);
    *get() = 6;
    usleep(100);
    CHECK(*get() == 6);
    return arg;
}
static void library(const char *path) {
    pthread_t t[5];
    for (int i = 0; i < 5; i++) t[i] = start(looks, NULL); /* they are there before the library */
    for (int i = 0; i < 5; i++)
        while (sem_wait(&there)) continue;
    void *handle = dlopen(path, RTLD_NOW);
    CHECK(handle);
    *(void **)&get = dlsym(handle, "number");
    CHECK(get && *get() == 5);
    for (int i = 0; i < 5; i++) sem_post(&go);
    for (int i = 0; i < 5; i++) finish(t[i]);
    sem_post(&go);
    finish(start(looks, NULL));
}

int main(int argc, char **argv) {
    sem_init(&go, 0, 0);
    sem_init(&there, 0, 0);
    run_some();
    finish(start(forks, &count));
    finish(start(forks, NULL));
    pid_t pid = fork(); /* of the main thread */
    if (!pid) {
        run_some();
        _exit(8);
    }
    CHECK(status_of(pid) == 8);
    programs();
    if (argc > 1) library(argv[1]);
    return passed();
}
