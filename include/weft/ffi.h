/* SPDX-License-Identifier: MIT */
/*
 * What other languages need beside the C interface, in a library of its own: link with pkg-config weft-ffi, or open
 * libweft-ffi.so.0. That library also has every inline function and macro that stands for a function as a real symbol
 * with the same name: weft_run, weft_spawn, weft_start, weft_stats_read and others. weft.h says how to read this
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
 * All objects of weft but channels may begin as zeros, and stay where they are: a language needs to know their sizes.
 * ------------------------------------------------------------------------------------------ */

/*
 * Returns the size of a struct by its name without `struct`: "weft_mutex". 0 if there is none of that name.
 *
 * Errors: none.
 * [fiber thread]
 */
size_t weft_ffi_size(const char *name);

/*
 * Returns the value of a macro that is a number, by its name: "WEFT_FOREVER", "WEFT_SECOND". 0 if there is none of that
 * name.
 *
 * Errors: none.
 * [fiber thread]
 */
uint64_t weft_ffi_constant(const char *name);

/*
 * Makes a channel of memory that the caller gives, as WEFT_CHAN_OVER does: for items of so many bytes, with room for so
 * many at `buffer`.
 *
 * Errors: -EINVAL if chan is NULL, if buffer is NULL and capacity is not 0, or if the buffer has 4 GiB or more.
 * [fiber thread]
 */
int weft_ffi_chan_over(struct weft_chan *chan, void *buffer, size_t size, size_t capacity);

/*
 * Fill in a case for weft_case_select, as the macros WEFT_CASE_SEND, _RECV, _FUTURE, _READY and _TIME do.
 *
 * Errors: -EINVAL if one is NULL.
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
 * CPython keeps the state of its interpreter for each kernel thread. Two fibers that park inside of Python on one
 * thread would mix their states up, so an ordinary callback must not be a fiber: weft_run, weft_spawn and
 * weft_scope_spawn of libweft-ffi refuse that in a process that has Python in it, with -ENOTSUP and one line. The
 * functions below give each fiber a state of its own instead. Then Python may park, with many fibers, and move between
 * threads.
 * ------------------------------------------------------------------------------------------ */

/*
 * Runs a Python callable, without arguments, as the first fiber of a runtime, as weft_run does. Call it without the
 * interpreter's lock, as cffi and ctypes.CDLL do.
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
