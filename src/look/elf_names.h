/* SPDX-License-Identifier: MIT */
/*
 * Names of functions and variables, from the symbol table of an ELF file. The dynamic linker knows only exported
 * symbols, and most functions of a program are not exported. A stripped file has no table.
 */
#ifndef WEFT_LOOK_ELF_NAMES_H
#define WEFT_LOOK_ELF_NAMES_H

#include "look/look.h"

#include <elf.h>

/* Finds a section by its name in the file of a module. mapped: the ELF header that is in memory, which the file must
 * have. False: there is none. */
bool weft__elf_section(const char *path, const Elf64_Ehdr *mapped, const char *name, Elf64_Shdr *to);

struct weft__elf_names; /* of all modules; each is read when it is first asked for */

struct weft__elf_names *weft__elf_names_make(const struct weft__modules *modules);
void weft__elf_names_free(struct weft__elf_names *names);
/* The symbol at an address in memory; NULL: unknown. The offset in it. is_code: a function, else a variable. */
const char *weft__elf_name(struct weft__elf_names *names, uint64_t at, bool is_code, uint64_t *offset);

#endif
