/* SPDX-License-Identifier: MIT */
/*
 * Initialises MPI, and says so if that fails.
 *
 * If MPI cannot start, it prints lines of its own and ends the process inside of MPI_Init_thread. A child process, the
 * witness, then prints one line:
 *   MPICH calls exit(3). Its mpirun reads nothing more once a rank has ended, so a handler asks the witness to print,
 *   and waits until the line was read.
 *   Open MPI calls _exit(2), so no handler runs. The witness finds its socket closed, and prints. If mpirun has ended
 *   without reading the line, the witness prints it where mpirun prints.
 *
 * Every rank has a witness. The first one on a node that has something to print binds an abstract socket, whose name
 * has the process id of the job's launcher, and keeps it until the launcher has ended. The others find it bound, and
 * print nothing.
 */
#define _GNU_SOURCE
#include "dist/dist.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WEFT_LAUNCHER_MS 2000 /* the launcher ends before, or the witness does not wait any longer */
#define WEFT_LINGER_MS 200    /* for witnesses of ranks that the launcher has killed */

enum { WEFT_HAS_BEGUN, WEFT_HAS_FAILED }; /* what the witness is told */

/* --- what mpirun has told this process ---------------------------------------------------------------------- */

/* The names of the rank and of the number of ranks in the environment: of Open MPI's mpirun, and of an mpirun that
 * speaks PMI, such as MPICH's. */
static const char *const ranks_names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};
static const char *const sizes_names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

static const char *first_set(const char *const names[2]) {
    const char *value = getenv(names[0]);
    return value ? value : getenv(names[1]);
}

unsigned weft__dist_started_ranks(void) {
    const char *size = first_set(sizes_names);
    return size ? (unsigned)strtoul(size, NULL, 10) : 0;
}

unsigned weft__dist_started_as(void) {
    const char *rank = first_set(ranks_names);
    return rank ? (unsigned)strtoul(rank, NULL, 10) : 0;
}

/* Was this process started as a rank? */
static bool has_rank(pid_t pid) {
    char path[64], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *f = fopen(path, "re");
    while (f && !found && getdelim(&line, &room, 0, f) > 0)
        for (unsigned i = 0; i < 2; i++) {
            size_t n = strlen(ranks_names[i]);
            found |= !strncmp(line, ranks_names[i], n) && line[n] == '=';
        }
    if (f) fclose(f);
    free(line);
    return found;
}

static pid_t parent_of(pid_t pid) {
    char path[64], line[512];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    const char *name_end = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    if (name_end) (void)!sscanf(name_end, ") %*c %d", &parent);
    if (f) fclose(f);
    return parent;
}

/* The nearest ancestor that is not itself a rank, such as a shell between mpirun and the program would be. 0: mpirun
 * has not started this process. */
static pid_t find_launcher(void) {
    pid_t pid = getppid();
    if (!first_set(ranks_names)) return 0;
    for (unsigned i = 0; i < 16 && pid > 1 && has_rank(pid); i++) pid = parent_of(pid);
    return pid;
}

/* --- the witness ---------------------------------------------------------------------------------------------- */

/* The witness shares no memory with its parent, and must not call what takes locks: the parent may have threads. */
struct witness {
    int ends[2];
    pid_t pid, launcher;
    char launcher_error[32]; /* path of its standard error */
    struct sockaddr_un name;
    socklen_t name_size;
    char line[160];
    size_t line_size;
};

static void wait_ms(unsigned ms) {
    const struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
    syscall(SYS_nanosleep, &time, NULL);
}

static void close_but(int fd) {
#ifdef SYS_close_range
    if (fd > 3) syscall(SYS_close_range, 3u, (unsigned)fd - 1, 0u);
    syscall(SYS_close_range, (unsigned)fd + 1, ~0u, 0u);
#else
    (void)fd;
#endif
}

/* Is this the only witness of the job on this node that has something to print? */
static bool is_only_witness(const struct witness *w) {
    int fd = w->launcher ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    return fd < 0 || !bind(fd, (const void *)&w->name, w->name_size) || errno != EADDRINUSE;
}

static bool launcher_lives(const struct witness *w) { return w->launcher && !kill(w->launcher, 0); }

/* spare: standard error of the launcher, or -1. */
static void witness_print(const struct witness *w, int spare) {
    int unread = 0;
    bool written = write(2, w->line, w->line_size) > 0;
    while (written && !ioctl(2, FIONREAD, &unread) && unread > 0 && launcher_lives(w)) wait_ms(1);
    if (!written || (unread > 0 && w->launcher)) (void)!write(spare, w->line, w->line_size);
    close(spare);
}

static _Noreturn void witness_main(const struct witness *w) {
    char byte;
    ssize_t n;
    syscall(SYS_setsid); /* mpirun kills the process group of a rank */
    close(w->ends[1]);
    close_but(w->ends[0]);
    int spare = w->launcher ? open(w->launcher_error, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC) : -1;
    do n = read(w->ends[0], &byte, 1);
    while (n < 0 && errno == EINTR);
    if ((n == 0 || byte == WEFT_HAS_FAILED) && is_only_witness(w)) {
        witness_print(w, spare);
        (void)!send(w->ends[0], &byte, 1, MSG_NOSIGNAL);
        for (int fd = 0; fd < 3; fd++) close(fd); /* mpirun reads them to their end */
        for (unsigned ms = 0; launcher_lives(w) && ms < WEFT_LAUNCHER_MS; ms += 5) wait_ms(5);
        if (w->launcher) wait_ms(WEFT_LINGER_MS);
    }
    _exit(0);
}

/* Without a witness, only MPI's own lines are printed. */
static void witness_start(struct witness *w) {
    sigset_t all, before;
    *w = (struct witness){.pid = -1, .launcher = find_launcher(), .name = {.sun_family = AF_UNIX}};
    int n = snprintf(w->name.sun_path + 1, sizeof w->name.sun_path - 1, "weft-mpi-start-%d", (int)w->launcher);
    snprintf(w->launcher_error, sizeof w->launcher_error, "/proc/%d/fd/2", (int)w->launcher);
    w->name_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    w->line_size = (size_t)snprintf(w->line, sizeof w->line,
                                    "weft: MPI cannot start: rank %u has ended in MPI_Init; see the lines of MPI\n",
                                    weft__dist_started_as());
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, w->ends)) return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* no handler of the program runs in the child */
    /* fork(2) without its handlers, and without SIGCHLD: the program does not notice this child. */
    w->pid = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (!w->pid) witness_main(w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(w->ends[0]);
}

static void witness_stop(const struct witness *w) {
    if (w->pid < 0) return;
    char byte = WEFT_HAS_BEGUN;
    (void)!send(w->ends[1], &byte, 1, MSG_NOSIGNAL);
    close(w->ends[1]);
    while (waitpid(w->pid, NULL, __WCLONE) < 0 && errno == EINTR) {
    }
}

static struct witness witness;
static bool is_beginning;

/* Runs at exit. */
static void ask_witness(void) {
    char byte = WEFT_HAS_FAILED;
    if (!is_beginning || witness.pid < 0) return;
    (void)!send(witness.ends[1], &byte, 1, MSG_NOSIGNAL);
    (void)!recv(witness.ends[1], &byte, 1, 0); /* until the witness has printed, or has seen that another one prints */
}

/* Returns whether MPI could be initialised. */
bool weft__dist_begin_mpi(int *level) {
    witness_start(&witness);
    is_beginning = !atexit(ask_witness);
    bool begun = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, level) == MPI_SUCCESS;
    is_beginning = false;
    witness_stop(&witness);
    if (!begun) weft__dist_say("MPI cannot start: MPI_Init has failed");
    return begun;
}
