/* SPDX-License-Identifier: MIT */
/* States: the parts of a state, its copies, and the set of states that were met. */
#include "engine.h"

static size_t in_use(unsigned t) {
    if (engine.thread[t].state == ENDED || engine.thread[t].state == ABSENT) return 0;
    return (size_t)(weak_stacks[t] + STACK - ((char *)engine.thread[t].at.sp - RED_ZONE));
}

/* Where the parts of a state lie, one after the other. */
static size_t each_part(void (*fn)(void *part, size_t bytes, char **at), char **at) {
    size_t bytes = 0;
#define PART(p, n) \
    do { \
        size_t n_ = (n); \
        if (fn) fn(p, n_, at); \
        bytes += n_; \
    } while (0)
    PART(engine.thread, sizeof engine.thread);
    PART(&engine.fenced, sizeof engine.fenced + sizeof engine.strong);
    PART(engine.gone, sizeof engine.gone);
    for (unsigned p = 0; p < n_atoms; p++) {
        PART(&engine.atom[p].count, 1);
        PART(engine.atom[p].message, engine.atom[p].count * sizeof(struct message));
    }
    for (unsigned s = 0; s < n_shares; s++) PART(weak_shares[s].memory, weak_shares[s].bytes);
    for (unsigned t = 0; t < THREADS; t++) PART(weak_stacks[t] + STACK - in_use(t), in_use(t));
#undef PART
    return bytes;
}
static void keep_part(void *part, size_t bytes, char **at) {
    memcpy(*at, part, bytes);
    *at += bytes;
}
static void restore_part(void *part, size_t bytes, char **at) {
    memcpy(part, *at, bytes);
    *at += bytes;
}

char *engine_keep(void) {
    char *copy = malloc(each_part(NULL, NULL)), *at = copy;
    if (!copy) abort();
    each_part(keep_part, &at);
    return copy;
}
/* Thread records come first: they say how much of the stacks follows. */
void engine_put_back(char *copy) {
    char *at = copy;
    each_part(restore_part, &at);
}

static struct {
    uint64_t *slot;
    size_t size, used;
} seen;

static uint64_t mix(uint64_t h, const void *bytes, size_t n) {
    const char *p = bytes;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = (h ^ word) * UINT64_C(0x9fb21c651e98df25);
        h ^= h >> 29;
    }
    for (; n; n--, p++) h = (h ^ (unsigned char)*p) * UINT64_C(0x9fb21c651e98df25), h ^= h >> 29;
    return h;
}

static uint64_t mix_view(uint64_t h, const struct view *v) {
    if (mode.in_order) return h;
    h = mix(h, v->at, (n_atoms + 7) & ~7u);
    return mix(h, v->word, (n_words + 7) & ~7u);
}

static uint64_t fingerprint(void) {
    uint64_t h = 1;
    for (unsigned t = 0; t < THREADS; t++) {
        const struct thread *th = &engine.thread[t];
        uint64_t about[] = {th->state,     th->is_released, (uint64_t)th->sleeps_on, th->step.kind,
                            th->step.atom, th->step.value,  th->step.expected,       th->step.order};
        h = mix(h, about, th->state == ENDED || th->state == ABSENT ? 8 : sizeof about);
        if (th->state == ENDED || th->state == ABSENT) continue;
        h = mix_view(mix_view(mix_view(mix_view(h, &th->now), &th->pending), &th->released), &th->wake);
        /* The red zone is left out: what a call has left there is of no use at a step. */
        h = mix(h, th->at.sp, (size_t)(weak_stacks[t] + STACK - (char *)th->at.sp));
    }
    for (unsigned p = 0; p < n_atoms; p++) {
        h = mix(h, &engine.atom[p].count, 1);
        for (unsigned i = 0; i < engine.atom[p].count; i++) {
            const struct message *m = &engine.atom[p].message[i];
            h = mix_view(mix(h + m->is_swapped, &m->value, 8), &m->view);
        }
    }
    h = mix_view(mix_view(h, &engine.fenced), &engine.strong);
    h = mix(h, engine.gone, sizeof engine.gone);
    for (unsigned s = 0; s < n_shares; s++) h = mix(h, weak_shares[s].memory, weak_shares[s].bytes);
    return h | 1;
}

/* Two states with one number of 64 bits would be taken for one: with millions of states, once in a million tries. */
bool engine_is_new(void) {
    if (seen.used * 2 >= seen.size) {
        size_t size = seen.size ? seen.size * 4 : 1 << 16;
        uint64_t *slot = calloc(size, sizeof *slot);
        if (!slot) abort();
        for (size_t i = 0; i < seen.size; i++)
            if (seen.slot[i]) {
                size_t k = seen.slot[i] % size;
                while (slot[k]) k = (k + 1) % size;
                slot[k] = seen.slot[i];
            }
        free(seen.slot);
        seen.slot = slot;
        seen.size = size;
    }
    uint64_t h = fingerprint();
    size_t k = h % seen.size;
    while (seen.slot[k] && seen.slot[k] != h) k = (k + 1) % seen.size;
    if (seen.slot[k]) return false;
    seen.slot[k] = h;
    seen.used++;
    return true;
}

void engine_forget_states(void) {
    free(seen.slot);
    memset(&seen, 0, sizeof seen);
}
