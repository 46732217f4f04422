/* SPDX-License-Identifier: MIT */
/* The arguments of weft load. See load.h. */
#include "command.h"
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char help[] =
    "weft load http|https|memcached|echo [options] ADDRESS\n"
    "weft load files DIRECTORY [N]\n"
    "\n"
    "Sends requests to a server, as fast as it answers or at a fixed rate, and checks every answer.\n"
    "ADDRESS is HOST:PORT. For http it may also be HOST:PORT/PATH or a URL. A URL needs no protocol before it:\n"
    "weft load https://HOST/\n"
    "\n"
    "  --connections N   the number of connections (64)\n"
    "  --depth N         how many requests a connection sends at once (1)\n"
    "  --rate R          open loop: R requests are due each second, however slow the server is, and each is timed\n"
    "                    from when it was due (default: closed loop; each answer is followed by the next request)\n"
    "  --duration S      how many seconds are measured (5)\n"
    "  --warm-up S       how many seconds run before that (1)\n"
    "  --timeout S       gives an exchange up after S seconds (10)\n"
    "  --one-request     opens a new connection for each exchange\n"
    "  --session N       opens a new connection for every N requests. With --rate, R/N sessions begin each second,\n"
    "                    and only the first request of a session is timed from when it was due\n"
    "  --think S         with --session: pauses S seconds on average between two requests\n"
    "  --files LIST      http: requests the files that `weft load files` wrote, by their weights\n"
    "  --size BYTES      the size of a message or value (echo: 64, memcached: 1024)\n"
    "  --updates P       memcached: P percent of the requests are sets (3)\n"
    "  --keys N          memcached: the number of keys; their values are stored first (10000)\n"
    "  --no-preload      memcached: the values are already stored\n"
    "  --tls             uses TLS, as https does, and checks the server's certificate\n"
    "  --ca PATH         TLS: a file or directory with trusted issuers (default: those of the system)\n"
    "  --insecure, -k    TLS: accepts any certificate\n"
    "  --resume          TLS: later connections resume the sessions of earlier ones\n"
    "  --workers N       the number of kernel threads (1)\n"
    "  --pid PID         also reports the server process: CPU time for each request, memory for each connection\n"
    "  --hdr FILE        writes the latencies in HdrHistogram's format; weft report --latency draws them\n"
    "  --json            prints one JSON object\n"
    "\n"
    "Latencies are recorded with a precision of 1.6 %.\n"
    "Exit status: 0 on success, 1 if an answer was wrong or missing, 2 if the arguments are invalid.\n";

/* Options with a number: its field, and the allowed range. */
struct option {
    const char *name;
    double least, most;
    enum { UNSIGNED, SIZE, NANOSECONDS, DOUBLE, PID } kind;
    size_t offset;
};
#define INTO(field) offsetof(struct load_plan, field)
static const struct option options[] = {
    {"--connections", 1, 1e6, UNSIGNED, INTO(connections)},
    {"--depth", 1, LOAD_DEPTH_MAX, UNSIGNED, INTO(depth)},
    {"--rate", 1e-3, 1e9, DOUBLE, INTO(rate)},
    {"--duration", 1e-3, 1e6, NANOSECONDS, INTO(duration)},
    {"--warm-up", 0, 1e6, NANOSECONDS, INTO(warm_up)},
    {"--timeout", 1e-3, 1e6, NANOSECONDS, INTO(timeout)},
    {"--session", 1, 1e6, UNSIGNED, INTO(session)},
    {"--think", 0, 3600, DOUBLE, INTO(think)},
    {"--size", 1, 32768, SIZE, INTO(size)},
    {"--updates", 0, 100, UNSIGNED, INTO(updates)},
    {"--keys", 1, 999999999, UNSIGNED, INTO(keys)},
    {"--workers", 1, WEFT_WORKERS_MAX, UNSIGNED, INTO(workers)},
    {"--pid", 1, 1 << 30, PID, INTO(server)},
};
static const struct {
    const char *name;
    size_t offset;
} switches[] = {{"--one-request", INTO(one_request)},
                {"--no-preload", INTO(no_preload)},
                {"--json", INTO(json)},
                {"--tls", INTO(tls)},
                {"--insecure", INTO(insecure)},
                {"-k", INTO(insecure)},
                {"--resume", INTO(resume)}};
static const struct {
    const char *name, *wants;
    size_t offset;
} texts[] = {{"--ca", "a file or a directory", INTO(issuers)},
             {"--hdr", "a file", INTO(hdr)},
             {"--files", "a list that weft load files wrote", INTO(files)}};

static bool set_number(const struct option *o, const char *text, struct load_plan *plan) {
    char *end;
    void *field = (char *)plan + o->offset;
    double value = strtod(text, &end);
    bool whole = o->kind == DOUBLE || o->kind == NANOSECONDS || value == (double)(int64_t)value;
    if (end == text || *end || !(value >= o->least && value <= o->most) || !whole) return false;
    switch (o->kind) {
    case UNSIGNED: *(unsigned *)field = (unsigned)value; break;
    case SIZE: *(size_t *)field = (size_t)value; break;
    case NANOSECONDS: *(uint64_t *)field = (uint64_t)(value * 1e9); break;
    case DOUBLE: *(double *)field = value; break;
    case PID: *(pid_t *)field = (pid_t)value; break;
    }
    return true;
}

/* Returns 1 if it also took the next argument, 0 if not, -1 after printing an error. */
static int set_option(char *name, const char *next, struct load_plan *plan) {
    const char *own = option_value(name), *value = own ? own : next;
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (!strcmp(switches[i].name, name)) {
            *((bool *)((char *)plan + switches[i].offset)) = true;
            if (!own) return 0;
            usage("%s wants no value, not '%s'", name, own);
            return -1;
        }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(texts[i].name, name)) {
            *((const char **)((char *)plan + texts[i].offset)) = value;
            if (value) return !own;
            usage("%s wants %s", name, texts[i].wants);
            return -1;
        }
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const struct option *o = &options[i];
        if (strcmp(o->name, name)) continue;
        if (value && set_number(o, value, plan)) return !own;
        usage("%s wants a number from %g to %g, not '%s'", name, o->least, o->most, value ? value : "");
        return -1;
    }
    usage("no such option: %s; try: weft load --help", name);
    return -1;
}

static bool find_address(const char *text, struct load_plan *plan) {
    static const char scheme[] = "http://", secure[] = "https://";
    if (!strncasecmp(text, scheme, strlen(scheme))) text += strlen(scheme);
    if (!strncasecmp(text, secure, strlen(secure))) {
        text += strlen(secure);
        plan->tls = true;
    }
    size_t length = strcspn(text, "/");
    if (!length || length >= sizeof plan->host || strlen(text + length) >= sizeof plan->path) return false;
    memcpy(plan->host, text, length);
    plan->host[length] = 0;
    strcpy(plan->path, text[length] ? text + length : "/");

    char name[LOAD_PATH];
    strcpy(name, plan->host);
    char *colon = strrchr(name, ':');
    bool https = plan->tls && plan->protocol == &load_http;
    const char *port = colon ? colon + 1 : https ? "443" : plan->protocol->port;
    char *end = NULL;
    unsigned long number = port ? strtoul(port, &end, 10) : 0;
    if (!port || end == port || *end || !number || number > 65535) return false;
    if (colon) *colon = 0;
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    strcpy(plan->name, name);
    if (getaddrinfo(name, port, &hints, &found)) return false;
    memcpy(&plan->address, found->ai_addr, sizeof plan->address);
    freeaddrinfo(found);
    return true;
}

static bool is_url(const char *text) { return !strncasecmp(text, "http://", 7) || !strncasecmp(text, "https://", 8); }

/* Finds the protocol. Returns how many words name it: 0 for a URL, which contains the protocol. */
static int find_protocol(const char *word, struct load_plan *plan) {
    static const struct load_protocol *const protocols[] = {&load_http, &load_memcached, &load_echo};
    plan->tls = !strcmp(word, "https");
    if (plan->tls || is_url(word)) plan->protocol = &load_http;
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (!strcmp(protocols[i]->name, word)) plan->protocol = protocols[i];
    return !is_url(word);
}

/* Checks for options that contradict each other. Returns the exit code, or -1. */
static int check_together(const struct load_plan *plan) {
    if (plan->files && plan->protocol != &load_http) return usage("--files is for http");
    if (plan->session && plan->one_request) return usage("--session and --one-request: one or the other");
    if (plan->think > 0 && !plan->session) return usage("--think is for sessions: --session N is missing");
    if (plan->think > 0 && plan->rate > 0)
        return usage("--think and --rate: arrivals at a rate do not wait for pauses; one or the other");
    return -1;
}

int load_options(int argc, char **argv, struct load_plan *plan) {
    const char *address = NULL;
    *plan = (struct load_plan){.workers = 1, .connections = 64, .depth = 1, .updates = 3, .keys = 10000};
    plan->warm_up = WEFT_SECOND;
    plan->duration = 5 * WEFT_SECOND;
    plan->timeout = 10 * WEFT_SECOND;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(help, stdout);
            return 0;
        }
    int first = argc > 1 ? 1 + find_protocol(argv[1], plan) : 1;
    if (!plan->protocol) return usage("what protocol? http, https, memcached or echo; try: weft load --help");
    for (int i = first; i < argc; i++) {
        if (argv[i][0] != '-') {
            if (address) return usage("one address at a time: %s or %s", address, argv[i]);
            address = argv[i];
            continue;
        }
        int taken = set_option(argv[i], i + 1 < argc ? argv[i + 1] : NULL, plan);
        if (taken < 0) return EXIT_USAGE;
        i += taken;
    }
    if (!address) return usage("which server? HOST:PORT is missing");
    if (is_url(address) && plan->protocol != &load_http)
        return usage("http:// and https:// are for http; another protocol by TLS: --tls HOST:PORT");
    if (plan->server && kill(plan->server, 0) && errno == ESRCH)
        return usage("--pid: there is no process %d", (int)plan->server);
    if (!find_address(address, plan)) return usage("no such server: %s", address);
    if (!plan->size) plan->size = plan->protocol == &load_memcached ? 1024 : 64;
    return check_together(plan);
}
