/* SPDX-License-Identifier: MIT */
/* See listing.h. Names that begin with a dot are not shown. Neither are names for which a request would fail. */
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

struct page {
    const char *path;
    int fd;
    char *text;
    size_t size;
};

/* Escapes a name for the page. Links are percent-encoded, so they need no escapes. */
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

/* Writes the entry of a name. "./" keeps a name with a colon from being read as a URL with a scheme. */
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

/* Finds the kind of a name. It walks beneath the root only if the directory entry does not have the kind: a link may
 * lead anywhere. */
static mode_t kind_of(const struct page *page, const struct dirent *d) {
    char path[TARGET_MOST + NAME_MAX];
    struct stat s;
    if (d->d_type == DT_REG || d->d_type == DT_DIR) return DTTOIF(d->d_type);
    if (d->d_type != DT_LNK && d->d_type != DT_UNKNOWN) return 0;
    int n = snprintf(path, sizeof path, "%s%s", page->path, d->d_name);
    return n < (int)sizeof path && !file_look(path, &s) ? s.st_mode & S_IFMT : 0;
}

/* Would a request for it get a file, a list, or a redirection to these? */
static bool is_served(const struct page *page, const struct dirent *d, bool *directory) {
    mode_t kind = kind_of(page, d);
    *directory = kind == S_IFDIR;
    if (kind != S_IFDIR && kind != S_IFREG) return false;
    return !faccessat(page->fd, d->d_name, *directory ? R_OK | X_OK : R_OK, AT_EACCESS);
}

static size_t read_names(const struct page *page, DIR *directory, struct name *names) {
    struct dirent *d;
    size_t n = 0;
    while (n < NAMES_MOST && (d = readdir(directory)))
        if (d->d_name[0] != '.' && is_served(page, d, &names[n].directory) && (names[n].text = strdup(d->d_name))) n++;
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

/* Leaves text NULL if there is no memory. Closes the directory. */
static void *make_page(void *arg) {
    struct page *page = arg;
    struct name *names = malloc(NAMES_MOST * sizeof *names);
    DIR *directory = fdopendir(page->fd);
    FILE *to = open_memstream(&page->text, &page->size);
    size_t n = 0;
    if (names && directory && to) {
        n = read_names(page, directory, names);
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
