/* SPDX-License-Identifier: MIT */
/* See program.h. */
#include "program.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH 4096
#define ARGUMENTS 32
#define LIMIT_MS 60000

/*
 * Where peers are, seen from the tool: beside it (what is built with it), in the build directory
 * that has Meson's below it (what `make peers` builds), where they are installed.
 */
static const char *const places[] = {"peers", "../../peers", "../peers", "../libexec/weft/peers"};

/* `program` NULL: this program. */
static bool find(const char *program, char *path) {
    char self[PATH];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return false;
    self[length] = 0;
    if (!program) {
        strcpy(path, self);
        return true;
    }
    *strrchr(self, '/') = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int n = snprintf(path, PATH, "%s/%s/%s", self, places[i], program);
        if (n > 0 && n < PATH && !access(path, X_OK)) return true;
    }
    return false;
}

bool program_installed(const struct entrant *entrant) {
    char path[PATH];
    return find(entrant->program, path) && find(entrant->server, path);
}

/* In the child; does not return. */
static void run_child(const struct entrant *entrant, const char *reference, const char *path, const char *measurement,
                      const char *params, int out) {
    char words[1024], server[PATH + 16] = "server=", other[PATH + 16] = "reference=";
    char *argv[ARGUMENTS];
    int argc = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing goes on measuring when the tool was stopped */
    argv[argc++] = (char *)path;
    if (!entrant->program) argv[argc++] = "bench-one";
    argv[argc++] = (char *)measurement;
    if (entrant->server && find(entrant->server, server + strlen(server))) argv[argc++] = server;
    if (reference && find(reference, other + strlen(other))) argv[argc++] = other;
    snprintf(words, sizeof words, "%s", params);
    for (char *word = strtok(words, " "); word && argc < ARGUMENTS - 1; word = strtok(NULL, " ")) argv[argc++] = word;
    argv[argc] = NULL;
    if (dup2(out, STDOUT_FILENO) >= 0) execv(path, argv);
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    _exit(127);
}

/* Reads to the end of the child's output. False: it took too long. */
static bool read_all(int in, char *text, size_t size) {
    size_t length = 0;
    uint64_t deadline = clock_ns() + LIMIT_MS * UINT64_C(1000000);
    text[0] = 0;
    for (;;) {
        uint64_t now = clock_ns();
        struct pollfd p = {.fd = in, .events = POLLIN};
        if (now >= deadline) return false;
        if (poll(&p, 1, (int)((deadline - now) / 1000000) + 1) <= 0) continue;
        char sink[256];
        ssize_t n = read(in, sink, sizeof sink);
        if (n <= 0) return true;
        for (ssize_t i = 0; i < n && length < size - 1; i++) text[length++] = sink[i];
        text[length] = 0;
    }
}

/* A word of up to 15 letters, and the values; those that are not there are 0. */
static bool read_line(const char *text, char *word, double *values) {
    int length;
    if (sscanf(text, "%15s%n", word, &length) != 1) return false;
    for (int i = 0; i < RESULT_VALUES; i++) {
        char *end;
        text += length;
        values[i] = strtod(text, &end);
        if (end == text) return i > 0;
        length = (int)(end - text);
    }
    return true;
}

bool program_run(const struct entrant *entrant, const char *reference, const char *measurement, const char *params,
                 struct result *result) {
    char path[PATH], text[256], word[16];
    int pipes[2], status;
    result->right = false;
    if (!find(entrant->program, path)) return false;
    if (pipe(pipes)) fail("pipe", errno);
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) fail("fork", errno);
    if (child == 0) {
        close(pipes[0]);
        run_child(entrant, reference, path, measurement, params, pipes[1]);
    }
    close(pipes[1]);
    bool ended = read_all(pipes[0], text, sizeof text);
    close(pipes[0]);
    if (!ended) kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }

    bool understood = read_line(text, word, result->values);
    if (ended && understood && WIFEXITED(status)) {
        result->right = !strcmp(word, "right");
        return true;
    }
    fprintf(stderr, "\n%s %s %s: ", entrant->system, measurement, params);
    if (!ended)
        fprintf(stderr, "no result within %d s\n", LIMIT_MS / 1000);
    else if (WIFSIGNALED(status))
        fprintf(stderr, "%s\n", strsignal(WTERMSIG(status)));
    else
        fprintf(stderr, "no result\n");
    return false;
}
