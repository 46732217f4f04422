/* SPDX-License-Identifier: MIT */
/*
 * What people and programs read: the machine, tables, lines of JSON on standard output.
 */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include "suite.h"

/* One line: cpu, number of cpus, kernel. */
void report_machine(void);

/* What the benchmark asks, and what each system does. */
void report_heading(const struct bench *bench);

/*
 * A table of the outcomes of one variant, `count` of them, weft before its peers for each number of
 * workers. `ratio` is to weft's; where serial processes are the yardstick, `least` and `most` are the
 * ends of its 95 % interval, `/serial` the ratio to as many serial processes, `share` the speed-up over
 * theirs. With setting->counts, what weft counted, a run.
 */
void report_table(const struct bench *bench, const struct variant *variant, const struct setting *setting,
                  const struct outcome *outcomes, int count);

/* The same as JSON, an object a line for each outcome and metric. What programs rely on comes first, see
 * docs/BENCHMARKS.md. */
void report_json(const struct bench *bench, const struct variant *variant, const struct setting *setting,
                 const struct outcome *outcomes, int count);

/* A figure in `size` bytes of text, with as many digits as are worth reading. Returns text. */
char *report_number(char *text, size_t size, double value);

#endif
