/* SPDX-License-Identifier: MIT */
/*
 * Profiles: where a program spends its CPU time, and where its fibers wait.
 *
 * `weft profile PID` makes a profile from outside, of any process. These calls make a profile from inside, of a part of
 * a program's work, without the tool and without any permission. The environment variable WEFT_PROFILE names a file to
 * which weft writes a profile of the whole run: folded stacks if the name ends in ".folded", otherwise for pprof.
 *
 *     int err = weft_profile_begin(0);
 *     if (err) return err;
 *     work();
 *     return weft_profile_end(fd, WEFT_PROFILE_PPROF);
 *
 * Each worker has a timer that counts its CPU time and sends SIGPROF. The handler copies the innermost part of the
 * stack. A thread of weft's finds the frames in these copies; now and then it also looks at all fibers that wait. A
 * program that uses SIGPROF keeps its handler: weft calls it for signals that are not weft's.
 */
#ifndef WEFT_PROFILE_H
#define WEFT_PROFILE_H

#include "weft/attributes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The form in which a profile is written. */
enum weft_profile_format {
    WEFT_PROFILE_PPROF, /* a gzip-compressed protobuf message, for `go tool pprof` and others */
    WEFT_PROFILE_FOLDED /* a line for each stack: functions from the outermost inward, then microseconds */
};

/*
 * Begins a profile of the whole runtime.
 *
 *   hz   samples for each second of CPU time, at most 1000; 0: 99
 *
 * Errors:
 *   -EINVAL   hz is greater than 1000
 *   -ESRCH    no runtime is running
 *   -EBUSY    a profile has begun already
 *   -EPERM    the kernel does not let the process read its own memory by process_vm_readv
 *   -ENOSYS   the kernel has no process_vm_readv
 *   -EAGAIN   no thread is available
 *   -ENOMEM   out of memory
 * [fiber thread; blocks the kernel thread]
 */
WEFT_MUST_USE int weft_profile_begin(unsigned hz);

/*
 * Ends the profile, writes it to fd, and frees it, even if it could not be written.
 *
 *   fd   an open file; -1: the profile is dropped
 *
 * Errors:
 *   -EINVAL   there is no such format
 *   -ESRCH    no profile has begun
 *   -EBADF    fd is not open; the profile goes on
 *   -ENOMEM   out of memory
 *   other     errors of write(2)
 * [fiber thread; blocks the kernel thread]
 */
WEFT_MUST_USE int weft_profile_end(int fd, enum weft_profile_format format);

#ifdef __cplusplus
}
#endif

#endif
