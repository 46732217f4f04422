/* SPDX-License-Identifier: MIT */
/*
 * Sending files. If the kernel encrypts, they go from its memory to the socket, as without TLS. Otherwise they are read
 * into a buffer, a few records at a time, and written.
 */
#define _GNU_SOURCE
#include "tls.h"

#include <stdlib.h>
#include <unistd.h>

#define PIECE (64 * 1024)

/* Keeps some buffers: a heap that returns its end to the kernel and takes it again each time costs more. */
enum { KEPT = 16 };
static struct {
    pthread_mutex_t lock;
    unsigned count;
    char *free[KEPT];
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static char *take_buffer(void) {
    pthread_mutex_lock(&kept.lock);
    char *buffer = kept.count ? kept.free[--kept.count] : NULL;
    pthread_mutex_unlock(&kept.lock);
    return buffer ? buffer : malloc(PIECE);
}

static void give_buffer(char *buffer) {
    pthread_mutex_lock(&kept.lock);
    bool fits = kept.count < KEPT;
    if (fits) kept.free[kept.count++] = buffer;
    pthread_mutex_unlock(&kept.lock);
    if (!fits) free(buffer);
}

/* Returns the bytes that were sent; a negative errno if none. */
static ssize_t send_copied(struct weft_tls *tls, int in, off_t *at, size_t size) {
    char *buffer = take_buffer();
    if (!buffer) return -ENOMEM;
    size_t done = 0;
    ssize_t error = 0;
    while (done < size && !error) {
        size_t left = size - done, piece = left < PIECE ? left : PIECE;
        ssize_t n = weft_pread(in, buffer, piece, *at);
        ssize_t sent = n > 0 ? weft__tls_send(tls, buffer, (size_t)n, (size_t)n < left) : n < 0 ? -errno : 0;
        if (sent > 0) done += (size_t)sent, *at += sent;
        if (sent < 0) error = sent;
        if (sent < n || !n) break;
    }
    give_buffer(buffer);
    return done || !error ? (ssize_t)done : error;
}

/* The caller has its turn to write. Partial records do no harm: the kernel keeps count. */
static ssize_t send_by_kernel(struct weft_tls *tls, int in, off_t *at, size_t size) {
    weft__tls_ssl_lock(tls);
    int error = load_rlx(&tls->closed) ? -EBADF : tls->broken ? -tls->broken : tls->shut || tls->cut ? -EPIPE : 0;
    weft__tls_ssl_unlock(tls);
    if (error) return error;
    ssize_t n = weft_sendfile(tls->fd, in, at, size);
    return n < 0 ? -errno : n;
}

static ssize_t send_file(struct weft_tls *tls, int in, off_t *offset, size_t size) {
    off_t at = offset ? *offset : lseek(in, 0, SEEK_CUR);
    if (at < 0) return offset ? -EINVAL : -errno;
    ssize_t n = weft_tls_kernel(tls) ? send_by_kernel(tls, in, &at, size) : send_copied(tls, in, &at, size);
    if (offset)
        *offset = at;
    else if (n > 0)
        lseek(in, at, SEEK_SET);
    return n;
}

WEFT_PUBLIC ssize_t weft_tls_sendfile(struct weft_tls *tls, int in, off_t *offset, size_t size) {
    if (weft_tls_handshake(tls) || !weft__tls_enter(tls)) return -1;
    ssize_t n = weft__tls_turn_take(&tls->writing);
    if (!n) {
        n = send_file(tls, in, offset, size);
        weft_sem_post(&tls->writing);
    }
    weft__tls_leave(tls);
    if (n < 0) errno = (int)-n;
    return n < 0 ? -1 : n;
}
