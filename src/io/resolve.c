/* SPDX-License-Identifier: MIT */
/*
 * getaddrinfo on the thread pool, in the form that can be abandoned, because a timeout may take half a minute. Its
 * arguments are copied for that.
 */
#define _GNU_SOURCE
#include "weft/io.h"

#include "base/base.h"
#include "base/sys.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

struct question {
    const char *node, *service; /* in `text`, or NULL */
    const struct addrinfo *hints;
    struct addrinfo given, *found;
    int result, error;
    char text[];
};

static void *resolve_ask(void *arg) {
    struct question *q = arg;
    q->result = getaddrinfo(q->node, q->service, q->hints, &q->found);
    q->error = errno;
    return NULL;
}

static void resolve_forget(void *arg) {
    struct question *q = arg;
    if (q->found) freeaddrinfo(q->found);
    weft__free(q);
}

static size_t size_of(const char *s) { return s ? strlen(s) + 1 : 0; }

static struct question *copy_addresses(const char *node, const char *service, const struct addrinfo *hints) {
    struct question *q = weft__alloc(sizeof *q + size_of(node) + size_of(service));
    if (!q) return NULL;
    if (node) q->node = strcpy(q->text, node);
    if (service) q->service = strcpy(q->text + size_of(node), service);
    if (hints) {
        q->given = *hints;
        q->hints = &q->given;
    }
    return q;
}

/* Maps a failure of the pool to an error of getaddrinfo. */
static int as_eai(int err) {
    if (err == -ENOMEM) return EAI_MEMORY;
    if (err == -EAGAIN) return EAI_AGAIN;
    errno = -err;
    return EAI_SYSTEM;
}

WEFT_PUBLIC int weft_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                                 struct addrinfo **result) {
    if (!result) return as_eai(-EINVAL);
    struct question *q = copy_addresses(node, service, hints);
    if (!q) return EAI_MEMORY;
    int err = weft_blocking_owned(resolve_ask, q, resolve_forget, NULL);
    if (err == -ECANCELED || err == -ETIMEDOUT) return as_eai(err);
    int answer = err ? as_eai(err) : q->result;
    if (answer == EAI_SYSTEM && !err) errno = q->error;
    if (!answer) *result = q->found;
    weft__free(q);
    return answer;
}
