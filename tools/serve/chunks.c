/* SPDX-License-Identifier: MIT */
/* See chunks.h. Extensions of a chunk, and the fields of a trailer, are skipped, within a limit. */
#include "chunks.h"

#define LINE_MOST 1024

enum {
    SIZE,    /* in the hexadecimal digits of a size; `line` counts them */
    REST,    /* in the rest of that line: an extension */
    SIZE_LF, /* before the LF that ends that line */
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER,    /* at the beginning of a line of the trailer */
    FIELD,      /* within a line of the trailer */
    FIELD_LF,   /* before the LF that ends a line of the trailer */
    TRAILER_LF, /* before the LF of the empty line that ends the body */
};

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static int expect(struct chunks *c, char got, char wanted, uint32_t next) {
    c->state = next;
    return got == wanted ? 0 : -1;
}

static int size_line(struct chunks *c, char got) {
    int value = digit(got);
    if (value >= 0 && c->line < 15) {
        c->left = c->left * 16 + (uint64_t)value;
        c->line++;
        return 0;
    }
    if (!c->line || value >= 0) return -1;
    c->state = got == '\r' ? SIZE_LF : REST;
    return got == '\r' || got == ';' ? 0 : -1; /* a space is refused: other servers may take it for the end */
}

/* Skips any bytes up to the end of the line. */
static int rest_of_line(struct chunks *c, char got, uint32_t next) {
    if (got == '\r') c->state = next;
    return ++c->line > LINE_MOST || got == '\n' || got == '\0' ? -1 : 0;
}

static int step(struct chunks *c, char got) {
    switch (c->state) {
    case SIZE: return size_line(c, got);
    case REST: return rest_of_line(c, got, SIZE_LF);
    case SIZE_LF: c->line = 0; return expect(c, got, '\n', c->left ? DATA : TRAILER);
    case DATA_CR: return expect(c, got, '\r', DATA_LF);
    case DATA_LF: return expect(c, got, '\n', SIZE);
    case TRAILER: c->state = got == '\r' ? TRAILER_LF : FIELD; return got == '\r' ? 0 : rest_of_line(c, got, FIELD_LF);
    case FIELD: return rest_of_line(c, got, FIELD_LF);
    /* `line` is not reset: the limit applies to the whole trailer */
    case FIELD_LF: return expect(c, got, '\n', TRAILER);
    default: return got == '\n' ? 1 : -1;
    }
}

int chunks_skip(struct chunks *c, const char *data, size_t size, size_t *used) {
    size_t i = 0;
    int result = 0;
    while (i < size && !result) {
        if (c->state == DATA) {
            size_t n = c->left < size - i ? (size_t)c->left : size - i;
            c->left -= n;
            i += n;
            if (!c->left) c->state = DATA_CR;
        } else {
            result = step(c, data[i++]);
        }
    }
    c->bytes += i;
    *used = i;
    return result;
}
