/* SPDX-License-Identifier: MIT */
/*
 * One scope holds all fibers: one for each listening socket, one for each connection, and the ticker of the clock. At
 * the end the scope is cancelled: a fiber that waits for its client is woken and ends; a busy fiber answers first,
 * within a time of grace.
 */
#include "server.h"

#include "auth.h"
#include "buffers.h"
#include "command.h"
#include "connection.h"
#include "listen.h"
#include "metrics.h"
#include "peers.h"
#include "save.h"
#include "secure.h"
#include "signals.h"
#include "udp.h"
#include "weft.h"
#include "weft/io.h"
#include "weft/scope.h"
#include "weft/signal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAUSE (10 * WEFT_MILLISECOND) /* after an accept that failed for lack of descriptors or memory */
#define GRACE (10 * WEFT_SECOND)      /* for answers under way when the server ends */

/* A process has one server. */
static struct server {
    struct mc_cache cache;
    struct weft_scope scope;
    struct weft_sem places; /* free places for connections; used if accepting waits for a place */
    struct weft_sem crawls; /* requests for the crawler */
    int listeners[MC_LISTENERS_MOST], datagrams[MC_LISTENERS_MOST];
    int listener_count, datagram_count;
    int ended_by; /* the signal that ended the server */
} server;

/* --- connections --------------------------------------------------------------------------------------- */

static void give_place_back(void) {
    if (server.cache.settings.wait_when_full) weft_sem_post(&server.places);
}

static int connection(void *arg) {
    intptr_t n = (intptr_t)arg; /* the descriptor, and whether the connection uses TLS */
    mc_connection(&server.cache, (int)(n >> 1), n & 1);
    add_rlx(&server.cache.current_connections, (uint64_t)-1);
    give_place_back();
    return 0;
}

/* Reads what the client has already sent, so that the close does not reset the connection. */
static void turn_away(int fd) {
    static const char line[] = "ERROR Too many open connections\r\n";
    char waste[1024];
    add_rlx(&server.cache.rejected_connections, 1);
    (void)!send(fd, line, sizeof line - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)!recv(fd, waste, sizeof waste, MSG_DONTWAIT);
    weft_close(fd);
}

static void admit(int fd, bool secure) {
    struct mc_cache *cache = &server.cache;
    if (load_rlx(&cache->current_connections) >= cache->settings.connections) {
        turn_away(fd);
        give_place_back();
        return;
    }
    uint64_t now = add_rlx(&cache->current_connections, 1) + 1;
    add_rlx(&cache->total_connections, 1);
    if (now > load_rlx(&cache->connections_most)) store_rlx(&cache->connections_most, now);
    if (!weft_scope_spawn(&server.scope, NULL, connection, (void *)((intptr_t)fd << 1 | secure))) return;
    add_rlx(&cache->current_connections, (uint64_t)-1);
    turn_away(fd);
    give_place_back();
}

/* Decides whether accepting can be tried again, perhaps later. */
static bool accept_failed(int err) {
    if (err == ECANCELED || err == ETIMEDOUT || err == EBADF || err == EINVAL) return false;
    if (err != EMFILE && err != ENFILE && err != ENOMEM && err != ENOBUFS) return true;
    if (load_rlx(&server.cache.settings.verbosity)) fprintf(stderr, "Too many open connections\n");
    add_rlx(&server.cache.listen_disabled, 1);
    store_rlx(&server.cache.accepting, false);
    uint64_t since = weft_now();
    int ended = weft_sleep_for(PAUSE);
    add_rlx(&server.cache.not_accepting_us, (weft_now() - since) / WEFT_MICROSECOND);
    store_rlx(&server.cache.accepting, true);
    return !ended;
}

static void accept_all(struct weft_listener *listener, bool secure) {
    for (;;) {
        if (server.cache.settings.wait_when_full && weft_sem_wait(&server.places)) return;
        int fd = weft_listener_accept(listener);
        if (fd >= 0) {
            admit(fd, secure);
            continue;
        }
        give_place_back();
        if (!accept_failed(-fd)) return;
    }
}

static int acceptor(void *arg) {
    struct weft_listener listener;
    int err = weft_listener_begin(&listener, *(int *)arg, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (err) return err;
    accept_all(&listener, mc_listens_secure((int)((int *)arg - server.listeners)));
    weft_listener_end(&listener);
    return 0;
}

/* --- the rest ------------------------------------------------------------------------------------------ */

static int ticker(void *arg) {
    (void)arg;
    for (uint64_t next = weft_now() + WEFT_SECOND; !weft_sleep_until(next); next += WEFT_SECOND) {
        mc_clock_tick();
        mc_store_tick(&server.cache.store);
        uint32_t idle = server.cache.settings.idle_timeout;
        if (idle) add_rlx(&server.cache.idle_kicks, mc_peers_end_idle(idle));
    }
    return 0;
}

static int datagrams(void *arg) { return mc_udp(&server.cache, *(int *)arg); }

static int tell_metrics(void *arg) {
    (void)arg;
    return metrics_serve();
}

static int crawler(void *arg) {
    (void)arg;
    while (!weft_sem_wait(&server.crawls)) mc_cache_crawl(&server.cache);
    return 0;
}

static void wake_crawler(struct mc_cache *cache) {
    (void)cache;
    weft_sem_post(&server.crawls);
}

static void tell_connections(struct mc_session *session) {
    mc_peers_tell(session, server.datagrams, server.datagram_count, true);
    mc_peers_tell(session, server.listeners, server.listener_count, false);
}

static void shut_down(struct mc_cache *cache, bool graceful) {
    (void)cache;
    kill(getpid(), graceful ? SIGUSR1 : SIGINT);
}

static void reload(void) {
    const char *file = server.cache.settings.auth_file, *wrong = file ? mc_auth_load(file) : NULL;
    if (wrong) fprintf(stderr, "weft: cached: %s: %s\n", file, wrong);
    if (!server.cache.settings.tls.on) return;
    wrong = mc_secure_reload();
    if (wrong) fprintf(stderr, "weft: cached: TLS: %s\n", wrong);
}

static int next_signal(struct weft_signals *signals) {
    int number;
    while ((number = weft_signals_next(signals, NULL)) == SIGHUP) reload();
    if (number > 0 && load_rlx(&server.cache.settings.verbosity))
        fprintf(stderr, "Signal handled: %s.\n", strsignal(number));
    return number;
}

/* After a second signal the server no longer waits for the clients. */
static void *await_second(void *signals) {
    if (next_signal(signals) > 0) mc_peers_end_all();
    return NULL;
}

static void await_end(struct weft_signals *signals) {
    struct weft_fiber second;
    server.ended_by = next_signal(signals);
    store_rlx(&server.cache.end_by, weft_now() + GRACE);
    weft_scope_cancel(&server.scope);
    int err = weft_spawn(&second, NULL, await_second, signals);
    weft_scope_end(&server.scope);
    if (err) return;
    weft_cancel(second);
    (void)!weft_join(second, NULL); /* cannot fail: this fiber is not cancelled */
}

/* Starts as many fibers for each datagram socket as there are workers. */
static int begin_datagrams(void) {
    const struct weft_attr attr = {.name = "datagrams"};
    int err = 0;
    for (int i = 0; i < server.datagram_count; i++)
        for (unsigned k = 0; k < server.cache.settings.limits.workers && !err; k++)
            err = weft_scope_spawn(&server.scope, &attr, datagrams, &server.datagrams[i]);
    return err;
}

static int begin_fibers(void) {
    /* accepting comes before work on connections */
    const struct weft_attr attr = {.name = "acceptor", .priority = WEFT_HIGH};
    int err = weft_scope_spawn(&server.scope, NULL, ticker, NULL);
    if (!err) err = weft_scope_spawn(&server.scope, NULL, crawler, NULL);
    const struct weft_attr teller = {.name = "metrics"};
    if (!err && server.cache.settings.metrics) err = weft_scope_spawn(&server.scope, &teller, tell_metrics, NULL);
    if (!err) err = begin_datagrams();
    for (int i = 0; i < server.listener_count && !err; i++)
        err = weft_scope_spawn(&server.scope, &attr, acceptor, &server.listeners[i]);
    return err;
}

#define HEARD (WEFT_SIGNAL(SIGINT) | WEFT_SIGNAL(SIGTERM) | WEFT_SIGNAL(SIGUSR1) | WEFT_SIGNAL(SIGHUP))

static int main_fiber(void *arg) {
    (void)arg;
    static struct weft_signals signals = WEFT_SIGNALS_INIT; /* not ended: another signal at the very end does no harm */
    int err = weft_signals_begin(&signals, HEARD);
    if (err) return err;
    err = weft_scope_begin(&server.scope, WEFT_FOREVER);
    if (err) return err;
    err = begin_fibers();
    if (!err) {
        await_end(&signals);
        return 0;
    }
    weft_scope_cancel(&server.scope);
    weft_scope_end(&server.scope);
    return err;
}

/* Reads files before the server listens. Returns 0, or prints the error. */
static int prepare(const struct mc_settings *settings) {
    if (mc_secure_begin(settings)) return -1;
    struct mc_settings with = *settings;
    const char *wrong = settings->auth_file ? mc_auth_load(settings->auth_file) : NULL;
    if (wrong) {
        fprintf(stderr, "weft: cached: %s: %s\n", settings->auth_file, wrong);
        return -1;
    }
    struct mc_kept kept = {.fd = -1};
    if (settings->memory_file && mc_kept_open(&kept, settings->memory_file)) return -1;
    if (kept.hash_power) with.limits.hash_power = kept.hash_power;
    if (mc_cache_begin(&server.cache, &with)) {
        fprintf(stderr, "weft: cached: no memory\n");
        mc_kept_close(&kept);
        return -1;
    }
    if (settings->memory_file) mc_restore(&server.cache.store, &kept);
    return 0;
}

/* Called after all connections have ended. */
static int finish(const struct mc_settings *settings) {
    if (!settings->memory_file || server.ended_by != SIGUSR1) return 0;
    return mc_save(&server.cache.store, settings->memory_file);
}

int mc_serve(const struct mc_settings *settings, void (*listens)(const struct mc_settings *settings)) {
    struct weft_config config = WEFT_CONFIG_INIT;
    config.workers = settings->limits.workers;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    mc_clock_begin();
    if (prepare(settings)) return EXIT_WRONG;
    server.cache.shut_down = shut_down;
    server.cache.tell_connections = tell_connections;
    server.cache.wake_crawler = wake_crawler;
    server.cache.tell_tls = mc_secure_tell;
    if (settings->tls.on) server.cache.refresh_certs = mc_secure_reload;
    weft_sem_init(&server.places, settings->connections);
    weft_sem_init(&server.crawls, 0);
    signals_hold(HEARD);
    server.listener_count = mc_listen(settings, server.listeners);
    if (server.listener_count >= 0) server.datagram_count = mc_listen_udp(settings, server.datagrams);
    bool open = server.listener_count >= 0 && server.datagram_count >= 0;
    if (open && settings->metrics && metrics_listen(settings->metrics)) open = false;
    if (open) mc_tell_ports(server.listeners, server.listener_count, server.datagrams, server.datagram_count);
    if (open) listens(settings);
    int err = open ? weft_run(main_fiber, NULL, &config) : -EINVAL;
    for (int i = 0; i < server.listener_count; i++) close(server.listeners[i]);
    for (int i = 0; i < server.datagram_count; i++) close(server.datagrams[i]);
    if (server.listener_count > 0 && settings->socket_path) unlink(settings->socket_path);
    if (open && err) fprintf(stderr, "weft: cached: %s\n", strerror(-err));
    if (!err) err = finish(settings);
    mc_cache_end(&server.cache);
    mc_buffers_end();
    mc_secure_end();
    return err ? EXIT_WRONG : 0;
}
