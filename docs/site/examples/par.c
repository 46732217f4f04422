/* SPDX-License-Identifier: MIT */
/* Examples for the reference: see runtime.c. Tasks, loops and algorithms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

struct range {
    double *from, *to, sum;
};
static void sum_up(void *arg) {
    struct range *range = arg;
    if (range->to - range->from < 10000) {
        for (double *p = range->from; p < range->to; p++) range->sum += *p;
        return;
    }
    double *middle = range->from + (range->to - range->from) / 2;
    struct range left = {range->from, middle, 0}, right = {middle, range->to, 0};
    struct weft_task task;
    weft_task_fork(&task, sum_up, &right); /* may run elsewhere */
    sum_up(&left);
    weft_task_join(&task);
    range->sum = left.sum + right.sum;
}

WEFT_TASK_1(long, fib, int, n) {
    if (n < 2) return n;
    WEFT_SPAWN(fib, n - 1);         /* may run elsewhere from now on */
    long b = WEFT_CALL(fib, n - 2); /* an ordinary call */
    return WEFT_SYNC(fib) + b;      /* the result of the spawn */
}
static long fib_of(int n) { return WEFT_RUN(fib, n); }

static long fib_or_nothing(int n) {
    if (weft_task_prepare()) return -1; /* no memory: WEFT_RUN would end the program */
    return WEFT_RUN(fib, n);
}

static int fold(size_t begin, size_t end, void *value, void *numbers) {
    for (size_t i = begin; i < end; i++) *(double *)value += ((double *)numbers)[i];
    return 0;
}
static void add(void *left, const void *right, void *unused) {
    (void)unused;
    *(double *)left += *(const double *)right;
}
static int sum(double *numbers, size_t n, double *result) {
    double zero = 0;
    struct weft_reduction how = {sizeof zero, &zero, fold, add};
    *result = 0;
    return weft_reduce(0, n, result, &how, numbers, NULL);
}

/* The end of each line in a text, when only lengths are known. */
static void add_sizes(void *left, const void *right, void *unused) {
    (void)unused;
    *(size_t *)left += *(const size_t *)right;
}
static int find_ends(size_t *ends, const size_t *lengths, size_t n) {
    size_t zero = 0;
    return weft_scan_inclusive(ends, lengths, n, sizeof zero, &zero, add_sizes, NULL);
}

/* Running sums, in place. */
static int run_up(size_t begin, size_t end, void *value, void *numbers) {
    double *v = numbers;
    for (size_t i = begin; i < end; i++) v[i] = *(double *)value += v[i];
    return 0;
}
static int running_sums(double *numbers, size_t n) {
    double zero = 0, value = 0;
    struct weft_prefix how = {{sizeof zero, &zero, fold, add}, run_up};
    return weft_scan(0, n, &value, &how, numbers, NULL);
}

static void load(void *path);
static int load_three(char **paths) {
    struct weft_branch branches[] = {{load, paths[0]}, {load, paths[1]}, {load, paths[2]}};
    return weft_invoke(branches, 3); /* returns when all three have returned */
}
static void load(void *path) { puts(path); }

static int by_text(const void *a, const void *b, void *unused) {
    (void)unused;
    return strcmp(*(char *const *)a, *(char *const *)b);
}
static int sort_words(char **words, size_t n) { return weft_sort(words, n, sizeof *words, by_text, NULL); }

/* Reads lines, counts in parallel, prints in order. */
static int read_line(void **item, void *file) {
    char line[256];
    *item = fgets(line, sizeof line, file) ? strdup(line) : NULL; /* NULL: the end */
    return 0;
}
static int count(void **item, void *unused) {
    (void)unused;
    size_t *size = malloc(sizeof *size);
    if (!size) return -ENOMEM;
    *size = strlen(*item);
    free(*item);
    *item = size;
    return 0;
}
static int print(void **item, void *unused) {
    (void)unused;
    printf("%zu\n", *(size_t *)*item);
    free(*item);
    return 0;
}
static int count_lines(FILE *file) {
    struct weft_stage stages[] = {
        {WEFT_STAGE_SERIAL, read_line, file}, {WEFT_STAGE_PARALLEL, count, NULL}, {WEFT_STAGE_IN_ORDER, print, NULL}};
    return weft_pipeline(stages, 3, 16); /* at most 16 lines at a time */
}

static int say(void *text) { return puts(text) < 0 ? -EIO : 0; }
static int dress(void) {
    struct weft_graph graph = WEFT_GRAPH_INIT;
    int socks = weft_graph_node(&graph, say, "socks"), shoes = weft_graph_node(&graph, say, "shoes");
    int err = socks < 0 ? socks : shoes < 0 ? shoes : weft_graph_edge(&graph, socks, shoes);
    if (!err) err = weft_graph_run(&graph); /* socks before shoes */
    weft_graph_clear(&graph);
    return err;
}

/* A counter for each worker, so that none waits for another. */
static struct weft_combinable counts = WEFT_COMBINABLE_INIT(sizeof(long), NULL);
static void note_one(void) {
    long *mine = weft_combinable_take(&counts);
    if (!mine) return;
    ++*mine;
    weft_combinable_put(&counts, mine);
}
static void add_counts(void *left, const void *right, void *unused) {
    (void)unused;
    *(long *)left += *(const long *)right;
}
static long total(void) {
    long all = 0;
    if (weft_combinable_each(&counts, &all, add_counts, NULL)) return -1; /* -EBUSY: one is taken */
    weft_combinable_clear(&counts);
    return all;
}
