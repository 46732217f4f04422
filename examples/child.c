/* SPDX-License-Identifier: MIT */
/* fork in a fiber: the child has no runtime, and may start its own. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft.h>

static int in_child(void *unused) {
    (void)unused;
    printf("child: a runtime of its own, %u workers\n", weft_workers());
    return 0;
}

static int run(void *unused) {
    (void)unused;
    int status;
    fflush(stdout); /* before every fork: otherwise buffered output is written twice */
    pid_t pid = fork();
    if (!pid) {
        /* The child continues here as an ordinary thread, on its own stack. It has none of the parent's fibers. */
        printf("child: %u workers\n", weft_workers());
        int result = weft_run(in_child, NULL, &(struct weft_config){.workers = 2});
        fflush(stdout);
        _exit(result); /* or exec; returning from here would end the child with an error message */
    }
    waitpid(pid, &status, 0); /* blocks this worker; other workers take over its fibers */
    printf("parent: %u workers, the child said %d\n", weft_workers(), WEXITSTATUS(status));
    return WEXITSTATUS(status);
}

int main(void) { return weft_run(run, NULL, &(struct weft_config){.workers = 4}); }
