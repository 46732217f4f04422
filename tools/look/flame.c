/* SPDX-License-Identifier: MIT */
/* See flame.h. The page is flame.html; where it says @TITLE@ and @DATA@, these are put in. */
#include "flame.h"

#include "flame_page.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int put(int to, const char *text, size_t n) {
    while (n) {
        ssize_t wrote = write(to, text, n);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return -errno;
        text += wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

/* Writes text into a string of the page's script. Characters that would end the script or the string are replaced by
 * similar characters. */
static int put_safely(int to, const char *text, size_t n) {
    int err = 0;
    for (size_t i = 0, from = 0; i <= n && !err; i++) {
        const char *instead = i == n ? "" : text[i] == '<' ? "\xe2\x80\xb9" : text[i] == '"' ? "'" : NULL;
        if (i < n && (text[i] == '\\' || (unsigned char)text[i] == 0)) instead = "/";
        if (!instead) continue;
        err = put(to, text + from, i - from);
        if (!err) err = put(to, instead, strlen(instead));
        from = i + 1;
    }
    return err;
}

static int write_page(int to, const char *title, const char *data, size_t n) {
    const char *at = strstr(flame_page, "@DATA@"), *name = strstr(flame_page, "@TITLE@");
    if (!at || !name || name < at) return -EINVAL; /* the page is part of this program */
    int err = put(to, flame_page, (size_t)(at - flame_page));
    if (!err) err = put_safely(to, data, n);
    if (!err) err = put(to, at + strlen("@DATA@"), (size_t)(name - at) - strlen("@DATA@"));
    if (!err) err = put_safely(to, title, strlen(title));
    if (!err) err = put(to, name + strlen("@TITLE@"), strlen(name + strlen("@TITLE@")));
    return err;
}

int flame_write(int folded, const char *title, int to) {
    struct stat s;
    if (fstat(folded, &s)) return -errno;
    size_t n = (size_t)s.st_size;
    void *data = n ? mmap(NULL, n, PROT_READ, MAP_PRIVATE, folded, 0) : NULL;
    if (data == MAP_FAILED) return -errno;
    int err = write_page(to, title, data ? data : "", n);
    if (data) munmap(data, n);
    return err;
}
