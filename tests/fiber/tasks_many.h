/* SPDX-License-Identifier: MIT */
/* Tasks that are declared here, defined in C, and used in C and in C++. */
#ifndef WEFT_TESTS_TASKS_MANY_H
#define WEFT_TESTS_TASKS_MANY_H

#include "weft.h"

#ifdef __cplusplus
extern "C" {
#endif
WEFT_TASK_DECLARE_1(long, across, int)
WEFT_VOID_TASK_DECLARE_2(across_store, long *, long)
WEFT_TASK_DECLARE_0(int, across_nothing)
#ifdef __cplusplus
}
#endif
#endif
