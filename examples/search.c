/* SPDX-License-Identifier: MIT */
/*
 * Searches files in parallel: search TEXT DIRECTORY. Prints what grep -rnF TEXT DIRECTORY prints, in another order.
 *
 * The files are listed first. A parallel loop then takes one file at a time on every worker, and more while files are
 * being read. A file is mapped and searched; its matches are collected and printed at once, so that lines of two files
 * do not mix. Files with a zero byte are left out.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft.h>
#include <weft/io.h>

static const char *text;
static char **files;
static size_t count, room;
static struct weft_mutex printing = WEFT_MUTEX_INIT;

static int list(const char *path, const struct stat *about, int kind, struct FTW *where) {
    (void)about, (void)where;
    if (kind != FTW_F || !S_ISREG(about->st_mode)) return 0;
    if (count == room) {
        room = room ? 2 * room : 1024;
        files = realloc(files, room * sizeof *files);
        if (!files) return -1;
    }
    return (files[count] = strdup(path)) ? (count++, 0) : -1;
}

static void search_lines(const char *path, const char *data, size_t size, FILE *out) {
    const char *end = data + size, *line = data, *found;
    size_t number = 1, length = strlen(text);
    while ((found = memmem(line, (size_t)(end - line), text, length))) {
        for (const char *next; (next = memchr(line, '\n', (size_t)(found - line))); line = next + 1) number++;
        const char *stop = memchr(found, '\n', (size_t)(end - found));
        if (!stop) stop = end;
        fprintf(out, "%s:%zu:%.*s\n", path, number++, (int)(stop - line), line);
        line = stop < end ? stop + 1 : end;
    }
}

static int search_file(const char *path) {
    int fd = weft_open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0 || fstat(fd, &about)) return perror(path), fd >= 0 ? weft_close(fd) : 0;
    size_t size = (size_t)about.st_size, written = 0;
    char *data = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL, *output = NULL;
    weft_close(fd);
    if (!size || data == MAP_FAILED) return 0;
    FILE *out = open_memstream(&output, &written);
    if (out) {
        if (!memchr(data, 0, size)) search_lines(path, data, size, out);
        fclose(out);
        weft_mutex_lock(&printing);
        fwrite(output, 1, written, stdout);
        weft_mutex_unlock(&printing);
        free(output);
    }
    munmap(data, size);
    return out ? 0 : -ENOMEM;
}

static int search_some(size_t begin, size_t end, void *unused) {
    (void)unused;
    int err = 0;
    for (size_t i = begin; i < end && !err; i++) err = search_file(files[i]);
    return err;
}

static int run(void *directory) {
    if (nftw(directory, list, 32, FTW_PHYS)) return perror(directory), 2;
    struct weft_for_options options = {.partition = WEFT_FOR_LAZY}; /* files differ much in size */
    int err = weft_for(0, count, search_some, NULL, &options);
    if (err) fprintf(stderr, "search: %s\n", strerror(-err));
    while (count) free(files[--count]);
    free(files);
    return err != 0;
}

int main(int argc, char **argv) {
    if (argc != 3 || !*argv[1]) return fprintf(stderr, "usage: search TEXT DIRECTORY\n"), 2;
    text = argv[1];
    return weft_run(run, argv[2], NULL);
}
