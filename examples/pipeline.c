/* SPDX-License-Identifier: MIT */
/* A pipeline: lines are made in order, processed in parallel, and printed in order again. */
#include <stdio.h>
#include <string.h>
#include <weft.h>

struct line {
    int number;
    char text[64];
    unsigned long sum;
};

/* The first stage makes an item at each call, until there are no more. It runs for one item at a time. At most eight
 * items are under way, so eight slots are enough: a line has left before its slot is used again. */
static int make(void **item, void *lines) {
    static int number;
    if (number == 40) return WEFT_PIPELINE_END;
    struct line *line = &((struct line *)lines)[number % 8];
    *line = (struct line){.number = number};
    snprintf(line->text, sizeof line->text, "line %d of a long text", number++);
    *item = line;
    return 0;
}

/* Runs for several items at a time. It may wait as long as it likes, while other items continue. */
static int work(void **item, void *unused) {
    (void)unused;
    struct line *line = *item;
    weft_sleep_for((uint64_t)(line->number * 37 % 5) * WEFT_MILLISECOND / 4);
    for (const char *c = line->text; *c; c++) line->sum = line->sum * 31 + (unsigned char)*c;
    return line->number % 10 == 9 ? WEFT_PIPELINE_END : 0; /* these lines go no further */
}

static int print(void **item, void *last) {
    struct line *line = *item;
    if (line->number <= *(int *)last) return -EIO; /* would end the pipeline; it does not happen */
    *(int *)last = line->number;
    printf("%2d %016lx%s", line->number, line->sum, line->number % 5 == 3 ? "\n" : "   ");
    return 0;
}

static int run(void *unused) {
    (void)unused;
    struct line lines[8];
    int last = -1;
    struct weft_stage stages[] = {
        {WEFT_STAGE_IN_ORDER, make, lines},
        {WEFT_STAGE_PARALLEL, work, NULL},
        {WEFT_STAGE_IN_ORDER, print, &last},
    };
    int err = weft_pipeline(stages, 3, 8);
    puts("");
    return err || last != 38;
}

int main(void) { return weft_run(run, NULL, NULL); }
