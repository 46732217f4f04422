/* SPDX-License-Identifier: MIT */
/* TLS on a link. See load.h. */
#include "load.h"
#include "weft/tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static char problem[320]; /* the first error; "" if there was none */

const char *load_secure_problem(void) { return *problem ? problem : NULL; }

static const char *give_up(const char *what) {
    snprintf(problem, sizeof problem, "TLS: %s", what);
    return problem;
}

const char *load_secure_begin(struct load *load) {
    const struct load_plan *plan = load->plan;
    struct weft_tls_context *context = load->tls = weft_tls_context_create(WEFT_TLS_CLIENT);
    *problem = '\0';
    if (!context) return give_up(strerror(errno));
    int verify = plan->insecure ? WEFT_TLS_VERIFY_NONE : WEFT_TLS_VERIFY_REQUIRED;
    if (weft_tls_context_verify(context, verify) || weft_tls_context_resumption(context, plan->resume) ||
        (plan->issuers && weft_tls_context_trust(context, plan->issuers)) ||
        (plan->protocol == &load_http && weft_tls_context_alpn(context, "http/1.1")))
        return give_up(weft_tls_context_reason(context));
    return NULL;
}

enum load_fault load_secure(struct load_link *link) {
    link->tls = weft_tls_open(link->load->tls, link->fd, link->load->plan->name);
    if (link->tls && !weft_tls_handshake(link->tls)) return LOAD_FINE;
    int error = errno;
    if (error != ETIMEDOUT && !*problem)
        snprintf(problem, sizeof problem, "TLS: %s%s", link->tls ? weft_tls_reason(link->tls) : strerror(error),
                 error == EKEYREJECTED ? "; see --ca and --insecure" : "");
    load_hang_up(link);
    return error == ETIMEDOUT ? LOAD_TIMEOUT : LOAD_SECURE;
}
