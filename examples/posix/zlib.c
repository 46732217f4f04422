/* SPDX-License-Identifier: MIT */
/*
 * Many fibers that compress into pipes with zlib's gz functions, which write and read themselves, and others that
 * read the pipes.
 *
 *     zlib [FIBERS]
 */
#include "many.h"

#include <unistd.h>
#include <zlib.h>

enum { SIZE = 200000, PIECE = 1000 };

static int compress_into(void *fd) {
    gzFile z = gzdopen((int)(long)fd, "wb");
    char piece[PIECE];
    for (int i = 0; z && i < SIZE / PIECE; i++) {
        for (int k = 0; k < PIECE; k++) piece[k] = (char)(i * k % 251);
        if (gzwrite(z, piece, PIECE) != PIECE) return -1;
    }
    return z && gzclose(z) == Z_OK ? 0 : -1;
}

static int transfer(long number) {
    int fds[2], i = 0, n;
    char piece[PIECE];
    struct weft_scope scope;
    (void)number;
    if (pipe(fds)) return perror("pipe"), -1;
    weft_scope_begin(&scope, WEFT_FOREVER);
    if (weft_scope_spawn(&scope, NULL, compress_into, (void *)(long)fds[1])) close(fds[1]);
    gzFile z = gzdopen(fds[0], "rb");
    while ((n = gzread(z, piece, PIECE)) == PIECE && piece[1] == (char)(i % 251)) i++;
    gzclose(z);
    if (i != SIZE / PIECE) fprintf(stderr, "%d pieces\n", i);
    return weft_scope_end(&scope) || i != SIZE / PIECE ? -1 : 0;
}

int main(int argc, char **argv) { return many_run(argc > 1 ? atoi(argv[1]) : 100, transfer); }
