/* SPDX-License-Identifier: MIT */
/* See log.h. */
#include "log.h"

#include "tick.h"
#include "weft.h"
#include "weft/io.h"
#include "weft/scope.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { ROOM = 64 * 1024, LINE = 2048 };
#define PATIENCE WEFT_SECOND
#define LITTLE_PATIENCE (20 * WEFT_MILLISECOND) /* the same if the last write did not take everything */

static const char *name;
static int fd = -1;
static struct weft_mutex lock;       /* protects the following variables */
static char gathered[ROOM] = {'\n'}; /* collected lines; the first byte ends a line that was written in part */
static uint32_t used = 1;
static bool cut;          /* the file ends within a line */
static bool takes = true; /* the last write took everything */

static int open_log(void) {
    if (!strcmp(name, "-")) return dup(STDOUT_FILENO);
    return open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

int log_begin(const char *file) {
    name = file;
    if (!name) return 0;
    fd = open_log();
    return fd < 0 ? -errno : 0;
}

bool log_wanted(void) { return fd >= 0; }

/* Writes bytes of a client, with quotes and unprintable bytes as numbers. */
static uint32_t put_quoted(char *to, struct text t) {
    static const char digits[] = "0123456789abcdef";
    uint32_t n = 0;
    to[n++] = '"';
    for (uint32_t i = 0; i < t.size && n < LINE / 4; i++) {
        uint8_t c = (uint8_t)t.at[i];
        if (c >= ' ' && c < 127 && c != '"' && c != '\\') {
            to[n++] = (char)c;
        } else {
            memcpy(to + n, (char[]){'\\', 'x', digits[c >> 4], digits[c & 15]}, 4);
            n += 4;
        }
    }
    if (!t.size) to[n++] = '-';
    to[n++] = '"';
    return n;
}

static uint32_t put_line(char *to, const char *peer, const struct request *r, int status, uint64_t bytes) {
    char date[DATE_SIZE + 1]; /* "Sun, 06 Nov 1994 08:49:37 GMT" */
    date_write(date, tick_time());
    uint32_t n = (uint32_t)snprintf(to, LINE / 8, "%s - - [%.2s/%.3s/%.4s:%.8s +0000] ", peer, date + 5, date + 8,
                                    date + 12, date + 17);
    n += put_quoted(to + n, r->line);
    n += (uint32_t)snprintf(to + n, LINE / 8, " %d %ju ", status, (uintmax_t)bytes);
    n += put_quoted(to + n, r->fields[FIELD_REFERER]);
    to[n++] = ' ';
    n += put_quoted(to + n, r->fields[FIELD_USER_AGENT]);
    to[n++] = '\n';
    return n;
}

/* Writes the collected bytes from `done` on, as many as the file takes in that time. A pipe without a reader takes
 * none. Returns the new position. */
static uint32_t write_within(uint32_t done, uint64_t time) {
    struct weft_scope scope;
    if (weft_scope_begin(&scope, weft_now() + time)) return done;
    for (ssize_t n = 1; n > 0 && done<used; done += n> 0 ? (uint32_t)n : 0)
        n = weft_write(fd, gathered + done, used - done);
    weft_scope_end(&scope);
    return done;
}

/* Writes the collected lines. If the file ends within a line, writes a newline first. */
static void write_out(void) {
    static bool said;
    if (used == 1) return;
    uint32_t begin = cut ? 0 : 1, done = write_within(begin, takes ? PATIENCE : LITTLE_PATIENCE);
    if (done > begin) cut = gathered[done - 1] != '\n';
    takes = done == used;
    if (!takes && !said) fprintf(stderr, "weft: the log %s takes no more for now: lines are left out\n", name);
    said = said || !takes;
    used = 1;
}

/* If the log cannot be written, the server still serves. It waits for the log once. Then it tries once a second, and
 * until all is written again it drops lines. */
void log_request(const char *peer, const struct request *r, int status, uint64_t bytes) {
    weft_mutex_lock(&lock);
    if (used + LINE > ROOM && takes) write_out();
    if (used + LINE <= ROOM) used += put_line(gathered + used, peer, r, status, bytes);
    weft_mutex_unlock(&lock);
}

void log_write(bool reopen) {
    if (fd < 0) return;
    weft_mutex_lock(&lock);
    write_out();
    int other = reopen ? open_log() : -1;
    if (reopen && other < 0)
        fprintf(stderr, "weft: cannot open the log %s anew, it goes on in the old file: %s\n", name, strerror(errno));
    if (other >= 0) {
        close(fd);
        fd = other;
        cut = false;
    }
    weft_mutex_unlock(&lock);
}

void log_end(void) {
    if (fd >= 0) close(fd);
}
