/* SPDX-License-Identifier: MIT */
/* Sets of files: planned, written, read. See fileset.h. */
#include "fileset.h"
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_LINE "# weft load files: WEIGHT SIZE PATH\n"
#define A_DIRECTORY 33 /* files in a directory: 21,600 files are in 655 directories */
#define SMALLEST 100   /* bytes */

/*
 * The distribution of requests, bytes and files over eight classes of size, taken from a published static site of
 * 21,600 files and 2.3 GB. 95 % of its requests go to 126 MB.
 */
static const struct {
    double requests, megabytes; /* requests: percent */
    size_t files, most;         /* most: bytes of the largest file */
} classes[] = {{10, 0.5, 1667, 409},  {20, 1.0, 1776, 716},    {20, 6.9, 2868, 4096}, {20, 3.8, 826, 5120},
               {10, 7.9, 1286, 7168}, {10, 74.2, 3083, 40960}, {5, 32.2, 699, 51200}, {5, 2165.1, 9395, 921600}};
#define CLASSES (sizeof classes / sizeof *classes)

static size_t all_files(void) {
    size_t sum = 0;
    for (size_t c = 0; c < CLASSES; c++) sum += classes[c].files;
    return sum;
}

/* Returns how many of `count` files are in the class. The last class has the rest. */
static size_t files_of(size_t c, size_t count) {
    size_t all = all_files(), before = 0;
    for (size_t i = 0; i < c; i++) before += files_of(i, count);
    if (c == CLASSES - 1) return count - before;
    size_t n = (classes[c].files * count + all / 2) / all;
    return n ? n : 1;
}

/* Returns the size of the i-th file of a class. The sizes have the mean of the class. The golden section spreads them
 * evenly without an order, so the popularity of a file does not depend on its size within the class. */
static size_t size_of(size_t c, size_t i) {
    double least = c ? (double)classes[c - 1].most + 1 : SMALLEST, most = (double)classes[c].most;
    double mean = classes[c].megabytes * 1e6 / (double)classes[c].files;
    double power = (most - least) / (mean - least) - 1;
    double u = fmod(((double)i + 1) * 0.6180339887498949, 1);
    return (size_t)(least + (most - least) * pow(u, power));
}

static int add(struct fileset *set, const char *path, size_t size, double weight) {
    struct fileset_file *file = &set->files[set->count];
    *file = (struct fileset_file){strdup(path), size, weight};
    if (!file->path) return -1;
    if (set->count++) file->until += file[-1].until;
    if (size > set->largest) set->largest = size;
    return 0;
}

/* Scales the weights so that their sum is 1. */
static void sum_to_one(struct fileset *set) {
    double sum = set->files[set->count - 1].until;
    for (size_t i = 0; i < set->count; i++) set->files[i].until /= sum;
}

static int plan_class(struct fileset *set, size_t c, size_t n) {
    char path[FILESET_PATH];
    double sum = 0;
    for (size_t i = 1; i <= n; i++) sum += 1 / (double)i;
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "d%05zu/f%07zu", set->count / A_DIRECTORY, set->count);
        if (add(set, path, size_of(c, i), classes[c].requests / ((double)(i + 1) * sum))) return -1;
    }
    return 0;
}

int fileset_plan(struct fileset *set, size_t count) {
    *set = (struct fileset){.files = calloc(count, sizeof *set->files)};
    if (!set->files) return -1;
    for (size_t c = 0; c < CLASSES; c++)
        if (plan_class(set, c, files_of(c, count))) {
            fileset_free(set);
            errno = ENOMEM;
            return -1;
        }
    sum_to_one(set);
    return 0;
}

uint64_t fileset_bytes(const struct fileset *set) {
    uint64_t sum = 0;
    for (size_t i = 0; i < set->count; i++) sum += set->files[i].size;
    return sum;
}

const char *fileset_content(const char *pattern, size_t file) { return pattern + file * 7 % LOAD_OFFSETS; }

/* Opens a file below the directory for writing. Makes the directories between them if they are missing. */
static FILE *create(const char *directory, const char *path) {
    char full[4096];
    int n = snprintf(full, sizeof full, "%s/%s", directory, path);
    if (n < 0 || (size_t)n >= sizeof full) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    FILE *f = fopen(full, "w");
    if (f || errno != ENOENT) return f;
    char *slash = strrchr(full, '/');
    *slash = 0;
    if (mkdir(full, 0777) && errno != EEXIST) return NULL;
    *slash = '/';
    return fopen(full, "w");
}

/* Closes a file. Returns 0, or -1 with the errno of the first error. */
static int finish(FILE *f, bool written) {
    int error = written ? 0 : errno;
    if (fclose(f) && !error) error = errno;
    errno = error;
    return error ? -1 : 0;
}

static int write_file(const char *directory, const struct fileset_file *file, const char *content) {
    FILE *f = create(directory, file->path);
    return f ? finish(f, fwrite(content, 1, file->size, f) == file->size) : -1;
}

static int write_list(const struct fileset *set, const char *directory) {
    FILE *f = create(directory, FILESET_LIST);
    if (!f) return -1;
    bool written = fputs(FIRST_LINE, f) >= 0;
    for (size_t i = 0; written && i < set->count; i++) {
        const struct fileset_file *file = &set->files[i];
        double weight = i ? file->until - file[-1].until : file->until;
        written = fprintf(f, "%.12g %zu %s\n", weight, file->size, file->path) > 0;
    }
    return finish(f, written);
}

int fileset_write(const struct fileset *set, const char *directory) {
    if (mkdir(directory, 0777) && errno != EEXIST) return -1;
    char *pattern = load_pattern(set->largest);
    int result = pattern ? 0 : -1;
    for (size_t i = 0; !result && i < set->count; i++)
        result = write_file(directory, &set->files[i], fileset_content(pattern, i));
    int error = errno;
    free(pattern);
    errno = error;
    return result ? result : write_list(set, directory);
}

/* Only clean pages leave the page cache, so this writes the files to the disk first. */
void fileset_cool(const struct fileset *set, const char *directory) {
    char full[4096];
    sync();
    for (size_t i = 0; i < set->count; i++) {
        snprintf(full, sizeof full, "%s/%s", directory, set->files[i].path);
        int fd = open(full, O_RDONLY | O_CLOEXEC);
        if (fd < 0) continue;
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
    }
}

static const char *read_lines(struct fileset *set, FILE *f) {
    char line[FILESET_PATH + 64], path[FILESET_PATH];
    double weight;
    size_t size, room = 0;
    if (!fgets(line, sizeof line, f) || strcmp(line, FIRST_LINE)) return "is not a list that weft load files wrote";
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lf %zu %239s", &weight, &size, path) != 3 || !(weight >= 0 && weight <= 1e12) ||
            size > 1u << 30)
            return "has a line that is not WEIGHT SIZE PATH";
        if (set->count == room) {
            room = room ? 2 * room : 1024;
            struct fileset_file *more = realloc(set->files, room * sizeof *more);
            if (!more) return "does not fit into memory";
            set->files = more;
        }
        if (add(set, path, size, weight)) return "does not fit into memory";
    }
    if (!set->count || !(set->files[set->count - 1].until > 0)) return "names no file that is ever requested";
    sum_to_one(set);
    return NULL;
}

const char *fileset_read(struct fileset *set, const char *list) {
    *set = (struct fileset){.files = NULL};
    FILE *f = fopen(list, "re");
    if (!f) return strerror(errno);
    const char *problem = read_lines(set, f);
    fclose(f);
    if (problem) fileset_free(set);
    return problem;
}

void fileset_free(struct fileset *set) {
    for (size_t i = 0; i < set->count; i++) free(set->files[i].path);
    free(set->files);
    *set = (struct fileset){.files = NULL};
}

size_t fileset_choose(const struct fileset *set, double random) {
    size_t low = 0, high = set->count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (random < set->files[middle].until)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
