/* SPDX-License-Identifier: MIT */
/* Sorting: elements of any type by a comparison function, and numbers by an inlined comparison. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

/* A function `sort_doubles(base, n, arg)`: the comparison is compiled into it. */
#define WEFT_SORT_NAME sort_doubles
#define WEFT_SORT_TYPE double
#define WEFT_SORT_LESS(a, b, arg) (*(a) < *(b))
#include <weft/sort.h>

struct person {
    char name[12];
    int born;
};

/* As for qsort_r: the last argument is that of weft_sort. */
static int by_year(const void *a, const void *b, void *unused) {
    (void)unused;
    return ((const struct person *)a)->born - ((const struct person *)b)->born;
}

static int run(void *unused) {
    (void)unused;
    struct person people[] = {{"Grace", 1906},  {"Ada", 1815},  {"Alan", 1912},
                              {"Konrad", 1910}, {"John", 1903}, {"Kurt", 1906}};
    if (weft_sort(people, 6, sizeof *people, by_year, NULL)) return 1;
    /* The sort is stable: Grace comes before Kurt, born in the same year, as in the input. */
    for (int i = 0; i < 6; i++) printf("%d %s\n", people[i].born, people[i].name);
    if (strcmp(people[2].name, "Grace") || strcmp(people[3].name, "Kurt")) return 1;

    enum { N = 1000000 };
    double *v = malloc(N * sizeof *v);
    for (unsigned i = 0; i < N; i++) v[i] = (double)(i * 2654435761u % N);
    uint64_t began = weft_now();
    if (sort_doubles(v, N, NULL)) return 1;
    printf("a million numbers in %.1f ms\n", (double)(weft_now() - began) / 1e6);
    for (int i = 1; i < N; i++)
        if (v[i - 1] > v[i]) return 1;
    free(v);
    return 0;
}

int main(void) { return weft_run(run, NULL, NULL); }
