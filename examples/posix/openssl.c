/* SPDX-License-Identifier: MIT */
/*
 * A TLS server and many clients with OpenSSL's blocking calls: every connection is two fibers. OpenSSL keeps its errors
 * for each thread, so these fibers need thread-local storage of their own.
 *
 *     openssl CERTIFICATE KEY [FIBERS]
 */
#include "many.h"

#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROUNDS = 10, SIZE = 5000 };
static SSL_CTX *server, *client;
static int listener, pairs;
static struct sockaddr_in address;

static int fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    ERR_print_errors_fp(stderr);
    return -1;
}

static int echo(void *arg) {
    int fd = (int)(long)arg, n;
    char text[SIZE];
    SSL *s = SSL_new(server);
    if (!s || !SSL_set_fd(s, fd) || SSL_accept(s) != 1) return fail("SSL_accept");
    while ((n = SSL_read(s, text, sizeof text)) > 0)
        if (SSL_write(s, text, n) != n) return fail("SSL_write");
    if (SSL_get_error(s, n) == SSL_ERROR_ZERO_RETURN) SSL_shutdown(s);
    SSL_free(s);
    close(fd);
    return 0;
}

/* Fiber 0: accepts, and gives each connection a fiber. */
static int serve(void) {
    struct weft_scope scope;
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (int i = 0; i < pairs; i++) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0 || weft_scope_spawn(&scope, NULL, echo, (void *)(long)fd)) break;
    }
    return weft_scope_end(&scope);
}

static int ask(long number) {
    char sent[SIZE], got[SIZE];
    if (!number) return serve();
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    SSL *s = SSL_new(client);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) return fail("connect");
    if (!s || !SSL_set_fd(s, fd) || SSL_connect(s) != 1) return fail("SSL_connect");
    for (int i = 0; i < ROUNDS; i++) {
        memset(sent, (int)(number + i), sizeof sent);
        if (SSL_write(s, sent, SIZE) != SIZE) return fail("SSL_write");
        for (int n, all = 0; all < SIZE; all += n)
            if ((n = SSL_read(s, got + all, SIZE - all)) <= 0) return fail("SSL_read");
        if (memcmp(sent, got, SIZE) != 0) return fail("other bytes");
    }
    SSL_shutdown(s);
    SSL_free(s);
    close(fd);
    return 0;
}

int main(int argc, char **argv) {
    socklen_t length = sizeof address;
    if (argc < 3) return fprintf(stderr, "openssl CERTIFICATE KEY [FIBERS]\n"), 2;
    pairs = argc > 3 ? atoi(argv[3]) : 100;
    server = SSL_CTX_new(TLS_server_method());
    client = SSL_CTX_new(TLS_client_method());
    if (!server || !client || SSL_CTX_use_certificate_file(server, argv[1], SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(server, argv[2], SSL_FILETYPE_PEM) != 1)
        return fail("certificate") ? 1 : 0;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, pairs) ||
        getsockname(listener, (struct sockaddr *)&address, &length))
        return perror("listen"), 1;
    return many_run(pairs + 1, ask);
}
