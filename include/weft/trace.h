/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder: what every worker and fiber does, event by event, and the program's own spans, instants and
 * counters.
 *
 * `weft trace PID` records any process from outside. These calls record from inside. The environment variable
 * WEFT_TRACE names a file to which weft writes all events, from the start of the runtime to its end. WEFT_TRACE_LAST
 * names a file for the last events only: weft keeps them in memory, and writes them when the program aborts, a stack
 * overflows, or a ready fiber waits for a worker longer than delay_limit allows.
 *
 *     weft_span_begin("parse");
 *     parse(text);
 *     weft_span_end();
 *
 * `weft trace FILE` prints a summary of a file, and turns it into a page or into a trace for Perfetto. While weft does
 * not record, a call of weft_span_begin or of its relatives only tests one word.
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
WEFT_MUST_USE int weft_trace_begin(int fd);

/*
 * Ends the recording, and writes the remaining events to its file.
 *
 * Errors:
 *   -ESRCH   no recording has begun
 *   other    errors of write(2), of any write since weft_trace_begin
 * [fiber thread; blocks the kernel thread]
 */
WEFT_MUST_USE int weft_trace_end(void);

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
WEFT_MUST_USE int weft_trace_save(int fd);

/*
 * Begins a span of the calling fiber or thread. Spans nest. A fiber may park within a span, and continue on another
 * worker.
 *
 *   name   a string that does not change until the recording ends, such as a literal. NULL: no name
 *
 * Errors: none.
 * [fiber thread timer]
 */
void weft_span_begin(const char *name);

/*
 * Ends the youngest span of the caller. Does nothing if no span is open.
 *
 * Errors: none.
 * [fiber thread timer]
 */
void weft_span_end(void);

/*
 * Records that something has happened at this moment.
 *
 *   name   as for weft_span_begin
 *
 * Errors: none.
 * [fiber thread timer]
 */
void weft_instant(const char *name);

/*
 * Records that a counter has this value from now on. The timeline shows a counter as a curve.
 *
 *   name   as for weft_span_begin
 *
 * Errors: none.
 * [fiber thread timer]
 */
void weft_count(const char *name, int64_t value);

#ifdef __cplusplus
}
#endif

#endif
