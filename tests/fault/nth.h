/* SPDX-License-Identifier: MIT */
/*
 * The Nth call for memory, mappings or threads fails, for N = 1, 2, ... until a run has fewer calls than that.
 * Each run is a child: only documented errors occur, and each failed call can be tried again.
 */
#ifndef WEFT_TESTS_FAULT_NTH_H
#define WEFT_TESTS_FAULT_NTH_H

#include "base/sys.h"
#include "weft.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLEAN = 0, NO_FAULT = 3, WRONG = 4 };

#define MUST(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            _exit(WRONG); \
        } \
    } while (0)

/* The errors that a lack of memory, descriptors or threads may cause. The call is then repeated. */
static inline bool try_again(int err) {
    MUST(err == 0 || err == -ENOMEM || err == -EAGAIN);
    return err != 0;
}

/* A scenario sets weft__fault_countdown to its argument. It returns whether a call failed. */
static inline int fault_outcome(void) {
    bool happened = load_rlx(&weft__fault_countdown) <= 0;
    store_rlx(&weft__fault_countdown, -1);
    return happened ? CLEAN : NO_FAULT;
}

/* Runs the scenario for every N, until a run has fewer calls. Adds to passed and failed. */
static inline void each_fault(int (*scenario)(long nth), int *passed, int *failed) {
    for (long nth = 1; *failed < 20; nth++) {
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) _exit(scenario(nth));
        int status;
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FAULT) break;
        if (WIFEXITED(status) && WEXITSTATUS(status) == CLEAN) {
            ++*passed;
            continue;
        }
        printf("the %ldth call fails: status %#x\n", nth, status);
        ++*failed;
    }
}

#endif
