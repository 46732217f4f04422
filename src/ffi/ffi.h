/* SPDX-License-Identifier: MIT */
/* What the files of libweft-ffi share. */
#ifndef WEFT_FFI_FFI_H
#define WEFT_FFI_FFI_H

#define WEFT_FFI __attribute__((visibility("default")))

/* Calls of this name take a function that becomes a fiber. In a process with Python in it, -ENOTSUP and one line. */
int weft_ffi_refuse(const char *call);

#endif
