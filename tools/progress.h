/* SPDX-License-Identifier: MIT */
/* What is being done, on standard error: in place on a terminal, else a line. progress_end clears it. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

void progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_end(void);

#endif
