/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder: what every worker and fiber does, event by event, and the program's own spans, instants and
 * counters.
 *
 * `weft trace PID` records any process from outside. These calls record from inside. The environment variable
 * WEFT_TRACE names a file to which weft writes all events, from the start of the runtime to its end. WEFT_TRACE_LAST
 * names a file for the last events only: weft keeps them in memory, and writes them when the program aborts, a stack
 * overflows, or a fiber waits longer than the cluster's bound allows.
 *
 *     weft_span_begin("parse");
 *     parse(text);
 *     weft_span_end();
 *
 * `weft trace FILE` prints a summary of a file, and turns it into a page or into a trace for Perfetto. While nothing is
 * recorded, a call of weft_span_begin and the like is a test of one word.
 */
#ifndef WEFT_TRACE_H
#define WEFT_TRACE_H

#include "weft/attributes.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Begins to record all workers.
 *
 *   fd   an open file, to which a thread of weft's writes events until weft_trace_end; it stays the caller's.
 *        -1: the last events are kept in memory, for weft_trace_save
 *
 * Errors:
 *   -EBADF    fd is not open
 *   -ESRCH    no runtime is running
 *   -EBUSY    a recording has begun already
 *   -EPERM    the kernel does not let the process read its own memory by process_vm_readv
 *   -ENOSYS   the kernel has no process_vm_readv
 *   -EAGAIN   no thread is available
 *   -ENOMEM   out of memory
 * [fiber thread; blocks the kernel thread]
 */
int weft_trace_begin(int fd) WEFT_MUST_USE;

/*
 * Ends the recording, and writes what is left to its file.
 *
 * Errors:
 *   -ESRCH   no recording has begun
 *   other    errors of write(2), of any write since weft_trace_begin
 * [fiber thread; blocks the kernel thread]
 */
int weft_trace_end(void) WEFT_MUST_USE;

/*
 * Writes the last events of a recording that keeps them in memory. The recording goes on.
 *
 *   fd   an open file
 *
 * Errors:
 *   -EBADF   fd is not open
 *   -ESRCH   no recording has begun, or it writes to a file of its own
 *   other    errors of write(2)
 * [fiber thread; blocks the kernel thread]
 */
int weft_trace_save(int fd) WEFT_MUST_USE;

/*
 * A span of the calling fiber or thread begins. Spans nest; a fiber may park within a span, and go on elsewhere.
 *
 *   name   a string that stays as it is until the recording ends: a literal. NULL: no name
 *
 * [fiber thread timer]
 */
void weft_span_begin(const char *name);

/*
 * The youngest span of the caller ends. Without an open span nothing happens.
 *
 * [fiber thread timer]
 */
void weft_span_end(void);

/*
 * Something has happened at this moment.
 *
 *   name   as for weft_span_begin
 *
 * [fiber thread timer]
 */
void weft_instant(const char *name);

/*
 * A counter has this value from now on: a curve in the timeline.
 *
 *   name   as for weft_span_begin
 *
 * [fiber thread timer]
 */
void weft_count(const char *name, int64_t value);

#ifdef __cplusplus
}
#endif

#endif
