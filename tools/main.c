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
    "weft: fibers you may block, on a few kernel threads\n"
    "\n"
    "  weft tour               what it can do, beside kernel threads, in under a minute\n"
    "  weft bench list         the benchmarks\n"
    "  weft bench NAME ...     one of them, beside its peers; more: weft bench --help\n"
    "  weft cached ...         a memcached; more: weft cached --help\n"
    "  weft dump PID|CORE      every fiber of a process: state, what it waits for, stack; more: weft dump --help\n"
    "  weft explain PID|CORE   why fibers of a process do not go on: deadlocks, held locks, hogs\n"
    "  weft load PROTOCOL ...  asks a server and checks its answers: https, memcached ...; more: weft load --help\n"
    "  weft trace PID|FILE     records events; summary, timeline in a page, trace for Perfetto\n"
    "  weft profile PID        CPU time and waiting time by stack: pprof, folded stacks, flame graph\n"
    "  weft report             the experiments with pictures, as one HTML page; more: weft report --help\n"
    "  weft serve DIR          the files of a directory over HTTP; more: weft serve --help\n"
    "  weft threads PROGRAM    a program that knows nothing of weft, its threads as fibers; more: weft threads --help\n"
    "  weft top PID            what the workers and fibers of a process do, live\n"
    "  weft help COMMAND       what a command does, and its options\n"
    "  weft --help, --version\n"
    "\n"
    "Exit code: 0, 1 when a result was wrong, 2 for arguments that make no sense.\n";

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
