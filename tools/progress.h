/* SPDX-License-Identifier: MIT */
/* Shows the present step on standard error: in place on a terminal, otherwise as a line. progress_end clears it. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

void progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_end(void);

#endif
