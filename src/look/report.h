/* SPDX-License-Identifier: MIT */
/*
 * The report of a look: as text, with fibers of the same stack in groups; or as JSON, with each fiber.
 */
#ifndef WEFT_LOOK_REPORT_H
#define WEFT_LOOK_REPORT_H

#include "look/look.h"

/* --- where it goes (out.c) -------------------------------------------------------------------------- */

struct weft__out {
    int fd;
    int err; /* of a write; 0: none */
    size_t n;
    char text[4096];
};

void weft__out(struct weft__out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes a string of JSON, with its quotes. */
void weft__out_quoted(struct weft__out *o, const char *text);
/* Writes the rest of the buffer. 0, or -errno of any write so far. */
int weft__out_end(struct weft__out *o);

/* --- names of addresses ------------------------------------------------------------------------------ */

struct weft__symbol {
    const char *function; /* NULL: unknown */
    const char *file;     /* NULL: unknown */
    int line;
    bool inlined;    /* into the next one */
    uint64_t offset; /* in the function, or in the file of `module` */
    const char *module;
};

/* Is this a function of weft that is in every stack: one that switches, or calls the fiber's function? (line.c) */
bool weft__symbol_is_plumbing(const struct weft__symbol *s);

struct weft__names {
    /* Calls `one` for each function at the address, the innermost inlined function first. call: pc is a return
     * address. */
    void (*code)(struct weft__names *names, uint64_t pc, bool call, void (*one)(const struct weft__symbol *, void *),
                 void *arg);
    /* The name of the variable at an address; false: unknown. */
    bool (*data)(struct weft__names *names, uint64_t at, char *to, size_t size);
    const struct weft__modules *modules;
    struct weft__elf_names *files; /* of this process; NULL: none */
    bool has_lines;                /* files, lines and inlined functions are known */
};

/* No names: only addresses, and the files in which they are. */
struct weft__names weft__names_none(const struct weft__modules *modules);
/* Names in this process, by its files and its dynamic linker. (names.c) */
struct weft__names weft__names_own(const struct weft__modules *modules);
void weft__names_free(struct weft__names *names);

/* --- reports ------------------------------------------------------------------------------------------ */

struct weft__track;

struct weft__report {
    struct weft__look *look;
    struct weft__names *names;
    struct weft__out out;
    bool plumbing;                   /* shows frames inside of weft that only switch */
    unsigned most;                   /* fibers of a group that are named */
    uint64_t now;                    /* of the process: ns; 0: unknown */
    bool has_stopped;                /* the report is about a core file */
    const struct weft__track *track; /* an earlier look, which knows since when fibers wait; NULL: none */
};

int weft__report_text(struct weft__report *report);
int weft__report_json(struct weft__report *report);

/* One line for a fiber: "fiber 0x4000000 "main" waits for ..." (line.c) */
void weft__report_line(struct weft__report *r, const struct weft__seen *f);
void weft__report_frame(struct weft__report *r, uint64_t pc, unsigned number);
const char *weft__state_name(enum weft__state state);
/* What it waits for: "mutex 0x7f00 (big_lock), held by fiber 0x4000001". */
void weft__report_wait(struct weft__report *r, const struct weft__seen *f);

#endif
