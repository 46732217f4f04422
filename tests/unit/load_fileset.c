/* SPDX-License-Identifier: MIT */
/* Sets of files: their sizes and weights are those of the published site; a list reads back as it was written. */
#include "../test.h"
#include "fileset.h"
#include "load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double weight(const struct fileset *set, size_t i) {
    return set->files[i].until - (i ? set->files[i - 1].until : 0);
}

/* The part of all requests that ask for files of this size at most. */
static double requests_up_to(const struct fileset *set, size_t size) {
    double sum = 0;
    for (size_t i = 0; i < set->count; i++)
        if (set->files[i].size <= size) sum += weight(set, i);
    return sum;
}

TEST(a_set_is_spread_as_the_published_site) {
    static const struct {
        size_t size;
        double requests;
    } published[] = {{409, .1}, {716, .3}, {4096, .5}, {5120, .7}, {7168, .8}, {40960, .9}, {51200, .95}, {921600, 1}};
    static const size_t counts[] = {FILESET_LEAST, FILESET_USUAL, 21600};
    for (size_t c = 0; c < 3; c++) {
        struct fileset set;
        CHECK(!fileset_plan(&set, counts[c]));
        CHECK(set.count == counts[c]);
        for (size_t i = 0; i < sizeof published / sizeof *published; i++)
            CHECK(fabs(requests_up_to(&set, published[i].size) - published[i].requests) < 1e-9);
        if (counts[c] == 21600) CHECK(fabs((double)fileset_bytes(&set) / 2291.6e6 - 1) < 0.02);
        fileset_free(&set);
    }
}

TEST(files_are_chosen_by_their_weights) {
    struct fileset set;
    CHECK(!fileset_plan(&set, FILESET_LEAST));
    for (size_t i = 0; i < set.count; i++) {
        double from = i ? set.files[i - 1].until : 0, until = set.files[i].until;
        CHECK(fileset_choose(&set, from) == i);
        CHECK(fileset_choose(&set, (from + until) / 2) == i);
    }
    CHECK(fileset_choose(&set, 0.9999999999999999) == set.count - 1);
    fileset_free(&set);
}

static size_t read_whole(const char *path, char *to, size_t room) {
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    size_t n = fread(to, 1, room, f);
    fclose(f);
    return n;
}

static void remove_set(const struct fileset *set, const char *directory) {
    char path[512];
    for (size_t i = 0; i < set->count; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, set->files[i].path);
        CHECK(!unlink(path));
        *strrchr(path, '/') = 0;
        rmdir(path); /* after its last file */
    }
    snprintf(path, sizeof path, "%s/" FILESET_LIST, directory);
    CHECK(!unlink(path) && !rmdir(directory));
}

TEST(a_set_is_read_as_it_was_written) {
    char directory[] = "/tmp/weft-set-XXXXXX", path[512];
    struct fileset set, again;
    CHECK(mkdtemp(directory) != NULL);
    CHECK(!fileset_plan(&set, FILESET_LEAST) && !fileset_write(&set, directory));
    fileset_cool(&set, directory);
    snprintf(path, sizeof path, "%s/" FILESET_LIST, directory);
    CHECK(!fileset_read(&again, path));
    CHECK(again.count == set.count && again.largest == set.largest);
    char *pattern = load_pattern(set.largest), *bytes = malloc(set.largest + 1);
    for (size_t i = 0; i < set.count; i++) {
        CHECK(again.files[i].size == set.files[i].size && fabs(again.files[i].until - set.files[i].until) < 1e-9);
        snprintf(path, sizeof path, "%s/%s", directory, again.files[i].path);
        CHECK(read_whole(path, bytes, set.largest + 1) == set.files[i].size);
        CHECK(!memcmp(bytes, fileset_content(pattern, i), set.files[i].size));
    }
    remove_set(&set, directory);
    fileset_free(&set);
    fileset_free(&again);
    free(pattern);
    free(bytes);
}

static const char *reading(const char *text) {
    char path[] = "/tmp/weft-list-XXXXXX";
    struct fileset set;
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && !close(fd));
    const char *problem = fileset_read(&set, path);
    CHECK(!unlink(path));
    if (!problem) fileset_free(&set);
    return problem;
}

TEST(a_wrong_list_is_refused) {
#define FIRST "# weft load files: WEIGHT SIZE PATH\n"
    CHECK(!reading(FIRST "1 100 a\n3 0 b/c\n"));
    CHECK(strstr(reading(""), "not a list"));
    CHECK(strstr(reading("1 100 a\n"), "not a list"));
    CHECK(strstr(reading(FIRST), "names no file"));
    CHECK(strstr(reading(FIRST "0 100 a\n"), "names no file"));
    CHECK(strstr(reading(FIRST "-1 100 a\n"), "a line that is not"));
    CHECK(strstr(reading(FIRST "1 9999999999 a\n"), "a line that is not"));
    CHECK(strstr(reading(FIRST "nan 1 a\n"), "a line that is not"));
    CHECK(strstr(reading(FIRST "1 1\n"), "a line that is not"));
    struct fileset set;
    CHECK(strstr(fileset_read(&set, "/nonexistent"), "No such file"));
}
