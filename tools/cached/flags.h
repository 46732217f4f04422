/* SPDX-License-Identifier: MIT */
/*
 * The flags of a meta command: single letters, some followed by a value.
 */
#ifndef CACHED_FLAGS_H
#define CACHED_FLAGS_H

#include "session.h"

struct mc_flags {
    bool binary, has_cas, new_ttl, no_update, quiet, stale, value, vivify;
    char mode;
    uint32_t expires, vivify_expires, recache, client_flags;
    uint64_t cas, delta, initial;
    struct mc_meta_key key; /* the second word of the line, decoded from base64 if necessary */
};

/* Reads the words from `first` on. Returns NULL, or the error. */
const char *mc_flags_read(struct mc_flags *flags, const struct mc_line *line, unsigned first);

/* Writes " k" and the key in the form in which the client sent it. */
void mc_put_key(struct mc_reply *reply, const char *key, size_t size, bool binary);

/* Writes " O" and the value. Returns false if it is too long. */
bool mc_put_opaque(struct mc_reply *reply, const struct mc_word *word);

/* Writes the flags that every answer repeats: O and k. Returns false if O is too long. */
bool mc_put_echo(struct mc_reply *reply, const struct mc_line *line, const struct mc_meta_key *key);

#endif
