/* See listing.h. Names that begin with a dot are not shown. */
#include "listing.h"

#include "base/atomic.h"
#include "files.h"
#include "head.h"
#include "weft.h"
#include "weft/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAMES_MOST 10000

struct name {
    char *text;
    bool directory;
};

/* For the page, and for what links to it. */
static void put_escaped(FILE *to, const char *text) {
    for (; *text; text++) {
        switch (*text) {
        case '&': fputs("&amp;", to); break;
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        case '"': fputs("&quot;", to); break;
        default: fputc(*text, to);
        }
    }
}

/* "./": a name with a colon in it is no address. */
static void put_name(FILE *to, const struct name *name) {
    char link[3 * NAME_MAX];
    size_t size = target_encode(name->text, strlen(name->text), link, sizeof link);
    const char *slash = name->directory ? "/" : "";
    if (size > sizeof link) return;
    fprintf(to, "<li><a href=\"./%.*s%s\">", (int)size, link, slash);
    put_escaped(to, name->text);
    fprintf(to, "%s</a>\n", slash);
}

static int compare(const void *a, const void *b) {
    const struct name *x = a, *y = b;
    return x->directory != y->directory ? (x->directory ? -1 : 1) : strcmp(x->text, y->text);
}

/* A link counts as what it leads to only if that can be told here; a request for it will. */
static bool is_directory(DIR *directory, const struct dirent *d) {
    struct stat s;
    if (d->d_type != DT_UNKNOWN) return d->d_type == DT_DIR;
    return !fstatat(dirfd(directory), d->d_name, &s, AT_SYMLINK_NOFOLLOW) && S_ISDIR(s.st_mode);
}

static size_t read_names(DIR *directory, struct name *names) {
    struct dirent *d;
    size_t n = 0;
    while (n < NAMES_MOST && (d = readdir(directory))) {
        if (d->d_name[0] == '.' || !(names[n].text = strdup(d->d_name))) continue;
        names[n++].directory = is_directory(directory, d);
    }
    qsort(names, n, sizeof *names, compare);
    return n;
}

static void write_page(FILE *to, const char *path, const struct name *names, size_t n) {
    fputs("<!DOCTYPE html>\n<meta charset=utf-8>\n<title>/", to);
    put_escaped(to, path);
    fputs("</title>\n<h1>/", to);
    put_escaped(to, path);
    fputs("</h1>\n<ul>\n", to);
    if (*path) fputs("<li><a href=\"../\">../</a>\n", to);
    for (size_t i = 0; i < n; i++) put_name(to, &names[i]);
    fputs(n == NAMES_MOST ? "</ul>\n<p>and more\n" : "</ul>\n", to);
}

struct page {
    const char *path;
    int fd;
    char *text;
    size_t size;
};

/* Leaves text NULL if something is missing. Closes the directory. */
static void *make_page(void *arg) {
    struct page *page = arg;
    struct name *names = malloc(NAMES_MOST * sizeof *names);
    DIR *directory = fdopendir(page->fd);
    FILE *to = open_memstream(&page->text, &page->size);
    size_t n = 0;
    if (names && directory && to) {
        n = read_names(directory, names);
        write_page(to, page->path, names, n);
    }
    bool failed = !to || fclose(to) || !names || !directory;
    if (failed) free(page->text), page->text = NULL;
    while (n) free(names[--n].text);
    free(names);
    if (directory)
        closedir(directory);
    else
        close(page->fd);
    return NULL;
}

int listing_reply(struct connection *c, const struct request *r, const char *path) {
    struct page page = {.path = path, .fd = directory_open(path)};
    if (page.fd < 0) return head_error(c, r, -page.fd, TEXT(""));
    if (weft_blocking(make_page, &page, NULL)) make_page(&page);
    if (!page.text) return head_error(c, r, 503, TEXT(""));
    head_write(c, r, 200, "text/html; charset=utf-8", page.size, TEXT(""));
    if (r->method != METHOD_HEAD) output_bytes(&c->out, page.text, page.size);
    free(page.text);
    return 200;
}
