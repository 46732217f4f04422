/* SPDX-License-Identifier: MIT */
/*
 * The beginning of a job. Only this file, begin_mpi.c and leave.c use MPI: it starts the processes, tells each its rank
 * and its node, and carries addresses. After that ranks talk through shared memory and sockets, because MPI offers
 * neither a wait that uses no CPU nor a way to go on when a rank is lost. So the program may use MPI for itself at any
 * time.
 */
#define _GNU_SOURCE
#include "dist/dist.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WEFT_DETECT_DEFAULT (10 * WEFT_SECOND)

static uint32_t no_bell;
WEFT_EXPORT uint32_t *weft__dist_bell = &no_bell;
struct weft__dist weft__dist = {.ranks = 1, .living = 1, .bell_fd = -1, .epoll_fd = -1, .stop_fd = -1};

/* --- messages to the user ----------------------------------------------------------------------------------- */

static void say_at_start(const char *format, va_list args) {
    char line[512];
    int n = snprintf(line, sizeof line, "weft: ");
    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args);
    if ((size_t)n > sizeof line - 2) n = sizeof line - 2;
    line[n] = '\n';
    (void)!write(2, line, (size_t)n + 1);
}

void weft__dist_say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say_at_start(format, args);
    va_end(args);
}

/* mpirun reads standard error from a pipe. If it sees the abort first, it drops the rest of the pipe: MPICH's mpirun
 * lost one line in six. So this waits until the pipe is empty, for a second at most, because mpirun may be stuck. */
static void await_readers_of_errors(void) {
    const struct timespec pause = {.tv_nsec = 1000 * 1000};
    int unread = 0;
    for (int i = 0; i < 1000 && !ioctl(2, FIONREAD, &unread) && unread > 0; i++) nanosleep(&pause, NULL);
}

_Noreturn void weft__dist_die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say_at_start(format, args);
    va_end(args);
    await_readers_of_errors();
    MPI_Abort(MPI_COMM_WORLD, 1); /* some mpiruns do not end the job when one process ends */
    _exit(1);
}

/* --- agreement ------------------------------------------------------------------------------------------------ */

struct start {
    MPI_Comm comm, node;
    bool owns_mpi, finalizes_early; /* early: by a thread of its own, see leave.c */
    int listener;
    int (*main)(void *);
    void *arg;
    const struct weft_config *runtime;
    struct sigaction sigusr1; /* as it was */
    bool ignores;             /* it is ignored now */
};

/* The worst result of any rank; rank 0 says in one line what it means. */
static int agree_settings(const struct start *s, int err, const char *what) {
    struct {
        int value, rank;
    } own = {err, (int)weft__dist.rank}, worst;
    MPI_Allreduce(&own, &worst, 1, MPI_2INT, MPI_MINLOC, s->comm);
    if (worst.value && !weft__dist.rank) weft__dist_say("rank %d: %s: %s", worst.rank, what, strerror(-worst.value));
    return worst.value;
}

static int agree_on_program(const struct start *s) {
    struct weft__dist *d = &weft__dist;
    uint64_t hash = 0, *all = NULL;
    int differs = -1;
    int err = agree_settings(s, weft__dist_remotes_order(&hash), "no memory for remote functions");
    if (err) return err;
    if (!d->rank) all = calloc(d->ranks, sizeof *all);
    MPI_Gather(&hash, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, s->comm);
    for (unsigned r = 0; r < d->ranks && !d->rank && all; r++)
        if (all[r] != hash && differs < 0) differs = (int)r;
    free(all);
    if (differs >= 0)
        weft__dist_say("the program of rank %d is not that of rank 0: start the same one on all ranks", differs);
    MPI_Bcast(&differs, 1, MPI_INT, 0, s->comm);
    return differs >= 0 ? -EINVAL : 0;
}

/* --- nodes ------------------------------------------------------------------------------------------------------ */

/* Ranks of a node share memory: the first makes it, the others find it in /proc. */
static void *map_segment(const struct start *s, size_t size) {
    struct weft__dist *d = &weft__dist;
    int where[2] = {(int)getpid(), -1}, fd = -1;
    if (!d->local) {
        fd = where[1] = memfd_create("weft", MFD_CLOEXEC);
        if (fd >= 0 && ftruncate(fd, (off_t)size)) where[1] = -1;
    }
    MPI_Bcast(where, 2, MPI_INT, 0, s->node);
    if (d->local && where[1] >= 0) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", where[0], where[1]);
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    void *segment = fd >= 0 && where[1] >= 0 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    MPI_Barrier(s->node); /* all have opened it */
    if (fd >= 0) close(fd);
    return segment == MAP_FAILED ? NULL : segment;
}

static int find_node(struct start *s) {
    struct weft__dist *d = &weft__dist;
    const char *alone = getenv("WEFT_DIST_NODES"); /* for tests: as if every rank had a machine of its own */
    int local, locals;
    if (alone && !strcmp(alone, "alone"))
        MPI_Comm_split(s->comm, (int)d->rank, 0, &s->node);
    else
        MPI_Comm_split_type(s->comm, MPI_COMM_TYPE_SHARED, (int)d->rank, MPI_INFO_NULL, &s->node);
    MPI_Comm_rank(s->node, &local);
    MPI_Comm_size(s->node, &locals);
    d->local = (unsigned)local;
    d->locals = (unsigned)locals;
    if (d->locals > WEFT_NODE_RANKS) return -E2BIG;
    if (!(d->local_ranks = calloc(d->locals, sizeof *d->local_ranks))) return -ENOMEM;
    MPI_Allgather(&d->rank, 1, MPI_UNSIGNED, d->local_ranks, 1, MPI_UNSIGNED, s->node);
    for (unsigned r = 0; r < d->ranks; r++) d->peers[r].local = UINT32_MAX;
    for (unsigned i = 0; i < d->locals; i++) d->peers[d->local_ranks[i]].local = i;
    d->policy.near_first = d->local_ranks[0];
    d->policy.near_count = d->locals;
    d->segment_size = weft__dist_segment_size(d->locals);
    d->segment = map_segment(s, d->segment_size);
    MPI_Comm_free(&s->node);
    return d->segment ? 0 : -ENOMEM;
}

static int make_links(struct start *s) {
    struct weft__dist *d = &weft__dist;
    struct sockaddr_in own, *all = calloc(d->ranks, sizeof *all);
    d->links = calloc(2 * (size_t)d->ranks, sizeof *d->links);
    int err = !all || !d->links ? -ENOMEM : 0;
    for (unsigned r = 0; r < d->ranks && !err; r++) {
        if (r == d->rank || d->peers[r].local == UINT32_MAX) continue;
        struct weft__dist_link *l = calloc(1, sizeof *l);
        if (!l) err = -ENOMEM;
        if (err) break;
        l->rank = r;
        l->fd = -1;
        d->peers[r].data = d->links[d->link_count++] = l;
    }
    s->listener = err ? -1 : weft__dist_listen(&own, d->locals == d->ranks);
    if (!err && s->listener < 0) err = s->listener;
    err = agree_settings(s, err, "cannot listen for the other ranks");
    if (!err) {
        MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, s->comm);
        for (unsigned r = 0; r < d->ranks; r++) d->peers[r].address = all[r];
        err = agree_settings(s, weft__dist_connect(s->listener, all), "cannot connect to the other ranks");
        if (err) err = -ENOTCONN;
    }
    if (s->listener >= 0) close(s->listener);
    free(all);
    if (!err) weft__dist_segment_use(d->segment);
    return err;
}

/* --- the fibers of a job --------------------------------------------------------------------------------------------
 */

static int spawn_dist_helper(struct weft_fiber *fiber, const char *name, void *(*fn)(void *)) {
    struct weft_attr attr = WEFT_ATTR_INIT;
    attr.name = name;
    attr.priority = WEFT_HIGH;
    return weft_spawn(fiber, &attr, fn, NULL);
}

/* Calls of lost ranks may still run here, and wait for other ranks. Waits until they have ended; meanwhile the other
 * ranks serve them. */
static void wait_for_batches(void) {
    struct weft__dist *d = &weft__dist;
    for (bool some = true; some;) {
        weft_mutex_lock(&d->lock);
        some = d->batches != NULL;
        weft_mutex_unlock(&d->lock);
        if (some) weft_sleep_for(WEFT_MILLISECOND / 5);
    }
}

static int run_rank(void *start) {
    struct weft__dist *d = &weft__dist;
    struct start *s = start;
    d->main = weft_self();
    int err = spawn_dist_helper(&d->talker, "talker", weft__dist_talk);
    if (!err && !d->rank && d->ranks > 1) err = spawn_dist_helper(&d->detector, "detector", weft__dist_detect);
    if (!err) err = weft__dist_doorman_start();
    if (err) weft__dist_die("rank %u cannot start: %s", d->rank, strerror(-err));
    atomic_store(&d->running, true);
    weft__before_sleep(weft__dist_before_sleep);
    if (!d->rank) {
        d->status = s->main(s->arg);
        if (d->print_stats) weft_dist_stats_print();
        wait_for_batches();
        if (d->trace) weft__dist_trace_write(d->trace);
    } else
        while (!atomic_load(&d->ended)) (void)!weft_park();
    weft__dist_leave(s->finalizes_early);
    if (d->rank && weft__dist_is_lossy() && d->batches) { /* calls of lost ranks, which no rank waits for */
        fflush(NULL);
        _exit(d->status & 255);
    }
    weft__before_sleep(NULL);
    weft__dist_doorman_stop();
    weft_cancel(d->detector);
    weft__dist_woken();
    (void)!weft_join(d->talker, NULL);
    if (!d->rank && d->ranks > 1) (void)!weft_join(d->detector, NULL);
    return d->status;
}

/* --- the whole
 * --------------------------------------------------------------------------------------------------------- */

static uint64_t from_environment(const char *name) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

static int join_job(struct start *s, const struct weft_dist_config *config) {
    int level = MPI_THREAD_FUNNELED, is_there = 0, is_over = 0;
    MPI_Finalized(&is_over);
    if (is_over) {
        weft__dist_say("MPI was finalised, and cannot be started again");
        return -EPROTO;
    }
    MPI_Initialized(&is_there);
    if (is_there)
        MPI_Query_thread(&level);
    else if (!weft__dist_begin_mpi(&level))
        return -EPROTO;
    s->owns_mpi = !is_there;
    s->finalizes_early = !is_there && level >= MPI_THREAD_SERIALIZED;
    if (level < MPI_THREAD_FUNNELED) {
        weft__dist_say("this MPI knows no threads: initialise it with MPI_THREAD_FUNNELED at least");
        return -EPROTO;
    }
    s->comm = config->comm ? *(const MPI_Comm *)config->comm : MPI_COMM_WORLD;
    int rank, ranks;
    MPI_Comm_rank(s->comm, &rank);
    MPI_Comm_size(s->comm, &ranks);
    if (ranks == 1 && !config->comm && weft__dist_started_ranks() > 1) {
        if (!weft__dist_started_as())
            weft__dist_say(
                "mpirun has started %u processes, and each is alone: mpirun belongs to another MPI than the one that "
                "this program is linked with",
                weft__dist_started_ranks());
        return -EPROTO;
    }
    weft__dist.rank = (unsigned)rank;
    weft__dist.ranks = (unsigned)ranks;
    atomic_store(&weft__dist.living, (unsigned)ranks);
    return 0;
}

/*
 * MPICH's mpirun sends SIGUSR1 to the other ranks when one has died. Without a handler the signal ends them, and
 * MPICH's own handler crashes. A handler of the program stays. The signal is still ignored after the job if MPI is
 * finalised by then, because another rank may still die.
 */
static void ignore_news_of_death(struct start *s) {
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    Dl_info info;
    if (sigaction(SIGUSR1, NULL, &s->sigusr1)) return;
    bool is_default = !(s->sigusr1.sa_flags & SA_SIGINFO) && s->sigusr1.sa_handler == SIG_DFL;
    bool is_mpis = !is_default && dladdr((void *)(uintptr_t)s->sigusr1.sa_handler, &info) && info.dli_fname &&
                   strstr(info.dli_fname, "libmpi");
    s->ignores = (is_default || is_mpis) && !sigaction(SIGUSR1, &ignore, NULL);
}

static void choose_setting(const struct weft_dist_config *config) {
    struct weft__dist *d = &weft__dist;
    d->detect = config->detect ? config->detect : from_environment("WEFT_DIST_DETECT") * WEFT_MILLISECOND;
    if (!d->detect) d->detect = WEFT_DETECT_DEFAULT;
    d->trace = getenv("WEFT_DIST_TRACE");
    d->print_stats = config->stats || from_environment("WEFT_DIST_STATS");
    uint64_t numbers[2] = {weft_now() ^ (uint64_t)getpid() << 40, d->detect};
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!read(fd, numbers, sizeof numbers[0]);
        close(fd);
    }
    d->token = numbers[0];
}

static int prepare_rank(struct start *s, const struct weft_dist_config *config) {
    struct weft__dist *d = &weft__dist;
    choose_setting(config);
    MPI_Bcast(&d->token, 1, MPI_UINT64_T, 0, s->comm);
    MPI_Bcast(&d->detect, 1, MPI_UINT64_T, 0, s->comm);
    int traces = d->trace != NULL;
    MPI_Bcast(&traces, 1, MPI_INT, 0, s->comm);
    int err = agree_on_program(s);
    if (!err && traces) err = agree_settings(s, weft__dist_trace_begin(), "no memory for a trace");
    if (err) return err;
    d->peers = calloc(d->ranks, sizeof *d->peers);
    weft__policy_begin(&d->policy, d->rank, d->ranks, d->token);
    err = agree_settings(s, d->peers ? find_node(s) : -ENOMEM, "no memory that the ranks of a node share");
    if (!err) err = make_links(s);
    if (err) return err;
    unsigned workers =
        s->runtime && s->runtime->workers ? s->runtime->workers : (unsigned)from_environment("WEFT_WORKERS");
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    d->crowded = d->locals * (workers ? workers : (unsigned long)processors) > (unsigned long)processors;
    weft__dist_bell = (uint32_t *)&d->bell->rung;
    return 0;
}

static void clean_up(struct start *s) {
    struct weft__dist *d = &weft__dist;
    bool lossy = weft__dist_is_lossy();
    weft__dist_bell = &no_bell;
    atomic_store(&d->running, false);
    weft__dist_numbers_free();
    weft__dist_data_free();
    weft__dist_trace_free();
    for (unsigned i = 0; i < d->link_count; i++) weft__dist_link_free(d->links[i]);
    for (unsigned i = 1; i <= d->remote_count && d->remotes; i++) d->remotes[i]->index = 0;
    if (d->segment) munmap(d->segment, d->segment_size);
    if (d->bell_fd >= 0) close(d->bell_fd);
    free(d->links);
    free(d->peers);
    free(d->remotes);
    free(d->shipped);
    free(d->local_ranks);
    *d = (struct weft__dist){.ranks = 1, .living = 1, .bell_fd = -1, .epoll_fd = -1, .stop_fd = -1};
    if (lossy || weft__dist_finalized()) return; /* after a loss MPI would wait for the rank that is lost */
    if (s->ignores) sigaction(SIGUSR1, &s->sigusr1, NULL);
    if (s->owns_mpi) MPI_Finalize();
}

WEFT_EXPORT int weft__dist_run(int (*main)(void *), void *arg, const struct weft_dist_config *config, size_t size) {
    static const struct weft_dist_config defaults = WEFT_DIST_CONFIG_INIT;
    struct weft_dist_config known = defaults;
    if (!main) return -EINVAL;
    if (config && size > sizeof known) return -E2BIG;
    if (config) memcpy(&known, config, size);
    if (weft_workers()) return -EBUSY;
    if (known.runtime && known.runtime->continuations) return -EINVAL;
    struct start s = {.comm = MPI_COMM_NULL,
                      .node = MPI_COMM_NULL,
                      .listener = -1,
                      .main = main,
                      .arg = arg,
                      .runtime = known.runtime};
    int err = join_job(&s, &known);
    if (err) return err;
    ignore_news_of_death(&s);
    err = prepare_rank(&s, &known);
    weft__dist.cpu_begun = weft__dist_cpu_time();
    if (!err) err = weft_run(run_rank, &s, known.runtime);
    clean_up(&s);
    return err;
}

WEFT_EXPORT unsigned weft_dist_rank(void) { return weft__dist.rank; }
WEFT_EXPORT unsigned weft_dist_ranks(void) { return weft__dist.ranks; }
WEFT_EXPORT unsigned weft_dist_living(void) { return atomic_load(&weft__dist.living); }
