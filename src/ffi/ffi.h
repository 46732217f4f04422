/* SPDX-License-Identifier: MIT */
/* What the files of libweft-ffi share. */
#ifndef WEFT_FFI_FFI_H
#define WEFT_FFI_FFI_H

#define WEFT_FFI __attribute__((visibility("default")))

/* For `call`, a function that makes a fiber of a callback. If the process contains Python, prints one line that names
 * the call, and returns -ENOTSUP. Otherwise returns 0. */
int weft_ffi_refuse(const char *call);

#endif
