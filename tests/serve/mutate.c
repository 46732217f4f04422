/* SPDX-License-Identifier: MIT */
/*
 * Runs fuzz.c without libFuzzer: with every file of a directory, and for some seconds with small changes of them.
 * mutate CORPUS SECONDS [SEED]. Every input is in memory of exactly its size.
 */
#include "weft.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 256, MOST = 16384 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    uint8_t *data;
    size_t size;
} corpus[FILES];
static unsigned files;
static uint64_t state;

static size_t any(size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return below ? (size_t)(state >> 33) % below : 0;
}

static void load(const char *directory) {
    DIR *d = opendir(directory);
    struct dirent *e;
    while (d && files < FILES && (e = readdir(d))) {
        char name[1024];
        snprintf(name, sizeof name, "%s/%s", directory, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(name, "rb");
        if (!f) continue;
        corpus[files].data = malloc(MOST);
        corpus[files].size = fread(corpus[files].data, 1, MOST, f);
        files++;
        fclose(f);
    }
    if (d) closedir(d);
}

static void try(const uint8_t *data, size_t size) {
    uint8_t *exact = malloc(size ? size : 1);
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

/* Makes a small change. Returns the new size. */
static size_t change(uint8_t *data, size_t size) {
    static const char special[] = "\r\n :/.%,-=\t?0\0\377";
    size_t at = any(size), n = any(16) + 1, from = any(size);
    switch (any(6)) {
    case 0:
        if (size) data[at] = (uint8_t)any(256);
        return size;
    case 1:
        if (size) data[at] = (uint8_t)special[any(sizeof special)];
        return size;
    case 2: /* removes bytes */
        if (at + n > size) return size;
        memmove(data + at, data + at + n, size - at - n);
        return size - n;
    case 3: /* repeats bytes */
        if (from + n > size || size + n > MOST) return size;
        memmove(data + at + n, data + at, size - at);
        memmove(data + at, data + (from < size ? from : 0), n);
        return size + n;
    case 4: return any(size + 1); /* cuts the end off */
    default: {                    /* appends the end of another input */
        unsigned other = (unsigned)any(files);
        size_t begin = any(corpus[other].size), more = corpus[other].size - begin;
        if (at + more > MOST) return size;
        memcpy(data + at, corpus[other].data + begin, more);
        return at + more;
    }
    }
}

int main(int argc, char **argv) {
    static uint8_t data[MOST + 16];
    if (argc < 3) return fprintf(stderr, "mutate CORPUS SECONDS [SEED]\n"), 2;
    load(argv[1]);
    state = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    uint64_t end = weft_now() + (uint64_t)(atof(argv[2]) * 1e9), runs = 0;
    for (unsigned i = 0; i < files; i++) try(corpus[i].data, corpus[i].size);
    while (files && weft_now() < end) {
        unsigned i = (unsigned)any(files);
        size_t size = corpus[i].size;
        memcpy(data, corpus[i].data, size);
        for (size_t changes = any(8) + 1; changes; changes--) size = change(data, size);
        try(data, size);
        runs++;
    }
    printf("  %u files, %llu mutations\n", files, (unsigned long long)runs);
    printf("serve/fuzz: %d passed, %d failed\n", runs > 0, runs == 0);
    return runs == 0;
}
