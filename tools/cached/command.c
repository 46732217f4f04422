/* weft cached: what the process has to be before it serves. */
#include "command.h"

#include "options.h"
#include "server.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define FILES_BESIDE 64 /* descriptors that are no connections */

static int complain(const char *what) {
    fprintf(stderr, "weft: cached: %s: %s\n", what, strerror(errno));
    return EXIT_WRONG;
}

static int allow_files(unsigned connections) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return complain("limit of open files");
    rlim_t wanted = (rlim_t)connections + FILES_BESIDE;
    if (limit.rlim_cur >= wanted) return 0;
    limit.rlim_cur = wanted;
    if (limit.rlim_max < wanted) limit.rlim_max = wanted;
    if (!setrlimit(RLIMIT_NOFILE, &limit)) return 0;
    return usage("cached: %u connections need more open files than are allowed; try ulimit -n, or a smaller -c",
                 connections);
}

static int become(const char *name) {
    if (!name || geteuid()) return 0;
    errno = 0;
    struct passwd *user = getpwnam(name);
    if (!user) return usage("cached: there is no user %s", name);
    if (setgroups(0, NULL) || setgid(user->pw_gid) || setuid(user->pw_uid)) return complain(name);
    return 0;
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

int command_cached(int argc, char **argv) {
    struct mc_settings settings;
    int code = 0;
    if (mc_options_read(argc, argv, &settings, &code)) return code;
    if (!settings.limits.workers) settings.limits.workers = processors();
    if ((code = allow_files(settings.connections))) return code;
    if (settings.lock_memory && mlockall(MCL_CURRENT | MCL_FUTURE)) return complain("locking memory");
    if ((code = become(settings.user))) return code;
    if (settings.pid_file && (code = write_pid(settings.pid_file))) return code;
    code = mc_serve(&settings);
    if (settings.pid_file) unlink(settings.pid_file);
    return code;
}
