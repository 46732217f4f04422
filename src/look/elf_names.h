/* SPDX-License-Identifier: MIT */
/*
 * Functions and variables of an ELF file by its own table of symbols: the dynamic linker knows only those that are
 * exported, a program's own functions mostly are not. A stripped file has no table.
 */
#ifndef WEFT_LOOK_ELF_NAMES_H
#define WEFT_LOOK_ELF_NAMES_H

#include "look/look.h"

struct weft__elf_names; /* of all modules; each is read when it is first asked for */

struct weft__elf_names *weft__elf_names_make(const struct weft__modules *modules);
void weft__elf_names_free(struct weft__elf_names *names);
/* The symbol at an address in memory; NULL: unknown. The offset in it. is_code: a function, else a variable. */
const char *weft__elf_name(struct weft__elf_names *names, uint64_t at, bool is_code, uint64_t *offset);

#endif
