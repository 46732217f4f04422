/* SPDX-License-Identifier: MIT */
/* TLS: which peers are accepted, which certificate a client gets, what is agreed upon, what is resumed. */
#define _GNU_SOURCE
#include "tls.h"

/* --- certificates ----------------------------------------------------------------------------------------- */

static void check_refused(const struct both *b, const char *host, const char *why) {
    struct pair pair;
    meet(&pair, b, host);
    CHECK_EQ(pair.client_error, EKEYREJECTED);
    CHECK_HAS(weft_tls_reason(pair.client), why);
    CHECK(pair.server_error || weft_tls_read(pair.server, &(char){0}, 1) < 0);
    CHECK(weft_tls_write(pair.client, "x", 1) < 0 && errno == EKEYREJECTED);
    close_pair(&pair);
}

/* The server presents this certificate from now on. */
static void show(struct both *b, struct wanted wanted) {
    issue(&b->issuer, wanted);
    CHECK_EQ(weft_tls_context_reload(b->server), 0);
}

static void certificates(void *unused) {
    (void)unused;
    struct both b;
    struct pair pair;
    begin_both(&b);
    meet_well(&pair, &b);
    close_pair(&pair);
    meet(&pair, &b, "127.0.0.1");
    CHECK(!pair.client_error && !weft_tls_host(pair.server));
    close_pair(&pair);
    check_refused(&b, "b.test", "hostname mismatch");
    check_refused(&b, "127.0.0.2", "IP address mismatch");
    show(&b, (struct wanted){.file = "a.pem", .names = "DNS:a.test", .expired = true});
    check_refused(&b, "a.test", "expired");
    show(&b, (struct wanted){.file = "a.pem", .names = "DNS:a.test", .self_signed = true});
    check_refused(&b, "a.test", "self-signed");
    CHECK_EQ(weft_tls_context_verify(b.client, WEFT_TLS_VERIFY_NONE), 0);
    meet(&pair, &b, NULL);
    CHECK(!pair.client_error && !pair.server_error);
    close_pair(&pair);
    end_both(&b);
}
TEST(certificates_are_checked) { test_in_fiber(2, certificates, NULL); }

/* Without an issuer of its own, a context uses the system's issuers. */
static void system_store(void *unused) {
    (void)unused;
    struct both b;
    begin_both(&b);
    CHECK_EQ(weft_tls_context_trust(b.client, NULL), 0);
    check_refused(&b, "a.test", "unable to get local issuer certificate");
    end_both(&b);
}
TEST(an_unknown_issuer_is_refused) { test_in_fiber(2, system_store, NULL); }

static void clients(void *unused) {
    (void)unused;
    struct both b;
    struct pair pair;
    begin_both(&b);
    CHECK_EQ(weft_tls_context_trust(b.server, path_of(&b.issuer, "issuer.pem")), 0);
    CHECK_EQ(weft_tls_context_verify(b.server, WEFT_TLS_VERIFY_OPTIONAL), 0);
    meet_well(&pair, &b);
    close_pair(&pair);
    CHECK_EQ(weft_tls_context_verify(b.server, WEFT_TLS_VERIFY_REQUIRED), 0);
    meet(&pair, &b, "a.test");
    CHECK_EQ(pair.server_error, EKEYREJECTED);
    close_pair(&pair);
    const char *path = issue(&b.issuer, (struct wanted){.file = "client.pem", .names = "DNS:client"});
    CHECK_EQ(weft_tls_context_certificate(b.client, path, NULL), 0);
    meet_well(&pair, &b);
    pass_on(pair.client, pair.server, "known");
    close_pair(&pair);
    end_both(&b);
}
TEST(servers_may_ask_for_certificates) { test_in_fiber(2, clients, NULL); }

/* --- names ------------------------------------------------------------------------------------------------ */

/* The file with the certificate that the client got, and the kind of its key. */
static void check_shown(const struct both *b, const char *host, const char *file, int kind) {
    struct pair pair;
    char name[64];
    meet(&pair, b, host);
    CHECK(!pair.server_error);
    X509 *shown = SSL_get1_peer_certificate(weft_tls_ssl(pair.client));
    CHECK(shown && X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, name, sizeof name) > 0);
    CHECK_HAS(name, file);
    CHECK_EQ(EVP_PKEY_get_base_id(X509_get0_pubkey(shown)), kind);
    CHECK(host == NULL || !strcmp(weft_tls_host(pair.server), host));
    X509_free(shown);
    close_pair(&pair);
}

static void names(void *unused) {
    (void)unused;
    struct both b;
    begin_both(&b);
    const char *path = issue(&b.issuer, (struct wanted){.file = "b.pem", .names = "DNS:b.test,DNS:*.c.test"});
    CHECK_EQ(weft_tls_context_certificate(b.server, path, NULL), 0);
    path = issue(&b.issuer, (struct wanted){.file = "r.pem", .names = "DNS:b.test,DNS:*.c.test", .rsa = true});
    CHECK_EQ(weft_tls_context_certificate(b.server, path, path), 0);
    path = issue(&b.issuer, (struct wanted){.file = "d.pem", .names = "DNS:d.test", .rsa = true});
    CHECK_EQ(weft_tls_context_certificate(b.server, path, NULL), 0);
    CHECK_EQ(weft_tls_context_verify(b.client, WEFT_TLS_VERIFY_NONE), 0);
    check_shown(&b, "a.test", "a.pem", EVP_PKEY_EC);
    check_shown(&b, "b.test", "b.pem", EVP_PKEY_EC);
    check_shown(&b, "x.c.test", "b.pem", EVP_PKEY_EC);
    check_shown(&b, "d.test", "d.pem", EVP_PKEY_RSA);
    check_shown(&b, "unknown.test", "a.pem", EVP_PKEY_EC);
    check_shown(&b, NULL, "a.pem", EVP_PKEY_EC);
    /* A client that knows only the other kind of key. */
    CHECK_EQ(weft_tls_context_versions(b.client, WEFT_TLS_1_2, WEFT_TLS_1_2), 0);
    CHECK_EQ(weft_tls_context_ciphers(b.client, "ECDHE-RSA-AES128-GCM-SHA256"), 0);
    check_shown(&b, "b.test", "r.pem", EVP_PKEY_RSA);
    end_both(&b);
}
TEST(a_client_gets_the_certificate_of_the_name) { test_in_fiber(2, names, NULL); }

static void protocols(void *unused) {
    (void)unused;
    struct both b;
    struct pair pair;
    begin_both(&b);
    CHECK_EQ(weft_tls_context_alpn(b.server, "h2,http/1.1"), 0);
    meet_well(&pair, &b); /* a client that offers nothing */
    CHECK(!weft_tls_alpn(pair.client) && !weft_tls_alpn(pair.server));
    close_pair(&pair);
    CHECK_EQ(weft_tls_context_alpn(b.client, "http/1.1,h2"), 0);
    meet_well(&pair, &b);
    CHECK(!strcmp(weft_tls_alpn(pair.client), "h2") && !strcmp(weft_tls_alpn(pair.server), "h2"));
    close_pair(&pair);
    CHECK_EQ(weft_tls_context_alpn(b.client, "spdy/1"), 0);
    meet(&pair, &b, "a.test");
    CHECK_EQ(pair.client_error, EPROTO);
    CHECK_EQ(pair.server_error, EPROTO);
    close_pair(&pair);
    CHECK(weft_tls_context_alpn(b.client, "a,,b") < 0 && errno == EINVAL);
    CHECK(weft_tls_context_alpn(b.client, "") < 0 && errno == EINVAL);
    end_both(&b);
}
TEST(protocols_are_agreed_upon) { test_in_fiber(2, protocols, NULL); }

static void versions(void *unused) {
    (void)unused;
    struct both b;
    struct pair pair;
    begin_both(&b);
    meet_well(&pair, &b);
    CHECK(!strcmp(weft_tls_version(pair.server), "TLSv1.3"));
    close_pair(&pair);
    CHECK_EQ(weft_tls_context_versions(b.client, WEFT_TLS_1_2, WEFT_TLS_1_2), 0);
    meet_well(&pair, &b);
    CHECK(!strcmp(weft_tls_version(pair.server), "TLSv1.2"));
    CHECK_HAS(weft_tls_cipher(pair.server), "ECDHE");
    close_pair(&pair);
    CHECK_EQ(weft_tls_context_versions(b.server, WEFT_TLS_1_3, WEFT_TLS_1_3), 0);
    meet(&pair, &b, "a.test");
    CHECK_EQ(pair.client_error, EPROTO);
    CHECK_EQ(pair.server_error, EPROTO);
    CHECK_HAS(weft_tls_reason(pair.server), "protocol");
    close_pair(&pair);
    CHECK_EQ(weft_tls_context_versions(b.server, WEFT_TLS_1_2, WEFT_TLS_1_3), 0);
    CHECK_EQ(weft_tls_context_ciphers(b.client, "AES128-SHA"), 0); /* no forward secrecy */
    meet(&pair, &b, "a.test");
    CHECK_EQ(pair.server_error, EPROTO);
    close_pair(&pair);
    CHECK(weft_tls_context_versions(b.client, 0x0302, WEFT_TLS_1_3) < 0 && errno == EINVAL);
    CHECK(weft_tls_context_ciphers(b.client, "nonsense") < 0 && errno == EPROTO);
    end_both(&b);
}
TEST(versions_and_ciphers_have_bounds) { test_in_fiber(2, versions, NULL); }

/* --- sessions --------------------------------------------------------------------------------------------- */

/* A server with one address, because clients store sessions by address. */
static int again(struct both *b, int listener, const struct sockaddr_in *address) {
    struct pair pair = {0};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(!connect(fd, (const struct sockaddr *)address, sizeof *address));
    pair.client = weft_tls_open(b->client, fd, "a.test");
    pair.server = weft_tls_open(b->server, accept4(listener, NULL, NULL, SOCK_CLOEXEC), NULL);
    CHECK(pair.client && pair.server);
    struct weft_fiber server = spawn(shake, &pair);
    CHECK_EQ(weft_tls_handshake(pair.client), 0);
    join(server);
    pass_on(pair.server, pair.client, "with the tickets");
    int resumed = weft_tls_resumed(pair.client);
    CHECK_EQ(weft_tls_resumed(pair.server), resumed);
    close_pair(&pair);
    return resumed;
}

static void sessions(void *unused) {
    (void)unused;
    struct both b;
    struct sockaddr_in address;
    struct weft_tls_stats stats;
    int listener;
    begin_both(&b);
    make_listener(&listener, &address, 0);
    for (int version = WEFT_TLS_1_2; version <= WEFT_TLS_1_3; version++) {
        CHECK_EQ(weft_tls_context_versions(b.client, version, version), 0);
        CHECK_EQ(again(&b, listener, &address), 0);
        for (int i = 0; i < 4; i++) CHECK_EQ(again(&b, listener, &address), 1);
        CHECK_EQ(weft_tls_context_reload(b.server), 0);
        CHECK_EQ(again(&b, listener, &address), 1);
    }
    CHECK_EQ(weft_tls_context_stats(b.server, &stats), 0);
    CHECK_EQ(stats.handshakes, 12);
    CHECK_EQ(stats.resumed, 10);
    CHECK_EQ(weft_tls_context_reload(b.client), 0); /* the rules may have changed */
    CHECK_EQ(again(&b, listener, &address), 0);
    CHECK_EQ(weft_tls_context_resumption(b.server, 0), 0);
    CHECK_EQ(again(&b, listener, &address), 0);
    CHECK_EQ(again(&b, listener, &address), 0);
    CHECK(!close(listener));
    end_both(&b);
}
TEST(sessions_are_resumed) { test_in_fiber(2, sessions, NULL); }

/* --- files ------------------------------------------------------------------------------------------------ */

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

static void files(void *unused) {
    (void)unused;
    struct both b;
    begin_both(&b);
    CHECK(weft_tls_context_certificate(b.server, "/nowhere/a.pem", NULL) < 0 && errno == ENOENT);
    CHECK_HAS(weft_tls_context_reason(b.server), "/nowhere/a.pem: No such file");
    CHECK(weft_tls_context_certificate(b.server, NULL, NULL) < 0 && errno == EINVAL);
    issue(&b.issuer, (struct wanted){.file = "other.pem", .names = "DNS:other.test"});
    CHECK(weft_tls_context_certificate(b.server, path_of(&b.issuer, "a.pem"), path_of(&b.issuer, "other.pem")) < 0);
    CHECK_EQ(errno, EPROTO);
    CHECK_HAS(weft_tls_context_reason(b.server), "key values mismatch");
    write_text(path_of(&b.issuer, "a.pem"), "nothing of use");
    CHECK(weft_tls_context_reload(b.server) < 0 && errno == EPROTO);
    CHECK_HAS(weft_tls_context_reason(b.server), "a.pem");
    check_shown(&b, "a.test", "a.pem", EVP_PKEY_EC); /* the old certificate is still in use */
    CHECK(weft_tls_context_trust(b.client, "/nowhere") < 0 && errno == ENOENT);
    issue(&b.issuer, (struct wanted){.file = "a.pem", .names = "DNS:a.test", .rsa = true});
    CHECK_EQ(weft_tls_context_reload(b.server), 0);
    check_shown(&b, "a.test", "a.pem", EVP_PKEY_RSA);
    end_both(&b);
}
TEST(files_that_cannot_be_used_change_nothing) { test_in_fiber(2, files, NULL); }

static void arguments(void *unused) {
    (void)unused;
    struct both b;
    int ends[2], pipes[2];
    begin_both(&b);
    make_tcp(ends, 0);
    CHECK(!pipe2(pipes, O_CLOEXEC));
    CHECK(!weft_tls_context_create(7) && errno == EINVAL);
    CHECK(!weft_tls_open(NULL, ends[0], NULL) && errno == EINVAL);
    CHECK(!weft_tls_open(b.server, ends[0], "name") && errno == EINVAL);
    CHECK(!weft_tls_open(b.client, ends[0], NULL) && errno == EINVAL);
    CHECK(!weft_tls_open(b.client, ends[0], "") && errno == EINVAL);
    CHECK(!weft_tls_open(b.server, pipes[0], NULL) && errno == ENOTSOCK);
    CHECK(!weft_tls_open(b.server, -1, NULL) && errno == EBADF);
    struct weft_tls_context *bare = weft_tls_context_create(WEFT_TLS_SERVER);
    CHECK(bare && !weft_tls_open(bare, ends[0], NULL) && errno == EPROTO);
    weft_tls_context_destroy(bare);
    CHECK(weft_tls_handshake(NULL) < 0 && errno == EINVAL);
    CHECK(weft_tls_read(NULL, NULL, 1) < 0 && errno == EINVAL);
    CHECK(weft_tls_write(NULL, NULL, 1) < 0 && errno == EINVAL);
    CHECK(weft_tls_shutdown(NULL) < 0 && errno == EINVAL);
    CHECK(weft_tls_context_verify(b.client, 9) < 0 && errno == EINVAL);
    CHECK(weft_tls_context_stats(b.client, NULL) < 0 && errno == EINVAL);
    CHECK_EQ(weft_tls_close(NULL), 0);
    weft_tls_context_destroy(NULL);
    close_ends(ends);
    close_ends(pipes);
    end_both(&b);
}
TEST(arguments_that_make_no_sense) { test_in_fiber(1, arguments, NULL); }
