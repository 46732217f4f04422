/* SPDX-License-Identifier: MIT */
/* See reply.h. Cached paths take the short way; most of this file is for other paths. */
#include "reply.h"

#include "base/base.h"
#include "cache.h"
#include "condition.h"
#include "head.h"
#include "listing.h"
#include "parts.h"
#include "server.h"
#include <stdio.h>

#define INDEX "index.html"

/* --- a file --------------------------------------------------------------------------------------- */

static int reply_whole(struct connection *c, const struct request *r, const struct file *f) {
    char *room = output_room(&c->out, f->head.size + HEAD_END_MOST);
    c->body = 0;
    if (unlikely(!room)) return 200;
    memcpy(room, f->head.at, f->head.size);
    output_add(&c->out, f->head.size + head_end(c, r, room + f->head.size));
    c->body = r->method == METHOD_HEAD ? 0 : f->state.size;
    if (likely(c->body)) output_file(&c->out, f, 0, c->body);
    return 200;
}

__attribute__((noinline)) static int reply_if(struct connection *c, const struct request *r, const struct file *f) {
    struct range ranges[RANGES_MOST];
    time_t modified = f->state.modified.tv_sec;
    int status = condition_check(r, f->tag, modified);
    if (status == 304) head_write(c, r, 304, NULL, 0, f->validators);
    if (status == 412) head_error(c, r, 412, TEXT(""));
    if (status != 200) return status;
    if (r->method != METHOD_GET || !request_has(r, FIELD_RANGE) || !condition_range(r, f->tag, modified))
        return reply_whole(c, r, f);
    int n = range_parse(r->fields[FIELD_RANGE], f->state.size, ranges);
    return n ? parts_reply(c, r, f, ranges, n) : reply_whole(c, r, f);
}

static int reply_file(struct connection *c, const struct request *r, const struct file *f) {
    return likely(!(r->given & CONDITION_FIELDS)) ? reply_whole(c, r, f) : reply_if(c, r, f);
}

/* --- a path --------------------------------------------------------------------------------------- */

/* Redirects to the directory, with a slash at its end. The target is made from the decoded path, because "//host" must
 * not become a host. */
static int redirect(struct connection *c, const struct request *r, const char *path, size_t size) {
    enum { MOST = BUFFER_SIZE / 2 };
    char *fields = buffer_take();
    if (!fields) return head_error(c, r, 503, TEXT(""));
    int n = sprintf(fields, "Location: /");
    size_t length = target_encode(path, size, fields + n, HEAD_MOST);
    int status = length > HEAD_MOST || r->query.size > HEAD_MOST ? 414 : 301;
    if (status == 301)
        length =
            (size_t)n + length +
            (size_t)sprintf(fields + n + length, "/%.*s\r\n", (int)r->query.size, r->query.size ? r->query.at : "");
    head_error(c, r, status, status == 301 ? (struct text){fields, (uint32_t)length} : TEXT(""));
    buffer_give(fields);
    return status;
}

/* Opens the index file of a directory. */
static int open_index(char *path, size_t size, struct file **file) {
    if (size + sizeof INDEX > TARGET_MOST) return 414;
    memcpy(path + size, INDEX, sizeof INDEX);
    int status = file_open(path, file);
    path[size] = '\0';
    return status == 404 ? 403 : status;
}

static int reply_path(struct connection *c, const struct request *r, char *path) {
    struct file *file = NULL;
    struct stat stat;
    int size = target_decode(r->path, path);
    int status = size < 0 ? -size : file_look(path, &stat);
    if (!status && S_ISDIR(stat.st_mode)) {
        if (size && path[size - 1] != '/') return redirect(c, r, path, (size_t)size);
        status = open_index(path, (size_t)size, &file);
        if (status == 403 && settings.list) return listing_reply(c, r, path);
    } else if (!status) {
        status = file_open(path, &file);
    }
    if (status != 200) return head_error(c, r, status, TEXT(""));
    cache_put(r->path, file);
    status = reply_file(c, r, file);
    file_release(file);
    return status;
}

__attribute__((noinline, cold)) static int reply_slowly(struct connection *c, const struct request *r) {
    char *path = buffer_take();
    if (!path) return head_error(c, r, 503, TEXT(""));
    int status = reply_path(c, r, path);
    buffer_give(path);
    return status;
}

static int reply_not(struct connection *c, const struct request *r) {
    if (r->method == METHOD_UNKNOWN) return head_error(c, r, 501, TEXT(""));
    return head_error(c, r, 405, TEXT("Allow: GET, HEAD\r\n"));
}

int reply(struct connection *c, const struct request *r) {
    if (unlikely(r->method > METHOD_HEAD)) return reply_not(c, r);
    struct file *file = cache_find(r->path);
    if (unlikely(!file)) return reply_slowly(c, r);
    int status = reply_file(c, r, file);
    file_release(file);
    return status;
}
