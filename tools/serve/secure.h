/* SPDX-License-Identifier: MIT */
/* TLS: the certificates, and the handshake of a connection. What is read and written afterwards: input.h, output.h. */
#ifndef SERVE_SECURE_H
#define SERVE_SECURE_H

#include "connection.h"

/* A certificate and its key, by the names of their files; the first is for clients that name no host. False:
 * there are too many. */
bool secure_add(const char *certificate, const char *key);

/* Reads them, if there are any. Returns 0 or the exit code. */
int secure_begin(void);
void secure_end(void);

/* Reads them again, and says on standard error what came of it. A fiber's. */
void secure_reload(void);

/* The handshake. It has a deadline like that of a head: a client that does not end it in time loses its place, or
 * earlier if that is wanted for another. False: it failed. The connection has a stream in either case, unless there was
 * no memory. */
bool secure_shake(struct connection *c);

/* The connection's last word, before it lingers. What still comes is not decrypted: it is dropped. */
void secure_say_end(struct connection *c);

#endif
