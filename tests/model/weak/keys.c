/* SPDX-License-Identifier: MIT */
/*
 * Explores the keys of fiber-local values, the real sched/core/local.c: a fiber with a value ends while its key is
 * deleted and another is created in its place. The value goes to its own key's destructor, or to none.
 */
#include "workers.h"

#define weft__alloc alloc_table
static void *alloc_table(size_t n);
#include "sched/core/local.c"

static struct {
    struct weft_key key;
    uint8_t first, second; /* how often each destructor was called */
} s;
static union {
    struct weft__locals locals;
    char room[1024];
} table;

static void *alloc_table(size_t n) { return n <= sizeof table ? &table : NULL; }
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

static GHOST void destroy_first(void *value) { (void)value, s.first++; }
static GHOST void destroy_second(void *value) { (void)value, s.second++; }

void run_thread(unsigned t) {
    if (t == 0)
        weft__locals_destroy(&fiber[0]);
    else {
        struct weft_key other;
        weft_key_delete(s.key);
        weft_key_create(&other, destroy_second);
    }
}

static void set_up(void) {
    set_up_workers(1);
    driven[0] = &worker[0];
    store_rlx(&worker[0].current, &fiber[0]);
    weft_key_create(&s.key, destroy_first);
    weft__tls = &worker[0];
    claim(!weft_local_set(s.key, &s), "no value can be set");
}
static void check(void) {
    claim(s.first <= 1, "destroyed twice");
    claim(!s.second, "destroyed by another key's destructor");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"keys, one is deleted and another created", 2, set_up, check});
}

int main(int argc, char **argv) {
    share_workers(1);
    weak_share(&s, sizeof s);
    weak_share(&table, sizeof table);
    weak_share(keys, 4 * sizeof keys[0]);
    weak_share(&keys_lock, sizeof keys_lock);
    return weak_main(argc, argv, all_scenes);
}
