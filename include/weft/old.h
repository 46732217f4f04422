/* SPDX-License-Identifier: MIT */
/*
 * Names of version 0.1, as macros. weft.h includes this header unless WEFT_NO_OLD_NAMES is defined. Version 1.0 will
 * not have them. The old names looked like POSIX calls that do something else, or were names of structs, which C++
 * rejects.
 */
#ifndef WEFT_OLD_H
#define WEFT_OLD_H

#define weft_exit weft_fiber_exit
#define weft_exit_if_cancelled weft_fiber_exit_if_cancelled
#define weft_fork weft_task_fork
#define weft_select weft_case_select
#define weft_select_until weft_case_select_until
#define weft_select_try weft_case_select_try
#define weft_once(...) weft_once_run(__VA_ARGS__)
#define weft_once_until weft_once_run_until
#define weft_stats(...) weft_stats_read(__VA_ARGS__)
#define weft_delays(...) weft_delays_read(__VA_ARGS__)

#endif
