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
    "  weft load PROTOCOL ...  asks a server and checks its answers: http, memcached, echo; more: weft load --help\n"
    "  weft serve DIR          the files of a directory over HTTP; more: weft serve --help\n"
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

static int command_help(int argc, char **argv) {
    (void)argc, (void)argv;
    fputs(help, stdout);
    return 0;
}

static int command_version(int argc, char **argv) {
    (void)argc, (void)argv;
    printf("weft %s\n", weft_version());
    return 0;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"cached", command_cached}, {"load", command_load},   {"serve", command_serve}, {"tour", command_tour},
    {"bench", command_bench},   {"bench-one", bench_one}, /* called by the tool itself: see bench/weft/one.c */
    {"help", command_help},     {"--help", command_help}, {"-h", command_help},     {"--version", command_version},
};

int main(int argc, char **argv) {
    if (argc < 2) return usage("no command; try: weft --help");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(commands[i].name, argv[1])) return commands[i].run(argc - 1, argv + 1);
    return usage("no such command: %s; try: weft --help", argv[1]);
}
