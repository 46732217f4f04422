/* SPDX-License-Identifier: MIT */
/* The flight recorder of this process. See recorder.c. */
#ifndef WEFT_LOOK_RECORDER_H
#define WEFT_LOOK_RECORDER_H

/* The runtime has started: does the environment ask for a trace? */
void weft__trace_watch(void);

#endif
