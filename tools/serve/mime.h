/* SPDX-License-Identifier: MIT */
/* The type of a file, by the end of its name. */
#ifndef SERVE_MIME_H
#define SERVE_MIME_H

/* As Content-Type has it; never NULL. */
const char *mime_type(const char *path);

#endif
