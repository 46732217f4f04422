/* SPDX-License-Identifier: MIT */
/* See secure.h. The options mean the same as memcached's. */
#include "secure.h"

#include "clock.h"
#include "session.h"
#include "weft.h"
#include "weft/io.h"
#include "weft/tls.h"

#include <stdio.h>

#define SHAKE (10 * WEFT_SECOND)

static struct weft_tls_context *context;
static _Atomic uint32_t refreshed; /* when the certificate was read */

static int fail(const char *why) {
    fprintf(stderr, "weft: cached: TLS: %s\n", why);
    return -1;
}

static bool set_rules(const struct mc_tls *tls) {
    static const int verify[] = {WEFT_TLS_VERIFY_NONE, WEFT_TLS_VERIFY_OPTIONAL, WEFT_TLS_VERIFY_REQUIRED,
                                 WEFT_TLS_VERIFY_OPTIONAL};
    return !weft_tls_context_certificate(context, tls->chain, tls->key) &&
           (!tls->issuers || !weft_tls_context_trust(context, tls->issuers)) &&
           !weft_tls_context_verify(context, verify[tls->verify]) &&
           (!tls->ciphers || !weft_tls_context_ciphers(context, tls->ciphers)) &&
           !weft_tls_context_versions(context, tls->only_newest ? WEFT_TLS_1_3 : WEFT_TLS_1_2, WEFT_TLS_1_3) &&
           !weft_tls_context_resumption(context, tls->sessions) && !weft_tls_context_kernel(context, tls->kernel);
}

int mc_secure_begin(const struct mc_settings *settings) {
    if (!settings->tls.on) return 0;
    context = weft_tls_context_create(WEFT_TLS_SERVER);
    store_rlx(&refreshed, mc_now());
    if (!context || !set_rules(&settings->tls)) return fail(weft_tls_context_reason(context));
    return 0;
}

void mc_secure_end(void) {
    weft_tls_context_destroy(context);
    context = NULL;
}

const char *mc_secure_reload(void) {
    if (!context) return "TLS not enabled";
    if (weft_tls_context_reload(context)) return weft_tls_context_reason(context);
    store_rlx(&refreshed, mc_now());
    return NULL;
}

struct weft_tls *mc_secure_shake(int fd) {
    struct weft_scope scope;
    struct weft_tls *tls = weft_tls_open(context, fd, NULL);
    if (!tls) {
        weft_close(fd);
        return NULL;
    }
    int failed = weft_scope_begin(&scope, weft_now() + SHAKE);
    if (!failed) {
        failed = weft_tls_handshake(tls);
        weft_scope_end(&scope);
    }
    if (!failed) return tls;
    weft_tls_close(tls);
    return NULL;
}

void mc_secure_tell(struct mc_session *session) {
    struct weft_tls_stats stats;
    if (!context || weft_tls_context_stats(context, &stats)) return;
    mc_stat(session, "ssl_handshake_errors", "%lu", stats.failed);
    mc_stat(session, "ssl_new_sessions", "%lu", stats.handshakes - stats.resumed);
    mc_stat(session, "ssl_resumed_sessions", "%lu", stats.resumed);
    mc_stat(session, "ssl_kernel_tls_connections", "%lu", stats.kernel);
    mc_stat(session, "time_since_server_cert_refresh", "%u", mc_now() - load_rlx(&refreshed));
}
