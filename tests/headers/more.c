/* SPDX-License-Identifier: MIT */
/* Like use.c, for the headers that a program includes beside weft.h. */
#define WEFT_NO_OLD_NAMES
#include <weft/file.h>
#include <weft/stream.h>
#include <weft/tls.h>
#include <weft/typed.h>

#define WEFT_SORT_NAME sort_bytes
#define WEFT_SORT_TYPE unsigned char
#define WEFT_SORT_LESS(a, b, arg) (*(a) < *(b))
#include <weft/sort.h>

#define WEFT_SORT_NAME sort_floats
#define WEFT_SORT_TYPE float
#define WEFT_SORT_LESS(a, b, arg) (*(a) < *(b))
#include <weft/sort.h>

#define WEFT_SCAN_NAME sum
#define WEFT_SCAN_TYPE long
#define WEFT_SCAN_IDENTITY 0
#define WEFT_SCAN_OPERATION(a, b, arg) ((a) + (b))
#include <weft/scan.h>

struct job {
    int number;
};
WEFT_CHAN_TYPE(jobs, struct job);
static struct job room[4];
static struct jobs queue = WEFT_CHAN_TYPED_BUFFERED(room), meeting = WEFT_CHAN_TYPED(struct job);

static int over_tls(int fd) {
    struct weft_stream stream;
    char *line;
    struct weft_tls_context *context = weft_tls_context_create(WEFT_TLS_CLIENT);
    struct weft_tls *tls = context ? weft_tls_open(context, fd, "localhost") : NULL;
    if (!tls || weft_tls_stream_open(&stream, tls, 0)) return -errno;
    if (weft_stream_write(&stream, "hello\n", 6) || weft_stream_flush(&stream)) return weft_stream_close(&stream);
    while (weft_stream_line(&stream, &line) >= 0) {
    }
    return weft_stream_close(&stream);
}

static int use_all(void *arg) {
    unsigned char bytes[2] = {2, 1};
    float floats[2] = {2, 1};
    long numbers[2] = {2, 1}, total = 0;
    struct job job = {1};
    struct stat status;
    struct weft_case cases[] = {jobs_case_recv(&queue, &job), jobs_case_send(&meeting, &job)};
    struct jobs *made = jobs_make(2);
    int fd = weft_tcp_dial("localhost", "80", weft_now() + WEFT_SECOND);
    (void)arg;
    if (sort_bytes(bytes, 2, NULL) || sort_floats(floats, 2, NULL) || sum_inclusive(numbers, numbers, 2, NULL) ||
        sum_exclusive(numbers, numbers, 2, NULL) || sum_reduce(&total, numbers, 2, NULL))
        return 1;
    if (!made || jobs_send(made, job) || jobs_recv(made, &job) || weft_case_select(cases, 2) < 0) return 1;
    if (weft_stat("/", &status) || weft_fd_write_all(fd, bytes, sizeof bytes)) return 1;
    return jobs_free(made) + over_tls(fd);
}

int main(void) { return weft_run(use_all, NULL, NULL); }
