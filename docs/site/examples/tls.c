/* SPDX-License-Identifier: MIT */
/* Examples for the reference: see runtime.c. TLS, other languages. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft.h>
#include <weft/ffi.h>
#include <weft/tls.h>

static struct weft_tls_context *make_server(const char *chain, const char *key) {
    struct weft_tls_context *context = weft_tls_context_create(WEFT_TLS_SERVER);
    if (!context) return NULL;
    if (weft_tls_context_certificate(context, chain, key) == 0) return context;
    fprintf(stderr, "%s\n", weft_tls_context_reason(context));
    weft_tls_context_destroy(context);
    return NULL;
}

static void read_certificates_again(struct weft_tls_context *context) {
    if (weft_tls_context_reload(context)) /* all is as before then */
        fprintf(stderr, "%s\n", weft_tls_context_reason(context));
}

/* Only servers with certificates that an issuer of this file has signed. */
static struct weft_tls_context *make_client(const char *issuers) {
    struct weft_tls_context *context = weft_tls_context_create(WEFT_TLS_CLIENT);
    if (!context || weft_tls_context_trust(context, issuers) == 0) return context;
    weft_tls_context_destroy(context);
    return NULL;
}

/* Clients must have a certificate that is signed by one of these issuers. */
static int ask_clients(struct weft_tls_context *context, const char *issuers) {
    if (weft_tls_context_trust(context, issuers)) return -1;
    return weft_tls_context_verify(context, WEFT_TLS_VERIFY_REQUIRED);
}

static int be_strict(struct weft_tls_context *context) {
    if (weft_tls_context_versions(context, WEFT_TLS_1_3, WEFT_TLS_1_3)) return -1;
    return weft_tls_context_alpn(context, "h2,http/1.1"); /* the preferred one first */
}

static int choose_ciphers(struct weft_tls_context *context) {
    return weft_tls_context_ciphers(context, "ECDHE+AESGCM"); /* of TLS 1.2; those of 1.3 are all good */
}

/* Each connection with a whole handshake, and encrypted by OpenSSL: to measure, for instance. */
static void measure_plainly(struct weft_tls_context *context) {
    weft_tls_context_resumption(context, 0);
    weft_tls_context_kernel(context, 0);
}

static void print_counters(const struct weft_tls_context *context) {
    struct weft_tls_stats stats;
    if (weft_tls_context_stats(context, &stats) == 0)
        printf("%llu handshakes, %llu of them resumed\n", (unsigned long long)stats.handshakes,
               (unsigned long long)stats.resumed);
}

static void answer(struct weft_tls_context *context, int fd) {
    struct weft_tls *tls = weft_tls_open(context, fd, NULL);
    char buffer[4096];
    ssize_t n;
    if (!tls) {
        weft_close(fd);
        return;
    }
    while ((n = weft_tls_read(tls, buffer, sizeof buffer)) > 0) /* the first one does the handshake */
        if (weft_tls_write(tls, buffer, (size_t)n) != n) break;
    if (n < 0) fprintf(stderr, "%s\n", weft_tls_reason(tls));
    weft_tls_shutdown(tls); /* tells the client that this is the end */
    weft_tls_close(tls);    /* and closes the socket */
}

static int fetch(struct weft_tls_context *context, const char *host) {
    struct weft_stream stream;
    char *line;
    struct weft_tls *tls = weft_tls_dial(context, host, "443", weft_now() + 5 * WEFT_SECOND);
    if (!tls) return -errno;
    if (weft_tls_handshake(tls) || weft_tls_stream_open(&stream, tls, 0)) {
        fprintf(stderr, "%s: %s\n", host, weft_tls_reason(tls));
        return weft_tls_close(tls);
    }
    if (weft_stream_write(&stream, "GET / HTTP/1.0\r\n\r\n", 18) == 0 && weft_stream_flush(&stream) == 0)
        while (weft_stream_line(&stream, &line) >= 0) puts(line);
    return weft_stream_close(&stream);
}

static ssize_t send_page(struct weft_tls *tls, const char *head, int file, size_t size) {
    ssize_t n = weft_tls_send(tls, head, strlen(head), MSG_MORE); /* in one packet with what follows */
    off_t at = 0;
    return n < 0 ? n : weft_tls_sendfile(tls, file, &at, size);
}

static void describe(struct weft_tls *tls) {
    printf("%s %s, protocol %s, for %s\n", weft_tls_version(tls), weft_tls_cipher(tls),
           weft_tls_alpn(tls) ? weft_tls_alpn(tls) : "none", weft_tls_host(tls) ? weft_tls_host(tls) : "any name");
    if (weft_tls_resumed(tls)) puts("resumed");
    if (weft_tls_kernel(tls)) puts("the kernel encrypts");
    if (weft_tls_pending(tls)) puts("a read would not wait");
}

static int no_delay_for(struct weft_tls *tls, int level, int option) {
    int one = 1;
    return setsockopt(weft_tls_fd(tls), level, option, &one, sizeof one);
}

static void *for_queries_of_openssl(struct weft_tls *tls) {
    return weft_tls_ssl(tls); /* SSL_get0_peer_certificate(weft_tls_ssl(tls)), for instance */
}

/* As another language does it: memory by size, constants by name. */
static void *make_mutex(void) { return calloc(1, weft_ffi_size("weft_mutex")); }
static int sleep_for_ever(void) { return weft_sleep_until(weft_ffi_constant("WEFT_FOREVER")); }

static int receive_in_time(struct weft_chan *chan, void *item, uint64_t deadline) {
    struct weft_case cases[2];
    weft_ffi_case_recv(&cases[0], chan, item);
    weft_ffi_case_time(&cases[1], deadline);
    return weft_case_select(cases, 2);
}

static int make_queue(struct weft_chan *chan, void *room) { return weft_ffi_chan_over(chan, room, sizeof(int), 64); }

/* In Python: lib.weft_ffi_python_run(ffi.cast("void *", id(main)), ffi.NULL), and spawn in the same way. */
static int run_python(void *callable) { return weft_ffi_python_run(callable, NULL); }
static int spawn_python(struct weft_fiber *fiber, void *callable) {
    return weft_ffi_python_spawn(fiber, NULL, callable);
}
