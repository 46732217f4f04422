/* See process.h. */
#include "process.h"

#include "load/load.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE UINT64_C(10000000000)
#define MILLISECOND UINT64_C(1000000)

unsigned free_port(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) || getsockname(fd, (struct sockaddr *)&at, &length))
        fail("no port", errno);
    close(fd);
    return ntohs(at.sin_port);
}

/* The calling thread, to the first or to the last of those that this process may use. */
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

static void find_children(struct server *server) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", server->pids[0], server->pids[0]);
    FILE *f = fopen(path, "r");
    while (f && server->count < SERVER_PROCESSES && fscanf(f, "%d", &server->pids[server->count]) == 1) server->count++;
    if (f) fclose(f);
}

void server_start(struct server *server, char *const *argv, unsigned port) {
    *server = (struct server){.address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)}};
    server->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fflush(NULL);
    pin(true);
    pid_t child = fork();
    if (child < 0) fail("fork", errno);
    if (child == 0) {
        pin(false);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(STDERR_FILENO, STDOUT_FILENO); /* ours is for the result */
        execv(argv[0], argv);
        fail(argv[0], errno);
    }
    server->pids[server->count++] = child;
    uint64_t deadline = clock_ns() + PATIENCE;
    while (!takes_connections(&server->address)) {
        if (waitpid(child, NULL, WNOHANG) == child || clock_ns() > deadline) {
            kill(child, SIGKILL);
            fail(argv[0], ECONNREFUSED);
        }
        pause_ns(5 * MILLISECOND);
    }
    find_children(server);
}

uint64_t server_cpu(const struct server *server) {
    uint64_t sum = 0;
    for (int i = 0; i < server->count; i++) sum += load_cpu(server->pids[i]);
    return sum;
}

void server_stop(struct server *server) {
    pid_t child = server->pids[0];
    uint64_t deadline = clock_ns() + 1000 * MILLISECOND;
    kill(child, SIGTERM);
    while (waitpid(child, NULL, WNOHANG) != child) {
        if (clock_ns() > deadline) kill(child, SIGKILL);
        pause_ns(2 * MILLISECOND);
    }
}
