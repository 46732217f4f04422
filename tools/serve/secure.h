/* SPDX-License-Identifier: MIT */
/* TLS: the certificates, and the handshake of a connection. input.h and output.h read and write afterwards. */
#ifndef SERVE_SECURE_H
#define SERVE_SECURE_H

#include "connection.h"

/* Adds a certificate and its key, by file names. The first is for clients that name no host. False: too many. */
bool secure_add(const char *certificate, const char *key);

/* Reads the certificates, if there are any. Returns 0 or the exit code. */
int secure_begin(void);
void secure_end(void);

/* Reads the certificates again, and prints the outcome to standard error. Called in a fiber. */
void secure_reload(void);

/* Makes the handshake. It has the same deadline as a head: a client that is too slow is disconnected, earlier if its
 * place is needed. Returns false if it failed. The connection has a stream in both cases, unless there was no
 * memory. */
bool secure_shake(struct connection *c);

/* Announces the end of the connection, before it lingers. Bytes that still come are dropped, not decrypted. */
void secure_say_end(struct connection *c);

#endif
