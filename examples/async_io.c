/* SPDX-License-Identifier: MIT */
/* Asynchronous operations: start them, do something else, wait for all of them or for the first, cancel one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft.h>
#include <weft/io.h>

static int run(void *unused) {
    (void)unused;
    enum { PIECES = 4, SIZE = 16 };
    struct weft_io io[PIECES], slow;
    char name[] = "/tmp/async_io-XXXXXX", pieces[PIECES][SIZE + 1] = {""}, late[8];
    int fd = mkostemp(name, O_CLOEXEC), silent[2];
    if (fd < 0 || pipe2(silent, O_CLOEXEC)) return 1;
    unlink(name);

    /* All writes are under way at once, and so are the reads. A struct weft_io, and the memory given to it, must stay
     * until its operation is done. */
    for (int i = 0; i < PIECES; i++)
        if (weft_io_pwrite(&io[i], fd, "sixteen bytes...", SIZE, i * SIZE)) return 1;
    for (int i = 0; i < PIECES; i++)
        if (weft_io_wait(&io[i]) != SIZE) return 1;
    for (int i = 0; i < PIECES; i++)
        if (weft_io_pread(&io[i], fd, pieces[i], SIZE, i * SIZE)) return 1;
    for (int i = 0; i < PIECES; i++)
        if (weft_io_wait(&io[i]) != SIZE) return 1;
    printf("the last piece: %s\n", pieces[PIECES - 1]);

    /* The first of several operations: an operation is a future, and can be selected. No byte ever comes from this
     * pipe. */
    if (weft_io_read(&slow, silent[0], late, sizeof late) || weft_io_fdatasync(&io[0], fd)) return 1;
    int first = weft_future_any((struct weft_future *[]){&slow.future, &io[0].future}, 2);
    printf("%s was done first\n", first ? "the sync" : "the read");

    weft_io_cancel(&slow);
    printf("the read: %s\n", strerror((int)-weft_io_wait(&slow)));
    weft_close(fd);
    weft_close(silent[0]);
    weft_close(silent[1]);
    return 0;
}

int main(void) { return weft_run(run, NULL, NULL); }
