/* What each file of the scheduler must do in a forked child; see fork.c. */
#ifndef WEFT_SCHED_FORK_H
#define WEFT_SCHED_FORK_H

#include "sched/sched.h"

void weft__keys_forked(void);
void weft__quiet_forked(void);
void weft__threads_awake_forked(void);
void weft__backtrace_forked(void);
void weft__runtime_forked(void);
void weft__told_forked(void);
/* The record becomes the calling thread's; f NULL: what it has already. NULL: none. */
struct weft__fiber *weft__thread_adopt(struct weft__fiber *f);

#endif
