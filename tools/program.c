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
#define LIMIT 60 /* s */

/*
 * Where peers are, relative to the tool: beside it (built with it), in the build directory above Meson's (built by
 * `make peers`), or installed.
 */
static const char *const places[] = {"peers", "../../peers", "../peers", "../libexec/weft/peers"};

/* Finds the path of a program; NULL: this program. */
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
                      const char *params, const struct program_place *place, int out) {
    char words[1024], server[PATH + 16] = "server=", other[PATH + 16] = "reference=";
    char *argv[ARGUMENTS];
    int argc = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the measurement ends with the tool */
    argv[argc++] = (char *)path;
    if (!entrant->program) argv[argc++] = "bench-one";
    argv[argc++] = (char *)measurement;
    if (entrant->server && find(entrant->server, server + strlen(server))) argv[argc++] = server;
    if (reference && find(reference, other + strlen(other))) argv[argc++] = other;
    snprintf(words, sizeof words, "%s", params);
    for (char *word = strtok(words, " "); word && argc < ARGUMENTS - 1; word = strtok(NULL, " ")) argv[argc++] = word;
    argv[argc] = NULL;
    if (place->cpus && sched_setaffinity(0, sizeof *place->cpus, place->cpus)) fail("sched_setaffinity", errno);
    /* weft has a parameter for this; OpenMP reads the environment */
    if (place->bind) setenv("OMP_PROC_BIND", "true", 1);
    if (dup2(out, STDOUT_FILENO) >= 0) execv(path, argv);
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    _exit(127);
}

struct text {
    char *bytes;
    size_t length, room;
};

static void text_add(struct text *text, const char *bytes, size_t count) {
    if (text->length + count >= text->room) {
        text->room = 2 * (text->length + count) + 256;
        text->bytes = realloc(text->bytes, text->room);
        if (!text->bytes) fail("memory", ENOMEM);
    }
    memcpy(text->bytes + text->length, bytes, count);
    text->length += count;
    text->bytes[text->length] = 0;
}

/* Reads all output of the child. False: it took too long. */
static bool read_all(int in, unsigned limit, struct text *text) {
    uint64_t deadline = clock_ns() + limit * UINT64_C(1000000000);
    text_add(text, "", 0);
    for (;;) {
        uint64_t now = clock_ns();
        struct pollfd p = {.fd = in, .events = POLLIN};
        if (now >= deadline) return false;
        if (poll(&p, 1, (int)((deadline - now) / 1000000) + 1) <= 0) continue;
        char sink[4096];
        ssize_t n = read(in, sink, sizeof sink);
        if (n <= 0) return true;
        text_add(text, sink, (size_t)n);
    }
}

static void read_samples(const char *text, struct samples *samples) {
    struct sample s;
    for (const char *line = text; (line = strchr(line, '\n')) && *++line;) {
        if (sscanf(line, "%23s %lf %lf", s.name, &s.x, &s.y) != 3) continue;
        if (samples->count == samples->room) {
            samples->room = samples->room ? 2 * samples->room : 64;
            samples->list = realloc(samples->list, samples->room * sizeof s);
            if (!samples->list) fail("memory", ENOMEM);
        }
        samples->list[samples->count++] = s;
    }
}

/* Reads a word of up to 15 letters, and the values; missing values are 0. */
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
                 const struct program_place *place, struct result *result, struct samples *samples) {
    char path[PATH], word[16];
    struct text text = {NULL, 0, 0};
    int pipes[2], status;
    unsigned limit = place->limit ? place->limit : LIMIT;
    result->right = false;
    if (!find(entrant->program, path)) return false;
    if (pipe(pipes)) fail("pipe", errno);
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) fail("fork", errno);
    if (child == 0) {
        close(pipes[0]);
        run_child(entrant, reference, path, measurement, params, place, pipes[1]);
    }
    close(pipes[1]);
    bool ended = read_all(pipes[0], limit, &text);
    close(pipes[0]);
    if (!ended) kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }

    bool understood = read_line(text.bytes, word, result->values) && ended && WIFEXITED(status);
    if (understood) {
        result->right = !strcmp(word, "right");
        read_samples(text.bytes, samples);
    }
    free(text.bytes);
    if (understood) return true;
    fprintf(stderr, "\n%s %s %s: ", entrant->system, measurement, params);
    if (!ended)
        fprintf(stderr, "no result within %u s\n", limit);
    else if (WIFSIGNALED(status))
        fprintf(stderr, "%s\n", strsignal(WTERMSIG(status)));
    else
        fprintf(stderr, "no result\n");
    return false;
}
