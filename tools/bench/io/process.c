/* SPDX-License-Identifier: MIT */
/* See process.h. */
#include "process.h"

#include "load/load.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE UINT64_C(10000000000)
#define MILLISECOND UINT64_C(1000000)
#define QUOTA_PERIOD 10000 /* us */

static unsigned free_port(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) || getsockname(fd, (struct sockaddr *)&at, &length))
        fail("no port", errno);
    close(fd);
    return ntohs(at.sin_port);
}

/* Pins the calling thread to the first or the last processor of this process. */
static void pin(bool last) {
    static cpu_set_t all;
    static bool known;
    if (!known && sched_getaffinity(0, sizeof all, &all)) fail("sched_getaffinity", errno);
    known = true;
    int cpu = last ? CPU_SETSIZE - 1 : 0;
    while (!CPU_ISSET(cpu, &all)) cpu += last ? -1 : 1;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one)) fail("sched_setaffinity", errno);
}

static bool takes_connections(const struct sockaddr_in *at) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) fail("socket", errno);
    bool there = !connect(fd, (const struct sockaddr *)at, sizeof *at);
    close(fd);
    return there;
}

static bool put(const char *group, const char *name, const char *text) {
    char path[SERVER_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", group, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return done;
}

/* Writes a limit. Versions 1 and 2 of control groups have different names for it. */
static bool put_limit(const char *group, struct limit limit) {
    char quota[16], both[64], period[16], bytes[32];
    snprintf(quota, sizeof quota, "%u", QUOTA_PERIOD * limit.quota / 100);
    snprintf(period, sizeof period, "%u", QUOTA_PERIOD);
    snprintf(both, sizeof both, "%s %s", quota, period);
    snprintf(bytes, sizeof bytes, "%lu", (unsigned long)limit.memory << 20);
    if (limit.memory) return put(group, "memory.limit_in_bytes", bytes) || put(group, "memory.max", bytes);
    if (put(group, "cpu.cfs_period_us", period)) return put(group, "cpu.cfs_quota_us", quota);
    return put(group, "cpu.max", both);
}

static void make_group(struct server *server, struct limit limit) {
    const char *controller = limit.memory ? "memory" : "cpu";
    char enable[16], first[64];
    snprintf(enable, sizeof enable, "+%s", controller);
    snprintf(first, sizeof first, "/sys/fs/cgroup/%s", controller);
    const char *const places[] = {first, "/sys/fs/cgroup"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (i == 1) put(places[i], "cgroup.subtree_control", enable);
        snprintf(server->group, sizeof server->group, "%s/weft-bench-%d", places[i], getpid());
        if (mkdir(server->group, 0755)) continue;
        if (put_limit(server->group, limit)) return;
        rmdir(server->group);
    }
    server->group[0] = 0;
    fprintf(stderr, "no control group with a limit of %s can be made here\n", limit.memory ? "memory" : "CPU time");
    exit(1);
}

/* The process that runs or is being started, for a program that ends early. */
static struct server *current;

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *ftw) {
    (void)s, (void)kind, (void)ftw;
    return remove(path);
}

static void clean_up(void) {
    if (!current) return;
    for (int i = 0; current->group[0] && rmdir(current->group) && i < 100; i++) pause_ns(10 * MILLISECOND);
    nftw(current->scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    current = NULL;
}

static void clean_up_early(void) {
    if (current && current->pid > 0) kill(current->pid, SIGKILL);
    if (current && current->pid > 0) waitpid(current->pid, NULL, 0);
    clean_up();
}

void server_prepare(struct server *server) {
    *server = (struct server){.port = free_port()};
    scratch_name(server->scratch);
    if (!mkdtemp(server->scratch)) fail("mkdtemp", errno);
    static bool registered;
    if (!registered) atexit(clean_up_early);
    registered = true;
    current = server;
    chmod(server->scratch, 0755);
    server->address.sin_family = AF_INET;
    server->address.sin_port = htons((uint16_t)server->port);
    server->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

static void run_child(const struct server *server, char *const *argv) {
    current = NULL; /* the parent owns it */
    pin(false);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (server->group[0] && !put(server->group, "cgroup.procs", "0")) fail(server->group, errno);
    int nowhere = open("/dev/null", O_WRONLY); /* our standard output is only for the result */
    dup2(nowhere, STDOUT_FILENO);
    execv(argv[0], argv);
    fail(argv[0], errno);
}

void server_start(struct server *server, char *const *argv, struct limit limit) {
    if (limit.quota || limit.memory) make_group(server, limit);
    fflush(NULL);
    pin(true);
    server->pid = fork();
    if (server->pid < 0) fail("fork", errno);
    if (server->pid == 0) run_child(server, argv);
    uint64_t deadline = clock_ns() + PATIENCE;
    while (!takes_connections(&server->address)) {
        if (waitpid(server->pid, NULL, WNOHANG) == server->pid || clock_ns() > deadline) {
            fail(argv[0], ECONNREFUSED);
        }
        pause_ns(5 * MILLISECOND);
    }
}

uint64_t server_cpu(const struct server *server) { return load_cpu(server->pid); }

void server_stop(struct server *server) {
    uint64_t deadline = clock_ns() + 1000 * MILLISECOND;
    kill(server->pid, SIGTERM);
    while (waitpid(server->pid, NULL, WNOHANG) != server->pid) {
        if (clock_ns() > deadline) kill(server->pid, SIGKILL);
        pause_ns(2 * MILLISECOND);
    }
    clean_up();
}
