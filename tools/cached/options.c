/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "command.h"
#include "extended.h"
#include "weft.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define PORT 11211
#define NOT_GIVEN (-2)
#define METRICS 256 /* the code of an option without a letter */

static const char help[] =
    "weft cached: a memcached server with one fiber for each connection\n"
    "\n"
    "  -p, --port=N             TCP port (11211, or that of -U; 0: none; -1: any)\n"
    "  -l, --listen=ADDR[,...]  addresses to listen on, each with an optional :PORT (default: all)\n"
    "  -s, --unix-socket=FILE   listens on a UNIX socket instead\n"
    "  -a, --unix-mask=MASK     access rights of that socket, octal (700)\n"
    "  -m, --memory-limit=MB    memory for items (64)\n"
    "  -M, --disable-evictions  returns an error when memory is used up; evicts nothing\n"
    "  -I, --max-item-size=N    1k to 1024m (1m)\n"
    "  -c, --conn-limit=N       the most connections at a time (1024)\n"
    "  -t, --threads=N          the number of workers (default: one for each CPU)\n"
    "  -B, --protocol=NAME      ascii, binary, or auto: decided by the client's first byte (auto)\n"
    "  -R, --max-reqs-per-event=N  how many commands of a client run in a row (default: all that have arrived)\n"
    "  -b, --listen-backlog=N   how many connections may wait to be accepted (1024)\n"
    "  -C, --disable-cas        hides CAS values from clients\n"
    "  -F, --disable-flush-all  disables flush_all\n"
    "  -X, --disable-dumping    disables stats cachedump and lru_crawler metadump\n"
    "  -A, --enable-shutdown    enables the command shutdown\n"
    "  -u, --user=NAME          when started as root: becomes that user. Root must say -u; -u root stays root\n"
    "  -k, --lock-memory        locks all memory\n"
    "  -d, --daemon             continues in the background once it listens\n"
    "  -P, --pidfile=FILE       writes the process id to this file\n"
    "  -D CHAR                  turns stats detail on; prefixes of keys end at CHAR (:)\n"
    "  -U, --udp-port=N         UDP port (0: none; -1: any)\n"
    "  -Y, --auth-file=FILE     requires authentication; the file has one NAME:PASSWORD on each line\n"
    "  -e, --memory-file=FILE   SIGUSR1 saves the items to this file and stops; the next start restores them\n"
    "  -W, --disable-watch      disables watch\n"
    "  -Z, --enable-ssl         uses TLS on all TCP ports except those of -l notls:ADDR; see -o ssl_chain_cert\n"
    "  -o, --extended=LIST      hashpower=N, no_maxconns_fast (clients wait at the limit of connections),\n"
    "                           idle_timeout=S (closes connections that send nothing for S seconds),\n"
    "                           no_lru_crawler, lru_crawler_sleep=US, lru_crawler_tocrawl=N, watcher_logbuf_size=KB,\n"
    "                           track_sizes; with -Z: ssl_chain_cert=FILE, ssl_key=FILE, ssl_ca_cert=FILE,\n"
    "                           ssl_verify_mode=0-3, ssl_ciphers=LIST, ssl_min_version=tlsv1.2|tlsv1.3,\n"
    "                           ssl_session_cache, ssl_kernel_tls;\n"
    "                           memcached's other words are accepted and have no effect\n"
    "  --metrics=[ADDR:]PORT    serves metrics for Prometheus at http://ADDR:PORT/metrics (127.0.0.1)\n"
    "  -v, -vv                  prints what happens; -vv also prints what clients send\n"
    "  -V, -h                   version, this help\n"
    "\n"
    "-f, -n and -L tune memcached's own slabs and memory and have no effect here. See docs/CACHED.md.\n";

static const struct option longs[] = {
    {"port", 1, NULL, 'p'},
    {"listen", 1, NULL, 'l'},
    {"unix-socket", 1, NULL, 's'},
    {"unix-mask", 1, NULL, 'a'},
    {"memory-limit", 1, NULL, 'm'},
    {"disable-evictions", 0, NULL, 'M'},
    {"max-item-size", 1, NULL, 'I'},
    {"conn-limit", 1, NULL, 'c'},
    {"threads", 1, NULL, 't'},
    {"listen-backlog", 1, NULL, 'b'},
    {"disable-cas", 0, NULL, 'C'},
    {"disable-flush-all", 0, NULL, 'F'},
    {"disable-dumping", 0, NULL, 'X'},
    {"enable-shutdown", 0, NULL, 'A'},
    {"user", 1, NULL, 'u'},
    {"lock-memory", 0, NULL, 'k'},
    {"pidfile", 1, NULL, 'P'},
    {"extended", 1, NULL, 'o'},
    {"verbose", 0, NULL, 'v'},
    {"version", 0, NULL, 'V'},
    {"help", 0, NULL, 'h'},
    {"udp-port", 1, NULL, 'U'},
    {"protocol", 1, NULL, 'B'},
    {"disable-watch", 0, NULL, 'W'},
    {"slab-growth-factor", 1, NULL, 'f'},
    {"slab-min-size", 1, NULL, 'n'},
    {"enable-largepages", 0, NULL, 'L'},
    {"max-reqs-per-event", 1, NULL, 'R'},
    {"daemon", 0, NULL, 'd'},
    {"enable-sasl", 0, NULL, 'S'},
    {"auth-file", 1, NULL, 'Y'},
    {"memory-file", 1, NULL, 'e'},
    {"enable-ssl", 0, NULL, 'Z'},
    {"enable-coredumps", 0, NULL, 'r'},
    {"license", 0, NULL, 'i'},
    {"metrics", 1, NULL, METRICS},
    {NULL, 0, NULL, 0},
};

/* Options of memcached that are missing here, with a hint for each. */
static const struct {
    char letter;
    const char *instead;
} missing[] = {
    {'S', "there is no such authentication; -Y FILE is for the text protocol"},
    {'r', "set the limit with ulimit -c"},
    {'i', "the licence is in the file LICENSE"},
};

/* Reads a size that may end in k or m. */
static bool item_size(const char *text, size_t *size) {
    char *end;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    if (*end == 'k' || *end == 'K') n <<= 10, end++;
    if (*end == 'm' || *end == 'M') n <<= 20, end++;
    *size = n;
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno && n >= 1024 && n <= (size_t)1024 << 20;
}

static int out_of_range(int letter, const char *what) { return usage("-%c wants %s, not '%s'", letter, what, optarg); }

static bool read_port(int *port) {
    unsigned long n = 0;
    bool any = !strcmp(optarg, "-1");
    if (!any && !mc_option_number(optarg, 0, 65535, 10, &n)) return false;
    *port = any ? -1 : (int)n;
    return true;
}

/* Reads an option with a number. Returns 0 or the exit code; -1: not such an option. */
static int numeric(struct mc_settings *settings, int letter) {
    unsigned long n = 0;
    switch (letter) {
    case 'p': return read_port(&settings->port) ? 0 : out_of_range('p', "a port, or -1 for any that is free");
    case 'R':
        if (!mc_option_number(optarg, 1, 1 << 30, 10, &n)) return out_of_range('R', "a number of commands");
        settings->turn = (unsigned)n;
        return 0;
    case 'a':
        if (!mc_option_number(optarg, 0, 0777, 8, &n)) return out_of_range('a', "access rights in octal");
        settings->socket_mask = (unsigned)n;
        return 0;
    case 'm':
        if (!mc_option_number(optarg, 1, 1 << 30, 10, &n)) return out_of_range('m', "a number of megabytes");
        settings->limits.memory = (size_t)n << 20;
        return 0;
    case 'c':
        if (!mc_option_number(optarg, 1, 1 << 30, 10, &n)) return out_of_range('c', "a number of connections");
        settings->connections = (unsigned)n;
        return 0;
    case 't':
        if (!mc_option_number(optarg, 1, WEFT_WORKERS_MAX, 10, &n)) return out_of_range('t', "a number of workers");
        settings->limits.workers = (unsigned)n;
        return 0;
    case 'b':
        if (!mc_option_number(optarg, 1, 1 << 30, 10, &n)) return out_of_range('b', "a number of connections");
        settings->backlog = (unsigned)n;
        return 0;
    case 'U': return read_port(&settings->udp_port) ? 0 : out_of_range('U', "a port, or -1 for any that is free");
    case 'I': return item_size(optarg, &settings->limits.item_most) ? 0 : out_of_range('I', "1k to 1024m");
    default: return -1;
    }
}

static int other(struct mc_settings *settings, int letter) {
    switch (letter) {
    case 'l': settings->listen = optarg; return 0;
    case 's': settings->socket_path = optarg; return 0;
    case 'M': settings->limits.keeps = true; return 0;
    case 'C': settings->limits.no_cas = true; return 0;
    case 'F': settings->no_flush = true; return 0;
    case 'X': settings->no_dump = true; return 0;
    case 'A': settings->shutdown_allowed = true; return 0;
    case 'u': settings->user = optarg; return 0;
    case 'k': settings->lock_memory = true; return 0;
    case 'P': settings->pid_file = optarg; return 0;
    case 'd': settings->daemon = true; return 0;
    case 'Z': settings->tls.on = true; return 0;
    case 'v': count_add(&settings->verbosity, 1); return 0;
    case 'o': return mc_extended_read(settings, optarg);
    case 'B':
        settings->binding = strcmp(optarg, "auto") ? optarg : "auto-negotiate";
        if (!strcmp(optarg, "ascii") || !strcmp(optarg, "auto") || !strcmp(optarg, "binary")) return 0;
        return usage("-B wants ascii, binary or auto, not '%s'", optarg);
    case 'W': settings->no_watch = true; return 0;
    case 'Y': settings->auth_file = optarg; return 0;
    case 'e': settings->memory_file = optarg; return 0;
    case METRICS: settings->metrics = optarg; return 0;
    case 'f':
    case 'n':
    case 'L': return 0;
    case 'D':
        if (!optarg[0]) return usage("-D wants a character, which ends a prefix");
        settings->delimiter = optarg[0];
        store_rlx(&settings->detail, true);
        return 0;
    default: break;
    }
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (missing[i].letter == letter) return usage("cached has no -%c: %s", letter, missing[i].instead);
    return usage("no such option; try: weft cached --help");
}

int mc_options_read(int argc, char **argv, struct mc_settings *settings, int *code) {
    *settings = (struct mc_settings){
        .limits = {.memory = (size_t)64 << 20, .item_most = (size_t)1 << 20},
        .connections = 1024,
        .port = NOT_GIVEN,
        .backlog = 1024,
        .socket_mask = 0700,
        .binding = "auto-negotiate",
        .watcher_room = (size_t)256 << 10,
        .worker_room = (size_t)64 << 10,
        .tuning = {.crawler_sleep = 100,
                   .automove = 1,
                   .automove_window = 30,
                   .automove_ratio = 0.8,
                   .hot_percent = 20,
                   .warm_percent = 40,
                   .hot_factor = 0.2,
                   .warm_factor = 2,
                   .temporary_ttl = 61,
                   .chunk_most = MC_CHUNK_MOST},
    };
    int letter;
    optind = 1;
    opterr = 0;
    while ((letter = getopt_long(argc, argv, "p:l:s:a:m:MI:c:t:b:CFXAu:kP:o:vVhU:B:Wf:n:LR:D:dSY:e:Zri", longs,
                                 NULL)) != -1) {
        if (letter == 'h' || letter == 'V') {
            if (letter == 'h')
                fputs(help, stdout);
            else
                printf("memcached " MC_VERSION " (weft %s)\n", weft_version());
            *code = 0;
            return -1;
        }
        if (letter == '?')
            *code = usage("%s: no such option, or without its value; try: weft cached --help", argv[optind - 1]);
        else if ((*code = numeric(settings, letter)) < 0)
            *code = other(settings, letter);
        if (*code) return -1;
    }
    if (optind < argc) {
        *code = usage("cached takes options only, not '%s'; try: weft cached --help", argv[optind]);
        return -1;
    }
    if (settings->port == NOT_GIVEN) settings->port = settings->udp_port ? settings->udp_port : PORT;
    if (settings->tls.on && !settings->tls.chain) {
        *code =
            usage("-Z wants a certificate: -o ssl_chain_cert=FILE, and -o ssl_key=FILE unless the key is in the same");
        return -1;
    }
    if (settings->tls.on && settings->udp_port) {
        *code = usage("-Z: there is no TLS over UDP: -U 0");
        return -1;
    }
    if (settings->auth_file && settings->udp_port) {
        *code = usage("Cannot use UDP with ascii authentication enabled (-U 0 to disable)");
        return -1;
    }
    if (settings->limits.item_most > settings->limits.memory / 2) {
        *code = usage("-I must not be more than half of -m");
        return -1;
    }
    return 0;
}
