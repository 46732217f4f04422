/* SPDX-License-Identifier: MIT */
/*
 * Certificates for the tests of TLS, made anew each time: an issuer, and the certificates that a test wants it to sign.
 * Also pairs of streams that are connected by TCP.
 */
#ifndef WEFT_TESTS_FIBER_TLS_H
#define WEFT_TESTS_FIBER_TLS_H

#include "io.h"
#include "weft/tls.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

struct issuer {
    EVP_PKEY *key;
    X509 *certificate;
    char directory[SCRATCH_SIZE];
};

/* The properties of a certificate. Zeros are the defaults. */
struct wanted {
    const char *file;  /* its file in the directory, which also has the key */
    const char *names; /* in the form of a configuration: "DNS:a.test,IP:127.0.0.1" */
    bool rsa, expired, self_signed;
};

static inline char *path_of(const struct issuer *issuer, const char *file) {
    static _Thread_local char paths[4][SCRATCH_SIZE + 64];
    static _Thread_local unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof *paths, "%s/%s", issuer->directory, file);
    return path;
}

static inline void add_extension(X509 *to, X509 *from, int what, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, from, to, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, what, value);
    CHECK(extension && X509_add_ext(to, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

static inline EVP_PKEY *make_key(bool rsa) {
    EVP_PKEY *key = rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
    CHECK(key);
    return key;
}

static inline X509 *make_certificate(EVP_PKEY *key, const char *common, bool expired) {
    static _Atomic long serial = 1;
    X509 *made = X509_new();
    CHECK(made && X509_set_version(made, X509_VERSION_3) && ASN1_INTEGER_set(X509_get_serialNumber(made), serial++));
    X509_gmtime_adj(X509_getm_notBefore(made), -200000);
    X509_gmtime_adj(X509_getm_notAfter(made), expired ? -100000 : 1000000);
    X509_set_pubkey(made, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC, (const unsigned char *)common, -1, -1,
                               0);
    return made;
}

static inline void write_pem(const char *path, X509 *certificate, EVP_PKEY *key) {
    char unfinished[SCRATCH_SIZE + 80];
    snprintf(unfinished, sizeof unfinished, "%s.new", path);
    FILE *file = fopen(unfinished, "w");
    CHECK(file && PEM_write_X509(file, certificate));
    if (key) CHECK(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL));
    CHECK(!fclose(file) && !rename(unfinished, path));
}

static inline void make_issuer(struct issuer *issuer) {
    CHECK(mkdtemp(scratch_name(issuer->directory)));
    issuer->key = make_key(false);
    issuer->certificate = make_certificate(issuer->key, "Tests", false);
    X509_set_issuer_name(issuer->certificate, X509_get_subject_name(issuer->certificate));
    add_extension(issuer->certificate, issuer->certificate, NID_basic_constraints, "critical,CA:TRUE");
    CHECK(X509_sign(issuer->certificate, issuer->key, EVP_sha256()));
    write_pem(path_of(issuer, "issuer.pem"), issuer->certificate, NULL);
}

static inline void end_issuer(struct issuer *issuer) {
    char command[SCRATCH_SIZE + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", issuer->directory);
    CHECK(!system(command));
    EVP_PKEY_free(issuer->key);
    X509_free(issuer->certificate);
}

/* Makes a certificate, and returns its path. */
static inline const char *issue(const struct issuer *issuer, struct wanted wanted) {
    EVP_PKEY *key = make_key(wanted.rsa), *signer = wanted.self_signed ? key : issuer->key;
    X509 *made = make_certificate(key, wanted.file, wanted.expired),
         *by = wanted.self_signed ? made : issuer->certificate;
    X509_set_issuer_name(made, X509_get_subject_name(by));
    if (wanted.names) add_extension(made, by, NID_subject_alt_name, wanted.names);
    CHECK(X509_sign(made, signer, EVP_sha256()));
    const char *path = path_of(issuer, wanted.file);
    write_pem(path, made, key);
    EVP_PKEY_free(key);
    X509_free(made);
    return path;
}

/* --- contexts and streams --------------------------------------------------------------------------------- */

/* A server with one certificate, for "a.test" and 127.0.0.1, and a client that trusts its issuer. */
struct both {
    struct issuer issuer;
    struct weft_tls_context *server, *client;
};

static inline void begin_both(struct both *b) {
    make_issuer(&b->issuer);
    b->server = weft_tls_context_create(WEFT_TLS_SERVER);
    b->client = weft_tls_context_create(WEFT_TLS_CLIENT);
    CHECK(b->server && b->client);
    const char *path = issue(&b->issuer, (struct wanted){.file = "a.pem", .names = "DNS:a.test,IP:127.0.0.1"});
    CHECK_EQ(weft_tls_context_certificate(b->server, path, NULL), 0);
    CHECK_EQ(weft_tls_context_trust(b->client, path_of(&b->issuer, "issuer.pem")), 0);
}

static inline void end_both(struct both *b) {
    weft_tls_context_destroy(b->server);
    weft_tls_context_destroy(b->client);
    end_issuer(&b->issuer);
}

struct pair {
    struct weft_tls *server, *client;
    int server_error, client_error; /* the result of each handshake: 0 or errno */
};

static inline void *shake(void *p) {
    struct pair *pair = p;
    pair->server_error = weft_tls_handshake(pair->server) ? errno : 0;
    return NULL;
}

static inline void open_pair(struct pair *pair, const struct both *b, const char *host) {
    int ends[2];
    make_tcp(ends, 0);
    *pair = (struct pair){.server = weft_tls_open(b->server, ends[0], NULL)};
    CHECK(pair->server);
    pair->client = weft_tls_open(b->client, ends[1], host);
    CHECK(pair->client);
}

static inline void close_pair(struct pair *pair) {
    CHECK_EQ(weft_tls_close(pair->client), 0);
    CHECK_EQ(weft_tls_close(pair->server), 0);
}

/* Makes both sides of a handshake. Called in a fiber. */
static inline void meet(struct pair *pair, const struct both *b, const char *host) {
    open_pair(pair, b, host);
    struct weft_fiber server = spawn(shake, pair);
    pair->client_error = weft_tls_handshake(pair->client) ? errno : 0;
    if (pair->client_error) shutdown(weft_tls_fd(pair->client), SHUT_RDWR);
    join(server);
}

/* Makes a handshake that must succeed. */
static inline void meet_well(struct pair *pair, const struct both *b) {
    meet(pair, b, "a.test");
    if (pair->client_error) test_fail(__FILE__, __LINE__, "client: %s", weft_tls_reason(pair->client));
    if (pair->server_error) test_fail(__FILE__, __LINE__, "server: %s", weft_tls_reason(pair->server));
}

/* Sends a few bytes from one end to the other, and checks them. */
static inline void pass_on(struct weft_tls *from, struct weft_tls *to, const char *text) {
    char got[64];
    CHECK_EQ(weft_tls_write(from, text, strlen(text)), strlen(text));
    CHECK_EQ(weft_tls_read(to, got, sizeof got), strlen(text));
    CHECK(!memcmp(got, text, strlen(text)));
}

#endif
