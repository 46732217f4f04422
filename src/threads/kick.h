/* SPDX-License-Identifier: MIT */
/* Kicks: see kick.c. Stopping them: see exec.c. */
#ifndef WEFT_THREADS_KICK_H
#define WEFT_THREADS_KICK_H

/* No kick is under way when this returns, and none begins until weft__kick_go_on. */
void weft__kick_stop(void);
void weft__kick_go_on(void);
void weft__kick_after_fork(void);

#endif
