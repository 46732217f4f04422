/* SPDX-License-Identifier: MIT */
/* A library with a thread-local that has a fixed place in every thread's storage. */
static __thread int mine __attribute__((tls_model("initial-exec"))) = 5;
int *number(void);
int *number(void) { return &mine; }
