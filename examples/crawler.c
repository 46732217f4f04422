/* SPDX-License-Identifier: MIT */
/*
 * Crawls a site: crawler HOST PORT PATH LIMIT
 *
 * Follows links to the same host, each page once, with at most LIMIT requests at a time. A fiber for each page: it
 * finds links and spawns a fiber for each that is new. All of them belong to one scope, which ends when no page is
 * left. Each request has 30 seconds. Prints "STATUS BYTES PATH" for each page.
 */
#include <string.h>
#include <weft.h>

#include "net.h"

enum { MOST_BYTES = 1 << 20, MOST_PAGES = 4096, LONGEST = 512 };

static const char *host, *port;
static struct weft_scope all;
static struct weft_sem slots; /* requests that may begin */
static struct weft_mutex lock = WEFT_MUTEX_INIT;
static char *seen[MOST_PAGES];
static unsigned pages, at_once, most_at_once;

static int crawl(void *path);

/* Spawns a fiber for a page unless there was one before. */
static void visit(const char *path, size_t size) {
    char *copy = NULL;
    weft_mutex_lock(&lock);
    unsigned i = 0;
    while (i < pages && (strncmp(seen[i], path, size) || seen[i][size])) i++;
    if (i == pages && pages < MOST_PAGES && (copy = strndup(path, size))) seen[pages++] = copy;
    weft_mutex_unlock(&lock);
    if (copy) (void)!weft_scope_spawn(&all, NULL, crawl, copy); /* fails only if the crawl is being stopped */
}

/* Sends the request and reads the answer until the server closes. Returns its size, or -1 and errno. */
static ssize_t fetch(const char *path, char *answer) {
    char request[LONGEST + 256];
    int size = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", path, host);
    int fd = weft_tcp_dial(host, port, WEFT_FOREVER); /* within the deadline of the request */
    ssize_t have = 0, n = -1;
    if (fd < 0) {
        errno = -fd;
        return -1;
    }
    if (size < (int)sizeof request && weft_write(fd, request, (size_t)size) == size)
        while ((n = weft_read(fd, answer + have, (size_t)(MOST_BYTES - 1 - have))) > 0) have += n;
    weft_close(fd);
    answer[have] = 0;
    return n < 0 ? -1 : have;
}

/* Visits every href="..." that stays on this host. */
static void follow(const char *body) {
    for (const char *at = body; (at = strstr(at, "href=\"")); at++) {
        const char *path = at + strlen("href=\"");
        size_t size = strcspn(path, "\"#?");
        if (*path == '/' && path[1] != '/' && size < LONGEST) visit(path, size);
    }
}

static void begins(int change) {
    weft_mutex_lock(&lock);
    at_once += (unsigned)change;
    if (at_once > most_at_once) most_at_once = at_once;
    weft_mutex_unlock(&lock);
}

static int crawl(void *arg) {
    const char *path = arg;
    char *answer = malloc(MOST_BYTES);
    if (!answer || weft_sem_wait(&slots)) return free(answer), -ENOMEM;
    struct weft_scope limit;
    begins(+1);
    weft_scope_begin(&limit, weft_now() + 30 * WEFT_SECOND);
    ssize_t size = fetch(path, answer);
    int err = errno;
    weft_scope_end(&limit);
    begins(-1);
    weft_sem_post(&slots);
    const char *body = size < 0 ? NULL : strstr(answer, "\r\n\r\n");
    if (body) {
        int status = 0;
        sscanf(answer, "HTTP/%*s %d", &status);
        printf("%d %zu %s\n", status, (size_t)(answer + size - body - 4), path);
        if (status == 200) follow(body);
    } else {
        printf("failed %s %s\n", path, size < 0 ? strerror(err) : "no HTTP");
    }
    free(answer);
    return 0; /* a page that fails does not end the crawl */
}

static int run(void *start) {
    weft_scope_begin(&all, WEFT_FOREVER);
    visit(start, strlen(start));
    int err = weft_scope_end(&all);
    printf("%u pages, at most %u at a time\n", pages, most_at_once);
    while (pages) free(seen[--pages]);
    return err < 0;
}

int main(int argc, char **argv) {
    if (argc != 5 || atoi(argv[4]) < 1) return fprintf(stderr, "usage: crawler HOST PORT PATH LIMIT\n"), 2;
    host = argv[1];
    port = argv[2];
    weft_sem_init(&slots, (uint64_t)atoi(argv[4]));
    return weft_run(run, argv[3], NULL);
}
