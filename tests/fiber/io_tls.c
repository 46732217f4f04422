/* SPDX-License-Identifier: MIT */
/* TLS: bytes arrive, by many fibers at once; what cancellation, closes and peers that vanish leave behind. */
#define _GNU_SOURCE
#include "tls.h"

/* --- bytes ------------------------------------------------------------------------------------------------ */

static void fill(char *bytes, size_t size, uint64_t seed) {
    for (size_t i = 0; i < size; i++) bytes[i] = (char)test_random(&seed);
}

static void read_all(struct weft_tls *tls, char *to, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = weft_tls_read(tls, to + done, size - done);
        if (n <= 0) test_fail(__FILE__, __LINE__, "read: %zd, %s, %s", n, strerror(errno), weft_tls_reason(tls));
        done += (size_t)n;
    }
}

static void *echo(void *p) {
    struct weft_tls *tls = p;
    char *buffer = malloc(50000);
    ssize_t n;
    while ((n = weft_tls_read(tls, buffer, 50000)) > 0) CHECK_EQ(weft_tls_write(tls, buffer, (size_t)n), n);
    CHECK_EQ(n, 0);
    CHECK_EQ(weft_tls_close(tls), 0);
    free(buffer);
    return NULL;
}

static struct both shared;

static void *talk(void *p) {
    enum { MOST = 70000 };
    uint64_t random = (uint64_t)(uintptr_t)p;
    struct pair pair;
    char *sent = malloc(MOST), *got = malloc(MOST);
    open_pair(&pair, &shared, "a.test");
    struct weft_fiber echoes = spawn(echo, pair.server);
    for (int i = 0; i < 5; i++) {
        size_t size = 1 + test_below(&random, i ? MOST : 100);
        fill(sent, size, random);
        CHECK_EQ(weft_tls_write(pair.client, sent, size), size);
        read_all(pair.client, got, size);
        CHECK(!memcmp(sent, got, size));
    }
    CHECK_EQ(weft_tls_shutdown(pair.client), 0);
    CHECK_EQ(weft_tls_read(pair.client, got, MOST), 0);
    CHECK(weft_tls_write(pair.client, "x", 1) < 0 && errno == EPIPE);
    CHECK_EQ(weft_tls_close(pair.client), 0);
    join(echoes);
    free(sent);
    free(got);
    return NULL;
}

static void crowd(void *unused) {
    (void)unused;
    enum { MOST = 300 };
    struct weft_fiber fibers[MOST];
    size_t n = test_size(MOST);
    begin_both(&shared);
    for (size_t i = 0; i < n; i++) fibers[i] = spawn(talk, (void *)(i + 1));
    for (size_t i = 0; i < n; i++) join(fibers[i]);
    end_both(&shared);
}
TEST_WITHIN(hundreds_of_streams, 60) { each_runtime(crowd); }

/* One side reads and writes at once, by two fibers. */
struct flow {
    struct weft_tls *tls;
    size_t size;
    uint64_t seed;
};
static void *pour(void *p) {
    struct flow *flow = p;
    char *bytes = malloc(flow->size);
    fill(bytes, flow->size, flow->seed);
    for (size_t done = 0, piece = 1; done < flow->size; done += piece, piece = piece * 3 % 40000 + 1) {
        if (piece > flow->size - done) piece = flow->size - done;
        CHECK_EQ(weft_tls_write(flow->tls, bytes + done, piece), piece);
    }
    free(bytes);
    return NULL;
}
static void *drink(void *p) {
    struct flow *flow = p;
    char *bytes = malloc(flow->size), *got = malloc(flow->size);
    fill(bytes, flow->size, flow->seed);
    read_all(flow->tls, got, flow->size);
    CHECK(!memcmp(bytes, got, flow->size));
    free(bytes);
    free(got);
    return NULL;
}
static void duplex(void *unused) {
    (void)unused;
    struct both b;
    struct pair pair;
    size_t size = test_size(3000000);
    begin_both(&b);
    open_pair(&pair, &b, "a.test");
    struct flow there[2] = {{pair.client, size, 1}, {pair.server, size, 1}};
    struct flow back[2] = {{pair.server, size, 2}, {pair.client, size, 2}};
    struct weft_fiber fibers[] = {spawn(pour, &there[0]), spawn(drink, &there[1]), spawn(pour, &back[0]),
                                  spawn(drink, &back[1])};
    for (int i = 0; i < 4; i++) join(fibers[i]);
    close_pair(&pair);
    end_both(&b);
}
TEST(both_directions_at_once) { each_runtime(duplex); }

static void parts_and_files(void *unused) {
    (void)unused;
    enum { SIZE = 300000 };
    struct both b;
    struct pair pair;
    char *sent = malloc(SIZE), *got = malloc(SIZE);
    int file = make_file();
    begin_both(&b);
    meet_well(&pair, &b);
    fill(sent, SIZE, 7);
    CHECK_EQ(write(file, sent, SIZE), SIZE);
    struct iovec parts[] = {{sent, 100}, {sent + 100, 0}, {sent + 100, 20000}, {sent, 0}};
    CHECK_EQ(weft_tls_writev(pair.client, parts, 4), 20100);
    read_all(pair.server, got, 20100);
    CHECK(!memcmp(sent, got, 20100));
    CHECK_EQ(weft_tls_writev(pair.client, parts + 3, 1), 0);
    CHECK_EQ(weft_tls_send(pair.client, sent, 700, MSG_MORE), 700);
    CHECK_EQ(weft_tls_send(pair.client, sent + 700, 300, MSG_NOSIGNAL), 300);
    read_all(pair.server, got, 1000);
    CHECK(!memcmp(sent, got, 1000));
    CHECK(weft_tls_send(pair.client, sent, 1, MSG_OOB) < 0 && errno == EINVAL);
    off_t at = 1000;
    CHECK_EQ(weft_tls_sendfile(pair.client, file, &at, 50000), 50000);
    CHECK_EQ(at, 51000);
    read_all(pair.server, got, 50000);
    CHECK(!memcmp(sent + 1000, got, 50000));
    CHECK_EQ(weft_tls_sendfile(pair.client, file, &at, SIZE), SIZE - 51000); /* it ends before */
    CHECK_EQ(at, SIZE);
    read_all(pair.server, got, SIZE - 51000);
    CHECK(!memcmp(sent + 51000, got, SIZE - 51000));
    CHECK_EQ(lseek(file, 5, SEEK_SET), 5);
    CHECK_EQ(weft_tls_sendfile(pair.client, file, NULL, 10), 10);
    CHECK_EQ(lseek(file, 0, SEEK_CUR), 15);
    read_all(pair.server, got, 10);
    CHECK(weft_tls_sendfile(pair.client, -1, &at, 10) < 0 && errno == EBADF);
    pass_on(pair.client, pair.server, "goes on");
    close_pair(&pair);
    close(file);
    free(sent);
    free(got);
    end_both(&b);
}
TEST(parts_and_files_are_sent) { test_in_fiber(2, parts_and_files, NULL); }

/* A thread that is not a fiber waits in the kernel. */
static void *thread_talks(void *p) {
    struct pair *pair = p;
    char got[16];
    CHECK_EQ(weft_tls_handshake(pair->client), 0);
    CHECK_EQ(weft_tls_write(pair->client, "thread", 6), 6);
    CHECK_EQ(weft_tls_read(pair->client, got, sizeof got), 6);
    CHECK_EQ(weft_tls_shutdown(pair->client), 0);
    CHECK_EQ(weft_tls_read(pair->client, got, sizeof got), 0);
    CHECK_EQ(weft_tls_close(pair->client), 0);
    return NULL;
}
static void threads(void *unused) {
    (void)unused;
    struct both b;
    struct pair pair;
    begin_both(&b);
    open_pair(&pair, &b, "a.test");
    struct weft_fiber echoes = spawn(echo, pair.server);
    pthread_t thread = thread_start(thread_talks, &pair);
    join(echoes);
    thread_join(thread);
    end_both(&b);
}
TEST(threads_may_use_it) { test_in_fiber(1, threads, NULL); }

/* --- cancelled ----------------------------------------------------------------------------------------- */

static ssize_t read_in_time(struct weft_tls *tls, uint64_t milliseconds) {
    struct weft_scope scope;
    char byte;
    CHECK_EQ(weft_scope_begin(&scope, weft_now() + milliseconds * WEFT_MILLISECOND), 0);
    ssize_t n = told(weft_tls_read(tls, &byte, 1));
    weft_scope_end(&scope);
    return n;
}

/* A cancelled read has taken nothing, even if a part of a record had come. */
static void stopped_reads(void *unused) {
    (void)unused;
    struct both b;
    struct pair pair;
    begin_both(&b);
    CHECK_EQ(weft_tls_context_kernel(b.client, 0), 0); /* the kernel would encrypt the pieces again */
    meet_well(&pair, &b);
    CHECK_EQ(read_in_time(pair.server, 5), -ETIMEDOUT);
    pass_on(pair.client, pair.server, "after");
    /* A record in two pieces. */
    BIO *memory = BIO_new(BIO_s_mem());
    SSL *ssl = weft_tls_ssl(pair.client);
    BIO *own = SSL_get_wbio(ssl);
    BIO_up_ref(own);
    SSL_set0_wbio(ssl, memory);
    CHECK_EQ(SSL_write(ssl, "record", 6), 6);
    char *bytes;
    long size = BIO_get_mem_data(memory, &bytes);
    CHECK(size > 10);
    CHECK_EQ(send(weft_tls_fd(pair.client), bytes, 10, 0), 10);
    CHECK_EQ(read_in_time(pair.server, 5), -ETIMEDOUT);
    CHECK_EQ(send(weft_tls_fd(pair.client), bytes + 10, (size_t)size - 10, 0), size - 10);
    SSL_set0_wbio(ssl, own);
    char got[8];
    CHECK_EQ(weft_tls_read(pair.server, got, sizeof got), 6);
    CHECK(!memcmp(got, "record", 6));
    pass_on(pair.server, pair.client, "and back");
    close_pair(&pair);
    end_both(&b);
}
TEST(a_read_that_is_stopped_takes_nothing) { test_in_fiber(2, stopped_reads, NULL); }

static void stopped_writes(void *unused) {
    (void)unused;
    enum { MUCH = 16 << 20 };
    struct both b;
    struct pair pair;
    struct weft_scope scope;
    char *much = calloc(1, MUCH), got[16384];
    begin_both(&b);
    meet_well(&pair, &b);
    CHECK_EQ(weft_scope_begin(&scope, weft_now() + 50 * WEFT_MILLISECOND), 0);
    ssize_t sent = weft_tls_write(pair.server, much, MUCH); /* no fiber reads */
    CHECK(sent > 0 && sent < MUCH);
    CHECK_EQ(weft_scope_end(&scope), -ETIMEDOUT);
    CHECK(weft_tls_write(pair.server, much, 1) < 0 && errno == EPIPE);
    CHECK(weft_tls_shutdown(pair.server) < 0 && errno == EPIPE);
    CHECK_EQ(weft_tls_close(pair.server), 0);
    /* All bytes that the send reported arrive. Then the reader learns that the stream was cut. */
    ssize_t all = 0, n;
    while ((n = weft_tls_read(pair.client, got, sizeof got)) > 0) all += n;
    CHECK(n < 0 && errno == ECONNABORTED);
    CHECK_EQ(all, sent);
    CHECK_EQ(weft_tls_close(pair.client), 0);
    free(much);
    end_both(&b);
}
TEST(a_write_that_is_stopped_breaks_the_stream) { test_in_fiber(2, stopped_writes, NULL); }

/* A cancelled handshake can be continued. */
static void stopped_handshakes(void *unused) {
    (void)unused;
    struct both b;
    struct pair pair;
    struct weft_scope scope;
    begin_both(&b);
    open_pair(&pair, &b, "a.test");
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(weft_scope_begin(&scope, weft_now() + 3 * WEFT_MILLISECOND), 0);
        CHECK_EQ(told(weft_tls_handshake(pair.client)), -ETIMEDOUT);
        weft_scope_end(&scope);
    }
    struct weft_fiber server = spawn(shake, &pair);
    CHECK_EQ(weft_tls_handshake(pair.client), 0);
    join(server);
    pass_on(pair.server, pair.client, "in the end");
    close_pair(&pair);
    end_both(&b);
}
TEST(a_handshake_that_is_stopped_goes_on) { test_in_fiber(2, stopped_handshakes, NULL); }

/* --- ends ------------------------------------------------------------------------------------------------- */

static void ends_of_all_kinds(void *unused) {
    (void)unused;
    struct both b;
    struct pair pair;
    struct weft_tls_stats stats;
    char byte;
    begin_both(&b);
    meet_well(&pair, &b);
    CHECK_EQ(weft_tls_close(pair.client), 0); /* says that it ends */
    CHECK_EQ(weft_tls_read(pair.server, &byte, 1), 0);
    CHECK_EQ(weft_tls_read(pair.server, &byte, 1), 0);
    CHECK_EQ(weft_tls_close(pair.server), 0);
    meet_well(&pair, &b);
    CHECK(!shutdown(weft_tls_fd(pair.client), SHUT_WR)); /* does not */
    CHECK(weft_tls_read(pair.server, &byte, 1) < 0 && errno == ECONNABORTED);
    CHECK_HAS(weft_tls_reason(pair.server), "last word");
    CHECK(weft_tls_read(pair.server, &byte, 1) < 0 && errno == ECONNABORTED);
    pass_on(pair.server, pair.client, "the other way"); /* and we can still announce our end */
    CHECK_EQ(weft_tls_close(pair.server), 0);
    CHECK_EQ(weft_tls_read(pair.client, &byte, 1), 0);
    CHECK_EQ(weft_tls_close(pair.client), 0);
    meet_well(&pair, &b);
    CHECK(!setsockopt(weft_tls_fd(pair.client), SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger)));
    CHECK(!shutdown(weft_tls_fd(pair.client), SHUT_RD));
    CHECK_EQ(weft_tls_write(pair.server, "x", 1), 1);
    CHECK_EQ(weft_close(dup(weft_tls_fd(pair.client))), 0);
    close_pair(&pair);
    /* Bytes that are not TLS. */
    open_pair(&pair, &b, "a.test");
    CHECK_EQ(send(weft_tls_fd(pair.client), "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
    CHECK(weft_tls_handshake(pair.server) < 0 && errno == EPROTO);
    CHECK_HAS(weft_tls_reason(pair.server), "http request");
    close_pair(&pair);
    CHECK_EQ(weft_tls_context_stats(b.server, &stats), 0);
    CHECK_EQ(stats.failed, 1);
    end_both(&b);
}
TEST(an_end_that_was_not_said_is_an_error) { test_in_fiber(2, ends_of_all_kinds, NULL); }

/* Clients that send only a part of a handshake, and vanish. */
static void vanishing(void *unused) {
    (void)unused;
    struct both b;
    struct pair pair;
    begin_both(&b);
    BIO *memory = BIO_new(BIO_s_mem()), *nothing = BIO_new(BIO_s_mem());
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(ctx);
    char *bytes;
    SSL_set_bio(ssl, nothing, memory);
    SSL_connect(ssl);
    long size = BIO_get_mem_data(memory, &bytes);
    CHECK(size > 100);
    for (long n = 0; n <= size; n += n < 12 ? 1 : 61) {
        open_pair(&pair, &b, "a.test");
        CHECK_EQ(send(weft_tls_fd(pair.client), bytes, (size_t)n, 0), n);
        CHECK(!shutdown(weft_tls_fd(pair.client), SHUT_WR));
        CHECK(weft_tls_handshake(pair.server) < 0 && errno == ECONNABORTED);
        CHECK(weft_tls_read(pair.server, &(char){0}, 1) < 0 && errno == ECONNABORTED);
        close_pair(&pair);
    }
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    end_both(&b);
}
TEST(clients_that_vanish_in_a_handshake) { test_in_fiber(2, vanishing, NULL); }

struct closed {
    struct weft_tls *tls;
    int begun, error;
};
static void *read_until_closed(void *p) {
    struct closed *c = p;
    char byte;
    STORE(&c->begun, 1);
    c->error = (int)told(weft_tls_read(c->tls, &byte, 1));
    return NULL;
}
static void closes(void *unused) {
    (void)unused;
    struct both b;
    struct pair pair;
    begin_both(&b);
    meet_well(&pair, &b);
    struct closed readers[2] = {{pair.server, 0, 0}, {pair.server, 0, 0}}; /* the second waits for its turn */
    struct weft_fiber fibers[2];
    for (int i = 0; i < 2; i++) fibers[i] = spawn(read_until_closed, &readers[i]);
    for (int i = 0; i < 2; i++) await_yielding(&readers[i].begun, 1);
    let_it_wait();
    CHECK_EQ(weft_tls_close(pair.server), 0);
    for (int i = 0; i < 2; i++) join(fibers[i]);
    CHECK_EQ(readers[0].error, -EBADF);
    CHECK_EQ(readers[1].error, -EBADF);
    CHECK_EQ(weft_tls_read(pair.client, &(char){0}, 1), 0);
    CHECK_EQ(weft_tls_close(pair.client), 0);
    end_both(&b);
}
TEST(a_close_wakes_the_readers) { each_runtime(closes); }

/* --- changes under load ----------------------------------------------------------------------------------- */

static int enough;
static void *meet_again_and_again(void *unused) {
    struct pair pair;
    while (!LOAD(&enough)) {
        meet_well(&pair, &shared);
        pass_on(pair.client, pair.server, "under load");
        close_pair(&pair);
    }
    return unused;
}
static void reloads(void *unused) {
    (void)unused;
    enum { CLIENTS = 8 };
    struct weft_fiber fibers[CLIENTS];
    begin_both(&shared);
    STORE(&enough, 0);
    for (int i = 0; i < CLIENTS; i++) fibers[i] = spawn(meet_again_and_again, NULL);
    for (size_t i = 0; i < test_size(60); i++) {
        issue(&shared.issuer, (struct wanted){.file = "a.pem", .names = "DNS:a.test"});
        CHECK_EQ(weft_tls_context_reload(shared.server), 0);
        if (i % 8 == 0) CHECK_EQ(weft_tls_context_reload(shared.client), 0);
        weft_sleep_for(WEFT_MILLISECOND);
    }
    STORE(&enough, 1);
    for (int i = 0; i < CLIENTS; i++) join(fibers[i]);
    end_both(&shared);
}
TEST_WITHIN(certificates_are_changed_under_load, 60) { each_runtime(reloads); }

/* Streams outlive their context; the last stream that uses the socket closes it. */
static void lives(void *unused) {
    (void)unused;
    struct both b;
    struct pair pair;
    begin_both(&b);
    meet_well(&pair, &b);
    close_pair(&pair); /* the runtime has opened what it needs */
    size_t open_before = test_open_files();
    meet_well(&pair, &b);
    end_both(&b);
    pass_on(pair.server, pair.client, "still there");
    close_pair(&pair);
    CHECK_EQ(test_open_files(), open_before);
}
TEST(streams_outlive_their_context) {
    setenv("WEFT_RESCUE", "0", 1); /* on a busy machine a spare worker may begin, and open a ring */
    test_in_fiber(1, lives, NULL);
}

/* --- stacks ----------------------------------------------------------------------------------------------- */

static void *on_small_stack(void *p) {
    struct both *b = p;
    struct pair pair;
    const struct weft_attr attr = {.stack_size = WEFT_TLS_STACK};
    open_pair(&pair, b, "a.test");
    struct weft_fiber server = spawn_with(&attr, shake, &pair);
    CHECK_EQ(weft_tls_handshake(pair.client), 0);
    join(server);
    pass_on(pair.client, pair.server, "there");
    pass_on(pair.server, pair.client, "and back");
    close_pair(&pair);
    return NULL;
}
static void small_stacks(void *unused) {
    (void)unused;
    struct both b;
    const struct weft_attr attr = {.stack_size = WEFT_TLS_STACK};
    begin_both(&b);
    issue(&b.issuer, (struct wanted){.file = "a.pem", .names = "DNS:a.test", .rsa = true});
    CHECK_EQ(weft_tls_context_reload(b.server), 0);
    join(spawn_with(&attr, on_small_stack, &b));
    CHECK_EQ(weft_tls_context_versions(b.client, WEFT_TLS_1_2, WEFT_TLS_1_2), 0);
    join(spawn_with(&attr, on_small_stack, &b));
    end_both(&b);
}
TEST(a_small_stack_is_enough) { test_in_fiber(2, small_stacks, NULL); }
