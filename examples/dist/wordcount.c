/* SPDX-License-Identifier: MIT */
/*
 * Counts the words of files, which every rank can read, and prints the most frequent words. The tables of words are
 * packed when they travel between ranks.
 *
 *     mpirun -n 2 wordcount *.txt
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/dist.h>
#include <weft/io.h>

struct word {
    struct word *next;
    uint64_t count;
    char text[];
};
enum { BUCKETS = 4096 };
struct table {
    struct word *bucket[BUCKETS];
};

static void add(struct table *t, const char *text, size_t size, uint64_t count) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    struct word **w = &t->bucket[hash % BUCKETS];
    while (*w && (strncmp((*w)->text, text, size) || (*w)->text[size])) w = &(*w)->next;
    if (!*w) {
        *w = calloc(1, sizeof **w + size + 1);
        if (!*w) abort();
        memcpy((*w)->text, text, size);
    }
    (*w)->count += count;
}

static void clear(struct table *t) {
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct word *next; t->bucket[i]; t->bucket[i] = next) {
            next = t->bucket[i]->next;
            free(t->bucket[i]);
        }
}

/* Packed: for each word its count, its text and a zero. */
static size_t table_size(const void *result) {
    size_t size = 0;
    for (unsigned i = 0; i < BUCKETS; i++)
        for (const struct word *w = ((const struct table *)result)->bucket[i]; w; w = w->next)
            size += sizeof w->count + strlen(w->text) + 1;
    return size;
}
static void table_pack(const void *result, void *bytes) {
    char *at = bytes;
    for (unsigned i = 0; i < BUCKETS; i++)
        for (const struct word *w = ((const struct table *)result)->bucket[i]; w; w = w->next) {
            memcpy(at, &w->count, sizeof w->count);
            at = stpcpy(at + sizeof w->count, w->text) + 1;
        }
    clear((struct table *)result);
}
static int table_unpack(void *result, const void *bytes, size_t size) {
    for (const char *at = bytes, *end = at + size; at < end;) {
        uint64_t count;
        memcpy(&count, at, sizeof count);
        at += sizeof count;
        add(result, at, strlen(at), count);
        at += strlen(at) + 1;
    }
    return 0;
}

static void count_file(const void *name, void *result) {
    int fd = weft_open(name, O_RDONLY);
    char bytes[8192], word[256];
    size_t length = 0;
    if (fd < 0) {
        fprintf(stderr, "wordcount: %s: %s\n", (const char *)name, strerror(errno));
        return;
    }
    for (ssize_t n; (n = weft_read(fd, bytes, sizeof bytes)) > 0;)
        for (ssize_t i = 0; i < n; i++) {
            if (isalpha((unsigned char)bytes[i])) {
                if (length < sizeof word) word[length++] = (char)tolower((unsigned char)bytes[i]);
            } else if (length) {
                add(result, word, length, 1);
                length = 0;
            }
        }
    if (length) add(result, word, length, 1);
    weft_close(fd);
}
static struct weft_remote counter = {.name = "count_file",
                                     .fn = count_file,
                                     .result_size = table_size,
                                     .result_pack = table_pack,
                                     .result_unpack = table_unpack};

static int by_count(const void *a, const void *b) {
    const struct word *x = *(struct word *const *)a, *y = *(struct word *const *)b;
    return x->count < y->count ? 1 : x->count > y->count ? -1 : strcmp(x->text, y->text);
}

static void print(const struct table *t) {
    size_t n = 0, words = 0;
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct word *w = t->bucket[i]; w; w = w->next) n++;
    struct word **all = calloc(n + 1, sizeof *all);
    if (!all) return;
    n = 0;
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct word *w = t->bucket[i]; w; w = w->next) words += w->count, all[n++] = w;
    qsort(all, n, sizeof *all, by_count);
    printf("%zu words, %zu of them different\n", words, n);
    for (size_t i = 0; i < n && i < 10; i++) printf("%8llu %s\n", (unsigned long long)all[i]->count, all[i]->text);
    free(all);
}

static int run(void *names) {
    char **name = names;
    size_t n = 0;
    while (name[n]) n++;
    struct weft_dist_call *calls = calloc(n, sizeof *calls);
    struct table *tables = calloc(n, sizeof *tables), all = {{NULL}};
    if (!calls || !tables) return 1;
    int err = 0;
    for (size_t i = 0; i < n; i++)
        err |= weft_dist_fork(&calls[i], &counter, name[i], strlen(name[i]) + 1, &tables[i], sizeof tables[i]);
    for (size_t i = n; i-- > 0;) {
        err |= weft_dist_join(&calls[i]);
        for (unsigned k = 0; k < BUCKETS; k++)
            for (const struct word *w = tables[i].bucket[k]; w; w = w->next)
                add(&all, w->text, strlen(w->text), w->count);
        clear(&tables[i]);
    }
    print(&all);
    clear(&all);
    free(calls);
    free(tables);
    return err != 0;
}

int main(int argc, char **argv) {
    struct weft_config runtime = WEFT_CONFIG_INIT;
    struct weft_dist_config config = WEFT_DIST_CONFIG_INIT;
    runtime.stack_size = 256 << 10;
    config.runtime = &runtime;
    if (argc < 2) {
        fprintf(stderr, "wordcount: which files?\n");
        return 2;
    }
    if (weft_dist_register(&counter)) return 1;
    return weft_dist_run(run, argv + 1, &config) ? 1 : 0;
}
