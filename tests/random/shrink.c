/* SPDX-License-Identifier: MIT */
/*
 * Makes a failing program smaller: runs it again and again in child processes with some operations left out, as long
 * as it still fails. A failure that depends on the schedule does not occur every time, so each attempt is repeated.
 */
#include "random.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ATTEMPTS = 30 };

static struct program program;
static bool kept[OPERATIONS];
static char list[OPERATIONS * 5];

/* Writes the kept operations as a list such as "1,4-7,9". */
static void write_list(void) {
    char *at = list;
    *at = 0;
    for (unsigned i = 0; i < program.n_ops; i++) {
        unsigned last = i;
        if (!kept[i]) continue;
        while (last + 1 < program.n_ops && kept[last + 1]) last++;
        at += sprintf(at, last == i ? "%s%u" : "%s%u-%u", at == list ? "" : ",", i, last);
        i = last;
    }
}

/* Does the program fail with what is kept? */
static bool fails(void) {
    write_list();
    settings.keep = list;
    for (int i = 0; i < ATTEMPTS; i++) {
        int status;
        fflush(NULL);
        pid_t pid = fork();
        SO(pid >= 0);
        if (!pid) {
            int nowhere = open("/dev/null", O_WRONLY);
            dup2(nowhere, STDERR_FILENO);
            exit(programs_in_child(settings.seed, settings.programs, WEFT_FOREVER));
        }
        WANT(waitpid(pid, &status, 0), pid);
        if (status) return true;
    }
    return false;
}

/* Tries to leave out pieces of this many operations. */
static void leave_out(unsigned size) {
    for (unsigned i = 0; i < program.n_ops; i += size) {
        bool before[OPERATIONS];
        unsigned n = 0;
        memcpy(before, kept, sizeof kept);
        for (unsigned j = i; j < i + size && j < program.n_ops; j++) {
            n += kept[j];
            kept[j] = false;
        }
        if (n && !fails()) memcpy(kept, before, sizeof kept);
        if (n) fprintf(stderr, "\rpieces of %u, at %u of %u   ", size, i, program.n_ops);
    }
}

int shrink(const char *name) {
    settings.quiet = true;
    settings.programs = 1;
    if (!settings.patience) settings.patience = 10 * (TEST_TSAN || TEST_ASAN || test_emulated() ? 3 : 1);
    program_build(&program, settings.seed);
    for (unsigned i = 0; i < program.n_ops; i++) kept[i] = true;
    if (!fails()) {
        printf("it does not fail in %d attempts\n", ATTEMPTS);
        return 1;
    }
    for (unsigned size = program.n_ops / 2; size; size /= 2) leave_out(size);
    write_list();
    program_drop(&program, list);
    fprintf(stderr, "\n");
    program_print(&program);
    settings.keep = list;
    print_command(name, settings.seed, 1);
    return 0;
}
