/* SPDX-License-Identifier: MIT */
/*
 * The driver, see random.h. Programs run in child processes, some programs in each, one after the other: so a crash
 * or a hang is one failure with a seed, and the runtime is started and stopped many times in one process.
 */
#define _GNU_SOURCE
#include "random.h"

#include "../scratch.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct settings settings = {.seconds = 10}; /* or WEFT_RANDOM_SECONDS */

const struct family *const families[] = {
    &family_actors,  &family_scopes,  &family_fibers, &family_locks,   &family_sync, &family_chan,
    &family_crowds,  &family_time,    &family_tasks,  &family_loops,   &family_flow, &family_clusters,
    &family_streams, &family_sockets, &family_files,  &family_process, NULL,
};

/* Kinds that a known defect makes fail, and why. Empty is the aim. */
static const struct {
    const char *name, *why;
} disabled[] = {
    {NULL, NULL},
};

/* What a child tells its parent. */
static struct {
    uint64_t seed; /* of the program that runs */
    uint64_t passed;
} * shared;

/* --- kinds -------------------------------------------------------------------------------------------------------- */

const struct kind *kind_named(const char *name, size_t length) {
    for (unsigned f = 0; families[f]; f++)
        for (const struct kind *k = families[f]->kinds; k->name; k++)
            if (strlen(k->name) == length && !memcmp(k->name, name, length)) return k;
    return NULL;
}

static bool named_in(const char *list, const struct kind *k) {
    size_t n = strlen(k->name);
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == n && !memcmp(list, k->name, n)) return true;
    return false;
}

bool kind_enabled(const struct kind *k) {
    for (unsigned i = 0; disabled[i].name; i++)
        if (!strcmp(disabled[i].name, k->name) && !(settings.with && named_in(settings.with, k))) return false;
    if (k->flags & FORKS && (TEST_TSAN || TEST_ASAN || test_emulated())) return false;
    if (k->flags & GREEDY && test_emulated()) return false;
    if (settings.only && !named_in(settings.only, k)) return false;
    return !settings.without || !named_in(settings.without, k);
}

static int list_kinds(void) {
    unsigned n = 0;
    for (unsigned f = 0; families[f]; f++)
        for (const struct kind *k = families[f]->kinds; k->name; k++, n++)
            printf("%s%s\n", k->name, kind_enabled(k) ? "" : " (disabled)");
    printf("%u kinds\n", n);
    return 0;
}

/* --- a child ------------------------------------------------------------------------------------------------------ */

/* ThreadSanitizer runs a handler only when the thread next calls something that it knows, and a thread that sleeps in
 * weft does not: there, all threads but weft's own block what is sent to the process. */
static void let_the_service_take_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++) sigaddset(&set, n);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
}

int programs_in_child(uint64_t first, uint64_t count, uint64_t end_at) {
    static struct program program;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    if (TEST_TSAN) let_the_service_take_signals();
    if (strcmp(settings.io, "auto")) setenv("WEFT_IO", settings.io, 1);
    watch_begin();
    for (uint64_t i = 0; i < count && weft_now() < end_at; i++) {
        shared->seed = first + i;
        program_build(&program, first + i);
        if (settings.keep) program_drop(&program, settings.keep);
        if (settings.trace) program_print(&program);
        program_run(&program);
        program_free(&program);
        shared->passed++;
    }
    return 0;
}

/* --- the parent --------------------------------------------------------------------------------------------------- */

/* The engine is chosen once a process. */
static const char *engine_for(uint64_t first) {
    uint64_t random = first;
    return test_below(&random, 3) == 0 ? "epoll" : "auto";
}

/* The command, with everything that decides which program a seed stands for. */
void print_command(const char *program, uint64_t first, uint64_t count) {
    const char *under = getenv("WEFT_TEST_UNDER"), *scale = getenv("WEFT_TEST_SCALE");
    if (scale) printf("WEFT_TEST_SCALE=%s ", scale);
    if (under && *under) printf("WEFT_TEST_UNDER='%s' %s ", under, under);
    printf("%s --seed %llu --programs %llu --io %s", program, (unsigned long long)first, (unsigned long long)count,
           settings.io);
    if (settings.workers) printf(" --workers %u", settings.workers);
    if (settings.only) printf(" --only %s", settings.only);
    if (settings.without) printf(" --without %s", settings.without);
    if (settings.with) printf(" --with %s", settings.with);
    if (settings.keep) printf(" --keep %s", settings.keep);
    printf("\n");
}

static void say_how_to_replay(const char *program, uint64_t first) {
    printf("replay: ");
    print_command(program, shared->seed, 1);
    if (shared->seed != first) {
        printf("   or, with those before it in the process: ");
        print_command(program, first, shared->seed - first + 1);
    }
    fflush(stdout);
}

/* Runs some programs in a child; false: one has failed. */
static bool run_child(const char *program, uint64_t first, uint64_t count, uint64_t end_at) {
    int status;
    const char *given = settings.io;
    if (!given) settings.io = engine_for(first);
    fflush(NULL);
    pid_t pid = fork();
    SO(pid >= 0);
    if (!pid) exit(programs_in_child(first, count, end_at));
    WANT(waitpid(pid, &status, 0), pid);
    if (status) {
        printf("program %llu: %s %d\n", (unsigned long long)shared->seed,
               WIFSIGNALED(status) ? "ended by signal" : "exit status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        say_how_to_replay(program, first);
    }
    settings.io = given;
    return !status;
}

/* Files of programs are made here. What a program that failed has left is removed with it. */
static char files[SCRATCH_SIZE];

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where) {
    (void)status, (void)type, (void)where;
    return remove(path);
}

static void files_begin(void) {
    SO(mkdtemp(scratch_name(files)));
    setenv("TMPDIR", files, 1);
}

static void files_end(void) { nftw(files, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

static int run_all(const char *program) {
    enum { TOGETHER = 8 }; /* programs a process */
    uint64_t end_at = settings.programs ? WEFT_FOREVER : weft_now() + (uint64_t)(settings.seconds * 1e9);
    uint64_t next = settings.seed, failed = 0;
    for (uint64_t left = settings.programs ? settings.programs : UINT64_MAX; left && weft_now() < end_at;) {
        uint64_t count = left < TOGETHER || settings.programs ? left : TOGETHER;
        shared->seed = next;
        if (!run_child(program, next, count, end_at)) {
            failed++;
            if (settings.programs) break;
        }
        next += count;
        left -= count;
    }
    printf("random from seed %llu: %llu passed, %llu failed\n", (unsigned long long)settings.seed,
           (unsigned long long)shared->passed, (unsigned long long)failed);
    return failed != 0;
}

static int usage(void) {
    fprintf(stderr, "usage: random [--seed N] [--seconds S] [--programs N] [--workers W] [--io epoll|uring|auto]\n"
                    "              [--only KINDS] [--without KINDS] [--with KINDS] [--keep OPS] [--patience S]\n"
                    "              [--trace] [--shrink] [--list]\n");
    return 2;
}

/* An option with a value; false: there is no such option. */
static bool take_option(const char *name, const char *value) {
    if (!strcmp(name, "--seed"))
        settings.seed = strtoull(value, NULL, 0);
    else if (!strcmp(name, "--seconds"))
        settings.seconds = atof(value);
    else if (!strcmp(name, "--programs"))
        settings.programs = strtoull(value, NULL, 0);
    else if (!strcmp(name, "--workers"))
        settings.workers = (unsigned)atoi(value);
    else if (!strcmp(name, "--patience"))
        settings.patience = (unsigned)atoi(value);
    else if (!strcmp(name, "--io"))
        settings.io = value;
    else if (!strcmp(name, "--only"))
        settings.only = value;
    else if (!strcmp(name, "--without"))
        settings.without = value;
    else if (!strcmp(name, "--with"))
        settings.with = value;
    else if (!strcmp(name, "--keep"))
        settings.keep = value;
    else
        return false;
    return true;
}

/* ThreadSanitizer tells a race by the status at the exit, after more programs. It is to end at once. */
static void end_at_a_race(char **argv) {
    if (!TEST_TSAN || getenv("TSAN_OPTIONS")) return;
    setenv("TSAN_OPTIONS", "halt_on_error=1", 1);
    execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
    bool list = false;
    const char *seconds = getenv("WEFT_RANDOM_SECONDS");
    end_at_a_race(argv);
    if (seconds) settings.seconds = atof(seconds);
    settings.seed = weft_now() % 1000000000 * 1000;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--trace"))
            settings.trace = true;
        else if (!strcmp(argv[i], "--shrink"))
            settings.shrink = true;
        else if (!strcmp(argv[i], "--list"))
            list = true;
        else if (i + 1 == argc || !take_option(argv[i], argv[i + 1]))
            return usage();
        else
            i++;
    }
    if (list) return list_kinds();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    SO(shared != MAP_FAILED);
    if (settings.shrink && !settings.io) settings.io = engine_for(settings.seed);
    files_begin();
    int status = settings.shrink ? shrink(argv[0]) : run_all(argv[0]);
    files_end();
    return status;
}
