/* SPDX-License-Identifier: MIT */
/*
 * The server: a fiber that accepts, a fiber for each connection, and the first fiber, which is the ticker, waits for
 * signals and ends the server.
 *
 * At SIGTERM or SIGINT the server stops accepting. Connections without a request are shut down; the others finish their
 * present request, and announce that it was the last. Connections that are left after the time of grace, or at a second
 * signal, are reset.
 */
#include "server.h"

#include "base/atomic.h"
#include "cache.h"
#include "command.h"
#include "connection.h"
#include "deadlines.h"
#include "log.h"
#include "metrics.h"
#include "parts.h"
#include "secure.h"
#include "signals.h"
#include "tick.h"
#include "user.h"
#include "weft.h"
#include "weft/io.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define BACKLOG 4096
#define DESCRIPTORS_MOST (1u << 20)

static int listener = -1;
static _Atomic bool ends;
static _Atomic unsigned finished; /* connections that have ended */
static unsigned known;            /* of these, the number that the acceptor knows of or has ended itself */
static unsigned most;             /* the most connections at the same time */
static struct weft_sem room;      /* free places for connections */

bool server_ends(void) { return load_rlx(&ends); }

/* --- accepting ------------------------------------------------------------------------------------ */

/* Prints this only once, because the shortage may last long. */
static void say_short(int err) {
    static bool said;
    if (said) return;
    said = true;
    fprintf(stderr, "weft: no more connections for now: %s; see ulimit -n\n", strerror(err));
}

/* Decides whether accepting continues after an error. A connection that ended before it was accepted is ignored. In a
 * shortage, other connections may return resources. */
static bool goes_on(int err) {
    switch (err) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: say_short(err); return weft_sleep_for(10 * WEFT_MILLISECOND) == 0;
    case EINVAL:
    case EBADF:
    case ECANCELED: return false;
    default: return true;
    }
}

/*
 * If as many connections end as begin, each seems to carry only a request or two. Then TCP_DEFER_ACCEPT delays an
 * accept until the first bytes have come, or a second has passed: one wake-up instead of two, a quarter of the cost of
 * such a connection. It is off otherwise: the kernel stores silent clients only up to the length of its queue, and
 * further clients get cookies, and small segments for their whole life.
 */
static void defer(void) {
    enum { LOOK_EVERY = 32 };
    static unsigned accepted;
    static int deferred;
    if (++accepted % LOOK_EVERY) return;
    unsigned now = load_rlx(&finished);
    int wanted = (int)(now - known) >= LOOK_EVERY / 2;
    known = now;
    if (wanted == deferred) return;
    deferred = wanted;
    setsockopt(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &wanted, sizeof wanted); /* the server works without it, too */
}

static void connection_ended(void) {
    add_rlx(&finished, 1);
    weft_sem_post(&room);
}

static void *connection(void *fd) {
    connection_run((int)(intptr_t)fd);
    connection_ended();
    return NULL;
}

/*
 * A client gets its first answer before other clients get their next answers: the fiber that greets it has a high
 * priority, and then passes the connection to an ordinary fiber. (4,000 clients at once that keep asking: the last
 * first answer after 0.20 s -> 0.17 s on io_uring, 0.18 -> 0.14 s on epoll.)
 */
static void *newcomer(void *fd) {
    if (!connection_greet((int)(intptr_t)fd))
        connection_ended();
    else if (weft_spawn(NULL, NULL, connection, fd))
        connection(fd);
    return NULL;
}

/*
 * Makes room for an accepted connection by closing the connection that has been idle longest. If none is idle, the new
 * connection waits, and others wait in the kernel's queue. So connections are accepted one by one, not by a
 * weft_listener, which accepts all that come. (A connection with one request costs 19.5 us either way.) False: the
 * server ends.
 */
static bool make_room(void) {
    enum {
        AT_ONCE = 4096
    }; /* with thousands of connections, several end together, because each search visits all
                                connections */
    int err = weft_sem_try(&room);
    while (err && err != -ECANCELED) {
        /* a connection to which a request has just come does not end */
        unsigned goes = deadlines_make_room(1 + most / AT_ONCE);
        known += goes; /* its duration says nothing about other connections */
        err = weft_sem_wait_until(&room, weft_now() + (goes ? 500 : 20) * WEFT_MILLISECOND);
    }
    return !err;
}

/* Begins a connection. It has a deadline from here on, so that the server's end waits for it even if its fiber has not
 * run yet. No request is under way. */
static bool begin(int fd) {
    if (!make_room()) return false;
    const struct weft_attr first = {.priority = WEFT_HIGH};
    deadline_begin(fd, settings.tls ? settings.slow : settings.idle); /* with TLS, a handshake must come soon */
    if (!weft_spawn(NULL, &first, newcomer, (void *)(intptr_t)fd)) return true;
    deadline_end(fd);
    weft_sem_post(&room);
    return false;
}

static void *accept_all(void *unused) {
    for (bool on = true; on;) {
        int fd = weft_accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            on = goes_on(errno);
        else if (!begin(fd))
            close(fd);
        else
            defer();
    }
    return unused;
}

/* Accepted sockets inherit these options. */
static bool listen_at(const struct addrinfo *a) {
    const int on = 1;
    listener = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0) return false;
    if (!setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) &&
        !setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) && !bind(listener, a->ai_addr, a->ai_addrlen) &&
        !listen(listener, BACKLOG))
        return true;
    int err = errno;
    close(listener);
    errno = err;
    return false;
}

static const char *advice(int err) {
    switch (err) {
    case EADDRINUSE: return "; try another --port, or 0 for any";
    case EACCES: return "; try another --port, from 1024 on";
    case EADDRNOTAVAIL: return "; --bind wants an address of this machine, or 0.0.0.0 or :: for all of them";
    default: return "";
    }
}

/* Removes brackets around an address, as in a URL. */
static int resolve(const char *address, unsigned number, struct addrinfo **list) {
    char host[NI_MAXHOST], port[8];
    struct addrinfo hints = {.ai_flags = AI_NUMERICSERV | AI_PASSIVE, .ai_socktype = SOCK_STREAM};
    size_t size = strlen(address);
    bool brackets = size > 2 && address[0] == '[' && address[size - 1] == ']';
    if (!size || size >= sizeof host) return EAI_NONAME;
    snprintf(host, sizeof host, "%.*s", (int)(brackets ? size - 2 : size), address + brackets);
    snprintf(port, sizeof port, "%u", number);
    return getaddrinfo(host, port, &hints, list);
}

/* A name may have several addresses: takes the first that works. Returns 0 or the exit code. */
static int start_listening(void) {
    struct addrinfo *list;
    if (resolve(settings.address, settings.port, &list))
        return usage(
            "--bind wants an address or a name of this machine, 0.0.0.0, ::1 or localhost for instance, not '%s'",
            settings.address);
    const struct addrinfo *a = list;
    while (a && !listen_at(a)) a = a->ai_next;
    int err = errno;
    freeaddrinfo(list);
    if (a) return 0;
    fprintf(stderr, "weft: cannot listen at %s, port %u: %s%s\n", settings.address, settings.port, strerror(err),
            advice(err));
    return EXIT_WRONG;
}

static void *tell_metrics(void *unused) {
    metrics_serve();
    return unused;
}

static void announce(void) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
    getsockname(listener, (struct sockaddr *)&address, &size);
    getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    bool v6 = strchr(host, ':');
    printf("weft: serving %s at %s://%s%s%s:%s/ with %u worker%s%s%s; SIGINT or SIGTERM ends it\n", settings.directory,
           settings.tls ? "https" : "http", v6 ? "[" : "", host, v6 ? "]" : "", port, weft_workers(),
           weft_workers() == 1 ? "" : "s", settings.user ? " as the user " : "", settings.user ? settings.user : "");
    if (settings.metrics) printf("weft: metrics at http://%s/metrics\n", metrics_address());
    fflush(stdout);
}

/* --- the first fiber --------------------------------------------------------------------------------- */

/* Runs the ticker until a signal ends the server. */
static void tick_on(struct weft_signals *signals) {
    for (;;) {
        uint64_t next = tick();
        int got = weft_signals_next_until(signals, NULL, next);
        if (got == SIGINT || got == SIGTERM) return;
        log_write(got == SIGHUP);
        if (got == SIGHUP) secure_reload();
        deadlines_pass(tick_now());
    }
}

/* Connections become idle one after the other, so this checks them repeatedly. It also waits for lingering connections,
 * so that clients get all of their last answers. */
static void wait_for_rest(struct weft_signals *signals) {
    uint64_t until = weft_now() + settings.grace * WEFT_SECOND;
    while (deadlines_end_idle()) {
        tick();
        deadlines_pass(tick_now());
        int got = weft_signals_next_until(signals, NULL, weft_now() + 20 * WEFT_MILLISECOND);
        if (got == SIGINT || got == SIGTERM || weft_now() > until) break;
    }
    while (deadlines_reset()) weft_sleep_for(5 * WEFT_MILLISECOND);
}

#define HEARD (WEFT_SIGNAL(SIGINT) | WEFT_SIGNAL(SIGTERM) | WEFT_SIGNAL(SIGHUP))

static int run(void *unused) {
    (void)unused;
    static struct weft_signals signals; /* not ended: another signal at the very end does no harm */
    struct weft_fiber acceptor, metrics;
    int err = weft_signals_begin(&signals, HEARD);
    if (err) return err;
    tick();
    /* accepting comes before work on connections */
    const struct weft_attr attr = {.name = "acceptor", .priority = WEFT_HIGH};
    if ((err = weft_spawn(&acceptor, &attr, accept_all, NULL))) return err;
    const struct weft_attr teller = {.name = "metrics"};
    if (settings.metrics && (err = weft_spawn(&metrics, &teller, tell_metrics, NULL))) return err;
    announce();
    tick_on(&signals);
    store_rlx(&ends, true);
    if (settings.metrics) {
        weft_cancel(metrics);
        (void)!weft_join(metrics, NULL);
    }
    weft_cancel(acceptor);
    (void)!weft_join(acceptor, NULL); /* cannot fail: this fiber is not cancelled */
    weft_close(listener);
    wait_for_rest(&signals);
    log_write(false);
    return 0;
}

/* Raises the limit of descriptors, for connections and files, as far as permitted. */
static unsigned raise_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return 1024;
    limit.rlim_cur = limit.rlim_max < DESCRIPTORS_MOST ? limit.rlim_max : DESCRIPTORS_MOST;
    setrlimit(RLIMIT_NOFILE, &limit);
    return (unsigned)limit.rlim_cur;
}

/*
 * Connections may use all descriptors except those of cached files, at most an eighth, and a reserve for the server,
 * its runtime, and files that are being opened or sent.
 */
static int share(unsigned descriptors) {
    enum { RESERVE_LEAST = 32 };
    unsigned part = descriptors / 8, reserve = part > RESERVE_LEAST ? part : RESERVE_LEAST;
    int kept = cache_begin(settings.cache < part ? settings.cache : part);
    if (kept < 0) return kept;
    reserve += (unsigned)kept;
    most = descriptors > reserve ? descriptors - reserve : 1;
    return weft_sem_init(&room, most);
}

/*
 * Drops root's rights, even without an option: files that only root may read must not be served. Port, directory and
 * log are already open, and there are no threads yet. Returns 0 or the exit code.
 */
static int give_up_root(void) {
    if (!user_is_root() && settings.user)
        return usage("serve: only root can become another user: --user %s", settings.user);
    if (!user_is_root()) return 0;
    if (!settings.user) settings.user = "nobody";
    int code = user_become(settings.user, false, "serve");
    struct stat stat;
    if (code || file_look("", &stat) != 403) return code;
    fprintf(stderr, "weft: cannot serve %s: the user %s may not enter it; see --user\n", settings.directory,
            settings.user);
    return EXIT_WRONG;
}

static int fail(const char *what, const char *name, int err) {
    fprintf(stderr, "weft: %s%s: %s\n", what, name, strerror(-err));
    return EXIT_WRONG;
}

int server_run(void) {
    struct weft_config config = {.workers = settings.workers};
    struct stat stat;
    int err = files_begin(settings.directory);
    if (err) return fail("cannot serve ", settings.directory, err);
    if (file_look("", &stat) == 500) return fail("cannot serve ", "here: Linux 5.6 or later is needed", -ENOSYS);
    if ((err = log_begin(settings.log))) return fail("cannot write the log ", settings.log, err);
    unsigned descriptors = raise_limit();
    err = deadlines_begin(descriptors);
    if (!err) err = share(descriptors);
    if (err) return fail("cannot begin", "", err);
    signals_hold(HEARD);
    if ((err = secure_begin()) || (err = start_listening())) return err;
    if ((settings.metrics && (err = metrics_listen(settings.metrics))) || (err = give_up_root())) return err;
    parts_begin();
    signal(SIGPIPE, SIG_IGN); /* a disconnected client must cause an error, not a signal, also in sendfile */
    err = weft_run(run, NULL, &config);
    secure_end();
    cache_end();
    deadlines_end();
    buffers_end();
    log_end();
    files_end();
    return err ? fail("the server ended", "", err) : 0;
}
