/* SPDX-License-Identifier: MIT */
/*
 * The load generator against a faulty server. Each planted fault is counted once, as its kind. A pause of the server
 * shows in the times of all requests that were due meanwhile.
 */
#define _GNU_SOURCE
#include "load.h"

#include "../test.h"
#include "faulty.h"

#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE 100

static struct load_plan plan_for(const struct faulty *server) {
    static const struct load_protocol *const protocols[] = {&load_echo, &load_http, &load_memcached};
    struct load_plan plan = {.protocol = protocols[server->speaks], .workers = 2, .connections = 4, .depth = 1};
    plan.address.sin_family = AF_INET;
    plan.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    plan.address.sin_port = htons((uint16_t)server->port);
    strcpy(plan.host, "127.0.0.1");
    strcpy(plan.path, "/");
    plan.duration = 150 * WEFT_MILLISECOND;
    plan.timeout = 20 * WEFT_SECOND;
    plan.size = MESSAGE;
    plan.updates = 10;
    plan.keys = FAULTY_KEYS;
    plan.silent = true;
    return plan;
}

/* The report has only faults of this kind, and as many as were planted; LOAD_FINE: none. */
static void check_faults(const struct load_tally *tally, enum load_fault kind, uint64_t planted) {
    if (tally->problem) test_fail(__FILE__, __LINE__, "%s", tally->problem);
    CHECK(tally->answers > 0 && tally->bytes > 0 && tally->elapsed > 0);
    CHECK_EQ(load_faults(tally), kind ? planted : 0);
    CHECK_EQ(tally->faults[kind], kind ? planted : 0);
    CHECK(!kind || planted);
}

/* Runs again if the machine was so busy that no fault occurred. */
static void run_to_a_fault(const struct load_plan *plan, struct load_tally *tally, struct faulty *server) {
    uint64_t planted;
    do {
        pthread_mutex_lock(&server->lock);
        server->requests = 0; /* the first one of a run is to be answered */
        pthread_mutex_unlock(&server->lock);
        load_run(plan, tally);
        pthread_mutex_lock(&server->lock);
        planted = server->planted;
        pthread_mutex_unlock(&server->lock);
    } while (!tally->problem && (!tally->answers || (server->way && !planted)));
}

static void expect(enum faulty_speaks speaks, enum faulty_way way, enum load_fault kind) {
    struct faulty server = {.speaks = speaks, .way = way, .every = 50, .size = MESSAGE};
    static struct load_tally tally;
    faulty_start(&server);
    struct load_plan plan = plan_for(&server);
    run_to_a_fault(&plan, &tally, &server);
    faulty_stop(&server);
    check_faults(&tally, kind, server.planted);
}

TEST(echo_faults_are_counted) {
    expect(FAULTY_ECHO, FAULTY_NOT, LOAD_FINE);
    expect(FAULTY_ECHO, FAULTY_CLOSES, LOAD_CLOSED);
    expect(FAULTY_ECHO, FAULTY_SHORT, LOAD_SHORT);
    expect(FAULTY_ECHO, FAULTY_WRONG, LOAD_CONTENT);
    expect(FAULTY_ECHO, FAULTY_MORE, LOAD_LENGTH);
}
TEST(http_faults_are_counted) {
    expect(FAULTY_HTTP, FAULTY_NOT, LOAD_FINE);
    expect(FAULTY_HTTP, FAULTY_CLOSES, LOAD_CLOSED);
    expect(FAULTY_HTTP, FAULTY_SHORT, LOAD_SHORT);
    expect(FAULTY_HTTP, FAULTY_WRONG, LOAD_CONTENT);
    expect(FAULTY_HTTP, FAULTY_MORE, LOAD_LENGTH);
    expect(FAULTY_HTTP, FAULTY_STATUS, LOAD_STATUS);
    expect(FAULTY_HTTP, FAULTY_LENGTH, LOAD_LENGTH);
}
TEST(memcached_faults_are_counted) {
    expect(FAULTY_MEMCACHED, FAULTY_NOT, LOAD_FINE);
    expect(FAULTY_MEMCACHED, FAULTY_CLOSES, LOAD_CLOSED);
    expect(FAULTY_MEMCACHED, FAULTY_SHORT, LOAD_SHORT);
    expect(FAULTY_MEMCACHED, FAULTY_WRONG, LOAD_CONTENT);
    expect(FAULTY_MEMCACHED, FAULTY_STATUS, LOAD_STATUS);
    expect(FAULTY_MEMCACHED, FAULTY_MISSING, LOAD_MISSING);
}

TEST(no_answer_is_a_timeout) {
    struct faulty server = {.speaks = FAULTY_ECHO, .way = FAULTY_SILENT, .every = 100, .size = MESSAGE};
    static struct load_tally tally;
    faulty_start(&server);
    struct load_plan plan = plan_for(&server);
    plan.timeout = 100 * WEFT_MILLISECOND;
    plan.duration = 400 * WEFT_MILLISECOND;
    run_to_a_fault(&plan, &tally, &server);
    faulty_stop(&server);
    CHECK(tally.faults[LOAD_TIMEOUT] >= server.planted && server.planted); /* a machine that stands still: more */
    CHECK_EQ(load_faults(&tally), tally.faults[LOAD_TIMEOUT]);
}

TEST(no_server) {
    struct faulty server = {.speaks = FAULTY_ECHO, .size = MESSAGE};
    static struct load_tally tally;
    faulty_start(&server);
    faulty_stop(&server);
    struct load_plan plan = plan_for(&server);
    load_run(&plan, &tally);
    CHECK(!tally.problem && !tally.answers && tally.faults[LOAD_REFUSED] >= plan.connections);
    CHECK_EQ(load_faults(&tally), tally.faults[LOAD_REFUSED]);
    server.speaks = FAULTY_HTTP; /* it has to learn the right answer first */
    plan = plan_for(&server);
    load_run(&plan, &tally);
    CHECK(tally.problem && !tally.answers);
    server.speaks = FAULTY_MEMCACHED;
    plan = plan_for(&server);
    load_run(&plan, &tally);
    CHECK(tally.problem && !tally.answers);
}

/* Several requests at a time on a connection, and a connection for each request. */
TEST(depth_and_one_request) {
    for (int speaks = FAULTY_ECHO; speaks <= FAULTY_MEMCACHED; speaks++) {
        struct faulty server = {.speaks = (enum faulty_speaks)speaks, .size = MESSAGE};
        static struct load_tally tally;
        faulty_start(&server);
        struct load_plan plan = plan_for(&server);
        plan.depth = 8;
        run_to_a_fault(&plan, &tally, &server);
        check_faults(&tally, LOAD_FINE, 0);
        CHECK_EQ(tally.answers % 8, 0);
        uint64_t before = __atomic_load_n(&server.connections, __ATOMIC_RELAXED);
        plan.depth = 1;
        plan.one_request = true;
        run_to_a_fault(&plan, &tally, &server);
        faulty_stop(&server);
        check_faults(&tally, LOAD_FINE, 0);
        CHECK(__atomic_load_n(&server.connections, __ATOMIC_RELAXED) - before >= tally.answers);
    }
}

/*
 * An HTTP server that always sends the same answer, in two pieces that are cut anywhere. From the fourth time on it
 * sends `then`, if that is given. One connection at a time.
 */
struct plain {
    const char *answer, *then;
    bool closes;
    int listener;
    unsigned port;
    pthread_t thread;
    uint64_t connections, answers;
};

static bool say(struct plain *s, int fd) {
    uint64_t said = __atomic_fetch_add(&s->answers, 1, __ATOMIC_RELAXED);
    const char *text = s->then && said > 2 ? s->then : s->answer;
    size_t size = strlen(text), cut = said % size;
    return send(fd, text, cut, MSG_NOSIGNAL) == (ssize_t)cut &&
           send(fd, text + cut, size - cut, MSG_NOSIGNAL) == (ssize_t)(size - cut) && !s->closes;
}

static void talk(struct plain *s, int fd) {
    char in[4096];
    size_t have = 0;
    for (ssize_t n; (n = recv(fd, in + have, sizeof in - have, 0)) > 0;) {
        have += (size_t)n;
        for (char *end; (end = memmem(in, have, "\r\n\r\n", 4));) {
            have -= (size_t)(end + 4 - in);
            memmove(in, end + 4, have);
            if (!say(s, fd)) return;
        }
    }
}

static void *talk_to_all(void *p) {
    struct plain *s = p;
    for (int fd, one = 1; (fd = accept(s->listener, NULL, NULL)) >= 0; close(fd)) {
        s->connections++;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        talk(s, fd);
    }
    return NULL;
}

static void run_plain(struct plain *s, unsigned depth, struct load_tally *tally) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    s->connections = 0;
    CHECK((s->listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    CHECK(!bind(s->listener, (struct sockaddr *)&address, sizeof address) && !listen(s->listener, 16));
    CHECK(!getsockname(s->listener, (struct sockaddr *)&address, &size));
    CHECK_EQ(pthread_create(&s->thread, NULL, talk_to_all, s), 0);
    struct faulty speaks = {.speaks = FAULTY_HTTP, .port = ntohs(address.sin_port)};
    struct load_plan plan = plan_for(&speaks);
    plan.connections = 1;
    plan.depth = depth;
    do {
        __atomic_store_n(&s->answers, 0, __ATOMIC_RELAXED); /* the first one of a run is to be right */
        load_run(&plan, tally);
    } while (!tally->problem && (s->then ? !load_faults(tally) : !tally->answers)); /* the machine was too busy */
    shutdown(s->listener, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->listener);
}

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

TEST(an_answer_may_end_in_any_way) {
    static const struct plain cases[] = {
        {.answer = OK "Connection: close\r\nContent-Length: 5\r\n\r\nabcde", .closes = true},
        {.answer = OK "Content-Length: 5\r\nCONNECTION: x , Close\r\n\r\nabcde", .closes = true},
        {.answer = "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nabcde", .closes = true},
        {.answer = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nabcde"},
        {.answer = OK "Connection: keep\r\nX: close\r\nContent-Length: 5\r\n\r\nabcde"},
        {.answer = OK "Content-Length: 0\r\n\r\n"},
        {.answer = OK "\r\nabcde", .closes = true},
        {.answer = OK "\r\n", .closes = true},
        {.answer = CHUNKED "3;x=y\r\nabc\r\n02\r\nde\r\n0\r\nT: v\r\n\r\n"},
        {.answer = CHUNKED "0\r\n\r\n"},
        {.answer = OK "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n",
         .closes = true},
    };
    static struct load_tally tally;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (unsigned depth = 1; depth <= 4; depth += 3) {
            struct plain server = cases[i];
            run_plain(&server, depth, &tally);
            check_faults(&tally, LOAD_FINE, 0);
            CHECK_EQ(tally.answers % depth, 0);
            CHECK(!server.closes || server.connections >= tally.answers);
        }
    }
}

TEST(what_cannot_be_compared_with) {
    static const struct plain cases[] = {
        {.answer = "nonsense\r\n\r\n"},
        {.answer = "HTTP/2 200 a long line\r\n\r\n"},
        {.answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"},
        {.answer = OK "Content-Length: 5\r\n\r\nabc", .closes = true},
        {.answer = OK "Content-Length: x\r\n\r\n"},
        {.answer = OK "Content-Length: 1\r\n\r\nab"},
        {.answer = OK, .closes = true},
    };
    static struct load_tally tally;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plain server = cases[i];
        run_plain(&server, 1, &tally);
        CHECK(tally.problem && !tally.answers);
    }
}

TEST(faults_of_answers_without_a_length) {
    static const struct {
        struct plain server;
        enum load_fault kind;
    } cases[] = {
        {{.answer = CHUNKED "5\r\nabcde\r\n0\r\n\r\n", .then = CHUNKED "5\r\nabcdX\r\n0\r\n\r\n"}, LOAD_CONTENT},
        {{.answer = CHUNKED "5\r\nabcde\r\n0\r\n\r\n", .then = CHUNKED "4\r\nabcd\r\n0\r\n\r\n"}, LOAD_LENGTH},
        {{.answer = CHUNKED "5\r\nabcde\r\n0\r\n\r\n", .then = CHUNKED "6\r\nabcdef\r\n0\r\n\r\n"}, LOAD_LENGTH},
        {{.answer = CHUNKED "5\r\nabcde\r\n0\r\n\r\n", .then = CHUNKED "5\r\nabcde0\r\n\r\n"}, LOAD_LENGTH},
        {{.answer = CHUNKED "5\r\nabcde\r\n0\r\n\r\n", .then = CHUNKED "x\r\n"}, LOAD_LENGTH},
        {{.answer = CHUNKED "5\r\nabcde\r\n0\r\n\r\n", .then = OK "Content-Length: -5\r\n\r\n"}, LOAD_LENGTH},
        {{.answer = OK "\r\nabcde", .then = OK "\r\nabcd", .closes = true}, LOAD_SHORT},
        {{.answer = OK "\r\nabcde", .then = OK "\r\nabcdef", .closes = true}, LOAD_LENGTH},
        {{.answer = OK "\r\nabcde", .then = OK "\r\nabXde", .closes = true}, LOAD_CONTENT},
    };
    static struct load_tally tally;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plain server = cases[i].server;
        run_plain(&server, 1, &tally);
        if (tally.problem) test_fail(__FILE__, __LINE__, "%s", tally.problem);
        CHECK(tally.faults[cases[i].kind] > 0);
        CHECK_EQ(load_faults(&tally), tally.faults[cases[i].kind]);
    }
}

/* A thousand requests a second for a second. In the middle the server pauses for 300 ms. Three hundred requests are due
 * meanwhile, though four connections can have only four under way. */
TEST(a_pause_counts_for_all_requests_due_meanwhile) {
    struct faulty server = {.speaks = FAULTY_ECHO, .way = FAULTY_PAUSES, .every = 400, .size = MESSAGE};
    static struct load_tally tally;
    server.pause_ns = 300 * WEFT_MILLISECOND;
    faulty_start(&server);
    struct load_plan plan = plan_for(&server);
    plan.rate = 1000;
    plan.duration = WEFT_SECOND;
    run_to_a_fault(&plan, &tally, &server);
    faulty_stop(&server);
    check_faults(&tally, LOAD_FINE, 0);
    CHECK(server.planted >= 1);
    CHECK_EQ(tally.answers + tally.unsent, 1000);
    CHECK(tally.times.max >= server.pause_ns);
    CHECK(histogram_percentile(&tally.times, 95) >= 200 * WEFT_MILLISECOND);
    CHECK(histogram_percentile(&tally.times, 85) >= 100 * WEFT_MILLISECOND);
}

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}
TEST(percentiles_are_right_to_a_64th) {
    enum { N = 20000 };
    static struct histogram h;
    static uint64_t values[N];
    uint64_t random = 1;
    for (int i = 0; i < N; i++) histogram_add(&h, values[i] = test_random(&random) >> test_below(&random, 40) >> 24);
    qsort(values, N, sizeof *values, compare);
    CHECK_EQ(histogram_count(&h), N);
    for (int p = 1; p <= 100; p++) {
        uint64_t exact = values[N / 100 * p - 1], found = histogram_percentile(&h, p);
        CHECK(found >= exact && found - exact <= exact / 64);
    }
    CHECK_EQ(histogram_percentile(&h, 100), values[N - 1]);
    histogram_add(&h, UINT64_MAX);
    CHECK_EQ(histogram_percentile(&h, 100), UINT64_MAX);
}
