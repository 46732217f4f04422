/* SPDX-License-Identifier: MIT */
/*
 * A set of files for web servers. Sizes and popularity are those of a large static site, in which few files get most
 * requests (a Zipf distribution).
 *
 * `weft load files` writes a set: the files, and a list of them. `weft load --files LIST` reads that list,
 * requests the files at random by their weights, and compares every answer. The content of a file follows
 * from its number in the list, so the client need not read the files.
 */
#ifndef LOAD_FILESET_H
#define LOAD_FILESET_H

#include <stddef.h>
#include <stdint.h>

#define FILESET_LIST "files.txt" /* the list's name in the set's directory */
#define FILESET_LEAST 100
#define FILESET_MOST 1000000
#define FILESET_USUAL 2160
#define FILESET_PATH 240

struct fileset_file {
    char *path; /* from the root of the site, without the first slash */
    size_t size;
    double until; /* the sum of the weights up to this file: 1 at the last file */
};

struct fileset {
    struct fileset_file *files;
    size_t count, largest; /* largest: the size of the largest file */
};

/* Plans a set of `count` files. Returns 0, or -1 and errno. */
int fileset_plan(struct fileset *set, size_t count);

/* Returns the sum of the sizes of all files. */
uint64_t fileset_bytes(const struct fileset *set);

/* Writes the set below a directory, which may exist. The list is written last. Returns 0, or -1 and errno. */
int fileset_write(const struct fileset *set, const char *directory);

/* Removes the files of a set from the page cache, so that the next request reads the disk. */
void fileset_cool(const struct fileset *set, const char *directory);

/* Reads a list. Returns NULL, or the error. */
const char *fileset_read(struct fileset *set, const char *list);

void fileset_free(struct fileset *set);

/* Returns the number of the file for a random number in [0, 1). */
size_t fileset_choose(const struct fileset *set, double random);

/* Returns the content of a file: a part of a pattern (load_pattern) that is long enough for the largest file. */
const char *fileset_content(const char *pattern, size_t file);

#endif
