/* SPDX-License-Identifier: MIT */
/* weft load files: writes a set of files for a web server. See fileset.h. */
#include "command.h"
#include "fileset.h"
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char help[] =
    "weft load files DIRECTORY [N]\n"
    "\n"
    "Writes N files (2160; from 100 to 1000000) for a web server into DIRECTORY, and the list " FILESET_LIST
    " of them.\n"
    "Their sizes and how often each is requested are those of a published static site of 21,600 files and 2.3 GB.\n"
    "Then: weft serve DIRECTORY, and weft load http --files DIRECTORY/" FILESET_LIST " HOST:PORT\n";

/* Is there room on the disk, with some left for other programs? */
static bool fits(const char *directory, uint64_t bytes) {
    struct statvfs disk;
    if (statvfs(directory, &disk)) return true; /* unknown: then writing reports the error */
    return (double)disk.f_bavail * (double)disk.f_frsize > (double)bytes * 1.1;
}

static int write_set(const struct fileset *set, const char *directory) {
    double megabytes = (double)fileset_bytes(set) / 1e6;
    bool made = !mkdir(directory, 0777);
    if (!made && errno != EEXIST) {
        fprintf(stderr, "weft: %s: %s\n", directory, strerror(errno));
        return EXIT_WRONG;
    }
    if (!fits(directory, fileset_bytes(set))) {
        fprintf(stderr, "weft: %s: the files need %.0f MB, and the disk has no room for them\n", directory, megabytes);
        if (made) rmdir(directory);
        return EXIT_WRONG;
    }
    if (fileset_write(set, directory)) {
        fprintf(stderr, "weft: %s: %s\n", directory, strerror(errno));
        return EXIT_WRONG;
    }
    printf("%s: %zu files, %.1f MB, and the list %s/" FILESET_LIST "\n", directory, set->count, megabytes, directory);
    return 0;
}

int load_files_command(int argc, char **argv) {
    struct fileset set;
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(help, stdout);
        return 0;
    }
    if (argc < 2 || argc > 3 || *argv[1] == '-')
        return usage("weft load files wants a directory; try: weft load files --help");
    char *end = NULL;
    unsigned long count = argc > 2 ? strtoul(argv[2], &end, 10) : FILESET_USUAL;
    if ((end && (end == argv[2] || *end)) || count < FILESET_LEAST || count > FILESET_MOST)
        return usage("the number of files is from %d to %d, not '%s'", FILESET_LEAST, FILESET_MOST, argv[2]);
    if (fileset_plan(&set, count)) {
        fprintf(stderr, "weft: no memory for a set of %lu files\n", count);
        return EXIT_WRONG;
    }
    int code = write_set(&set, argv[1]);
    fileset_free(&set);
    return code;
}
