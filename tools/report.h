/* SPDX-License-Identifier: MIT */
/*
 * The output for people and programs: the machine, tables, lines of JSON.
 */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include "suite.h"

/* One line: cpu, number of cpus, kernel. */
void report_machine(void);

/* The question of the benchmark, and the work of each system. */
void report_heading(const struct bench *bench);

/*
 * A table of the `count` outcomes of one variant, weft before its peers for each number of workers. `ratio` is the
 * ratio to weft's figure. If there are serial processes to compare with, `least` and `most` are the ends of its 95 %
 * interval, `/serial` is the ratio to as many serial processes, and `share` the speed-up divided by theirs. With
 * setting->counts also weft's counters for each run.
 */
void report_table(const struct bench *bench, const struct variant *variant, const struct setting *setting,
                  const struct outcome *outcomes, int count);

/* The same as JSON: a line with an object for each outcome and metric. The documented members come first, see
 * docs/BENCHMARKS.md. */
void report_json(const struct bench *bench, const struct variant *variant, const struct setting *setting,
                 const struct outcome *outcomes, int count);

/* Writes a figure into `size` bytes of text, with a sensible number of digits. Returns text. */
char *report_number(char *text, size_t size, double value);

#endif
