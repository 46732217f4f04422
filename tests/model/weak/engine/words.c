/* SPDX-License-Identifier: MIT */
/* The memory of the state, and which of its words are shared. */
#include "engine.h"

struct weak_engine engine;
char weak_stacks[THREADS][STACK] __attribute__((aligned(64)));
struct weak_shared weak_shares[SHARES];
unsigned n_shares;
const char *wrong;

void engine_fail(const char *what) {
    if (!wrong) wrong = what;
}
void claim(bool holds, const char *what) {
    if (!holds) engine_fail(what);
}

void weak_share(void *memory, size_t bytes) {
    if (n_shares == SHARES) abort();
    weak_shares[n_shares].memory = memory;
    weak_shares[n_shares++].bytes = bytes;
}

#define USED (1u << 14)
static struct used used[2][USED];
struct used *atom_of[ATOMS], *word_of[WORDS];
unsigned n_atoms, n_words;
bool anew;

struct used *engine_used_find(const volatile void *at, unsigned kind) {
    unsigned i = (unsigned)(((uintptr_t)at * UINT64_C(0x9e3779b97f4a7c15)) >> 50) % USED;
    while (used[kind][i].at && used[kind][i].at != at) i = (i + 1) % USED;
    return &used[kind][i];
}

void engine_used_note(struct used *u, const volatile void *at, unsigned kind, bool writes) {
    u->at = at;
    u->read_by |= (uint8_t)(1u << current);
    if (writes) u->written_by |= (uint8_t)(1u << current);
    if (u->written_by && (u->read_by & (u->read_by - 1))) engine_used_share(u, kind);
}

void engine_used_share(struct used *u, unsigned kind) {
    if (u->is_shared) return;
    u->is_shared = true;
    anew = true;
    if (n_atoms == ATOMS || n_words == WORDS) abort();
    if (kind == ATOMIC) {
        atom_of[n_atoms] = u;
        u->number = (uint8_t)n_atoms++;
    } else {
        word_of[n_words] = u;
        u->number = (uint8_t)n_words++;
    }
}

void weak_gone(unsigned which, const void *memory, size_t bytes) {
    engine.gone[which].from = memory;
    engine.gone[which].bytes = bytes;
}

void engine_check_gone(const volatile void *at) {
    for (unsigned i = 0; i < 2; i++)
        if ((size_t)((const volatile char *)at - engine.gone[i].from) < engine.gone[i].bytes)
            engine_fail("memory that is gone is used");
}

void engine_used_reset(void) {
    memset(used, 0, sizeof used);
    n_atoms = n_words = 0;
}
