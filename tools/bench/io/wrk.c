/* SPDX-License-Identifier: MIT */
/* See wrk.h. */
#include "wrk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reads a time such as "1.25ms", in us. Returns a negative number if it is not a time. */
static double time_of(const char *text) {
    static const struct {
        const char *unit;
        double us;
    } units[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}, {"m", 6e7}};
    char unit[8];
    double value;
    if (sscanf(text, "%lf%7s", &value, unit) != 2) return -1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].unit)) return value * units[i].us;
    return -1;
}

static void read_line(const char *line, struct wrk *result) {
    char text[32];
    uint64_t n[4];
    double percent;
    if (sscanf(line, " %lf%% %31s", &percent, text) == 2 && percent == 50) result->median = time_of(text);
    if (sscanf(line, " %lf%% %31s", &percent, text) == 2 && percent == 99) result->late = time_of(text);
    sscanf(line, " %lu requests in", &result->requests);
    sscanf(line, "Requests/sec: %lf", &result->rate);
    if (sscanf(line, " Socket errors: connect %lu, read %lu, write %lu, timeout %lu", &n[0], &n[1], &n[2], &n[3]) == 4)
        result->faults += n[0] + n[1] + n[2] + n[3];
    if (sscanf(line, " Non-2xx or 3xx responses: %lu", &n[0]) == 1) result->faults += n[0];
}

static void become(const char *url, unsigned connections, unsigned seconds, int out) {
    char many[32], length[32];
    snprintf(many, sizeof many, "-c%u", connections);
    snprintf(length, sizeof length, "-d%us", seconds);
    dup2(out, 1);
    execlp("wrk", "wrk", "-t1", many, length, "--latency", "--timeout", "30s", url, (char *)NULL);
    perror("wrk (make peers installs it)");
    _exit(127);
}

bool wrk_run(const char *url, unsigned connections, unsigned seconds, struct wrk *result) {
    int ends[2], status = -1;
    char line[256];
    *result = (struct wrk){.median = -1, .late = -1};
    if (pipe(ends)) return false;
    pid_t pid = fork();
    if (!pid) become(url, connections, seconds, ends[1]);
    close(ends[1]);
    FILE *in = pid > 0 ? fdopen(ends[0], "r") : NULL;
    while (in && fgets(line, sizeof line, in)) read_line(line, result);
    if (in)
        fclose(in);
    else
        close(ends[0]);
    if (pid > 0) waitpid(pid, &status, 0);
    bool ran = !status && result->requests && result->median >= 0 && result->late >= 0;
    if (!ran) fprintf(stderr, "wrk %s: no result\n", url);
    return ran;
}
