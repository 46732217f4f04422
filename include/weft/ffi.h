/* SPDX-License-Identifier: MIT */
/*
 * What other languages need beside the C interface. It is in a separate library: link with pkg-config weft-ffi, or open
 * libweft-ffi.so.0. For every inline function, and every macro that stands for a function, that library also has a
 * symbol of the same name: weft_run, weft_spawn, weft_start, weft_stats_read and others. weft.h says how to read this
 * header; docs/FFI.md has examples in Rust and Python.
 */
#ifndef WEFT_FFI_H
#define WEFT_FFI_H

#include "weft/io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * Memory for objects
 *
 * All objects of weft except channels may be initialised with zeros. They must not move in memory. So a language only
 * needs to know their sizes.
 * ------------------------------------------------------------------------------------------ */

/*
 * Returns the size of a struct, given its name without `struct`: "weft_mutex". Returns 0 if no struct has that name.
 *
 * Errors: none.
 * [fiber thread]
 */
size_t weft_ffi_size(const char *name);

/*
 * Returns the value of a macro that is a number, given its name: "WEFT_FOREVER", "WEFT_SECOND". Returns 0 if no such
 * macro has that name.
 *
 * Errors: none.
 * [fiber thread]
 */
uint64_t weft_ffi_constant(const char *name);

/*
 * Initialises a channel over memory of the caller, as WEFT_CHAN_OVER does: `buffer` has room for `capacity` items of
 * `size` bytes.
 *
 * Errors: -EINVAL if chan is NULL, if buffer is NULL and capacity is not 0, or if the buffer has 4 GiB or more.
 * [fiber thread]
 */
int weft_ffi_chan_over(struct weft_chan *chan, void *buffer, size_t size, size_t capacity);

/*
 * Fill in a case for weft_case_select, as the macros WEFT_CASE_SEND, _RECV, _FUTURE, _READY and _TIME do.
 *
 * Errors: -EINVAL if the case is NULL.
 * [fiber thread]
 */
int weft_ffi_case_send(struct weft_case *one, struct weft_chan *chan, const void *item);
int weft_ffi_case_recv(struct weft_case *one, struct weft_chan *chan, void *item);
int weft_ffi_case_future(struct weft_case *one, struct weft_future *future, void **value);
int weft_ffi_case_ready(struct weft_case *one, int fd, short events);
int weft_ffi_case_time(struct weft_case *one, uint64_t time);

/* ---------------------------------------------------------------------------------------------
 * Python
 *
 * CPython keeps the state of its interpreter for each kernel thread. Two fibers that park inside Python on one thread
 * would mix up their states. So a Python callback must not be an ordinary fiber function: in a process with Python,
 * weft_run, weft_spawn and weft_scope_spawn of libweft-ffi print one line and return -ENOTSUP. The functions below give
 * each fiber its own interpreter state. Then many fibers may park inside Python and move between threads.
 * ------------------------------------------------------------------------------------------ */

/*
 * Runs a Python callable, without arguments, as the first fiber of a runtime, as weft_run does. The caller must not
 * hold the interpreter's lock; cffi and ctypes.CDLL release it before a call.
 *
 *   callable   a PyObject, id(function) for CPython; the caller holds a reference until the call returns
 *
 * Errors:
 *   -ENOSYS   there is no CPython 3.9 or later in this process
 *   -EINVAL   callable is NULL
 *   -EIO      the callable has raised an exception, which was printed
 *   other     those of weft_run
 * [thread]
 */
int weft_ffi_python_run(void *callable, const struct weft_config *config);

/*
 * Runs a Python callable in a new fiber, with a stack of 1 MiB unless attr says otherwise. An exception is printed; the
 * fiber's result is then (void *)-EIO, else NULL.
 *
 *   callable   a PyObject; the caller holds a reference until the fiber has ended
 *
 * Errors: -ENOSYS and -EINVAL as above; those of weft_spawn.
 * [fiber thread]
 */
int weft_ffi_python_spawn(struct weft_fiber *fiber, const struct weft_attr *attr, void *callable);

#ifdef __cplusplus
}
#endif
#endif
