/* SPDX-License-Identifier: MIT */
/* Functions that the meta commands share. */
#ifndef CACHED_META_H
#define CACHED_META_H

#include "flags.h"
#include "update.h"

extern const char mc_opaque_too_long[];

/* Reads key and flags of a line. If they are wrong, answers with the error, and returns false. */
bool mc_meta_begin(struct mc_session *session, const struct mc_line *line, struct mc_flags *flags, unsigned first,
                   const char *too_many);

void mc_put_ttl(struct mc_reply *reply, const struct mc_item *item);

void mc_meta_get(struct mc_session *session, struct mc_line *line);
void mc_meta_set(struct mc_session *session, struct mc_line *line);
void mc_meta_delete(struct mc_session *session, struct mc_line *line);
void mc_meta_arithmetic(struct mc_session *session, struct mc_line *line);

#endif
