/* SPDX-License-Identifier: MIT */
/*
 * Names of hosts. The C library looks them up by internal calls that no library can interpose. So a thread of weft's
 * pool makes the whole call, and the fiber parks.
 */
#define _GNU_SOURCE
#include "threads/threads.h"
#include "weft/io.h"

#include <errno.h>
#include <netdb.h>

REAL(getaddrinfo);
REAL(getnameinfo);
REAL(gethostbyname);
REAL(gethostbyname2);
REAL(gethostbyaddr);
REAL(gethostbyname_r);
REAL(gethostbyname2_r);
REAL(gethostbyaddr_r);

/* A question for the pool. errno and h_errno of the pool's thread are returned with the answer. */
struct question {
    int (*ask)(struct question *);
    int answer, error, host_error;
    const void *address;
    const char *name;
    socklen_t length;
    int family, flags;
    char *buffer, *service;
    size_t size;
    socklen_t service_size;
    struct hostent *space, **found;
};

static void *ask_resolver(void *arg) {
    struct question *q = (struct question *)arg;
    q->answer = q->ask(q);
    q->error = errno;
    q->host_error = h_errno;
    return NULL;
}

/* In a function of its own: a compiler may keep the address of h_errno, but not across this call. */
static WEFT_NOINLINE void set_host_error(int error) { h_errno = error; }

/* Returns the answer; or `failed` if there is no thread for it, or the caller was cancelled. */
static int ask_pool(struct question *q, int failed) {
    weft__thread_enter();
    int err = weft_blocking(ask_resolver, q, NULL);
    weft__thread_leave();
    set_host_error(err ? TRY_AGAIN : q->host_error);
    errno = err ? -err : q->error;
    return err ? failed : q->answer;
}

WEFT_INTERPOSED int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                                struct addrinfo **result) {
    if (!weft__caller_parks()) return real(getaddrinfo)(node, service, hints, result);
    weft__thread_enter();
    int answer = weft_getaddrinfo(node, service, hints, result);
    weft__thread_leave();
    return answer;
}

static int ask_name(struct question *q) {
    return real(getnameinfo)((const struct sockaddr *)q->address, q->length, q->buffer, (socklen_t)q->size, q->service,
                             q->service_size, q->flags);
}
WEFT_INTERPOSED int getnameinfo(const struct sockaddr *address, socklen_t length, char *host, socklen_t host_size,
                                char *service, socklen_t service_size, int flags) {
    if (!weft__caller_parks() || flags & NI_NUMERICHOST)
        return real(getnameinfo)(address, length, host, host_size, service, service_size, flags);
    struct question q = {.ask = ask_name,
                         .address = address,
                         .length = length,
                         .buffer = host,
                         .size = host_size,
                         .service = service,
                         .service_size = service_size,
                         .flags = flags};
    return ask_pool(&q, EAI_AGAIN);
}

/* --- the older calls ------------------------------------------------------------------------------------------- */

static int ask_by_name_r(struct question *q) {
    int error;
    int err = real(gethostbyname2_r)(q->name, q->family, q->space, q->buffer, q->size, q->found, &error);
    set_host_error(error);
    return err;
}
static int ask_by_address_r(struct question *q) {
    int error;
    int err = real(gethostbyaddr_r)(q->address, q->length, q->family, q->space, q->buffer, q->size, q->found, &error);
    set_host_error(error);
    return err;
}
static int ask_r(struct question *q, int *host_error) {
    *q->found = NULL;
    int err = ask_pool(q, EAGAIN);
    *host_error = h_errno;
    return err;
}

/* A question with an answer in the caller's memory. */
static struct question question_for(struct hostent *space, char *buffer, size_t size, struct hostent **found) {
    return (struct question){.space = space, .buffer = buffer, .size = size, .found = found};
}

WEFT_INTERPOSED int gethostbyname2_r(const char *name, int family, struct hostent *space, char *buffer, size_t size,
                                     struct hostent **found, int *host_error) {
    if (!weft__caller_parks()) return real(gethostbyname2_r)(name, family, space, buffer, size, found, host_error);
    struct question q = question_for(space, buffer, size, found);
    q.ask = ask_by_name_r, q.name = name, q.family = family;
    return ask_r(&q, host_error);
}
WEFT_INTERPOSED int gethostbyname_r(const char *name, struct hostent *space, char *buffer, size_t size,
                                    struct hostent **found, int *host_error) {
    if (!weft__caller_parks()) return real(gethostbyname_r)(name, space, buffer, size, found, host_error);
    return gethostbyname2_r(name, AF_INET, space, buffer, size, found, host_error);
}
WEFT_INTERPOSED int gethostbyaddr_r(const void *address, socklen_t length, int family, struct hostent *space,
                                    char *buffer, size_t size, struct hostent **found, int *host_error) {
    if (!weft__caller_parks())
        return real(gethostbyaddr_r)(address, length, family, space, buffer, size, found, host_error);
    struct question q = question_for(space, buffer, size, found);
    q.ask = ask_by_address_r, q.address = address, q.length = length, q.family = family;
    return ask_r(&q, host_error);
}

/* These return static memory of the C library, which all threads share. */
static int ask_by_name(struct question *q) { return !(*q->found = real(gethostbyname2)(q->name, q->family)); }
static int ask_by_address(struct question *q) {
    return !(*q->found = real(gethostbyaddr)(q->address, q->length, q->family));
}
WEFT_INTERPOSED struct hostent *gethostbyname2(const char *name, int family) {
    struct hostent *found = NULL;
    if (!weft__caller_parks()) return real(gethostbyname2)(name, family);
    struct question q = {.ask = ask_by_name, .name = name, .family = family, .found = &found};
    return ask_pool(&q, 1) ? NULL : found;
}
WEFT_INTERPOSED struct hostent *gethostbyname(const char *name) {
    return weft__caller_parks() ? gethostbyname2(name, AF_INET) : real(gethostbyname)(name);
}
WEFT_INTERPOSED struct hostent *gethostbyaddr(const void *address, socklen_t length, int family) {
    struct hostent *found = NULL;
    if (!weft__caller_parks()) return real(gethostbyaddr)(address, length, family);
    struct question q = {
        .ask = ask_by_address, .address = address, .length = length, .family = family, .found = &found};
    return ask_pool(&q, 1) ? NULL : found;
}
