/* SPDX-License-Identifier: MIT */
/* See prefix.h. Only servers with these counts enabled pay for the lock. */
#include "prefix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MOST (256 + 128) /* a prefix, and four numbers with their names */

void mc_prefixes_clear(struct mc_prefixes *prefixes) {
    weft__lock(&prefixes->lock);
    for (unsigned i = 0; i < MC_PREFIX_CHAINS; i++) {
        for (struct mc_prefix *p = prefixes->chains[i], *next; p; p = next) {
            next = p->next;
            free(p);
        }
        prefixes->chains[i] = NULL;
    }
    prefixes->count = 0;
    weft__unlock(&prefixes->lock);
}

static struct mc_prefix **chain_of(struct mc_prefixes *prefixes, const char *text, size_t size) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return &prefixes->chains[hash % MC_PREFIX_CHAINS];
}

/* Locked. Finds a prefix; if it is missing, inserts it and returns NULL. */
static struct mc_prefix *find(struct mc_prefixes *prefixes, const char *text, size_t size, struct mc_prefix **fresh) {
    struct mc_prefix **chain = chain_of(prefixes, text, size), *p = *chain;
    while (p && (p->size != size || memcmp(p->text, text, size))) p = p->next;
    if (p || !*fresh || prefixes->count == MC_PREFIXES_MOST) return p;
    p = *fresh;
    *fresh = NULL;
    p->next = *chain;
    prefixes->count++;
    return *chain = p;
}

static bool count(struct mc_prefixes *prefixes, const char *text, size_t size, enum mc_prefix_count what, bool hit,
                  struct mc_prefix **fresh) {
    weft__lock(&prefixes->lock);
    struct mc_prefix *p = find(prefixes, text, size, fresh);
    if (p) p->counts[what]++;
    if (p) p->counts[MC_PREFIX_HIT] += hit;
    weft__unlock(&prefixes->lock);
    return p;
}

void mc_prefix_add(struct mc_prefixes *prefixes, char delimiter, const char *key, size_t size,
                   enum mc_prefix_count what, bool hit) {
    const char *end = memchr(key, delimiter, size);
    struct mc_prefix *fresh = NULL;
    size = end ? (size_t)(end - key) : 0;
    if (!end || count(prefixes, key, size, what, hit, &fresh) || !(fresh = calloc(1, sizeof *fresh + size))) return;
    fresh->size = (uint8_t)size;
    memcpy(fresh->text, key, size);
    count(prefixes, key, size, what, hit, &fresh);
    free(fresh);
}

static char *put(char *at, const struct mc_prefix *p) {
    at = mempcpy(at, "PREFIX ", 7);
    at = mempcpy(at, p->text, p->size);
    return at + sprintf(at, " get %llu hit %llu set %llu del %llu\r\n", (unsigned long long)p->counts[MC_PREFIX_GET],
                        (unsigned long long)p->counts[MC_PREFIX_HIT], (unsigned long long)p->counts[MC_PREFIX_SET],
                        (unsigned long long)p->counts[MC_PREFIX_DELETE]);
}

/* Holds one chain at a time. Prefixes that are added meanwhile are left out. */
char *mc_prefixes_text(struct mc_prefixes *prefixes, size_t *size) {
    weft__lock(&prefixes->lock);
    unsigned room = prefixes->count;
    weft__unlock(&prefixes->lock);
    char *text = room ? malloc((size_t)room * LINE_MOST) : NULL, *at = text;
    for (unsigned i = 0; i < MC_PREFIX_CHAINS && text; i++) {
        weft__lock(&prefixes->lock);
        for (const struct mc_prefix *p = prefixes->chains[i]; p && room; p = p->next, room--) at = put(at, p);
        weft__unlock(&prefixes->lock);
    }
    *size = (size_t)(at - text);
    return text;
}
