/* SPDX-License-Identifier: MIT */
#include "flags.h"

static const char bad_token[] = "CLIENT_ERROR bad token in command line format";

static const char *decode_key(struct mc_flags *flags, const struct mc_word *word) {
    char bytes[MC_KEY_MOST];
    size_t size = mc_base64_decode(bytes, word->at, word->size);
    flags->binary = flags->key.binary = true;
    flags->key.size = (uint8_t)size;
    memcpy(flags->key.bytes, bytes, size);
    return size ? NULL : "CLIENT_ERROR error decoding key";
}

static const char *read_time(const struct mc_word *word, uint32_t *expires) {
    int32_t given;
    if (!mc_i32(word, 1, &given)) return bad_token;
    *expires = mc_expires(given);
    return NULL;
}

static const char *read_mode(struct mc_flags *flags, const struct mc_word *word) {
    if (word->size != 2) return "CLIENT_ERROR incorrect length for M token";
    flags->mode = word->at[1];
    return NULL;
}

static const char unknown[] = "CLIENT_ERROR invalid flag";

static const char *read_flag(struct mc_flags *flags, const struct mc_word *word, const struct mc_word *key) {
    switch (word->at[0]) {
    case 'b': return decode_key(flags, key);
    case 'N': flags->vivify = true; return read_time(word, &flags->vivify_expires);
    case 'T': flags->new_ttl = true; return read_time(word, &flags->expires);
    case 'R': return read_time(word, &flags->recache);
    case 'M': return read_mode(flags, word);
    case 'v': flags->value = true; return NULL;
    case 'u': flags->no_update = true; return NULL;
    case 'q': flags->quiet = true; return NULL;
    case 'I': flags->stale = true; return NULL;
    case 'F': return mc_u32(word, 1, &flags->client_flags) ? NULL : "CLIENT_ERROR bad command line format";
    case 'C': flags->has_cas = true; return mc_word_u64(word, 1, &flags->cas) ? NULL : bad_token;
    case 'J': return mc_word_u64(word, 1, &flags->initial) ? NULL : "CLIENT_ERROR invalid numeric initial value";
    case 'D': return mc_word_u64(word, 1, &flags->delta) ? NULL : "CLIENT_ERROR invalid numeric delta value";
    case 'O':
    case 'P':
    case 'L':
    case 'k':
    case 's':
    case 't':
    case 'c':
    case 'f':
    case 'h':
    case 'l': return NULL;
    default: return unknown;
    }
}

const char *mc_flags_read(struct mc_flags *flags, const struct mc_line *line, unsigned first) {
    const struct mc_word *key = &line->words[1];
    const char *wrong = NULL;
    uint64_t seen[2] = {0, 0};
    *flags = (struct mc_flags){.delta = 1};
    flags->key.size = (uint8_t)key->size;
    memcpy(flags->key.bytes, key->at, key->size);
    for (unsigned i = first; i < line->count; i++) {
        unsigned letter = (unsigned char)line->words[i].at[0];
        if (letter >= 127 || seen[letter / 64] >> letter % 64 & 1) return "CLIENT_ERROR duplicate flag";
        seen[letter / 64] |= UINT64_C(1) << letter % 64;
        const char *error = read_flag(flags, &line->words[i], key);
        if (error == unknown) return error;
        /* The last error is reported. The error about F has no text of its own. */
        if (error && !(wrong && letter == 'F')) wrong = error;
    }
    return wrong;
}

void mc_put_key(struct mc_reply *reply, const char *key, size_t size, bool binary) {
    mc_put_text(reply, " k");
    if (!binary) {
        mc_put(reply, key, size);
        return;
    }
    reply->at += mc_base64_encode(reply->at, key, size);
    mc_put_text(reply, " b");
}

bool mc_put_opaque(struct mc_reply *reply, const struct mc_word *word) {
    if (word->size > MC_OPAQUE_MOST) return false;
    mc_put_char(reply, ' ');
    mc_put(reply, word->at, word->size);
    return true;
}

bool mc_put_echo(struct mc_reply *reply, const struct mc_line *line, const struct mc_meta_key *key) {
    for (unsigned i = 2; i < line->count; i++) {
        char letter = line->words[i].at[0];
        if (letter == 'k') mc_put_key(reply, key->bytes, key->size, key->binary);
        if (letter == 'O' && !mc_put_opaque(reply, &line->words[i])) return false;
    }
    return true;
}
