/* SPDX-License-Identifier: MIT */
/* weft serve: reads the options and runs the server. */
#include "command.h"

#include "secure.h"
#include "server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "weft serve DIR: serves the files of a directory over HTTP/1.1\n"
    "\n"
    "  --port N       the port (8080); 0 chooses a free port and prints it\n"
    "  --bind ADDR    the address or host name to listen on (127.0.0.1); 0.0.0.0 or :: for all addresses\n"
    "  --tls CERT KEY serves TLS 1.2 and 1.3 with the certificates and the key in these PEM files; repeat the option\n"
    "                 for other host names. SIGHUP reloads the files\n"
    "  --user NAME    when started as root: becomes that user once the port is open (nobody); root stays root\n"
    "  --workers N    the number of kernel threads (default: one for each available processor)\n"
    "  --list         lists directories that have no index.html\n"
    "  --log FILE     writes a line for each request; - writes to standard output. SIGHUP reopens the file\n"
    "  --cache N      keeps N files open, and small files in memory (1024); 0: none\n"
    "  --idle S       closes a connection that sends no request for S seconds (60)\n"
    "  --slow S       how many seconds a client may take for a request's head, for its body, and for each 256 KiB of\n"
    "                 the answer (15)\n"
    "  --metrics [ADDR:]PORT  serves metrics for Prometheus at http://ADDR:PORT/metrics (127.0.0.1)\n"
    "  --grace S      how many seconds requests in progress may take when a signal stops the server (10)\n"
    "\n"
    "The limit on descriptors (ulimit -n), less those for files, limits the connections. At the limit the server\n"
    "closes the connection that has been idle longest. SIGINT or SIGTERM stops the server; a second signal stops it\n"
    "at once. See docs/SERVE.md.\n";

struct settings settings = {.address = "127.0.0.1", .port = 8080, .cache = 1024, .idle = 60, .slow = 15, .grace = 10};

static const struct option {
    const char *name;
    unsigned *number; /* receives a number from `least` to `most` */
    unsigned least, most;
    const char **text;
    bool *flag;
} options[] = {
    {.name = "--port", .number = &settings.port, .most = 65535},
    {.name = "--workers", .number = &settings.workers, .least = 1, .most = 1024},
    {.name = "--cache", .number = &settings.cache, .most = 1000000},
    {.name = "--idle", .number = &settings.idle, .least = 1, .most = 86400},
    {.name = "--slow", .number = &settings.slow, .least = 1, .most = 86400},
    {.name = "--grace", .number = &settings.grace, .most = 86400},
    {.name = "--bind", .text = &settings.address},
    {.name = "--log", .text = &settings.log},
    {.name = "--metrics", .text = &settings.metrics},
    {.name = "--user", .text = &settings.user},
    {.name = "--list", .flag = &settings.list},
};

/* An option with two values, which may be repeated. Returns 0 or the exit code. */
static int set_tls(char **argv, int left, const char *value) {
    if (value || left < 2 || argv[0][0] == '-' || argv[1][0] == '-')
        return usage("--tls wants two files, a certificate and its key; try: weft serve --help");
    return secure_add(argv[0], argv[1]) ? 0 : usage("--tls: these are too many certificates");
}

static const struct option *find(const char *name) {
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (!strcmp(options[i].name, name)) return &options[i];
    return NULL;
}

/* Sets a number. Returns 0 or the exit code. */
static int set_number(const struct option *o, const char *value) {
    char *end;
    errno = 0;
    unsigned long n = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end || errno || n < o->least || n > o->most)
        return usage("%s wants a number from %u to %u, not '%s'", o->name, o->least, o->most, value);
    *o->number = (unsigned)n;
    return 0;
}

static int read_arguments(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *value = option_value(argv[i]);
        const struct option *o = find(argv[i]);
        if (!strcmp(argv[i], "--tls")) {
            int code = set_tls(argv + i + 1, argc - i - 1, value);
            if (code) return code;
            i += 2;
        } else if (o && o->flag) {
            if (value) return usage("%s wants no value; try: weft serve --help", o->name);
            *o->flag = true;
        } else if (o) {
            if (!value && ++i < argc) value = argv[i];
            if (!value) return usage("%s wants a value; try: weft serve --help", o->name);
            if (o->text) *o->text = value;
            int code = o->number ? set_number(o, value) : 0;
            if (code) return code;
        } else if (argv[i][0] == '-') {
            return usage("no such option: %s; try: weft serve --help", argv[i]);
        } else if (settings.directory) {
            return usage("one directory at a time: %s or %s", settings.directory, argv[i]);
        } else {
            settings.directory = argv[i];
        }
    }
    return settings.directory ? 0 : usage("serve which directory? try: weft serve --help");
}

int command_serve(int argc, char **argv) {
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(help, stdout);
        return 0;
    }
    int code = read_arguments(argc, argv);
    return code ? code : server_run();
}
