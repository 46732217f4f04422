/* SPDX-License-Identifier: MIT */
/* Links with libweft-tls, and makes a context. Prints "tls". */
#include <stdio.h>
#include <weft.h>
#include <weft/tls.h>

static int run(void *unused) {
    struct weft_tls_context *context = weft_tls_context_create(WEFT_TLS_CLIENT);
    (void)unused;
    if (!context) return 1;
    weft_tls_context_destroy(context);
    return puts("tls") < 0;
}

int main(void) { return weft_run(run, NULL, NULL); }
