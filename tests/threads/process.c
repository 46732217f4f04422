/* SPDX-License-Identifier: MIT */
/*
 * fork with threads on both sides, exec, system, wait, dlopen of a library with thread-locals: process LIBRARY.
 * Programs that a thread starts have its signal mask.
 */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
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

/* --- masks: the program "process mask BITS" ends with 0 if it has this mask, and nothing is pending. */

static unsigned long mask_now(const char *field) {
    char line[200];
    unsigned long mask = 1;
    FILE *f = fopen("/proc/self/status", "r");
    CHECK(f);
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, field, strlen(field))) mask = strtoul(line + strlen(field), NULL, 16);
    fclose(f);
    return mask;
}
static int has_mask(const char *bits) {
    return mask_now("SigBlk:") != strtoul(bits, NULL, 16) || mask_now("SigPnd:") || mask_now("ShdPnd:");
}

static const char *self;
static volatile int handled;
static void handle(int signal) {
    (void)signal;
    handled++;
}
static void run_self(int how) {
    char *list[] = {"process", "mask", "200", NULL};
    switch (how) {
    case 0: execv(self, list); break;
    case 1: execve(self, list, environ); break;
    case 2: execvp(self, list); break;
    case 3: execl(self, "process", "mask", "200", (char *)NULL); break;
    case 4: execlp(self, "process", "mask", "200", (char *)NULL); break;
    default: execle(self, "process", "mask", "200", (char *)NULL, environ); break;
    }
    _exit(9);
}
static void *execs(void *how) {
    run_self((int)(intptr_t)how);
    return NULL;
}
/* A child by vfork runs the program; and a child with threads, which the program replaces. */
static void *programs_with_mask(void *arg) {
    sigset_t set;
    pid_t pid;
    char *list[] = {"process", "mask", "200", NULL};
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
    for (int how = 0; how < 6; how++) {
        if (!(pid = vfork())) run_self(how);
        CHECK(status_of(pid) == 0);
        if (!(pid = fork())) {
            finish(start(counts, NULL));
            finish(start(execs, (void *)(intptr_t)how));
        }
        CHECK(status_of(pid) == 0);
    }
    CHECK(!posix_spawn(&pid, self, NULL, NULL, list, environ) && status_of(pid) == 0);
    CHECK(execv("/is/not/there", list) == -1 && errno == ENOENT);
    signal(SIGUSR2, handle);
    CHECK(!pthread_kill(pthread_self(), SIGUSR2) && handled == 1); /* the thread still handles signals */
    siginfo_t info;
    if (!(pid = fork())) _exit(6);
    CHECK(!waitid(P_PID, (id_t)pid, &info, WEXITED) && info.si_pid == pid && info.si_status == 6);
    return arg;
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
    if (argc > 2 && !strcmp(argv[1], "mask")) return has_mask(argv[2]);
    self = argv[0];
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
    finish(start(programs_with_mask, NULL));
    if (argc > 1) library(argv[1]);
    return passed();
}
