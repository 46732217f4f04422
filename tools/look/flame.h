/* SPDX-License-Identifier: MIT */
/* A flame graph: folded stacks as one page that needs nothing else. */
#ifndef TOOLS_LOOK_FLAME_H
#define TOOLS_LOOK_FLAME_H

/* Reads folded stacks from a file that can be mapped, and writes the page. 0 or -errno. */
int flame_write(int folded, const char *title, int to);

#endif
