/* SPDX-License-Identifier: MIT */
/* weft cached: prepares the process before it serves. */
#include "command.h"

#include "options.h"
#include "server.h"
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int complain(const char *what) {
    fprintf(stderr, "weft: cached: %s: %s\n", what, strerror(errno));
    return EXIT_WRONG;
}

/*
 * Allows as many open files as the connections need, and some more. If only the connections fit, the server starts
 * anyway, like memcached. A client without a descriptor then waits until another connection ends.
 */
static int allow_files(unsigned connections) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return complain("limit of open files");
    rlim_t wanted = (rlim_t)connections + MC_FILES_BESIDE;
    if (limit.rlim_cur >= wanted) return 0;
    struct rlimit more = {wanted, limit.rlim_max < wanted ? wanted : limit.rlim_max};
    if (!setrlimit(RLIMIT_NOFILE, &more)) return 0;
    limit.rlim_cur = limit.rlim_max;
    if (limit.rlim_cur >= connections && !setrlimit(RLIMIT_NOFILE, &limit)) return 0;
    return usage("cached: %u connections need more open files than are allowed; try ulimit -n, or a smaller -c",
                 connections);
}

/* Like memcached, drops root's rights even without an option. A process that is not root keeps its user. */
static int give_up_root(const char *user) { return user_is_root() ? user_become(user, true, "cached") : 0; }

/* If permitted, locks future memory, too. */
static int lock_memory(void) {
    const struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_MEMLOCK, &most);
    return mlockall(MCL_CURRENT | MCL_FUTURE) ? complain("locking memory") : 0;
}

static int write_pid(const char *file) {
    FILE *f = fopen(file, "w");
    if (!f) return complain(file);
    fprintf(f, "%ld\n", (long)getpid());
    return fclose(f) ? complain(file) : 0;
}

static unsigned processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

/* --- the background -------------------------------------------------------------------------------------- */

/*
 *   the command                       the daemon
 *   1. a pipe, and the fork           1. a session of its own
 *   2. waits at the pipe              2. files, memory, sockets: what goes wrong is said on the terminal
 *   3. a byte: it listens, 0          3. listens: away from the terminal and the directory; a byte
 *      the end: its exit code
 *
 * So after the command has returned, its caller can connect, or knows the error. This happens before threads are made
 * and before memory is locked, because a child inherits neither.
 */
static int ready = -1; /* the pipe to the command */

/* Forks. Returns 0 in the daemon, and -1 in the command, which must end with *code. */
static int detach(int *code) {
    int pipes[2], status;
    char byte;
    if (pipe2(pipes, O_CLOEXEC)) {
        *code = complain("pipe");
        return -1;
    }
    pid_t child = fork();
    if (!child) {
        close(pipes[0]);
        ready = pipes[1];
        setsid();
        return 0;
    }
    *code = child < 0 ? complain("fork") : 0;
    close(pipes[1]);
    if (child > 0 && read(pipes[0], &byte, 1) != 1)
        *code = waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_WRONG;
    close(pipes[0]);
    return -1;
}

/* Tells the command that the server listens, and leaves the terminal. With -v the server continues to write to the
 * terminal, like memcached. */
static void listens(const struct mc_settings *settings) {
    if (ready < 0) return;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2 && null >= 0 && !load_rlx(&settings->verbosity); fd++) dup2(null, fd);
    if (null >= 0) close(null);
    (void)!chdir("/");
    (void)!write(ready, "", 1);
    close(ready);
}

/* Makes a path absolute, because the daemon changes its directory before it removes the file at the end. */
static const char *absolute(const char *path, char *room) {
    char here[PATH_MAX];
    if (!path || path[0] == '/' || !getcwd(here, sizeof here)) return path;
    return snprintf(room, 2 * PATH_MAX, "%s/%s", here, path) < 2 * PATH_MAX ? room : path;
}

int command_cached(int argc, char **argv) {
    static char socket_path[2 * PATH_MAX], pid_file[2 * PATH_MAX], auth_file[2 * PATH_MAX], memory_file[2 * PATH_MAX];
    struct mc_settings settings;
    int code = 0;
    if (mc_options_read(argc, argv, &settings, &code)) return code;
    if (user_is_root() && !settings.user)
        return usage("cached: can't run as root without -u: -u NAME becomes that user, -u root stays root");
    if (settings.daemon) {
        settings.socket_path = absolute(settings.socket_path, socket_path);
        settings.pid_file = absolute(settings.pid_file, pid_file);
        settings.auth_file = absolute(settings.auth_file, auth_file);
        settings.memory_file = absolute(settings.memory_file, memory_file);
        if (detach(&code)) return code;
    }
    if (!settings.limits.workers) settings.limits.workers = processors();
    if ((code = allow_files(settings.connections))) return code;
    if (settings.lock_memory && (code = lock_memory())) return code;
    if ((code = give_up_root(settings.user))) return code;
    if (settings.pid_file && (code = write_pid(settings.pid_file))) return code;
    code = mc_serve(&settings, listens);
    if (settings.pid_file) unlink(settings.pid_file);
    return code;
}
