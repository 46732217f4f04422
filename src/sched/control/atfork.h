/* SPDX-License-Identifier: MIT */
/*
 * Functions of the scheduler for a forked child that no other header declares. See atfork.c.
 */
#ifndef WEFT_SCHED_CONTROL_ATFORK_H
#define WEFT_SCHED_CONTROL_ATFORK_H

/* Registers the handler of forks, once. A constructor does it when the program is loaded. The start of the runtime
 * calls it, too: without that call, the linker would leave atfork.c out of a program that takes weft from a static
 * library. */
void weft__atfork_register(void);

void weft__keys_after_fork(void);
void weft__runtime_after_fork(void);

#endif
