/* SPDX-License-Identifier: MIT */
/* Finds the type of a file by the end of its name. */
#ifndef SERVE_MIME_H
#define SERVE_MIME_H

/* Returns a value for Content-Type, never NULL. */
const char *mime_type(const char *path);

#endif
