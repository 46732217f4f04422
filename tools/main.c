/* SPDX-License-Identifier: MIT */
/*
 * weft, the command-line tool: the tour of what the library does, its benchmarks, and a server.
 */
#include "bench/weft/own.h"
#include "command.h"
#include "weft.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "weft: fibers for C on Linux. They may block; a few kernel threads run them.\n"
    "\n"
    "  weft tour               shows what weft can do, beside kernel threads, in under a minute\n"
    "  weft bench list         lists the benchmarks\n"
    "  weft bench NAME ...     runs a benchmark beside its peers\n"
    "  weft cached ...         runs a memcached server\n"
    "  weft dump PID|CORE      prints every fiber of a process: its state, what it waits for, its stack\n"
    "  weft explain PID|CORE   says why fibers of a process are stuck: deadlocks, held locks, hogs\n"
    "  weft load PROTOCOL ...  sends requests to a server and checks the answers: HTTP, memcached, echo\n"
    "  weft profile PID        measures CPU time and waiting time by stack: pprof, folded stacks, flame graph\n"
    "  weft report             runs experiments and draws them in one HTML page\n"
    "  weft serve DIR          serves the files of a directory over HTTP\n"
    "  weft threads PROGRAM    runs an unmodified program with its threads as fibers\n"
    "  weft top PID            shows what the workers and fibers of a process do, live\n"
    "  weft trace PID|FILE     records events: summary, timeline in one page, trace for Perfetto\n"
    "  weft help COMMAND       explains a command and its options\n"
    "  weft --help, --version\n"
    "\n"
    "Exit status: 0 on success, 1 if a result was wrong, 2 if the arguments are invalid.\n";

int usage(const char *format, ...) {
    va_list list;
    fputs("weft: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputs("\n", stderr);
    return EXIT_USAGE;
}

static int command_version(int argc, char **argv) {
    (void)argc, (void)argv;
    printf("weft %s\n", weft_version());
    return 0;
}

static int command_help(int argc, char **argv);

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
};
static const struct command commands[] = {
    {"cached", command_cached},     {"load", command_load},       {"serve", command_serve},
    {"report", command_report},     {"tour", command_tour},       {"dump", command_dump},
    {"explain", command_explain},   {"threads", command_threads}, {"profile", command_profile},
    {"trace", command_trace},       {"top", command_top},         {"bench", command_bench},
    {"bench-one", bench_one}, /* called by the tool itself: see
                                bench/weft/one.c */
    {"help", command_help},         {"--help", command_help},     {"-h", command_help},
    {"--version", command_version},
};

static const struct command *find(const char *name) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(commands[i].name, name)) return &commands[i];
    usage("no such command: %s; try: weft --help", name);
    return NULL;
}

/* weft help COMMAND is weft COMMAND --help. */
static int command_help(int argc, char **argv) {
    if (argc < 2) {
        fputs(help, stdout);
        return 0;
    }
    if (argc > 2) return usage("help for one command at a time; try: weft help %s", argv[1]);
    const struct command *command = find(argv[1]);
    char option[] = "--help";
    char *arguments[] = {argv[1], option, NULL};
    if (!command) return EXIT_USAGE;
    return command->run == command_help ? command_help(1, argv) : command->run(2, arguments);
}

int main(int argc, char **argv) {
    if (argc < 2) return usage("no command; try: weft --help");
    const struct command *command = find(argv[1]);
    return command ? command->run(argc - 1, argv + 1) : EXIT_USAGE;
}
