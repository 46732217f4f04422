/* SPDX-License-Identifier: MIT */
/* See secure.h. */
#include "secure.h"

#include "command.h"
#include "deadlines.h"
#include "server.h"
#include "weft.h"
#include "weft/io.h"
#include "weft/tls.h"

#include <stdio.h>

enum { MOST = 64 };
static struct { const char *certificate, *key; } pairs[MOST];
static unsigned count;

bool secure_add(const char *certificate, const char *key) {
    if (count == MOST) return false;
    pairs[count].certificate = certificate;
    pairs[count++].key = key;
    return true;
}

static int fail(const char *why) {
    fprintf(stderr, "weft: cannot serve by TLS: %s\n", why);
    return EXIT_WRONG;
}

int secure_begin(void) {
    if (!count) return 0;
    settings.tls = weft_tls_context_create(WEFT_TLS_SERVER);
    if (!settings.tls) return fail(strerror(errno));
    for (unsigned i = 0; i < count; i++)
        if (weft_tls_context_certificate(settings.tls, pairs[i].certificate, pairs[i].key))
            return fail(weft_tls_context_reason(settings.tls));
    return weft_tls_context_alpn(settings.tls, "http/1.1") ? fail(weft_tls_context_reason(settings.tls)) : 0;
}

void secure_end(void) { weft_tls_context_destroy(settings.tls); }

static void *reload(void *unused) {
    (void)unused;
    return (void *)(intptr_t)weft_tls_context_reload(settings.tls);
}

void secure_reload(void) {
    void *result = NULL;
    if (!settings.tls) return;
    if (weft_blocking(reload, NULL, &result) || result)
        fprintf(stderr, "weft: the certificates stay as they were: %s\n", weft_tls_context_reason(settings.tls));
    else
        fprintf(stderr, "weft: new certificates are in use\n");
}

bool secure_shake(struct connection *c) {
    c->in.tls = c->out.tls = weft_tls_open(settings.tls, c->fd, NULL);
    if (!c->in.tls || weft_tls_handshake(c->in.tls)) return false;
    deadline_set(c->fd, PHASE_IDLE, settings.idle);
    return true;
}

void secure_say_end(struct connection *c) {
    deadline_set(c->fd, PHASE_WRITE, settings.slow);
    weft_tls_shutdown(c->out.tls);
    input_end(&c->in);
    c->in.tls = NULL;
}
