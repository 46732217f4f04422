/* SPDX-License-Identifier: MIT */
/* What is known of a descriptor: see descriptors.c. */
#ifndef WEFT_THREADS_DESCRIPTORS_H
#define WEFT_THREADS_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>

enum { WEFT_DESCRIPTOR_UNKNOWN, WEFT_DESCRIPTOR_SOCKET, WEFT_DESCRIPTOR_STORED, WEFT_DESCRIPTOR_OTHER };
uint8_t weft__descriptor_kind(int fd);
bool weft__descriptor_is_nonblocking(int fd);
/* SO_RCVTIMEO or SO_SNDTIMEO as a deadline. Option 0: none. */
uint64_t weft__descriptor_deadline(int fd, int option);
/* The number may refer to another file now. */
void weft__descriptor_forget(int fd);
/* The descriptors in a message are shared with another process, or with another number. */
struct msghdr;
void weft__descriptors_in(const struct msghdr *message);
/* A child shares all descriptors from now on. */
void weft__descriptors_share(void);

#endif
