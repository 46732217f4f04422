/* SPDX-License-Identifier: MIT */
/* What a descriptor of a process is, by /proc. */
#ifndef WEFT_LOOK_DESCRIPTOR_H
#define WEFT_LOOK_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Stores "socket", "eventfd", the path of a file, or "pipe, the other end is descriptor 4". False: unknown. */
bool weft__descriptor_name(pid_t pid, int fd, char *to, size_t size);

#endif
