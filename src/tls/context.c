/* SPDX-License-Identifier: MIT */
/*
 * Contexts: the settings, and when they take effect. Every change builds a new SSL_CTX from a changed copy of the
 * settings. Only if that succeeds, both replace the old. Existing streams keep a reference to the SSL_CTX that they
 * began with. So a change is the same as a reload, never disturbs a connection, and fails as a whole.
 */
#include "tls.h"

#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- settings --------------------------------------------------------------------------------------------- */

static void free_files(struct tls_files *files) {
    while (files) {
        struct tls_files *next = files->next;
        free(files->chain);
        free(files->key);
        free(files);
        files = next;
    }
}

static void free_settings(struct tls_settings *settings) {
    free_files(settings->files);
    free(settings->trust);
    free(settings->ciphers);
    free(settings->alpn);
}

static bool copy_text(char **to, const char *text) {
    *to = text ? strdup(text) : NULL;
    return *to || !text;
}

static bool add_files(struct tls_settings *settings, const char *chain, const char *key) {
    struct tls_files **last = &settings->files, *files = calloc(1, sizeof *files);
    if (!files) return false;
    while (*last) last = &(*last)->next;
    *last = files; /* freed with the others, whatever fails here */
    return copy_text(&files->chain, chain) && copy_text(&files->key, key);
}

static bool copy_settings(struct tls_settings *to, const struct tls_settings *from) {
    *to = *from;
    to->files = NULL;
    to->alpn = NULL;
    bool all = copy_text(&to->trust, from->trust);
    all &= copy_text(&to->ciphers, from->ciphers);
    if (from->alpn && (to->alpn = malloc(from->alpn_size))) memcpy(to->alpn, from->alpn, from->alpn_size);
    for (const struct tls_files *f = from->files; f && all; f = f->next) all = add_files(to, f->chain, f->key);
    if (all && (!from->alpn || to->alpn)) return true;
    free_settings(to);
    return false;
}

/* --- a change --------------------------------------------------------------------------------------------- */

void weft__tls_read_errors(char reason[TLS_REASON]) {
    unsigned long error = ERR_peek_last_error();
    const char *text = error ? ERR_reason_error_string(error) : NULL;
    if (text)
        snprintf(reason, TLS_REASON, "%s", text);
    else if (error)
        ERR_error_string_n(error, reason, TLS_REASON);
    ERR_clear_error();
}

static int context_refuse(struct weft_tls_context *context, int error, const char *why) {
    snprintf(context->reason, sizeof context->reason, "%s", why);
    errno = error;
    return -1;
}

/* Begins a change: makes a copy of the settings for the caller. */
static int context_begin(struct weft_tls_context *context, struct tls_settings *copy) {
    if (!context) {
        errno = EINVAL;
        return -1;
    }
    pthread_mutex_lock(&context->changing);
    context->reason[0] = '\0';
    if (copy_settings(copy, &context->settings)) return 0;
    context_refuse(context, ENOMEM, "no memory");
    pthread_mutex_unlock(&context->changing);
    errno = ENOMEM;
    return -1;
}

static int context_give_up(struct weft_tls_context *context, struct tls_settings *copy, int error, const char *why) {
    free_settings(copy);
    context_refuse(context, error, why);
    pthread_mutex_unlock(&context->changing);
    errno = error;
    return -1;
}

/* Drops sessions that a client began under other rules: they must not be resumed under these. */
static int context_finish(struct weft_tls_context *context, struct tls_settings *changed) {
    struct tls_settings old = context->settings;
    context->settings = *changed;
    SSL_CTX *made = weft__tls_context_build(context, context->current, context->reason), *before = context->current;
    int error = made ? 0 : errno;
    if (made) {
        pthread_mutex_lock(&context->lock);
        context->current = made;
        pthread_mutex_unlock(&context->lock);
        SSL_CTX_free(before);
        if (context->sessions) weft__tls_sessions_forget(context->sessions);
    } else {
        context->settings = old;
        old = *changed;
    }
    free_settings(&old);
    pthread_mutex_unlock(&context->changing);
    errno = error;
    return error ? -1 : 0;
}

WEFT_PUBLIC int weft_tls_context_certificate(struct weft_tls_context *context, const char *chain, const char *key) {
    struct tls_settings copy;
    if (context_begin(context, &copy)) return -1;
    if (!chain) return context_give_up(context, &copy, EINVAL, "which certificate?");
    if (!add_files(&copy, chain, key)) return context_give_up(context, &copy, ENOMEM, "no memory");
    return context_finish(context, &copy);
}

WEFT_PUBLIC int weft_tls_context_reload(struct weft_tls_context *context) {
    struct tls_settings copy;
    return context_begin(context, &copy) ? -1 : context_finish(context, &copy);
}

WEFT_PUBLIC int weft_tls_context_trust(struct weft_tls_context *context, const char *path) {
    struct tls_settings copy;
    if (context_begin(context, &copy)) return -1;
    free(copy.trust);
    copy.trusts = true;
    if (!copy_text(&copy.trust, path)) return context_give_up(context, &copy, ENOMEM, "no memory");
    return context_finish(context, &copy);
}

WEFT_PUBLIC int weft_tls_context_verify(struct weft_tls_context *context, int how) {
    struct tls_settings copy;
    if (context_begin(context, &copy)) return -1;
    if (how < WEFT_TLS_VERIFY_NONE || how > WEFT_TLS_VERIFY_REQUIRED)
        return context_give_up(context, &copy, EINVAL, "no such way to check certificates");
    copy.verify = how;
    return context_finish(context, &copy);
}

/* In wire format: a length byte before each name. */
static int encode_names(struct tls_settings *settings, const char *names) {
    size_t size = strlen(names) + 1;
    unsigned char *to = malloc(size);
    if (!to) return ENOMEM;
    settings->alpn = to;
    settings->alpn_size = (unsigned)size;
    for (const char *name = names;; name++) {
        size_t length = strcspn(name, ",");
        if (!length || length > 255) return EINVAL;
        *to++ = (unsigned char)length;
        memcpy(to, name, length);
        to += length;
        name += length;
        if (!*name) return 0;
    }
}

WEFT_PUBLIC int weft_tls_context_alpn(struct weft_tls_context *context, const char *protocols) {
    struct tls_settings copy;
    if (context_begin(context, &copy)) return -1;
    free(copy.alpn);
    copy.alpn = NULL;
    copy.alpn_size = 0;
    int error = protocols ? encode_names(&copy, protocols) : 0;
    if (error) return context_give_up(context, &copy, error, "names of protocols have 1 to 255 bytes");
    return context_finish(context, &copy);
}

WEFT_PUBLIC int weft_tls_context_versions(struct weft_tls_context *context, int least, int most) {
    struct tls_settings copy;
    if (context_begin(context, &copy)) return -1;
    if (least < WEFT_TLS_1_2 || most > WEFT_TLS_1_3 || least > most)
        return context_give_up(context, &copy, EINVAL, "versions are 1.2 and 1.3");
    copy.least = least;
    copy.most = most;
    return context_finish(context, &copy);
}

WEFT_PUBLIC int weft_tls_context_ciphers(struct weft_tls_context *context, const char *list) {
    struct tls_settings copy;
    if (context_begin(context, &copy)) return -1;
    free(copy.ciphers);
    if (!copy_text(&copy.ciphers, list)) return context_give_up(context, &copy, ENOMEM, "no memory");
    return context_finish(context, &copy);
}

WEFT_PUBLIC int weft_tls_context_resumption(struct weft_tls_context *context, int on) {
    struct tls_settings copy;
    if (context_begin(context, &copy)) return -1;
    copy.resumption = on;
    return context_finish(context, &copy);
}

WEFT_PUBLIC int weft_tls_context_kernel(struct weft_tls_context *context, int on) {
    struct tls_settings copy;
    if (context_begin(context, &copy)) return -1;
    copy.kernel = on;
    return context_finish(context, &copy);
}

/* --- creation and destruction ---------------------------------------------------------------------------- */

WEFT_PUBLIC struct weft_tls_context *weft_tls_context_create(int kind) {
    errno = EINVAL;
    if (kind != WEFT_TLS_CLIENT && kind != WEFT_TLS_SERVER) return NULL;
    struct weft_tls_context *context = calloc(1, sizeof *context);
    bool server = kind == WEFT_TLS_SERVER;
    errno = ENOMEM;
    if (!context || (!server && !(context->sessions = weft__tls_sessions_new()))) {
        free(context);
        return NULL;
    }
    context->server = server;
    store_rlx(&context->users, 1);
    pthread_mutex_init(&context->changing, NULL);
    pthread_mutex_init(&context->lock, NULL);
    context->settings = (struct tls_settings){.verify = server ? WEFT_TLS_VERIFY_NONE : WEFT_TLS_VERIFY_REQUIRED,
                                              .least = WEFT_TLS_1_2,
                                              .most = WEFT_TLS_1_3,
                                              .trusts = !server,
                                              .resumption = true,
                                              .kernel = true};
    if (!weft_tls_context_reload(context)) return context;
    int error = errno;
    weft__tls_context_leave(context);
    errno = error;
    return NULL;
}

void weft__tls_context_leave(struct weft_tls_context *context) {
    /* Pairs with itself: the last user sees the changes of the others. */
    if (atomic_fetch_sub_explicit(&context->users, 1, memory_order_acq_rel) != 1) return;
    SSL_CTX_free(context->current);
    weft__tls_sessions_free(context->sessions);
    free_settings(&context->settings);
    pthread_mutex_destroy(&context->changing);
    pthread_mutex_destroy(&context->lock);
    free(context);
}

WEFT_PUBLIC void weft_tls_context_destroy(struct weft_tls_context *context) {
    if (context) weft__tls_context_leave(context);
}

SSL_CTX *weft__tls_context_current(struct weft_tls_context *context) {
    pthread_mutex_lock(&context->lock);
    SSL_CTX *current = context->current;
    SSL_CTX_up_ref(current);
    pthread_mutex_unlock(&context->lock);
    return current;
}

WEFT_PUBLIC const char *weft_tls_context_reason(const struct weft_tls_context *context) {
    return context ? context->reason : "no context";
}

WEFT_PUBLIC int weft_tls_context_stats(const struct weft_tls_context *context, struct weft_tls_stats *stats) {
    if (!context || !stats) {
        errno = EINVAL;
        return -1;
    }
    *stats = (struct weft_tls_stats){.handshakes = load_rlx(&context->handshakes),
                                     .resumed = load_rlx(&context->resumed),
                                     .failed = load_rlx(&context->failed),
                                     .kernel = load_rlx(&context->kernel)};
    return 0;
}
