/* SPDX-License-Identifier: MIT */
/* The tables of benchmarks: each explains its systems, and the documentation agrees. */
#include "../test.h"
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_text(const char *path) {
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    CHECK(!fseek(f, 0, SEEK_END));
    long size = ftell(f);
    CHECK(size > 0);
    char *text = calloc(1, (size_t)size + 1);
    CHECK(text != NULL);
    rewind(f);
    CHECK_EQ(fread(text, 1, (size_t)size, f), (size_t)size);
    fclose(f);
    return text;
}

TEST(every_benchmark_says_what_each_system_does) {
    char *documented = read_text(BENCHMARKS_PAGE), row[512];
    const struct bench *b;
    for (size_t i = 0; (b = bench_at(i)); i++) {
        CHECK(b->summary && b->does);
        CHECK(!strchr(b->does, '\n'));
        CHECK(snprintf(row, sizeof row, "| %s |\n", b->does) < (int)sizeof row);
        if (!strstr(documented, row)) printf("%s: docs/BENCHMARKS.md has no row that ends in%s", b->name, row + 1);
        CHECK(strstr(documented, row) != NULL);
    }
    free(documented);
}

/* A row with a cheaper primitive is next to a row with the same primitive as the other systems. */
TEST(a_bare_wait_is_a_row_of_its_own) {
    const struct bench *b;
    unsigned bare = 0;
    for (size_t i = 0; (b = bench_at(i)); i++)
        for (const struct entrant *e = b->entrants; e < b->entrants + BENCH_ENTRANTS && e->system; e++)
            if (strstr(e->params, "primitive=park")) {
                CHECK(strcmp(e->system, "weft") && strcmp(e->system, "pthread"));
                CHECK(bench_entrant(b, e->program ? e->program : "weft") != NULL);
                bare++;
            }
    CHECK(bare > 0);
    const struct bench *cycle = bench_find("cycle");
    CHECK(cycle && bench_entrant(cycle, "weft-park"));
}
