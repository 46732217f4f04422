/* SPDX-License-Identifier: MIT */
/*
 * Builds an SSL_CTX from settings. A server with several certificates has an SSL_CTX for each, or for each group with
 * the same names and different kinds of keys. Streams are made from the first SSL_CTX, which owns and frees the others.
 * The name that the client asks for decides which is used.
 */
#include "tls.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Forward secrecy and authenticated encryption. TLS 1.3 has nothing else. */
#define USUAL_CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

struct named {
    X509 *certificate; /* the first certificate of the group: all have its names */
    SSL_CTX *ctx;
};

/* Extra data of the first SSL_CTX. */
struct group {
    const unsigned char *alpn; /* a copy, after the names */
    unsigned alpn_size;
    unsigned count;
    struct named named[]; /* the ctx of the first entry does not count as a reference */
};

/* --- which certificate ----------------------------------------------------------------------------------- */

static int group_index = -1;

static void free_group(void *parent, void *p, CRYPTO_EX_DATA *data, int index, long number, void *pointer) {
    (void)parent, (void)data, (void)index, (void)number, (void)pointer;
    struct group *group = p;
    if (!group) return;
    for (unsigned i = 0; i < group->count; i++) {
        X509_free(group->named[i].certificate);
        if (i) SSL_CTX_free(group->named[i].ctx);
    }
    free(group);
}

static void make_index(void) { group_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, free_group); }

static int choose_certificate(SSL *ssl, int *alert, void *p) {
    (void)alert;
    struct group *group = p;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    for (unsigned i = 0; name && i < group->count; i++)
        if (X509_check_host(group->named[i].certificate, name, 0, 0, NULL) == 1) {
            if (i) SSL_set_SSL_CTX(ssl, group->named[i].ctx);
            return SSL_TLSEXT_ERR_OK;
        }
    return SSL_TLSEXT_ERR_OK; /* the first certificate; the client decides whether it accepts it */
}

static int agree_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_size, const unsigned char *in,
                          unsigned size, void *p) {
    (void)ssl;
    struct group *group = p;
    if (SSL_select_next_proto((unsigned char **)out, out_size, group->alpn, group->alpn_size, in, size) ==
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_OK;
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* --- files ------------------------------------------------------------------------------------------------- */

/* OpenSSL's error does not say clearly why a file could not be opened. */
static bool can_read(const char *path, char *reason) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int error = errno;
    if (fd >= 0) close(fd);
    if (fd < 0) snprintf(reason, TLS_REASON, "%s: %s", path, strerror(error));
    errno = error;
    return fd >= 0;
}

static bool refuse_peer(const char *path, char *reason) {
    char why[TLS_REASON] = "not usable";
    weft__tls_read_errors(why);
    snprintf(reason, TLS_REASON, "%.80s: %.76s", path, why);
    errno = EPROTO;
    return false;
}

/* A key with a password is refused: OpenSSL would ask for it on the terminal. */
static int no_password(char *to, int size, int writing, void *p) {
    (void)to, (void)size, (void)writing, (void)p;
    return 0;
}

static bool load_pair(SSL_CTX *ctx, const struct tls_files *files, char *reason) {
    const char *key = files->key ? files->key : files->chain;
    if (!can_read(files->chain, reason) || !can_read(key, reason)) return false;
    if (SSL_CTX_use_certificate_chain_file(ctx, files->chain) != 1) return refuse_peer(files->chain, reason);
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(ctx) != 1)
        return refuse_peer(key, reason);
    return true;
}

/* The file and the directory of the system. SSL_CTX_set_default_verify_paths would add the directory once more, as an
 * OSSL_STORE, and OpenSSL before 3.4 reads all of its entries for each certificate that it does not find: 0.9 ms of a
 * handshake with the 290 entries of Debian. */
static bool load_system_trust(SSL_CTX *ctx) {
    return SSL_CTX_set_default_verify_file(ctx) == 1 && SSL_CTX_set_default_verify_dir(ctx) == 1;
}

static bool load_trust(SSL_CTX *ctx, const struct tls_settings *settings, bool server, char *reason) {
    struct stat stat_;
    if (!settings->trusts) return true;
    if (!settings->trust) return load_system_trust(ctx) || refuse_peer("the system's store", reason);
    if (!can_read(settings->trust, reason)) return false;
    bool directory = !stat(settings->trust, &stat_) && S_ISDIR(stat_.st_mode);
    if ((directory ? SSL_CTX_load_verify_dir : SSL_CTX_load_verify_file)(ctx, settings->trust) != 1)
        return refuse_peer(settings->trust, reason);
    if (server && !directory) SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(settings->trust));
    return true;
}

/* --- one SSL_CTX ------------------------------------------------------------------------------------------ */

/* OpenSSL calls this when a ticket of the server has arrived. */
static int keep_session(SSL *ssl, SSL_SESSION *session) {
    struct weft_tls *tls = SSL_get_app_data(ssl);
    if (!tls->server) return 0;
    weft__tls_sessions_put(tls->context->sessions, tls->server, session);
    return 1; /* takes ownership */
}

static void set_sessions(SSL_CTX *ctx, const struct tls_settings *s, bool server) {
    if (!s->resumption) {
        SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(ctx, 0);
    }
    if (server || !s->resumption) {
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF); /* tickets need no memory here */
        SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"weft", 4);
        return;
    }
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ctx, keep_session);
}

static int verify_mode(const struct tls_settings *s) {
    switch (s->verify) {
    case WEFT_TLS_VERIFY_NONE: return SSL_VERIFY_NONE;
    case WEFT_TLS_VERIFY_OPTIONAL: return SSL_VERIFY_PEER;
    default: return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    }
}

static SSL_CTX *make_ctx(const struct weft_tls_context *context, char *reason) {
    const struct tls_settings *s = &context->settings;
    SSL_CTX *ctx = SSL_CTX_new(context->server ? TLS_server_method() : TLS_client_method());
    if (!ctx) {
        refuse_peer("OpenSSL", reason);
        return NULL;
    }
    SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                 SSL_OP_PRIORITIZE_CHACHA);
    if (s->kernel && weft__tls_kernel_is_able()) SSL_CTX_set_options(ctx, SSL_OP_ENABLE_KTLS);
    SSL_CTX_set_mode(ctx,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(ctx, 1); /* one receive for a record, not two */
    SSL_CTX_set_default_passwd_cb(ctx, no_password);
    SSL_CTX_set_verify(ctx, verify_mode(s), NULL);
    set_sessions(ctx, s, context->server);
    if (SSL_CTX_set_min_proto_version(ctx, s->least) == 1 && SSL_CTX_set_max_proto_version(ctx, s->most) == 1 &&
        (SSL_CTX_set_cipher_list(ctx, s->ciphers ? s->ciphers : USUAL_CIPHERS) == 1 ||
         refuse_peer("ciphers", reason)) &&
        load_trust(ctx, s, context->server, reason))
        return ctx;
    int error = errno;
    SSL_CTX_free(ctx);
    errno = error;
    return NULL;
}

/* --- all of them ------------------------------------------------------------------------------------------ */

static struct group *make_key_group(const struct tls_settings *s) {
    unsigned most = 0;
    for (const struct tls_files *f = s->files; f; f = f->next) most++;
    struct group *group = calloc(1, sizeof *group + most * sizeof *group->named + s->alpn_size);
    if (!group || !s->alpn) return group;
    group->alpn = memcpy(&group->named[most], s->alpn, s->alpn_size);
    group->alpn_size = s->alpn_size;
    return group;
}

static bool same_names(X509 *a, X509 *b) {
    GENERAL_NAMES *x = X509_get_ext_d2i(a, NID_subject_alt_name, NULL, NULL);
    GENERAL_NAMES *y = X509_get_ext_d2i(b, NID_subject_alt_name, NULL, NULL);
    bool same = x && y ? sk_GENERAL_NAME_num(x) == sk_GENERAL_NAME_num(y)
                       : !x && !y && !X509_NAME_cmp(X509_get_subject_name(a), X509_get_subject_name(b));
    for (int i = 0; same && x && i < sk_GENERAL_NAME_num(x); i++)
        same = !GENERAL_NAME_cmp(sk_GENERAL_NAME_value(x, i), sk_GENERAL_NAME_value(y, i));
    GENERAL_NAMES_free(x);
    GENERAL_NAMES_free(y);
    return same;
}

/* Has the SSL_CTX a certificate with this kind of key? */
static bool has_kind(SSL_CTX *ctx, X509 *certificate) {
    int kind = EVP_PKEY_get_base_id(X509_get0_pubkey(certificate));
    for (long more = SSL_CTX_set_current_cert(ctx, SSL_CERT_SET_FIRST); more == 1;
         more = SSL_CTX_set_current_cert(ctx, SSL_CERT_SET_NEXT))
        if (EVP_PKEY_get_base_id(X509_get0_pubkey(SSL_CTX_get0_certificate(ctx))) == kind) return true;
    return false;
}

static SSL_CTX *file_beside(struct group *group, X509 *certificate) {
    for (unsigned i = 0; i < group->count; i++)
        if (same_names(group->named[i].certificate, certificate) && !has_kind(group->named[i].ctx, certificate))
            return group->named[i].ctx;
    return NULL;
}

/* Loads the certificate into a new SSL_CTX, which is dropped if the certificate belongs to another group. */
static bool add_certificate(const struct weft_tls_context *context, struct group *group, const struct tls_files *files,
                            SSL_CTX *first, char *reason) {
    SSL_CTX *ctx = group->count || !first ? make_ctx(context, reason) : first;
    if (!ctx) return false;
    if (!load_pair(ctx, files, reason)) {
        if (ctx != first) SSL_CTX_free(ctx);
        return false;
    }
    X509 *certificate = SSL_CTX_get0_certificate(ctx);
    SSL_CTX *other = file_beside(group, certificate);
    if (other) {
        bool loaded = load_pair(other, files, reason);
        SSL_CTX_free(ctx);
        return loaded;
    }
    X509_up_ref(certificate);
    group->named[group->count++] = (struct named){certificate, ctx};
    return true;
}

/* Old tickets stay valid. */
static void keep_ticket_keys(SSL_CTX *ctx, SSL_CTX *old) {
    unsigned char keys[256];
    long size = SSL_CTX_get_tlsext_ticket_keys(ctx, NULL, 0);
    if (old && size > 0 && size <= (long)sizeof keys && SSL_CTX_get_tlsext_ticket_keys(old, keys, size) == 1)
        SSL_CTX_set_tlsext_ticket_keys(ctx, keys, size);
    OPENSSL_cleanse(keys, sizeof keys);
}

static bool add_rest(const struct weft_tls_context *context, SSL_CTX *ctx, char *reason) {
    const struct tls_settings *s = &context->settings;
    struct group *group = make_key_group(s);
    if (!group || SSL_CTX_set_ex_data(ctx, group_index, group) != 1) {
        free(group);
        errno = ENOMEM;
        return false;
    }
    for (const struct tls_files *f = s->files; f; f = f->next)
        if (!add_certificate(context, group, f, ctx, reason)) return false;
    if (context->server) {
        SSL_CTX_set_tlsext_servername_callback(ctx, choose_certificate);
        SSL_CTX_set_tlsext_servername_arg(ctx, group);
        if (s->alpn) SSL_CTX_set_alpn_select_cb(ctx, agree_protocol, group);
    } else if (s->alpn && SSL_CTX_set_alpn_protos(ctx, s->alpn, s->alpn_size)) {
        errno = ENOMEM;
        return false;
    }
    return true;
}

SSL_CTX *weft__tls_context_build(const struct weft_tls_context *context, SSL_CTX *old, char reason[TLS_REASON]) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_index);
    ERR_clear_error();
    SSL_CTX *ctx = group_index >= 0 ? make_ctx(context, reason) : NULL;
    if (!ctx) return NULL;
    if (add_rest(context, ctx, reason)) {
        keep_ticket_keys(ctx, old);
        return ctx;
    }
    int error = errno;
    ERR_clear_error();
    SSL_CTX_free(ctx);
    errno = error;
    return NULL;
}
