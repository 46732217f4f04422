/* SPDX-License-Identifier: MIT */
/* A graph of work: breakfast. And a value for each worker: how much it did. */
#include <stdio.h>
#include <weft.h>

static struct weft_combinable steps = WEFT_COMBINABLE_INIT(sizeof(int), NULL); /* begins as zero */

static int step(void *name) {
    weft_sleep_for(2 * WEFT_MILLISECOND); /* other nodes continue */
    printf("  %s\n", (const char *)name);
    int *mine = weft_combinable_take(&steps); /* belongs to this call until it is put back */
    if (!mine) return -ENOMEM;
    ++*mine;
    return weft_combinable_put(&steps, mine);
}

static void add(void *sum, const void *part, void *unused) {
    (void)unused;
    *(int *)sum += *(const int *)part;
}

static int run(void *unused) {
    (void)unused;
    struct weft_graph g = WEFT_GRAPH_INIT;
    int water = weft_graph_node(&g, step, "boil water"), grind = weft_graph_node(&g, step, "grind beans");
    int coffee = weft_graph_node(&g, step, "make coffee"), toast = weft_graph_node(&g, step, "toast bread");
    int butter = weft_graph_node(&g, step, "butter the toast"), eat = weft_graph_node(&g, step, "have breakfast");

    /* The first before the second. */
    if (weft_graph_edge(&g, water, coffee) || weft_graph_edge(&g, grind, coffee)) return 1;
    if (weft_graph_edge(&g, toast, butter) || weft_graph_edge(&g, coffee, eat)) return 1;
    if (weft_graph_edge(&g, butter, eat)) return 1;

    for (int day = 1; day <= 2; day++) { /* a graph can run any number of times */
        printf("day %d\n", day);
        if (weft_graph_run(&g)) return 1;
    }

    /* A cycle is detected before any node runs. */
    if (weft_graph_edge(&g, eat, water) || weft_graph_run(&g) != -ELOOP) return 1;
    weft_graph_clear(&g);

    int sum = 0;
    if (weft_combinable_each(&steps, &sum, add, NULL)) return 1;
    weft_combinable_clear(&steps);
    printf("%d steps\n", sum);
    return sum != 12;
}

int main(void) { return weft_run(run, NULL, NULL); }
