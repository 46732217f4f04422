/* SPDX-License-Identifier: MIT */
/*
 * Explores values for each worker, with the real par/combinable.c. Two threads with the same slot take values, change
 * them and put them back, and make the table at the same time. One thread at a time has a value, and the next thread
 * sees its changes.
 */
#include "workers.h"

static void *alloc_here(size_t alignment, size_t bytes);
#define weft__alloc_aligned alloc_here
#include "par/combinable.c"

static struct {
    struct weft_combinable c;
    struct table table[2];
    struct {
        struct value head;
        uint64_t number;
    } value[3];
    uint8_t tables, values;
} s;

static GHOST void *give_out(size_t bytes) {
    if (bytes == sizeof(struct table)) return s.tables < 2 ? &s.table[s.tables++] : NULL;
    return s.values < 3 ? (void *)&s.value[s.values++] : NULL;
}
static void *alloc_here(size_t alignment, size_t bytes) { return (void)alignment, give_out(bytes); }
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

static void add_one(void) {
    uint64_t *v = weft_combinable_take(&s.c);
    claim(v, "no value");
    ++*v;
    claim(!weft_combinable_put(&s.c, v), "cannot be put back");
}
static void sum_up(void *left, const void *right, void *unused) {
    (void)unused, *(uint64_t *)left += *(const uint64_t *)right;
}

void run_thread(unsigned t) {
    (void)t;
    add_one();
}

static void set_up(void) {
    set_up_workers(1);
    for (unsigned t = 0; t < 2; t++) driven[t] = NULL;
    s.c.size = sizeof(uint64_t);
}
static void check(void) {
    uint64_t sum = 0;
    for (unsigned t = 0; t < 2; t++) claim(!weak_goes_on(t), "waits for ever");
    claim(!weft_combinable_each(&s.c, &sum, sum_up, NULL), "a value is not there");
    claim(sum == 2, "a change is lost");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"combinable, two take and put back", 2, set_up, check});
}

int main(int argc, char **argv) {
    weak_share(&s, sizeof s);
    return weak_main(argc, argv, all_scenes);
}
